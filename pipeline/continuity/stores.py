"""Verifies the ledger and the inbox themselves: every entry, fact, node and signature in both.

Both hold the whole log, on two engines. So each is checked against the other, against what its own
bytes commit to, and against what was signed. Each fault names the entry and the store that is
wrong.
"""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import duckdb

from pipeline.continuity import definitions, earlier
from pipeline.continuity.backup import batches
from pipeline.continuity.forks import ended_by
from pipeline.continuity.service import Faults, LedgerService
from pipeline.errors import InboxForked, InboxNewer, InboxUnavailable, LedgerBehind, LedgerRefused
from pipeline.inbox import Head, Inbox, SignedHead, schema
from pipeline.inbox.artifacts import artifact_store, named
from pipeline.inbox.erased import erased_in, newest_erasure
from pipeline.inbox.heartbeats import Part, beat
from pipeline.inbox.signing_keys import registered
from pipeline.inbox.store import COUNTED_ONCE
from pipeline.ledger import checks, facts
from pipeline.ledger.arrow import MASKED_COLUMNS
from pipeline.ledger.scratch import Copy
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import catalogue
from pipeline.log import tree
from pipeline.log.commitments import is_changed, uncommitted
from pipeline.log.entries import Entry
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.signing import LogKeys, open_checkpoint
from pipeline.texts import counted, some_of
from pipeline.verify import SIGNATURE, Verdict

ENTRIES_PER_BATCH: Final = 4096
ENTRIES_PER_MINUTE: Final = 100_000
"""About how many entries an audit reads in a minute."""
MAX_FAULTS: Final = 100

OnProgress = Callable[[int, int], None]
"""(how many entries or checks are done, how many there are)"""

_ORDER: Final = """
    with placed as (
        select
            seq,
            coalesce(recorded_at < lag(recorded_at) over (order by seq), false) as is_backdated,
            is_again is distinct from (
                kind in ?
                and row_number() over (
                    partition by kind, coalesce(event_id, attempt_id, '') order by seq
                ) > 1
            ) as is_mismarked
        from log
    )
    select seq, is_backdated, is_mismarked
    from placed
    where is_backdated or is_mismarked
    order by seq
    limit 100"""


def audit(
    service: LedgerService, *, against: str | None = None, on_progress: OnProgress = lambda *_: None
) -> Verdict:
    """Runs every check on both stores, up to the entry that is the last one now; more may arrive
    in the meantime.

    `against`: an earlier signed checkpoint that was kept elsewhere. Without one, a person who has
    the key and both stores could have rewritten all three. Raises `LedgerBehind` where the ledger
    is to be made again after an erasure, or somebody was forgotten meanwhile.
    """
    verdict = _audited(service, against, on_progress)
    service.faults_found = _faults(service, verdict)
    if verdict.exit_code == 0:
        with contextlib.suppress(InboxUnavailable):  # the verdict holds all the same
            beat(service.inbox, Part.VERIFICATION)
    return verdict


def _faults(service: LedgerService, verdict: Verdict) -> Faults | None:
    return Faults(service.now(), len(verdict.faults)) if verdict.faults else None


