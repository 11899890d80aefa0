"""Writes the entries of a package: leaves, proof, records and bodies, each file of many entries.

    data/leaves.ndjson      the leaf of each entry: its exact canonical bytes, one a line, by seq
    data/proof.txt          the way from all of them to the checkpoint's root, one hash a line
    data/records.ndjson     how entries came in, where there is more to say than the leaf does; for
                            one that is withheld, why it is, as JSON
    data/bodies.csv         where the body of each entry stands, with the salt of its commitment, or
                            why it is withheld
    data/bodies/00001.bin   bodies as they came or went, one after another, each with a line feed
                            behind it that is not part of it
    data/actors.ndjson      the people of whom these bodies hold pseudonyms: pseudonym, name, salt
    data/rotations.json     the statements in which one signing key handed over to the next

Leaves may stand there of entries that the package is not about: they show that nothing was left out
between those that it is about. Such an entry has neither record nor body here.
"""

import base64
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.audit.package.bags import BagWriter
from pipeline.audit.package.disclosure import Disclosure
from pipeline.contract.body import canonical_json, parse_json
from pipeline.inbox.store import people_of
from pipeline.ledger.store import Ledger
from pipeline.log import tree
from pipeline.log.actors import Actor
from pipeline.log.checkpoints import Checkpoint
from pipeline.log.entries import Entry
from pipeline.log.signing import STATEMENT
from pipeline.verify import NO_RECORD

BODY_COLUMNS: Final = ("seq", "salt", "file", "offset", "size", "withheld")
ENTRIES_PER_BATCH: Final = 2048
BYTES_PER_CHUNK: Final = 4 << 20
"""A chunk of bodies is full once it has that many bytes; a larger body has one of its own."""


class Chosen(NamedTuple):
    """Which entries a package has something of, by seq."""

    shown: Sequence[int]  # with record and body, in order
    of_seller: Sequence[int]  # leaves alone, where they are not shown
    between: range  # likewise
    rotations: Sequence[int]
    export: int

    def batches(self) -> Iterator[list[int]]:
        """All seqs, in order, in batches."""
        seqs = sorted({*self.shown, *self.of_seller, *self.between, *self.rotations, self.export})
        for first in range(0, len(seqs), ENTRIES_PER_BATCH):
            yield seqs[first : first + ENTRIES_PER_BATCH]


def batches_of(ledger: Ledger, seqs: Sequence[int]) -> Iterator[list[Entry]]:
    """The entries with these seqs, in order, in batches."""
    for first in range(0, len(seqs), ENTRIES_PER_BATCH):
        yield _entries(ledger, seqs[first : first + ENTRIES_PER_BATCH])


def _entries(ledger: Ledger, seqs: Sequence[int]) -> list[Entry]:
    condition = "seq between ? and ? and seq in (select unnest(?))"
    return ledger.select(condition, [seqs[0], seqs[-1], seqs]) if seqs else []


def write(
    bag: BagWriter,
    ledger: Ledger,
    chosen: Chosen,
    disclosure: Disclosure,
    checkpoint: Checkpoint,
    folder: Path,
    on_done: Callable[[int], None],
) -> int:
    """Writes all of these files into a bag; how many bodies are withheld.

    `folder`: where drafts of them may stand. `on_done`: is given how many entries are done.
    """
    has_body = {*chosen.shown, *chosen.rotations, chosen.export}
    rotations = {*chosen.rotations}
    statements, indices, withheld, done = [], [], 0, 0
    people: set[Actor] = set()
    names = ("leaves.ndjson", "records.ndjson", "bodies.csv", "proof.txt")
    with ExitStack() as files:
        leaves, records, table, proof = (
            files.enter_context((folder / name).open("wb")) for name in names
        )
        bodies = _Bodies(bag)
        table.write((",".join(BODY_COLUMNS) + "\n").encode())
        for batch in chosen.batches():
            entries = _entries(ledger, [it for it in batch if it in has_body])
            leaves.writelines(leaf + b"\n" for leaf in _leaves(ledger, batch, entries, has_body))
            for entry in entries:
                if entry.record is not None:
                    is_withheld = entry.seq in disclosure.without_record
                    records.write((NO_RECORD if is_withheld else entry.record) + b"\n")
                is_own = entry.seq == chosen.export  # a verifier needs what it fixes
                why = None if is_own else disclosure.why_withheld(entry)
                table.write(bodies.row(entry, why))
                withheld += why is not None
                people |= people_of([entry]) if why is None else set()
                if entry.seq in rotations:
                    statement = parse_json(entry.body or b"{}")[STATEMENT]
                    statements.append({"seq": entry.seq, "statement": statement})
            indices += [seq - 1 for seq in batch]
            done += len(entries)
            on_done(done)
        bodies.end()
        for node in tree.batch_proof(indices, checkpoint.size, ledger.subtrees()):
            proof.write(base64.b64encode(node) + b"\n")
    for name in names:
        bag.add(f"data/{name}", folder / name)
    bag.add("data/actors.ndjson", b"".join(map(_line, sorted(people))))
    bag.add("data/rotations.json", canonical_json(statements))
    return withheld


def _line(person: Actor) -> bytes:
    return canonical_json([person.pseudonym, person.text, person.salt.hex()]) + b"\n"


def _leaves(
    ledger: Ledger, seqs: Sequence[int], entries: Sequence[Entry], has_body: Set[int]
) -> Iterator[bytes]:
    """The leaf of each of these; `entries` are those that were read already."""
    if len(entries) == len(seqs):
        yield from (it.leaf for it in entries)
        return
    between = ledger.leaves([it for it in seqs if it not in has_body])
    known = dict(between) | {it.seq: it.leaf for it in entries}
    yield from (known[it] for it in seqs)


class _Bodies:
    """Puts bodies into files of many."""

    def __init__(self, bag: BagWriter) -> None:
        self._bag = bag
        self._number, self._chunk = 1, bytearray()

    def row(self, entry: Entry, why_withheld: str | None) -> bytes:
        """The line of bodies.csv about an entry; empty if it has no body."""
        if why_withheld is not None:
            return f"{entry.seq},,,,,{why_withheld}\n".encode()
        if entry.body is None or entry.salt is None:
            return b""
        if self._chunk and len(self._chunk) + len(entry.body) > BYTES_PER_CHUNK:
            self.end()
        place, size = len(self._chunk), len(entry.body)
        self._chunk += entry.body
        self._chunk += b"\n"
        return f"{entry.seq},{entry.salt.hex()},{self._name},{place},{size},\n".encode()

    @property
    def _name(self) -> str:
        return f"data/bodies/{self._number:05}.bin"

    def end(self) -> None:
        """Writes what is left."""
        if self._chunk:
            self._bag.add(self._name, bytes(self._chunk))
            self._number, self._chunk = self._number + 1, bytearray()
