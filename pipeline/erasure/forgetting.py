"""Erases what came of a seller: bytes in the inbox, artifacts, and what the links to its page say.

    1. links to the seller's page end, so that it records nothing more
    2. one commit removes the bytes, puts in their place what remains of them, and records an
       erasure, which fixes these remains
    3. artifacts that no other entry names are put aside, and deleted once no entry can name them:
       those that the entries named, and those that came for the seller and were never recorded
    4. the inbox's file is cut down to what it still holds
    5. each ledger that follows the inbox finds the erasure, and is made again

After a crash at any step the same command goes on: it finds what is still there.
"""

import contextlib
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.clearance import acts, clearances
from pipeline.erasure.finding import Found, artifacts_of, find, person_of, recorded_again
from pipeline.errors import CallerError, NoRoom, OperatorError, WrongUsage
from pipeline.files.disk import make_folder
from pipeline.files.locks import locked
from pipeline.inbox import Inbox, schema
from pipeline.inbox.artifacts import artifact_store, digests_named, owners
from pipeline.inbox.artifacts.owners import Unnamed
from pipeline.inbox.erased import cut, erased_entries, erasing
from pipeline.keys import read_key
from pipeline.ledger.facts import Keys, facts_of
from pipeline.ledger.facts import remains as kept
from pipeline.log import erasures
from pipeline.log.actions import By
from pipeline.log.artifacts import ArtifactDamaged, ArtifactStore, FolderArtifacts, is_digest
from pipeline.log.entries import Draft, Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.erasure import ERASURE
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.settings import Settings

_REVOKE_LINKS: Final = """
    update journeys set email = null, return_url = null, code_sha256 = null,
        revoked_at = coalesce(revoked_at, $1)
    where seller_id = $2"""
_THEIRS: Final = "where ref in (select ref from journeys where seller_id = $1)"
_FORGET_SESSIONS: Final = f"delete from journey_sessions {_THEIRS}"
_SCREENS: Final = f"select detail from journey_flow {_THEIRS} and detail is not null"
_FORGET_VISITS: Final = f"delete from journey_flow {_THEIRS}"
_OPEN_AGAIN: Final = f"""
    select distinct seller_id from journeys
    where (revoked_at is null or email is not null) and exists (
        select 1 from entries
        where kind = '{ERASURE}' and seller_id = journeys.seller_id and occurred_at > minted_at)"""

