"""Knows every kind of entry (docs/rules.md#occurrences). Each is a module of this folder, with its
facts and, where any room may record it, what makes its draft."""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final, Literal, NamedTuple


class Kind(NamedTuple):
    """The facts of a kind; a module's constant `KIND`."""

    code: str
    name: str
    """In English, as pages and reports say it."""
    icon: str = ":material/circle:"
    steps: Mapping[str, str] = MappingProxyType({})
    """What an entry with such a `step` in its body is called instead."""
    shows: tuple[Literal["about", "recipient", "channel", "promised_for"], ...] = ()
    """Columns of `timeline` that say more of it, beside who did it and why."""
    is_about_seller: bool = False
    """Its bytes say something of a seller, and go where the person is forgotten."""
    typed: frozenset[str] | None = None
    """Of people's work here: keys of its body under which somebody typed something. They go where
    it, or the reason, quotes a person who is forgotten; who did what, and when, stays."""
    of_seller: frozenset[str] = frozenset()
    """Of people's work here: keys of its body that say something of a seller. Where it has any, its
    bytes go with the person, and these keys."""
    names_artifacts: bool = False
    """Entries of it may name artifacts."""
    is_in_files: bool = False
    """Files of other logs may have it."""
    touches_process: bool = False
    """What people did about a process: rows about the process follow from it."""
    begins_act: bool = False
    """With it an act begins that may need a second person (docs/operations.md#four-eyes)."""


NOTHING_TYPED: Final = frozenset[str]()


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind by its code."""
    modules = (import_module(f"{__name__}.{it.name}") for it in pkgutil.iter_modules(__path__))
    return MappingProxyType({it.KIND.code: it.KIND for it in modules})


@cache
def naming_artifacts() -> frozenset[str]:
    """The kinds whose entries may name artifacts."""
    return frozenset(code for code, kind in kinds().items() if kind.names_artifacts)


def macros() -> str:
    """SQL of the macros by which views ask for facts of a kind."""
    return "\n".join(
        f"create or replace macro {fact}(kind) as kind in ({_codes_with(fact)});"
        for fact in ("touches_process", "begins_act")
    )


def _codes_with(fact: str) -> str:
    return ", ".join(f"'{code}'" for code, kind in kinds().items() if getattr(kind, fact))
