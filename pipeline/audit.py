"""Verifies the ledger and the inbox themselves: every entry, fact, node and signature in both.

Both hold the whole log, on two engines. So each is checked against the other, against what its own
bytes commit to, and against what was signed; a difference names the entry and the store that is
wrong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import duckdb

from pipeline import checks, facts, tree
from pipeline.artifacts import ArtifactDamaged, ArtifactStore
from pipeline.checkpoints import Checkpoint
from pipeline.commitments import uncommitted
from pipeline.errors import CallerError
from pipeline.inbox import Head, Inbox, SignedHead
from pipeline.ledger import Copy, Ledger
from pipeline.occurrences import Entry
from pipeline.service import LedgerService
from pipeline.verify import Verdict

ENTRIES_A_BATCH: Final = 4096
ENTRIES_A_MINUTE: Final = 100_000
"""That an audit reads in a minute or so."""
MAX_FAULTS: Final = 100

Progress = Callable[[int, int], None]
"""(entries or checks that are done, how many there are)"""

_STREAMS: Final = """
    with placed as (
        select
            seq,
            process_n,
            process_prev,
            case when process_id is not null
                then row_number() over (partition by process_id order by seq) end as right_n,
            case when process_id is not null
                then lag(seq) over (partition by process_id order by seq) end as right_prev,
            seller_n,
            seller_prev,
            case when seller_id is not null
                then row_number() over (partition by seller_id order by seq) end as right_seller_n,
            case when seller_id is not null
                then lag(seq) over (partition by seller_id order by seq) end as right_seller_prev,
            recorded_at < lag(recorded_at) over (order by seq) as is_backdated,
            is_again,
            kind in ('webhook', 'submission_started', 'submission_finished')
                and row_number() over (
                    partition by kind, coalesce(event_id, attempt_id, '') order by seq
                ) > 1 as right_again
        from log
    )
    select
        seq,
        process_n is distinct from right_n or process_prev is distinct from right_prev,
        seller_n is distinct from right_seller_n or seller_prev is distinct from right_seller_prev,
        coalesce(is_backdated, false),
        is_again is distinct from right_again
    from placed
    where process_n is distinct from right_n or process_prev is distinct from right_prev
        or seller_n is distinct from right_seller_n
        or seller_prev is distinct from right_seller_prev
        or is_backdated or is_again is distinct from right_again
    order by seq
    limit 100"""
_STREAM_FAULTS: Final = (
    "it is not at its place in its process's stream",
    "it is not at its place in its seller's stream",
    "it was recorded before the entry before it",
    "it is wrongly marked as told before, or as new",
)


def audit(
    service: LedgerService, *, against: str | None = None, progress: Progress = lambda *_: None
) -> Verdict:
    """Every check there is, over both stores up to the entry that is the last one now; others may
    arrive meanwhile.

    `against`: an earlier signed checkpoint, kept elsewhere: without one, whoever holds the key and
    both stores could have rewritten all three.
    """
    verdict = Verdict()
    # Read before the last entry is looked up, since it can only be about entries that are there.
    head, signed = service.inbox.head(), service.inbox.checkpoints()
    size = service.inbox.last()[0]
    service.reach(size)
    if healed := service.status().healed:
        verdict.notes.append(healed)
    told = Faults(verdict)
    vouched = {it.size for it in (head, *signed) if it is not None}
    roots = _entries(service, size, vouched, told, progress)
    _streams(service.ledger, told)
    verdict.passed(f"{size} entries stand in inbox and ledger, the same, as their leaves commit to")
    _tree(service.ledger, size, roots, told)
    _signed(service, head, signed, roots, told)
    _invariants(service.ledger, told)
    _artifacts(service, told)
    if against is not None:
        _against(service, against, told)
    else:
        verdict.notes.append(
            "no earlier checkpoint was given (--against): whoever holds the signing key could have"
            " written both stores anew"
        )
    return verdict


def invariants(service: LedgerService, *, progress: Progress = lambda *_: None) -> Verdict:
    """The checks on the ledger alone; `progress` counts them."""
    verdict = Verdict()
    _invariants(service.ledger, Faults(verdict), progress)
    return verdict


class Faults:
    """Names faults, up to a number."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def __call__(self, text: str) -> None:
        if len(self.verdict.faults) < MAX_FAULTS:
            self.verdict.fault(text)
        elif len(self.verdict.faults) == MAX_FAULTS:
            self.verdict.fault(f"and more: only the first {MAX_FAULTS} are named")


