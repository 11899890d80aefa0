"""Decides which pages and which views each role opens, by what their files say. No other I/O.

Officers, auditors and administrators open everything. An analyst's questions are about many
sellers at once, so analysts open pages whose `PAGE` says so, views whose header says
`open to: analysts`, and nothing else: a new view stays closed to them until it says so.
"""

from typing import Final

from app_pages.door.pages import pages
from pipeline.ledger.views.catalogue import public
from pipeline.serve.roles import Person, Role

_OPENS_EVERYTHING: Final = frozenset({Role.OFFICER, Role.AUDITOR, Role.ADMIN})


def may_open(person: Person, page: str) -> bool:
    """`page`: the stem of its file under `app_pages/pages/`."""
    return _opens(person, page in pages() and pages()[page].for_analysts)


def may_read(person: Person, view: str) -> bool:
    """Whether the rows of a view are open to a person, wherever a page shows them."""
    return _opens(person, view in public() and public()[view].for_analysts)


def _opens(person: Person, is_for_analysts: bool) -> bool:
    if person.roles & _OPENS_EVERYTHING:
        return True
    return Role.ANALYST in person.roles and is_for_analysts
