"""Erases what came of a seller: bytes in the inbox, artifacts, and what the links to its page say.

    in one commit bytes go, what stays takes their place, and an erasure is recorded that fixes it
    artifacts that no other entry names are removed
    the inbox's file is cut down to what it holds
    each ledger that follows comes upon the erasure, and is made again from the inbox

After a crash at any step the same command goes on: it finds what is still there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.clearance import acts, clearances
from pipeline.contract.body import JsonValue
from pipeline.erasure.finding import Found, find
from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import artifact_store, digests_named
from pipeline.inbox.erased import cut, erasing
from pipeline.keys import read_key
from pipeline.ledger.facts import Keys, facts_of
from pipeline.ledger.facts import remains as kept
from pipeline.log import erasures
from pipeline.log.entries import Entry
from pipeline.settings import Settings

_REVOKE_LINKS: Final = """
    update journeys set email = null, return_url = null, code_sha256 = null,
        revoked_at = coalesce(revoked_at, $1)
    where seller_id = $2"""
_FORGET_VISITS: Final = (
    "delete from journey_sessions where ref in (select ref from journeys where seller_id = $1)",
    "delete from journey_flow where ref in (select ref from journeys where seller_id = $1)",
)


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
) -> Forgotten:
    """Erases what came of a seller, or says what would be.

    Raises `CallerError` where it may not be erased, `clearances.Awaited` where that waits for a
    second person, `WrongUsage` without a reason or a name, and `InboxUnavailable`.
    """
    keys = Keys(values=inbox.log_key, taxpayer=_taxpayer_key(settings))
    found = find(inbox, keys, seller_id)
    former = tuple(former_files(settings))
    if is_dry_run:
        digests = len(found.artifacts)
        return Forgotten(found.kinds, digests, 0, (), tuple(found.exports), former, True)
    seqs = _erase(settings, inbox, keys, found, reason, actor, recorded_by)
    _forget_links(inbox, seller_id)
    removed, shared = _remove_artifacts(settings, inbox, found)
    return Forgotten(
        kinds=found.kinds,
        artifacts=removed,
        shared_artifacts=shared,
        seqs=seqs,
        exports=tuple(found.exports),
        former=former,
        is_cut=cut(inbox, settings.inbox),
    )


def _erase(
    settings: Settings,
    inbox: Inbox,
    keys: Keys,
    found: Found,
    reason: str,
    actor: str | None,
    recorded_by: str,
) -> tuple[int, ...]:
    """Erases the bytes of entries, process by process; the seqs of the erasures that say so."""
    if not found.entries:
        return ()
    clearance = clearances.settle(
        inbox,
        acts.Terms.of(settings),
        acts.erasure(found.seller_id),
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
    )
    said: dict[str, JsonValue] = {}
    if clearance is not None:
        said, reason = clearance.named, clearance.reason
    seqs: list[int] = []
    for process_id, entries in _portions(found):
        remains = {it.seq: kept.of(facts_of(it, keys)) for it in entries}
        draft = erasures.erasure(
            remains,
            reason=reason,
            actor=actor,
            recorded_by=recorded_by,
            seller_id=found.seller_id,
            process_id=process_id,
            taxpayer_mark=keys.taxpayer_mark,
            **said,
        )
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


def _portions(found: Found) -> Iterator[tuple[str | None, Sequence[Entry]]]:
    """(process, entries of it), as many as one erasure names."""
    for process_id, entries in found.entries.items():
        for start in range(0, len(entries), erasures.MOST_ENTRIES):
            yield process_id, entries[start : start + erasures.MOST_ENTRIES]


def _forget_links(inbox: Inbox, seller_id: str) -> None:
    """What the seller's page keeps of a seller beside the log."""
    inbox.execute(_REVOKE_LINKS, inbox.now(), seller_id)
    for statement in _FORGET_VISITS:
        inbox.execute(statement, seller_id)


def _remove_artifacts(settings: Settings, inbox: Inbox, found: Found) -> tuple[int, int]:
    """Removes those that no entry names any more; how many, and how many another one names."""
    if not found.artifacts:
        return 0, 0
    still_named = digests_named(inbox)
    shared = {it for it in found.artifacts if bytes.fromhex(it) in still_named}
    store = artifact_store(settings, inbox)
    return sum(store.remove(it) for it in sorted(found.artifacts - shared)), len(shared)


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


def former_files(settings: Settings) -> list[Path]:
    """Former files of this machine's stores, which nothing opens any more."""
    stores = [settings.ledger, *([Path(settings.inbox)] if settings.has_inbox_file else [])]
    return sorted(it for store in stores for it in store.parent.glob(f"{store.name}.set-aside-*"))