def _audited(service: LedgerService, against: str | None, on_progress: OnProgress) -> Verdict:
    verdict = Verdict()
    if service.fork is not None:
        verdict.fault(service.fork.in_one_line)
        return verdict
    # Read before the last entry is looked up, so that they cover only entries up to that one.
    head, signed = service.inbox.head(), service.inbox.checkpoints()
    size = service.inbox.last()[0]
    service.reach(size)
    for seq in _changed_beside_erasure(service):
        verdict.fault(f"entry {seq}: the ledger alone has it as recorded; {_REMEDY['inbox']}")
    if verdict.faults:
        return verdict
    _require_forgotten(service, service.ledger.erased_to)
    try:
        service.check_continuity()  # what a shorter inbox still has is the same in both
    except InboxForked as fork:
        verdict.fault(fork.in_one_line)
        return verdict
    if recovered := service.status().recovered:
        verdict.notes.append(recovered)
    vouched = {it.size for it in (head, *signed) if it is not None}
    erased_to = newest_erasure(service.inbox)  # first: a newer one is asked for afterwards
    erased = erased_in(service.inbox)
    roots = _entries(service, size, vouched, erased, verdict, on_progress)
    _require_forgotten(service, erased_to)
    if (begun_after := service.ledger.erased_to) > erased_to:
        verdict.fault(
            f"the ledger says that it was begun after entry {begun_after} erased something, and"
            f" none so new did: it would keep what is erased until then; {_REMEDY['ledger']}"
        )
    _streams(service.ledger, verdict)
    verdict.passed(
        f"{counted(size, 'entry stands', 'entries stand')} in inbox and ledger, the same, as their"
        " leaves commit to"
    )
    if erased:
        verdict.notes.append(
            f"what stays of {counted(len(erased), 'erased entry', 'erased entries')}: that it is"
            " what the bytes said is the word of whoever erased them"
        )
    _tree(service.ledger, size, roots, verdict)
    _signed(service, head, signed, roots, verdict)
    _invariants(service.ledger, verdict)
    _definitions(service, verdict)
    if size == 0:
        verdict.undecided.append(
            "inbox and ledger hold no entry: there is nothing yet that could be verified"
        )
    if against is not None:
        earlier.judge(service, against, verdict)
    else:
        verdict.notes.append(
            "no earlier checkpoint was given (--against): whoever holds the signing key could have"
            " rewritten both stores"
        )
    _artifacts(service, size, verdict)
    return verdict


def _changed_beside_erasure(service: LedgerService) -> list[int]:
    """The entries for which a ledger is not made again though something was erased since: it alone
    has them as they were recorded."""
    return changed_in_inbox(service) if service.holds_erased else []


def _require_forgotten(service: LedgerService, erased_to: int) -> None:
    """Raises `LedgerBehind` where the inbox has a newer erasure than `erased_to`: the stores differ
    in what it erased until the ledger is made again, and neither of them is wrong."""
    if (erasure := newest_erasure(service.inbox)) > erased_to:
        raise LedgerBehind(
            "The stores were not verified",
            f"entry {erasure} erased what the ledger may still hold: it is made again from the"
            " inbox, or was meanwhile",
            "try again in a while: it begins within ten minutes, and takes as long as `prazo"
            " rebuild`",
        )


def invariants(service: LedgerService, *, on_progress: OnProgress = lambda *_: None) -> Verdict:
    """Runs the checks on the ledger alone; `on_progress` counts them. Without a fault they leave
    those that an audit found: they read less."""
    verdict = Verdict()
    _invariants(service.ledger, verdict, on_progress)
    service.faults_found = _faults(service, verdict) or service.faults_found
    return verdict


def _entries(
    service: LedgerService,
    size: int,
    vouched: set[int],
    erased: Mapping[int, bytes],
    verdict: Verdict,
    on_progress: OnProgress,
) -> tree.Roots:
    """Compares the stores entry by entry, and rebuilds the tree from the inbox's leaves, with its
    roots at the sizes in `vouched`. `erased`: as `uncommitted` takes it."""
    inbox, ledger = service.inbox, service.ledger
    sizes = {*vouched, *(it[0] for it in ledger.tree_table(_HEADS)), size}
    roots = tree.Roots({it for it in sizes if 0 < it <= size})
    copy = Copy.taken()
    try:
        for first in range(1, size + 1, ENTRIES_PER_BATCH):
            last = min(size, first + ENTRIES_PER_BATCH - 1)
            on_progress(first - 1, size)
            found = batches(inbox, first - 1, last)
            kept = {it.seq: it for it in itertools.chain.from_iterable(found)}
            held = {it.seq: it for it in ledger.recorded(first, last)}
            for seq in range(first, last + 1):
                for fault in _entry_faults(kept.get(seq), held.get(seq), ledger, inbox, erased):
                    verdict.fault(f"entry {seq}: {fault}")
            if len(kept) == last - first + 1:
                roots.extend([kept[seq].leaf for seq in range(first, last + 1)])
            sound = [_sound(kept[it], held.get(it), ledger, inbox, erased) for it in sorted(kept)]
            _compare_facts(copy, service, sound, first, last, verdict)
        on_progress(size, size)
    finally:
        copy.give_back()
    return roots


