"""Decides what a person may do on the dashboard, by the roles that their claims give them. Pure.

The map is a file: one `role:claim:value` a line. A person has every role whose line matches one of
their claims; without a role there is no access at all.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from pipeline.errors import SettingsError
from pipeline.files import RereadFile


class Role(StrEnum):
    """What somebody is here for."""

    OFFICER = "officer"  # watches deadlines, decides, speaks with sellers
    ANALYST = "analyst"  # studies denials and outcomes; needs nobody's name
    AUDITOR = "auditor"  # looks for faults, and takes evidence out
    ADMIN = "admin"


class Act(StrEnum):
    """What is not open to everyone who may look; each is an entry in the log."""

    UNMASK = "unmask"  # see personal data, with a reason
    ANNOTATE = "annotate"  # write notes, assign processes
    EXPORT = "export"  # take evidence out


_ALL_PAGES: Final = frozenset(
    {
        "overview",
        "watchlist",
        "findings",
        "process",
        "seller",
        "submissions",
        "denials",
        "evidence",
        "ledger",
        "dictionary",
    }
)
_PAGES: Final[Mapping[Role, frozenset[str]]] = {
    Role.OFFICER: _ALL_PAGES,
    # No page on one seller or process: an analyst's questions are about many.
    Role.ANALYST: _ALL_PAGES - {"process", "seller", "evidence", "watchlist"},
    Role.AUDITOR: _ALL_PAGES,
    Role.ADMIN: _ALL_PAGES,
}
_NOT_FOR_ANALYSTS: Final = frozenset(
    {
        "assignments",
        "bank_accounts",
        "collections",
        "evidence_coverage",
        "expired_processes",
        "log_entries",
        "next_actions",
        "notes",
        "open_processes",
        "process_contents",
        "process_journeys",
        "process_phases",
        "process_state",
        "seller_contents",
        "seller_state",
        "timeline",
        "watchlist",
    }
)
"""Views of the pages that are not theirs: one process, one seller, names and what people wrote."""

_ACTS: Final[Mapping[Role, frozenset[Act]]] = {
    Role.OFFICER: frozenset({Act.UNMASK, Act.ANNOTATE, Act.EXPORT}),
    Role.ANALYST: frozenset(),
    Role.AUDITOR: frozenset({Act.UNMASK, Act.EXPORT}),
    Role.ADMIN: frozenset(Act),
}

MAX_NAME_CHARACTERS: Final = 255
_LINE = re.compile(r"([a-z]+):([^:\s]+):(\S.*)")


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever looks at a page. The name is the actor in the log; None is nobody known."""

    name: str | None
    roles: frozenset[Role]

    def may_see(self, page: str) -> bool:
        """`page`: the stem of its file under `app_pages/`."""
        return any(page in _PAGES[role] for role in self.roles)

    def may_read(self, view: str) -> bool:
        """Whether the rows of a view are open to them, where pages show any view."""
        return any(role is not Role.ANALYST or view not in _NOT_FOR_ANALYSTS for role in self.roles)

    def may(self, act: Act) -> bool:
        return any(act in _ACTS[role] for role in self.roles)


LOCAL: Final = Person(None, frozenset({Role.ADMIN}))
"""Whoever sits at this machine while nobody logs in: they give a name with each act."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the map: a claim with that value gives the role."""

    role: Role
    claim: str  # dots lead into nested claims, as in realm_access.roles
    value: str

    def fits(self, claims: Mapping[str, Any]) -> bool:
        found: Any = claims
        for name in self.claim.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        if self.claim == "email" and claims.get("email_verified") is not True:
            return False  # anybody may write any address into a profile of their own
        return self.value in found if isinstance(found, list | tuple) else found == self.value


class RoleMap:
    """The rules of a file, read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Raises `SettingsError` where the file cannot be read or a line of it is wrong."""
        self._file = RereadFile(path, lambda text: _parse(text, path))

    def person(self, claims: Mapping[str, Any]) -> Person | None:
        """Whom the claims speak of, with their roles; None where no line of the map fits."""
        roles = frozenset(rule.role for rule in self._file.get() if rule.fits(claims))
        name = _name(claims)
        return Person(name, roles) if roles and name else None


def _name(claims: Mapping[str, Any]) -> str | None:
    """The verified address, else the provider's own id: other names people choose themselves."""
    email = claims.get("email") if claims.get("email_verified") is True else None
    found = email or claims.get("sub")
    return found[:MAX_NAME_CHARACTERS] if isinstance(found, str) and found.strip() else None


def _parse(text: str, path: Path) -> list[Rule]:
    rules = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None or match[1] not in set(Role):
            raise SettingsError(
                f"Line {number} of {path} gives no role",
                "it must be role:claim:value",
                f"roles are {', '.join(Role)}; an example is officer:groups:compliance",
            )
        rules.append(Rule(Role(match[1]), match[2], match[3]))
    if not rules:
        raise SettingsError(
            f"The roles in {path} let nobody in",
            "the file has no line",
            "write one for each role, such as officer:groups:compliance",
        )
    return rules