SETTLE_SECONDS: Final = 20.0
"""How long to wait after artifacts were removed. A request for another seller may have found the
same bytes in the store just before, and records an entry that names them; no request takes longer
than this. The bytes are put back for such an entry."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was erased, and where it may still be."""

    kinds: dict[str, int]
    """How many entries of each kind."""
    artifacts: int  # that were removed
    shared_artifacts: int  # that another entry names, too
    seqs: tuple[int, ...]
    """The erasures that were recorded; empty where nothing was left to erase."""
    exports: tuple[int, ...]
    """Entries of packages that were made of the seller: whoever has these still has the data."""
    former: tuple[Path, ...]
    """Former files of this machine, set aside, that may hold the data."""
    unnamed: Unnamed
    """What is in the store though nothing names it: of others, and of nobody."""
    is_cut: bool
    """Whether the inbox's file was cut down; a program that reads the file can hold that up."""

    @property
    def entries(self) -> int:
        """How many entries, of all kinds."""
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
    is_sweeping: bool = False,
) -> Forgotten:
    """Erases what came of a seller; with `is_dry_run`, only says what would be erased.
    `is_key_lost`: the key of tax ids of earlier erasures is gone for good, so that tax ids of those
    and of this erasure cannot be compared. `is_sweeping`: bytes go, too, that nothing names and of
    which nobody knows whose they are.

    Raises `CallerError` where it may not be erased, `clearances.Awaited` where that waits for a
    second person, `WrongUsage` without a reason or a name, and `InboxUnavailable`.
    """
    schema.require_whole(inbox.tables(), "Nothing was erased")  # it may have more of the person
    keys = Keys(values=inbox.log_key, taxpayer=_taxpayer_key(settings))
    if not is_key_lost:
        _require_one_key(settings, inbox, keys)
    found = find(inbox, keys, seller_id)
    _require_silent(inbox, keys, seller_id, reason)
    former = tuple(former_files(settings))
    if is_dry_run:
        store = artifact_store(settings, inbox)
        digests = store.sizes([*_artifacts(inbox, found)])
        return Forgotten(
            kinds=found.kinds,
            artifacts=len(digests),
            shared_artifacts=0,
            seqs=(),
            exports=tuple(found.exports),
            former=former,
            unnamed=owners.unnamed(inbox, store),
            is_cut=True,
        )
    by = By(reason, actor, recorded_by)
    clearance = _cleared(settings, inbox, found, by)
    if clearance is not None:
        by = by._replace(reason=clearance.reason)
    said = _Said(clearance, by)
    _erasure({}, seller_id, None, keys, said)  # raises before anything is done
    begun_at = inbox.now()
    _forget_links(inbox, seller_id)
    seqs: tuple[int, ...] = ()
    if not found.is_none:
        found = find(inbox, keys, seller_id)  # with what its page recorded until then
        seqs = _erase(inbox, keys, found, said)
    store = artifact_store(settings, inbox)
    store.partial(is_removed=True)
    theirs = _artifacts(inbox, found)
    if is_sweeping:
        theirs |= {*owners.unnamed(inbox, store).of_nobody}
    removed, shared = _remove_artifacts(settings, inbox, theirs)
    # Last: nothing else names what a screen had typed, or what came and was never recorded.
    inbox.execute(_FORGET_VISITS, seller_id)
    owners.forget_rows(inbox, seller_id, begun_at - round(SETTLE_SECONDS * instants.SECOND))
    return Forgotten(
        kinds=found.kinds,
        artifacts=removed,
        shared_artifacts=shared,
        seqs=seqs,
        exports=tuple(found.exports),
        former=former,
        unnamed=owners.unnamed(inbox, store),
        is_cut=cut(inbox, settings.inbox),
    )


def _require_silent(inbox: Inbox, keys: Keys, seller_id: str, reason: str) -> None:
    """An erasure's own reason stays for good, so it must not quote who is forgotten."""
    if person_of(inbox.find(seller_id=seller_id), keys).is_quoted_in(reason, is_theirs=True):
        raise WrongUsage(
            "Nothing was erased",
            "the reason quotes the person, and it would stay in the log",
            "say why without a name, a number or an address of theirs",
        )


class _Said(NamedTuple):
    """With whose consent the data is erased, by whom, and why, for the entries of erasures."""

    clearance: clearances.Clearance | None
    by: By


def _cleared(settings: Settings, inbox: Inbox, found: Found, by: By) -> clearances.Clearance | None:
    """The second person's consent to erase what was found, where that is needed."""
    if found.is_none:
        return None
    return clearances.settle(inbox, acts.Terms.of(settings), acts.erasure(found.seller_id), by)


def _erase(inbox: Inbox, keys: Keys, found: Found, said: _Said) -> tuple[int, ...]:
    """Erases the bytes of entries, process by process; the seqs of the erasures that say so."""
    clearance = said.clearance
    seqs: list[int] = []
    for seller_id, process_id, entries in _portions(found):
        remains = {}
        for entry in entries:
            facts, says_why = facts_of(entry, keys), entry.seq in found.with_why
            remains[entry.seq] = kept.of(facts, says_why=says_why)
        draft = _erasure(remains, seller_id, process_id, keys, said)
        if clearance is not None and not seqs:
            draft = clearance.begun_by(draft)
        claim, *besides = erasing(remains, draft.ingest_key)
        if not inbox.change(claim, besides, [draft]) or inbox.written is None:
            raise _not_all("another run is erasing the same")
        seqs.append(inbox.written.seq)
    return tuple(seqs)