def _entry_faults(
    kept: Entry | None,
    held: Entry | None,
    ledger: Ledger,
    inbox: Inbox,
    erased: Mapping[int, bytes],
) -> Iterator[str]:
    """The faults of one entry. `kept`, `held`: as the inbox and as the ledger have it. `erased`: as
    `uncommitted` takes it."""
    if kept is None or held is None:
        store = "inbox" if kept is None else "ledger"
        yield f"it is missing from the {store}; {_REMEDY[store]}"
        return
    unseen = set()
    if ledger.is_without_bodies:
        unseen = {"ingest_key", *MASKED_COLUMNS["log"]} - {"record"}
    if ledger.is_without_bodies and held.record is None and kept.kind == SUBMISSION_FINISHED:
        unseen |= {"record"}
    differing = [
        name
        for name, ours, theirs in zip(Entry._fields, held, kept, strict=True)
        if ours != theirs and name not in unseen
    ]
    if kept.seq in erased and not kept.is_erased:
        yield f"it was erased, and what came is there again; {_REMEDY['erased']}"
    if not differing:
        if wrong := uncommitted(kept, inbox.identity, erased):
            yield f"its leaf commits to another {', '.join(wrong)}, in both stores"
        return
    # Both can't be right; the leaf's commitments and the signed root say which one is.
    faulty = [
        store
        for store, entry in (("inbox", kept), ("ledger", held))
        if not (store == "ledger" and ledger.is_without_bodies)
        and uncommitted(entry, inbox.identity, erased)
    ]
    named = faulty or ["ledger", "inbox"]
    where = " or the ".join(named)
    yield (
        f"its {', '.join(differing)} differs between inbox and ledger, and the {where} is wrong;"
        f" {_REMEDY[named[0]]}"
    )


def _sound(
    kept: Entry,
    held: Entry | None,
    ledger: Ledger,
    inbox: Inbox,
    erased: Mapping[int, bytes],
) -> Entry:
    """The inbox's entry, or the ledger's where only that is as it was recorded: its facts are then
    right, and a rebuild from the inbox would make them wrong."""
    if held is None or held == kept or ledger.is_without_bodies:
        return kept
    return held if is_changed(kept, held, inbox.identity, erased) else kept


def changed_in_inbox(service: LedgerService) -> list[int]:
    """The entries that only the ledger has as they were recorded: built from the inbox, a ledger
    would have them wrong, too. At most `MAX_FAULTS` of them."""
    found: list[int] = []
    erased = erased_in(service.inbox)
    if service.ledger.is_without_bodies or service.fork is not None:
        return found
    for entries in batches(service.inbox, 0, service.ledger.size):
        first, last = entries[0].seq, entries[-1].seq
        held = {it.seq: it for it in service.ledger.recorded(first, last)}
        for entry in entries:
            if (
                _sound(entry, held.get(entry.seq), service.ledger, service.inbox, erased)
                is not entry
            ):
                found.append(entry.seq)
        if len(found) >= MAX_FAULTS:
            break
    return found[:MAX_FAULTS]


_REMEDY: Final = {
    "inbox": "`prazo restore` restores the inbox from a backup, or from the ledger",
    "erased": "`prazo forget` of its seller erases that",
    "ledger": "`prazo rebuild` rebuilds the ledger",
    "artifact": "`prazo artifacts FOLDER` takes its bytes from wherever they still are",
}
_HEADS: Final = "tree_heads"


def _compare_facts(
    copy: Copy,
    service: LedgerService,
    entries: Sequence[Entry],
    first: int,
    last: int,
    verdict: Verdict,
) -> None:
    """Extracts the facts from the entries again, and compares them with the ledger's."""
    ledger = service.ledger
    try:
        extracted: Mapping[type[facts.Fact], Sequence[facts.Fact]] = facts.extract(
            entries, service.keys
        )
    except LedgerRefused as error:
        verdict.fault(error.finding)
        return
    copy.clear()
    for kind, rows in extracted.items():
        table = facts.TABLES[kind]
        copy.add_facts(table, rows, masked=ledger.is_without_bodies)
        expected, stored = copy.facts(table), ledger.facts_between(table, first, last)
        if expected != stored:
            seqs = sorted({it[0] for it in _difference(expected, stored)})
            verdict.fault(
                f"{table} does not say what the entries say: {some_of(seqs)}; {_REMEDY['ledger']}"
            )


