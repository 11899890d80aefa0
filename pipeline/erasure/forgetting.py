"""Erases what came of a seller: bytes in the inbox, artifacts, and what the links to its page say.

    the links to the seller's page end: it records nothing more
    in one commit bytes go, what stays takes their place, and an erasure is recorded that fixes it
    artifacts that no other entry names are removed
    the inbox's file is cut down to what it holds
    each ledger that follows comes upon the erasure, and is made again from the inbox

After a crash at any step the same command goes on: it finds what is still there.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple

from pipeline.clearance import acts, clearances
from pipeline.erasure.finding import Found, find
from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import artifact_store, digests_named
from pipeline.inbox.erased import cut, erasing
from pipeline.keys import read_key
from pipeline.ledger.facts import Keys, facts_of
from pipeline.ledger.facts import remains as kept
from pipeline.log import erasures
from pipeline.log.artifacts import ArtifactStore, is_digest
from pipeline.log.entries import Draft, Entry
from pipeline.settings import Settings

_REVOKE_LINKS: Final = """
    update journeys set email = null, return_url = null, code_sha256 = null,
        revoked_at = coalesce(revoked_at, $1)
    where seller_id = $2"""
_THEIRS: Final = "where ref in (select ref from journeys where seller_id = $1)"
_FORGET_SESSIONS: Final = f"delete from journey_sessions {_THEIRS}"
_SCREENS: Final = f"select detail from journey_flow {_THEIRS} and detail is not null"
_FORGET_VISITS: Final = f"delete from journey_flow {_THEIRS}"


SETTLE_SECONDS: Final = 20.0
"""After bytes were removed. Whoever found them kept before, and is about to record an entry of
somebody else that names them, has done so by then: nobody's request takes longer. They are put back
for that entry."""
SPOOLED_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was erased, and where it may still be."""

    kinds: dict[str, int]
    """How many entries of each kind."""
    artifacts: int  # that were removed
    shared_artifacts: int  # that another entry names, too
    seqs: tuple[int, ...]
    """Of the erasures that say so; none where nothing was left to erase."""
    exports: tuple[int, ...]
    """Entries of packages that were made of the seller: they are with whoever has them."""
    former: tuple[Path, ...]
    """Former files of this machine, set aside, that may hold it."""
    is_cut: bool
    """Whether the inbox's file was cut down: somebody who reads it holds that up."""

    @property
    def entries(self) -> int:
        """How many entries."""
        return sum(self.kinds.values())


def forget(
    settings: Settings,
    inbox: Inbox,
    seller_id: str,
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
    is_dry_run: bool = False,
    is_key_lost: bool = False,
) -> Forgotten:
    """Erases what came of a seller, or says what would be. `is_key_lost`: the key of tax ids of
    earlier erasures is gone for good, so theirs and this one's no longer compare.

    Raises `CallerError` where it may not be erased, `clearances.Awaited` where that waits for a
    second person, `WrongUsage` without a reason or a name, and `InboxUnavailable`.
    """
    keys = Keys(values=inbox.log_key, taxpayer=_taxpayer_key(settings))
    if not is_key_lost:
        _require_one_key(settings, inbox, keys)
    found = find(inbox, keys, seller_id)
    former = tuple(former_files(settings))
    if is_dry_run:
        digests = artifact_store(settings, inbox).sizes([*_artifacts(inbox, found)])
        return Forgotten(found.kinds, len(digests), 0, (), tuple(found.exports), former, True)
    clearance = _cleared(settings, inbox, found, reason, actor, recorded_by)
    said = _Said(clearance, reason, actor, recorded_by)
    _erasure({}, seller_id, None, keys, said)  # raises before anything is done
    _forget_links(inbox, seller_id)
    seqs: tuple[int, ...] = ()
    if found.entries:
        found = find(inbox, keys, seller_id)  # with what its page recorded until then
        seqs = _erase(inbox, keys, found, said)
    removed, shared = _remove_artifacts(settings, inbox, _artifacts(inbox, found))
    inbox.execute(_FORGET_VISITS, seller_id)  # last: nothing else names what a screen had typed
    return Forgotten(
        kinds=found.kinds,
        artifacts=removed,
        shared_artifacts=shared,
        seqs=seqs,
        exports=tuple(found.exports),
        former=former,
        is_cut=cut(inbox, settings.inbox),
    )


class _Said(NamedTuple):
    """What erasures say of why, by whom, and by whose word."""

    clearance: clearances.Clearance | None
    reason: str
    actor: str | None
    recorded_by: str


def _cleared(
    settings: Settings,
    inbox: Inbox,
    found: Found,
    reason: str,
    actor: str | None,
    recorded_by: str,
) -> clearances.Clearance | None:
    """The second person's word for erasing what was found, where it needs one."""
    if not found.entries:
        return None
    return clearances.settle(
        inbox,
        acts.Terms.of(settings),
        acts.erasure(found.seller_id),
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
    )