def _erasure(
    remains: Mapping[int, bytes],
    seller_id: str | None,
    process_id: str | None,
    keys: Keys,
    said: _Said,
) -> Draft:
    clearance = said.clearance
    return erasures.erasure(
        remains,
        **said.by._asdict(),
        seller_id=seller_id,
        process_id=process_id,
        taxpayer_mark=keys.taxpayer_mark,
        **({} if clearance is None else clearance.named),
    )


def _portions(found: Found) -> Iterator[tuple[str | None, str | None, Sequence[Entry]]]:
    """(seller, process, some of its entries): as many entries as one erasure may name. Of entries
    beside the seller's own it names none: nobody else is forgotten."""
    for seller_id, by_process in ((found.seller_id, found.entries), (None, found.elsewhere)):
        for process_id, entries in by_process.items():
            for start in range(0, len(entries), erasures.MOST_ENTRIES):
                yield seller_id, process_id, entries[start : start + erasures.MOST_ENTRIES]


def _forget_links(inbox: Inbox, seller_id: str) -> None:
    """Ends the links to the seller's page, and the sessions that are open there."""
    inbox.execute(_REVOKE_LINKS, inbox.now(), seller_id)
    inbox.execute(_FORGET_SESSIONS, seller_id)


def _artifacts(inbox: Inbox, found: Found) -> frozenset[str]:
    """The artifacts that entries of the seller name, and the screens on which the seller's page
    showed a fault in what was typed: no entry names those."""
    details = [detail for (detail,) in inbox.query(_SCREENS, found.seller_id)]
    return found.artifacts | {it for detail in details for it in detail.split() if is_digest(it)}


def put_aside(settings: Settings) -> Path:
    """The folder in which removed artifacts lie until no entry can name them any more. After a run
    that was cut off something is in it: the next run, of any seller, puts back what was named
    since, and deletes the rest."""
    return settings.ledger.with_name(f"{settings.ledger.name}.erasing")


def _remove_artifacts(
    settings: Settings, inbox: Inbox, artifacts: frozenset[str]
) -> tuple[int, int]:
    """Removes the artifacts that no entry names any more. How many were removed, and how many stay
    since another entry names them."""
    folder = put_aside(settings)
    if not artifacts and not folder.exists():
        return 0, 0
    make_folder(folder.parent)
    with locked(folder.with_name(f".{folder.name}.lock"), _not_all("another run is erasing")):
        aside = FolderArtifacts(folder)
        artifacts |= {*aside.names()}  # by now no other run puts any more there
        found = _removed(inbox, artifact_store(settings, inbox), aside, artifacts)
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _removed(
    inbox: Inbox, store: ArtifactStore, aside: FolderArtifacts, artifacts: frozenset[str]
) -> tuple[int, int]:
    last = inbox.last()[0]
    still_named = digests_named(inbox, last)
    shared = {it for it in artifacts if bytes.fromhex(it) in still_named}
    _put_back(store, aside, shared)  # what a run that was cut off had removed
    removed = {it for it in sorted(artifacts - shared) if _moved(store, aside, it)}
    if removed:
        time.sleep(SETTLE_SECONDS)
        shared |= _named_since(inbox, store, aside, removed, last)
        # A request under way may have stored some of them again: these are removed again, and put
        # back for whoever has named them meanwhile.
        if [it for it in removed - shared if store.remove(it)]:
            time.sleep(SETTLE_SECONDS)
            shared |= _named_since(inbox, store, aside, removed, last)
    for digest in [*aside.names()]:
        aside.remove(digest)
    return len(removed - shared), len(shared)