def _difference(
    some: Sequence[tuple[Any, ...]], others: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    return [it for it in some if it not in others] + [it for it in others if it not in some]


def _streams(ledger: Ledger, verdict: Verdict) -> None:
    """Checks each entry's place in its streams, its time, and whether it is marked as repeated."""
    view = catalogue()["stream_gaps"]
    gaps = f"select seq, stream from ({view.sql}) order by all limit {2 * MAX_FAULTS}"
    misplaced = [
        (seq, f"it is not at its place in its {stream}'s stream")
        for seq, stream in ledger.cursor().execute(gaps).fetchall()
    ]
    placed = ledger.cursor().execute(_ORDER, [sorted(COUNTED_ONCE)])
    for seq, is_backdated, is_mismarked in placed.fetchall():
        if is_backdated:
            misplaced.append((seq, "it was recorded before the entry before it"))
        if is_mismarked:
            misplaced.append((seq, "it is wrongly marked as a repetition, or as new"))
    for seq, fault in sorted(misplaced, key=lambda found: found[0]):
        verdict.fault(f"entry {seq}: {fault}")
    [(rows, last)] = ledger.cursor().execute("select count(*), max(seq) from log").fetchall()
    if rows != (last or 0):
        verdict.fault(f"the ledger's log has {rows} rows up to entry {last}; {_REMEDY['ledger']}")


def _tree(ledger: Ledger, size: int, roots: tree.Roots, verdict: Verdict) -> None:
    """Checks the stored nodes and heads against the leaves. The tree may have grown since."""
    nodes = [it for it in ledger.tree_table("tree_nodes") if it[1] + 1 << it[0] <= size]
    if sorted(roots.nodes) != nodes:
        verdict.fault(f"the ledger's tree has other nodes than its leaves; {_REMEDY['ledger']}")
    heads = [it for it in ledger.tree_table(_HEADS) if it[0] <= size]
    for at, root, peaks in heads:
        if roots.at.get(at) != (root, list(peaks)):
            verdict.fault(
                f"the ledger's tree has another root at {at} entries; {_REMEDY['ledger']}"
            )
    verdict.passed(
        f"the tree over them, {len(roots.nodes)} stored nodes and {len(heads)} roots, is theirs"
    )


def _signed(
    service: LedgerService,
    head: Head | None,
    signed: Sequence[SignedHead],
    roots: tree.Roots,
    verdict: Verdict,
) -> None:
    """Checks that the inbox's head and checkpoints are of this tree, and signed by the log's keys,
    each of which the one before it brought into force."""
    if head and (head.size not in roots.at or roots.at[head.size][0] != head.root):
        verdict.fault(f"the head in the inbox, of {head.size} entries, is not of this log")
    keys = service.signing.known()
    for size, note in signed:
        try:
            checkpoint = open_checkpoint(note, keys, log=service.inbox.log, size=size)
        except ValueError as error:
            verdict.fault(f"the checkpoint of {size} entries is not one of ours: {error}")
            continue
        if not re.fullmatch(SIGNATURE, note.rpartition("\n\n")[2]):
            verdict.fault(
                f"the checkpoint of {size} entries says more than was signed: whoever keeps it can"
                " verify no package with it"
            )
        if size not in roots.at or checkpoint.root != roots.at[size][0]:
            ended = ended_by(service.ledger, service.inbox, Head(size, checkpoint.root))
            if ended is None or not ended.is_shown:
                verdict.fault(
                    f"the checkpoint of {size} entries was signed over another log than this"
                )
            else:
                verdict.notes.append(
                    f"the checkpoint of {size} entries is of a past that was given up after entry"
                    f" {ended.said.fork}; entry {ended.said.seq} says why"
                )
    if keys is None:
        verdict.notes.append("the signing key is not here: signatures were not checked")
    _named_keys(service, keys, verdict)
    if keys is not None:
        _keys(service, keys, verdict)
    verdict.passed(f"{len(signed)} signed checkpoints are of this log")


def _named_keys(service: LedgerService, keys: LogKeys | None, verdict: Verdict) -> None:
    """Checks that the inbox names the keys that its rotations brought into force, and no other:
    where it names others alone, none is known, and no signature was checked."""
    in_force = [str(it.key) for it in keys or ()]
    for number, key in registered(service.inbox):
        if key not in in_force[number - 1 : number]:
            verdict.fault(f"the inbox names {key} as key {number} of the log, and no entry does")


def _keys(service: LedgerService, keys: LogKeys, verdict: Verdict) -> None:
    """Checks what rotated the log's keys, and that this machine's is one of them."""
    for seq, why in keys.refused:
        verdict.fault(f"entry {seq}: it rotates no key of this log: {why}")
    in_force = [str(it.key) for it in keys]
    if (strange := service.signing.stranger()) is not None:
        verdict.fault(
            f"this machine's signing key is {strange}, and the log names {in_force[-1]} and never"
            " that one: the file is another log's, or these stores are not the log that it signed;"
            " compare both with the key that was published"
        )
    elif not service.signing.holds(keys.current):
        verdict.notes.append(
            f"the signing key is not here: that the log's first key is {in_force[0]} is the inbox's"
            " own word; compare it with the one that was published"
        )


def _invariants(
    ledger: Ledger, verdict: Verdict, on_progress: OnProgress = lambda *_: None
) -> None:
    """Runs `queries/checks/`: what must be true of every ledger."""
    names = checks.names()
    for number, name in enumerate(names):
        on_progress(number, len(names))
        try:
            broken = checks.run(name, ledger)
        except duckdb.Error as error:
            verdict.fault(f"the check {name} cannot be run: {str(error).splitlines()[0]}")
        else:
            if broken is not None:
                verdict.fault(f"the check {broken}; {_REMEDY['ledger']}")
    verdict.passed(f"{len(names)} checks of queries/checks find nothing")


def _definitions(service: LedgerService, verdict: Verdict) -> None:
    """Checks that nothing in either store makes of its rows what this release does not. What a
    newer one may have added, it alone can tell from what somebody else has."""
    altered = {"ledger": definitions.altered_in_ledger(service.ledger)}
    try:
        schema.require_whole(service.inbox.tables(), "What the inbox defines was not compared")
        altered = {"inbox": definitions.altered_in_inbox(service.inbox), **altered}
    except InboxNewer as newer:
        verdict.undecided.append(newer.in_one_line)
    for store, found in altered.items():
        for said in found:
            verdict.fault(f"the {store} {said}; {_REMEDY[store]}")
    define = "inbox and ledger define" if len(altered) == 2 else "the ledger defines"
    verdict.passed(f"{define} what this release does, and no more")


def _artifacts(service: LedgerService, size: int, verdict: Verdict) -> None:
    """Reads every artifact that entries up to `size` name. One whose bytes our store should have
    and has not, or has others for, is a fault."""
    store = artifact_store(service.settings, service.inbox)
    judged: set[bytes] = set()  # of a million artifacts: some 100 MB
    away: set[bytes] = set()  # another system keeps them, as their entries say
    broken = 0
    for artifacts in named(service.inbox, size):
        for artifact in artifacts:
            key = bytes.fromhex(artifact.sha256)
            if key in judged:
                continue
            if not artifact.is_kept_here and not store.sizes([artifact.sha256]):
                away.add(key)
                continue
            judged.add(key)
            if fault := store.fault(artifact.sha256):
                broken += 1
                verdict.fault(f"entry {artifact.seq}: {fault}; {_REMEDY['artifact']}")
    notes = verdict.notes
    if broken:
        notes.append(f"missing or damaged: {broken} of {counted(len(judged), 'artifact')}")
    if not_checked := len(away - judged):
        notes.append(
            f"{counted(not_checked, 'artifact was', 'artifacts were')} not checked:"
            " their entries say that another system keeps them"
        )
    if unnamed := sum(bytes.fromhex(it) not in judged for it in store.names()):
        notes.append(
            f"{counted(unnamed, 'artifact is', 'artifacts are')} in the store that no entry names:"
            " that does no harm"
        )
    as_collected = ("artifact is as it was", "artifacts are as they were")
    verdict.passed(f"{counted(len(judged) - broken, *as_collected)} collected")
