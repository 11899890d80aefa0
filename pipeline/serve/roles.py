"""Decides which roles a person's claims give them, and what each role is permitted to do. Reads the
files by which a provider or a proxy is known that says who somebody is.

The map is a file with one `role:claim:value` on each line. A person has every role whose line
matches one of their claims; without a role there is no access at all. The dashboard decides which
pages and views a role opens (`app_pages/door/audience.py`).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from pipeline import names
from pipeline.clearance import acts
from pipeline.errors import SettingsError
from pipeline.files.reread import RereadFile
from pipeline.texts import is_blank
from pipeline.written import lines_in, read_unmarked


class Role(StrEnum):
    """A person's work with the dashboard, which decides what they may see and do."""

    OFFICER = "officer"  # watches deadlines, decides, speaks with sellers
    ANALYST = "analyst"  # studies denials and outcomes; needs nobody's name
    AUDITOR = "auditor"  # looks for faults, and exports packages
    ADMIN = "admin"


class Permission(StrEnum):
    """An action that only some roles allow; each use is an entry in the log."""

    UNMASK = "unmask"  # see personal data, with a reason
    ANNOTATE = "annotate"  # write notes, assign processes
    EXPORT = "export"  # make a package and take it away
    SUBMIT = "submit"  # send what sellers have answered


_PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.OFFICER: frozenset(Permission),
    Role.ANALYST: frozenset(),
    Role.AUDITOR: frozenset({Permission.UNMASK, Permission.EXPORT}),
    Role.ADMIN: frozenset(Permission),
}

PERMISSIONS_OF_ACTS: Final[Mapping[str, frozenset[Permission]]] = {
    acts.OVERRIDE: frozenset({Permission.SUBMIT}),
    acts.UNMASK: frozenset({Permission.UNMASK}),
    acts.EXPORT: frozenset({Permission.EXPORT, Permission.UNMASK}),
    acts.FORGET: frozenset({Permission.EXPORT, Permission.UNMASK}),
}
"""What whoever approves or refuses an act has to be allowed on pages: to do it."""
SCOPES_OF_ACTS: Final[Mapping[str, tuple[str, ...]]] = {
    acts.OVERRIDE: ("submit",),
    acts.UNMASK: ("read_personal",),
    acts.EXPORT: ("export", "read_personal"),
    acts.FORGET: ("export", "read_personal"),
}
"""The same over the API."""

MAX_NAME_CHARACTERS: Final = 255
_LINE = re.compile(r"([a-z]+):([^:\s]+):(\S.*)")


@dataclass(frozen=True, slots=True)
class Person:
    """The person who looks at a page. The name is the actor in the log, or None if unknown."""

    name: str | None
    roles: frozenset[Role]

    def may(self, permission: Permission) -> bool:
        """Whether one of their roles gives the permission."""
        return any(permission in _PERMISSIONS[role] for role in self.roles)


LOCAL: Final = Person(None, frozenset({Role.ADMIN}))
"""The person at this machine when there is no login: they give a name with each action."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the map: a claim with that value gives the role."""

    role: Role
    claim: str  # dots lead into nested claims, as in realm_access.roles
    value: str

    def fits(self, claims: Mapping[str, Any]) -> bool:
        """Whether the claim equals the rule's value or, if it is a list, contains it."""
        claim: Any = claims
        for name in self.claim.split("."):
            claim = claim.get(name) if isinstance(claim, Mapping) else None
        if self.claim == "email" and claims.get("email_verified") is not True:
            return False  # people may write any address into their own profile
        return self.value in claim if isinstance(claim, list | tuple) else claim == self.value


class RoleMap:
    """The rules of a file, read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Reads the file; raises `SettingsError` if it cannot be read or has a malformed line."""
        self._file = RereadFile(path, lambda text: _parse(text, path))

    def person(self, claims: Mapping[str, Any]) -> Person | None:
        """The person whom the claims describe, with their roles.

        None if no line of the map fits, or if the claims hold no name that can go into the log.
        """
        roles = frozenset(rule.role for rule in self._file.get() if rule.fits(claims))
        name = _name(claims)
        return Person(name, roles) if roles and name else None


def provider(path: Path) -> Mapping[str, Any]:
    """How people are sent to their OpenID Connect provider: the section `[auth]` of a TOML file.
    Raises `SettingsError` if there is none."""
    why = "it has no section [auth]"
    try:
        section = tomllib.loads(read_unmarked(path, "Streamlit")).get("auth")
    except tomllib.TOMLDecodeError as error:
        section, why = None, f"it is not TOML: {error}"
    if not isinstance(section, dict):
        raise SettingsError(
            f"The file {path} cannot be used for a login",
            why,
            "write it as docs/operations.md#who-may-look says",
        )
    return section


def proxy_secrets(path: Path) -> RereadFile[list[bytes]]:
    """What proves that the proxy sent a request, one a line of a file that is read again when it
    changes; raises `SettingsError` if it cannot be read or has none."""
    return RereadFile(path, lambda text: _secrets(text, path))


def _secrets(text: str, path: Path) -> list[bytes]:
    secrets = [line.encode() for _, line in lines_in(text)]
    if not secrets:
        raise SettingsError(
            f"The proxy's secrets in {path} cannot be used",
            "the file is empty",
            "write one secret per line",
        )
    return secrets


def _name(claims: Mapping[str, Any]) -> str | None:
    """The verified e-mail address, or else the provider's id; people choose other names freely."""
    email = claims.get("email") if claims.get("email_verified") is True else None
    name = email or claims.get("sub")
    if not isinstance(name, str) or is_blank(name) or names.is_ours(name):
        return None
    return name[:MAX_NAME_CHARACTERS]


def _parse(text: str, path: Path) -> list[Rule]:
    rules = []
    for number, line in lines_in(text, has_comments=True):
        match = _LINE.fullmatch(line)
        if match is None or match[1] not in set(Role):
            raise SettingsError(
                f"Line {number} of {path} does not give a role",
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