def _moved(store: ArtifactStore, aside: FolderArtifacts, digest: str) -> bool:
    """Puts an artifact aside, durably before it leaves the store. False where it is in neither."""
    try:
        with contextlib.suppress(ArtifactDamaged):  # nobody would get such bytes back
            if (content := store.read(digest)) is not None:
                aside.keep(content)
    except NoRoom as error:
        raise NoRoom(
            "Not all of it was erased",
            error.why,
            "make room there, then run it again: it goes on with what is left",
        ) from None
    return store.remove(digest) or bool(aside.sizes([digest]))


def _named_since(
    inbox: Inbox, store: ArtifactStore, aside: FolderArtifacts, removed: set[str], last: int
) -> set[str]:
    """Those of the removed artifacts that entries after `last` name; they are stored again."""
    named = removed & {it.hex() for it in digests_named(inbox, after=last)}
    _put_back(store, aside, named)
    return named


def _put_back(store: ArtifactStore, aside: FolderArtifacts, digests: Iterable[str]) -> None:
    for digest in digests:
        if (content := aside.read(digest)) is not None:
            store.keep(content)


def _not_all(why: str) -> CallerError:
    return CallerError(
        "Not all of it was erased",
        f"{why} at this moment",
        "run it again: it goes on with what is left",
    )


def _taxpayer_key(settings: Settings) -> bytes:
    """The key of tax ids that the log's ledgers use: under another key, what remains could not be
    compared with anything."""
    path = settings.taxpayer_key_file
    if not path.exists():
        raise OperatorError(
            "Nothing was erased",
            f"{path} is not there: what stays of tax ids is compared under that key",
            "run it where the dashboard runs, or bring the key from there",
        )
    return read_key(path)


def _require_one_key(settings: Settings, inbox: Inbox, keys: Keys) -> None:
    """Raises `CallerError` where earlier erasures used another key of tax ids: what remains under
    two keys could never be compared."""
    marks = erasures.taxpayer_marks(body for (body,) in inbox.query(erasures.BODIES))
    if marks and keys.taxpayer_mark not in marks:
        raise CallerError(
            "Nothing was erased",
            f"{settings.taxpayer_key_file} holds another key of tax ids than the one under which"
            " sellers were forgotten before, and those who come back are found by one key",
            "bring that file from where `prazo forget` ran before, or from the `keys` of a backup;"
            " if it is lost for good, say --key-lost",
        )


def back_beside_the_log(settings: Settings, inbox: Inbox) -> set[str]:
    """Forgotten sellers of whom artifacts, or links from before, are there all the same. They came
    with an older copy: no ledger knows of them."""
    erased = [it for it in erased_entries(inbox) if it.kind == COLLECTION]
    keys = Keys(values=inbox.log_key, taxpayer=b"")
    named_by = {digest: it.seller_id or "" for it in erased for digest in artifacts_of([it], keys)}
    others = digests_named(inbox) if named_by else set()
    theirs = [it for it in named_by if bytes.fromhex(it) not in others]
    there = artifact_store(settings, inbox).sizes(theirs)
    return {named_by[it] for it in there} | {it for (it,) in inbox.query(_OPEN_AGAIN)}


def recorded_again_since(inbox: Inbox) -> dict[str, list[int]]:
    """Forgotten sellers of whom an inbox has entries again that it had lost when they were
    forgotten: no erasure names these."""
    if not inbox.find(kind=RECONCILIATION):
        return {}
    erasures_made = inbox.find(kind=ERASURE)
    forgotten = {it.seller_id: it.occurred_at for it in erasures_made if it.seller_id is not None}
    found = {it: recorded_again(inbox, it, until) for it, until in forgotten.items()}
    return {seller_id: seqs for seller_id, seqs in found.items() if seqs}


def former_files(settings: Settings) -> list[Path]:
    """Former files of this machine's stores, which nothing opens any more."""
    stores = [settings.ledger, *([Path(settings.inbox)] if settings.has_inbox_file else [])]
    return sorted(it for store in stores for it in store.parent.glob(f"{store.name}.set-aside-*"))
