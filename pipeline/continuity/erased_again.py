"""Erases once more what an inbox was given back, or is to be."""

import contextlib
from collections.abc import Iterable, Iterator

from pipeline.errors import LedgerRefused, OperatorError
from pipeline.inbox import Inbox
from pipeline.inbox.erased import erase_again, unerased
from pipeline.keys import read_key
from pipeline.ledger.facts import Keys, facts_of, remains
from pipeline.log.entries import Entry
from pipeline.settings import Settings


def erase_what_came_back(inbox: Inbox, held: Iterable[Entry], keys: Keys | None) -> None:
    """Puts what stays of erased entries in the place of bytes that the inbox has again.

    `held`: entries of which another store has what stays. Of the others that the inbox's erasures
    name it follows from the bytes: a ledger may have an erasure, and not have been made again
    since. Each erasure fixes what stays by a digest, so other `keys` than it was made under change
    nothing; None where they are not here. Raises `InboxUnavailable`.
    """
    erase_again(inbox, held)
    if keys is not None:
        _, there = unerased(inbox)
        erase_again(inbox, _what_stays(there, keys))


def stays_of(entry: Entry, keys: Keys, *, says_why: bool = False) -> Entry:
    """The entry with what stays of it in the place of the bytes that came; `says_why` as for
    `remains.of`. Raises `LedgerRefused` where it is not as it was recorded."""
    stays = remains.of(facts_of(entry, keys), says_why=says_why)
    return entry._replace(body=stays, salt=None)


def keys_here(settings: Settings, inbox: Inbox) -> Keys | None:
    """The keys under which entries are erased on this machine; None without the one of tax ids."""
    with contextlib.suppress(OperatorError):
        return Keys(values=inbox.log_key, taxpayer=read_key(settings.taxpayer_key_file))
    return None


def _what_stays(entries: Iterable[Entry], keys: Keys) -> Iterator[Entry]:
    for entry in entries:
        with contextlib.suppress(LedgerRefused):  # not as it was recorded: nothing vouches for it
            for says_why in (False, True):  # the erasure's digest says which
                yield stays_of(entry, keys, says_why=says_why)
