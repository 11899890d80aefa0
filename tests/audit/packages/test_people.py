"""Who did what, in a package: the pseudonym that the log fixes, with the name behind it."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.audit.package import entry_files
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.log.actors import Actor
from pipeline.verify import verify
from tests.audit.conftest import export, no_rows, quick_signatures

pytestmark = [no_rows, quick_signatures]
SCOPE = Scope(process_id="p2")
HONEST = entry_files._line
EVE = Actor.new("Eve", lambda size: b"e" * size)


def test_a_package_names_whoever_its_bodies_hold_and_nobody_else(
    service: LedgerService, tmp_path: Path
) -> None:
    made = export(service, SCOPE, tmp_path / "p.zip")
    with zipfile.ZipFile(made.path) as opened:
        people = [json.loads(it) for it in opened.read("data/actors.ndjson").splitlines()]
        bodies = opened.read("data/bodies/00001.bin")
    entries = service.inbox.find(process_id="p2")
    held = {(it.pseudonym, it.name) for it in entries if it.pseudonym is not None}
    assert {(pseudonym, name) for pseudonym, name, _ in people} == held
    assert "Ana Auditor" in {name for _, name in held}
    assert len(held) > 1
    assert b"Ana Auditor" not in bodies
    assert verify(made.path, made.key).faults == []


def test_whose_body_is_withheld_is_not_named(service: LedgerService, tmp_path: Path) -> None:
    [note] = service.inbox.find(process_id="p2", kind="override")
    made = export(service, SCOPE, tmp_path / "p.zip", withhold=frozenset({note.seq}))
    with zipfile.ZipFile(made.path) as opened:
        people = opened.read("data/actors.ndjson").splitlines()
    assert [json.loads(it)[1] for it in people] == ["Ana Auditor"]
    assert verify(made.path, made.key).faults == []


def _salted(person: Actor) -> Actor:
    return Actor.new("Eve", lambda size: person.salt[:size])


RENAMED: dict[str, Callable[[Actor], bytes]] = {
    "another name": lambda her: HONEST(her._replace(name=b"Eve")),
    "another salt": lambda her: HONEST(her._replace(salt=b"s" * 32)),
    "a salt of another length": lambda her: HONEST(her._replace(salt=her.salt[:31])),
    "a name that was begun in the salt": lambda her: HONEST(
        her._replace(salt=her.salt + b"prazo actor v1: ", name=her.name)
    ),
    "twice": lambda her: HONEST(her) * 2,
    "somebody else": lambda her: HONEST(_salted(her)),
    "nobody": lambda _: b"",
    "one more": lambda her: HONEST(her) + HONEST(EVE),
    "another spelling": lambda her: HONEST(her).replace(b",", b", "),
    "no list": lambda _: b"7\n",
    "a number": lambda her: b'["%s",7,"%s"]\n' % (her.pseudonym.encode(), her.salt.hex().encode()),
}


@pytest.mark.parametrize("how", RENAMED)
def test_an_insider_who_renames_somebody_makes_nothing_that_verifies(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(entry_files, "_line", RENAMED[how])
    made = export(service, SCOPE, tmp_path / "p.zip")
    found = verify(made.path, made.key)
    assert found.exit_code == 1
    assert len(found.faults) == 1


def test_an_insider_who_renames_who_exported_it_makes_nothing_that_verifies(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parameters say another name than the entry's."""
    honest = Actor.new
    monkeypatch.setattr(Actor, "new", lambda _, random: honest("Eve", random))
    made = export(service, SCOPE, tmp_path / "p.zip")
    found = verify(made.path, made.key)
    assert found.faults == ["actor is not what the export's entry in the log says"]