class Roots:
    """The tree made anew from the leaves, and its root at each size that was asked for."""

    def __init__(self, sizes: set[int]) -> None:
        self._sizes = sorted(sizes, reverse=True)
        self.at: dict[int, tuple[bytes, list[bytes]]] = {}
        self.nodes: list[tree.Node] = []
        self.frontier = tree.Frontier()

    def extend(self, leaves: Sequence[bytes]) -> None:
        hashes = [tree.leaf_hash(it) for it in leaves]
        done, before = 0, self.frontier.size
        while self._sizes and self._sizes[-1] <= before + len(hashes):
            size = self._sizes.pop()
            self.nodes += self.frontier.extend(hashes[done : size - before])
            done = size - before
            self.at[size] = (self.frontier.root(), list(self.frontier.peaks))
        self.nodes += self.frontier.extend(hashes[done:])


def _entries(
    service: LedgerService, size: int, vouched: set[int], told: Faults, progress: Progress
) -> Roots:
    """Compares entry by entry, and makes the tree anew from the inbox's leaves; with its roots at
    the sizes that were vouched for."""
    inbox, ledger = service.inbox, service.ledger
    sizes = {*vouched, *(it[0] for it in ledger.tree_table(_HEADS)), size}
    roots = Roots({it for it in sizes if 0 < it <= size})
    copy = Copy()
    try:
        for first in range(1, size + 1, ENTRIES_A_BATCH):
            last = min(size, first + ENTRIES_A_BATCH - 1)
            progress(first - 1, size)
            kept = {it.seq: it for it in _inbox_entries(inbox, first, last)}
            held = {it.seq: it for it in ledger.select("seq between ? and ?", [first, last])}
            for seq in range(first, last + 1):
                for fault in _entry_faults(kept.get(seq), held.get(seq), ledger, inbox):
                    told(f"entry {seq}: {fault}")
            if len(kept) == last - first + 1:
                roots.extend([kept[seq].leaf for seq in range(first, last + 1)])
            _compare_facts(copy, service, [kept[it] for it in sorted(kept)], first, last, told)
        progress(size, size)
    finally:
        copy.close()
    return roots


def _inbox_entries(inbox: Inbox, first: int, last: int) -> Iterator[Entry]:
    after = first - 1
    while after < last and (entries := inbox.read(after, last - after)):
        yield from (it for it in entries if it.seq <= last)
        after = entries[-1].seq


def _entry_faults(
    kept: Entry | None, held: Entry | None, ledger: Ledger, inbox: Inbox
) -> Iterator[str]:
    """What is wrong with an entry, as the inbox keeps it and the ledger holds it."""
    if kept is None or held is None:
        store = "inbox" if kept is None else "ledger"
        yield f"it is missing from the {store}; {_REMEDY[store]}"
        return
    unseen = {"ingest_key"} | ({"body", "salt"} if ledger.is_without_bodies else set())
    differing = [
        name
        for name, ours, theirs in zip(Entry._fields, held, kept, strict=True)
        if ours != theirs and name not in unseen
    ]
    if not differing:
        if wrong := uncommitted(kept, inbox.identity):
            yield f"its leaf commits to another {', '.join(wrong)}, in both stores"
        return
    # Both can't be right; the leaf's commitments and the signed root say which one is.
    faulty = [
        store
        for store, entry in (("inbox", kept), ("ledger", held))
        if not (store == "ledger" and ledger.is_without_bodies)
        and uncommitted(entry, inbox.identity)
    ]
    named = faulty or ["ledger", "inbox"]
    where = " or the ".join(named)
    yield (
        f"its {', '.join(differing)} differs between inbox and ledger, and the {where} is wrong;"
        f" {_REMEDY[named[0]]}"
    )


_REMEDY: Final = {
    "inbox": "`prazo restore` puts the inbox back from a backup, or from the ledger",
    "ledger": "`prazo rebuild` makes the ledger anew",
}
_HEADS: Final = "tree_heads"


def _compare_facts(
    copy: Copy,
    service: LedgerService,
    entries: Sequence[Entry],
    first: int,
    last: int,
    told: Faults,
) -> None:
    """Facts read out of the entries anew, against those that the ledger holds."""
    ledger = service.ledger
    try:
        extracted: Mapping[type[facts.Fact], Sequence[facts.Fact]] = facts.extract(
            entries, service.keys
        )
    except (CallerError, KeyError, TypeError, ValueError) as error:
        told(f"entries {first} to {last}: their bodies cannot be read any more: {error}")
        return
    copy.clear_facts()
    for kind, rows in extracted.items():
        table = facts.TABLES[kind]
        copy.add_facts(table, rows, masked=ledger.is_without_bodies)
        expected, stored = copy.facts(table), ledger.facts_between(table, first, last)
        if expected != stored:
            seqs = sorted({it[0] for it in _difference(expected, stored)})
            told(
                f"{table} does not say what the entries say: {', '.join(map(str, seqs[:20]))};"
                f" {_REMEDY['ledger']}"
            )


