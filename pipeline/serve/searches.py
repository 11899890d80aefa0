"""Finds sellers by part of a personal value: counted, limited, and in the log before it is shown.

Repeated searches by part of an e-mail address spell it out, whatever is masked. So
each such search is recorded before its answer is given, with the sellers that it hit; a person has
a few an hour; and where four eyes watch over what is shown, a second person has to agree. Who has a
whole tax id, address or telephone number learns nothing by it: these searches are free.
"""

import json
import threading
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.clearance import acts, clearances
from pipeline.clearance.acts import Asked
from pipeline.clearance.sought import DIGEST
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError
from pipeline.inbox.actors import named
from pipeline.log.actions import SEARCHED, By, action
from pipeline.log.actors import is_pseudonym
from pipeline.log.kinds.search import SEARCH
from pipeline.names import NOBODY
from pipeline.texts import is_phone, is_tax_id

VIEW: Final = "seller_identities"
PER_HOUR: Final = 20
"""Searches by part that one person has, over all their sessions."""
MOST: Final = 60
"""Sellers that one search finds."""

_TURN: Final = threading.Lock()
"""Of two sessions that search at once, each finds what the other has recorded."""
_RECENT: Final = f"""
    select body from entries
    where seq > $1 and kind = '{SEARCH}' and occurred_at > $2 order by seq"""


class TooManySearches(CallerError):
    """A person has no more searches by part in this hour."""


class Searcher(NamedTuple):
    """Who searches: their name, their session at the pages, and by what they came."""

    name: str | None
    session: str
    recorded_by: str


def is_whole(text: str) -> bool:
    """Whether a text is all of a tax id, a telephone number or an e-mail address, as far as its
    form tells."""
    before, at, domain = text.rpartition("@")
    return is_tax_id(text) or is_phone(text) or bool(at and before and "." in domain)


def by_whole(service: LedgerService, text: str, as_of: int | None) -> list[str]:
    """The sellers who have exactly this tax id, e-mail address or telephone number: free."""
    found: list[str] = []
    key = service.keys.of_taxpayer(text) if is_tax_id(text) else None
    if key:
        found += _read(service, as_of, where={"taxpayer_key": key.hex()})
    if "@" in text:
        near = _rows(service, as_of, contains={"email": text})
        found += [seller for seller, email in near if _same(email, text)]
    return [*dict.fromkeys(found)]


def by_part(
    service: LedgerService, text: str, as_of: int | None, searcher: Searcher
) -> dict[str, str]:
    """The sellers whose name has all words, in any order, or whose e-mail address has the text:
    seller -> `name` or `email`. Recorded before it returns.

    Raises `TooManySearches`, and `clearances.Awaited` where a second person has to agree. Empty
    where the ledger has masks alone.
    """
    if service.ledger.is_without_bodies:
        return {}
    service.require_unerased()
    with _TURN:
        return _recorded(service, text, as_of, searcher)


def _recorded(
    service: LedgerService, text: str, as_of: int | None, searcher: Searcher
) -> dict[str, str]:
    name, terms = searcher.name or NOBODY, acts.Terms.of(service.settings)
    # Where nobody logs in, whoever has used up a name takes another one.
    # One without a name counts for everybody: its row may have been taken out to search on.
    recent = [
        search
        for search in _recent(service)
        if not terms.has_logins or search["actor"] == name or is_pseudonym(search["actor"])
    ]
    if len(recent) >= PER_HOUR:
        raise TooManySearches(
            "Nothing was searched",
            f"{PER_HOUR} searches by part of a name or an address were made within an hour",
            "search by a whole id, tax id or address, or wait",
        )
    sought = DIGEST + service.keys.of_typed(text).hex()
    by = By(SEARCHED, name, searcher.recorded_by)
    clearance = clearances.settle(service.inbox, terms, _asked(sought), by)
    words = tuple(text.split())
    found = _read(service, as_of, contains={"seller_name": words}) if "@" not in text else []
    by_email = _read(service, as_of, contains={"email": text})
    hit = dict.fromkeys(found, "name") | dict.fromkeys(
        (it for it in by_email if it not in found), "email"
    )
    before = [it for it in recent if it["session"] == searcher.session]
    known = before[-1]["sellers"] if before else []
    draft = action(
        SEARCH,
        **by._asdict(),
        session=searcher.session,
        searches=len(before) + 1,
        sellers=[*dict.fromkeys([*known, *hit])][: MOST * PER_HOUR],
        sought=sought,
        **({} if clearance is None else clearance.named),
    )
    if clearance is None:
        service.inbox.append([draft])
    else:
        clearance.check(service.inbox.append([clearance.begun_by(draft)])[0])
    return hit


def _asked(sought: str) -> Asked:
    what = {"view": VIEW, "contains": sought}
    return Asked(acts.UNMASK, what, {"view": VIEW, "contains": acts.HIDDEN})


def _recent(service: LedgerService) -> list[dict[str, Any]]:
    since = service.inbox.now() - instants.HOUR
    after = service.inbox.last_before(since)
    recent = service.inbox.query(_RECENT, after, since)
    return [named(service.inbox, json.loads(body)) for (body,) in recent]


def _read(service: LedgerService, as_of: int | None, **chosen: Any) -> list[str]:
    return [seller for seller, _ in _rows(service, as_of, **chosen)]


def _rows(service: LedgerService, as_of: int | None, **chosen: Any) -> list[tuple[str, str | None]]:
    rows = service.reader.read(VIEW, as_of=as_of, limit=MOST, unmask=True, **chosen)
    sellers, emails = (rows.column(it).to_pylist() for it in ("seller_id", "email"))
    return [*zip(sellers, emails, strict=True)]


def _same(one: str | None, other: str) -> bool:
    return one is not None and one.strip().casefold() == other.strip().casefold()