def _erase(
    inbox: Inbox,
    keys: Keys,
    found: Found,
    said: _Said,
) -> tuple[int, ...]:
    """Erases the bytes of entries, process by process; the seqs of the erasures that say so."""
    clearance = said.clearance
    seqs: list[int] = []
    for process_id, entries in _portions(found):
        remains = {it.seq: kept.of(facts_of(it, keys)) for it in entries}
        draft = _erasure(remains, found.seller_id, process_id, keys, said)
        if clearance is not None and not seqs:
            draft = clearance.begun_by(draft)
        claim, *besides = erasing(remains, draft.ingest_key)
        if not inbox.change(claim, besides, [draft]) or inbox.written is None:
            raise CallerError(
                "Not all of it was erased",
                "another run is erasing the same at this moment",
                "run it again: it goes on with what is left",
            )
        seqs.append(inbox.written.seq)
    return tuple(seqs)


def _erasure(
    remains: Mapping[int, bytes], seller_id: str, process_id: str | None, keys: Keys, said: _Said
) -> Draft:
    clearance = said.clearance
    return erasures.erasure(
        remains,
        reason=said.reason if clearance is None else clearance.reason,
        actor=said.actor,
        recorded_by=said.recorded_by,
        seller_id=seller_id,
        process_id=process_id,
        taxpayer_mark=keys.taxpayer_mark,
        **({} if clearance is None else clearance.named),
    )


def _portions(found: Found) -> Iterator[tuple[str | None, Sequence[Entry]]]:
    """(process, entries of it), as many as one erasure names."""
    for process_id, entries in found.entries.items():
        for start in range(0, len(entries), erasures.MOST_ENTRIES):
            yield process_id, entries[start : start + erasures.MOST_ENTRIES]


def _forget_links(inbox: Inbox, seller_id: str) -> None:
    """Ends the links to the seller's page, and what is open there."""
    inbox.execute(_REVOKE_LINKS, inbox.now(), seller_id)
    inbox.execute(_FORGET_SESSIONS, seller_id)


def _artifacts(inbox: Inbox, found: Found) -> frozenset[str]:
    """Those that entries of the seller name, and screens of its page that were shown because
    something was wrong: with what was typed, and named by no entry."""
    details = [detail for (detail,) in inbox.query(_SCREENS, found.seller_id)]
    return found.artifacts | {it for detail in details for it in detail.split() if is_digest(it)}


def _remove_artifacts(
    settings: Settings, inbox: Inbox, artifacts: frozenset[str]
) -> tuple[int, int]:
    """Removes those that no entry names any more; how many, and how many another one names."""
    if not artifacts:
        return 0, 0
    last = inbox.last()[0]
    still_named = digests_named(inbox, last)
    shared = {it for it in artifacts if bytes.fromhex(it) in still_named}
    store = artifact_store(settings, inbox)
    with ExitStack() as spools:
        removed: dict[str, IO[bytes]] = {}
        for digest in sorted(artifacts - shared):
            spool = spools.enter_context(tempfile.SpooledTemporaryFile(SPOOLED_BYTES))
            spool.writelines(store.chunks(digest))
            if store.remove(digest):
                removed[digest] = spool
        if removed:
            time.sleep(SETTLE_SECONDS)
            _put_back(inbox, store, removed, last, shared)
            # A repeat that was under way may have brought some back: these go again, and whoever
            # found them meanwhile has them put back as well.
            if [it for it in removed if store.remove(it)]:
                time.sleep(SETTLE_SECONDS)
                _put_back(inbox, store, removed, last, shared)
        return len(removed), len(shared)


def _put_back(
    inbox: Inbox,
    store: ArtifactStore,
    removed: dict[str, IO[bytes]],
    last: int,
    shared: set[str],
) -> None:
    """Stores what entries after `last` name of what was removed, and counts it as shared."""
    for digest in {it.hex() for it in digests_named(inbox, after=last)} & removed.keys():
        removed[digest].seek(0)
        store.keep(removed.pop(digest).read())
        shared.add(digest)


def _taxpayer_key(settings: Settings) -> bytes:
    """That of the log's ledgers: with another, what stays would compare with nothing."""
    path = settings.taxpayer_key_file
    if not path.exists():
        raise OperatorError(
            "Nothing was erased",
            f"{path} is not there: what stays of tax ids is compared under that key",
            "run it where the dashboard runs, or bring the key from there",
        )
    return read_key(path)


def _require_one_key(settings: Settings, inbox: Inbox, keys: Keys) -> None:
    """Under two keys what stays of tax ids would compare with itself nowhere, for good."""
    marks = erasures.taxpayer_marks(body for (body,) in inbox.query(erasures.BODIES))
    if marks and keys.taxpayer_mark not in marks:
        raise CallerError(
            "Nothing was erased",
            f"{settings.taxpayer_key_file} holds another key of tax ids than the one under which"
            " sellers were forgotten before, and those who come back are found by one key",
            "bring that file from where `prazo forget` ran before, or from the `keys` of a backup;"
            " if it is lost for good, say --key-lost",
        )


def former_files(settings: Settings) -> list[Path]:
    """Former files of this machine's stores, which nothing opens any more."""
    stores = [settings.ledger, *([Path(settings.inbox)] if settings.has_inbox_file else [])]
    return sorted(it for store in stores for it in store.parent.glob(f"{store.name}.set-aside-*"))