def _difference(
    some: Sequence[tuple[Any, ...]], others: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    return [it for it in some if it not in others] + [it for it in others if it not in some]


def _streams(ledger: Ledger, told: Faults) -> None:
    for seq, *wrong in ledger.cursor().execute(_STREAMS).fetchall():
        for is_wrong, fault in zip(wrong, _STREAM_FAULTS, strict=True):
            if is_wrong:
                told(f"entry {seq}: {fault}")
    [(rows, last)] = ledger.cursor().execute("select count(*), max(seq) from log").fetchall()
    if rows != (last or 0):
        told(f"the ledger's log has {rows} rows up to entry {last}; {_REMEDY['ledger']}")


def _tree(ledger: Ledger, size: int, roots: Roots, told: Faults) -> None:
    """The stored nodes and heads are those of the leaves; it may have grown since."""
    nodes = [it for it in ledger.tree_table("tree_nodes") if it[1] + 1 << it[0] <= size]
    if sorted(roots.nodes) != nodes:
        told(f"the ledger's tree has other nodes than its leaves; {_REMEDY['ledger']}")
    heads = [it for it in ledger.tree_table(_HEADS) if it[0] <= size]
    for at, root, peaks in heads:
        if roots.at.get(at) != (root, list(peaks)):
            told(f"the ledger's tree has another root at {at} entries; {_REMEDY['ledger']}")
    told.verdict.passed(
        f"the tree over them, {len(roots.nodes)} stored nodes and {len(heads)} roots, is theirs"
    )


def _signed(
    service: LedgerService,
    head: Head | None,
    signed: Sequence[SignedHead],
    roots: Roots,
    told: Faults,
) -> None:
    """Head and checkpoints in the inbox are of this tree, and signed by our key."""
    if head and (head.size not in roots.at or roots.at[head.size][0] != head.root):
        told(f"the head in the inbox, of {head.size} entries, is not of this log")
    for it in signed:
        try:
            text = service.signer.key.opened(it.note) if service.signer else it.note
            checkpoint = Checkpoint.read(text)
        except ValueError as error:
            told(f"the checkpoint of {it.size} entries is not one of ours: {error}")
            continue
        root = roots.at.get(it.size, (b"", []))[0]
        if checkpoint != Checkpoint(service.inbox.log, it.size, root):
            told(f"the checkpoint of {it.size} entries was signed over another log than this")
    if service.signer is None:
        told.verdict.notes.append("the signing key is not here: signatures were not checked")
    told.verdict.passed(f"{len(signed)} signed checkpoints are of this log")


def _invariants(ledger: Ledger, told: Faults, progress: Progress = lambda *_: None) -> None:
    """`queries/checks/`: what must hold of a ledger, whatever was recorded in it."""
    names = checks.names()
    for number, name in enumerate(names):
        progress(number, len(names))
        try:
            broken = checks.run(name, ledger)
        except duckdb.Error as error:
            told(f"the check {name} cannot be run: {str(error).splitlines()[0]}")
        else:
            if broken is not None:
                told(f"the check {broken}; {_REMEDY['ledger']}")
    told.verdict.passed(f"{len(names)} checks of queries/checks find nothing")


def _artifacts(service: LedgerService, told: Faults) -> None:
    """Every artifact that an entry names lies in the store as it was."""
    store = ArtifactStore(service.settings.artifacts)
    sql = "select sha256, min(seq) from facts.artifacts where sha256 is not null group by sha256"
    rows = service.ledger.cursor().execute(f"{sql} order by 2, 1").fetchall()
    there = 0
    for digest, seq in rows:
        try:
            if store.read(digest) is None:
                told.verdict.notes.append(
                    f"the artifact {digest} of entry {seq} is not in the store"
                )
            else:
                there += 1
        except ArtifactDamaged as error:
            told(f"entry {seq}: {error.what}: {error.why}; {error.remedy}")
    told.verdict.passed(f"{there} artifacts are as they were collected")


def _against(service: LedgerService, against: str, told: Faults) -> None:
    try:
        text = service.signer.key.opened(against) if service.signer else against
        held = Checkpoint.read(text)
    except ValueError as error:
        told(f"the earlier checkpoint cannot be used: {error}")
        return
    if held.origin != service.inbox.log or held.size > service.ledger.size:
        told(
            f"the earlier checkpoint has {held.size} entries of {held.origin}; this is"
            f" {service.ledger.size} of {service.inbox.log}: an older copy was put back, or another"
        )
    elif service.ledger.root_at(held.size) != held.root:
        told(f"THE LOG WAS REWRITTEN: it had another root when it had {held.size} entries")
    else:
        told.verdict.passed(f"the log continues the earlier checkpoint at {held.size}")
