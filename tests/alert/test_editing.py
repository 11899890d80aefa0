"""Changes of the alerts' file: what is meant, and nothing else of what a person wrote."""

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pipeline.alert_rules import editing, load
from pipeline.alert_rules.editing import Overtaken
from pipeline.errors import CallerError, OperatorError

FILE = """\
# Who is notified. Ask Eva before you change it.
dashboard_url = "http://127.0.0.1:8501"   # of the office

[recipients.ana]
email = "ana@market.example"              # not her private one
digest_at = "07:30"

[mail]
host = "mail.market.example"
sender = "prazo@market.example"

[recipients."bruno lima"]                 # in Lisbon
email = "bruno@market.example"

[[routes]]
to = ["role"]                             # everybody

[[routes]]
to = ["ana"]
severities = ["breach"]
escalate = [{ after = "4h", to = ["bruno lima"] }]   # he is awake
"""


def lines_of(text: str, was: str = FILE) -> tuple[list[str], list[str]]:
    """The lines that went, and those that came."""
    before, after = was.splitlines(), text.splitlines()
    return [it for it in before if it not in after], [it for it in after if it not in before]


@pytest.mark.parametrize(
    ("place", "values", "went", "came", "parts"),
    [
        (
            ("recipients", "ana"),
            {"email": "a@market.example"},
            ['email = "ana@market.example"              # not her private one'],
            ['email = "a@market.example"              # not her private one'],
            ["recipients.ana.email"],
        ),
        (
            ("recipients", "bruno lima"),
            {"away": [{"first": date(2026, 12, 21), "last": date(2027, 1, 4)}]},
            [],
            ["away = [{first = 2026-12-21, last = 2027-01-04}]"],
            ["recipients.bruno lima.away"],
        ),
        (
            ("recipients", "ana"),
            {"digest_at": None, "email": "ana@market.example"},
            ['digest_at = "07:30"'],
            [],
            ["recipients.ana.digest_at"],
        ),
        (
            ("routes", 1),
            {"escalate": [{"after": "1h", "to": ["ana"]}]},
            ['escalate = [{ after = "4h", to = ["bruno lima"] }]   # he is awake'],
            ['escalate = [{after = "1h", to = ["ana"]}]   # he is awake'],
            ["routes.2.escalate"],
        ),
        (
            ("routes", 2),
            {"to": ["ana"], "roles": ["admin"]},
            [],
            ['roles = ["admin"]'],
            ["routes.3.to", "routes.3.roles"],
        ),
        (
            ("recipients", "carla d"),
            {"email": "c@market.example", "info_at_once": True},
            [],
            ['[recipients."carla d"]', 'email = "c@market.example"', "info_at_once = true"],
            ["recipients.carla d.email", "recipients.carla d.info_at_once"],
        ),
        (("hours",), {"start": "09:00"}, [], ["[hours]", 'start = "09:00"'], ["hours.start"]),
    ],
)
def test_what_is_changed_is_that_alone(
    place: Any, values: dict[str, Any], went: list[str], came: list[str], parts: list[str]
) -> None:
    text, changed = editing.changed(FILE, place, values)
    assert lines_of(text) == (went, came)
    assert changed == parts
    assert editing.changed(text, place, values) == (text, [])


def test_what_is_removed_goes_alone() -> None:
    text, parts = editing.removed(FILE, ("recipients", "bruno lima"))
    went, came = lines_of(text)
    assert came == []
    assert went == [
        '[recipients."bruno lima"]                 # in Lisbon',
        'email = "bruno@market.example"',
    ]
    assert parts == ["recipients.bruno lima"]
    assert editing.table(editing.tables(text), ("recipients", "ana"))["digest_at"] == "07:30"
    text, parts = editing.removed(FILE, ("routes", 0))
    assert [it["to"] for it in editing.tables(text)["routes"]] == [["ana"]]
    assert parts == ["routes.1"]


def test_a_name_that_is_an_address_goes_into_no_entry() -> None:
    _text, parts = editing.changed("", ("recipients", "ana@market.example"), {"role": "admin"})
    assert parts == ["recipients.….role"]


def test_a_file_that_is_written_in_another_way_is_left_to_a_person() -> None:
    inline = 'recipients = { ana = { email = "ana@market.example" } }\n'
    with pytest.raises(CallerError, match="cannot be changed here"):
        editing.changed(inline, ("recipients", "eva"), {"email": "eva@market.example"})
    text, _parts = editing.changed(inline, ("recipients", "ana"), {"email": "a@market.example"})
    assert text == 'recipients = { ana = { email = "a@market.example" } }\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "alerts.toml"
    path.write_text(FILE)
    path.chmod(0o640)
    return path


def test_it_is_written_whole_with_its_rights_after_it_was_noted(file: Path) -> None:
    seen: list[tuple[str, str]] = []
    text, _parts = editing.changed(FILE, ("hours",), {"start": "09:00"})
    editing.write(file, FILE, text, lambda step: seen.append((step, file.read_text())))
    assert seen == [("changed", FILE)]
    assert file.read_text() == text
    assert file.stat().st_mode & 0o777 == 0o640
    assert f"{load(file).hours.start:%H:%M}" == "09:00"


def test_who_was_overtaken_sees_how(file: Path) -> None:
    file.write_text(FILE.replace("07:30", "09:45"))
    seen: list[str] = []
    with pytest.raises(Overtaken) as refused:
        editing.write(file, FILE, "", seen.append)
    assert seen == []
    assert '-digest_at = "07:30"\n+digest_at = "09:45"' in refused.value.difference
    assert file.read_text() == FILE.replace("07:30", "09:45")


def test_what_was_noted_and_not_written_is_noted(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(editing, "write_whole", full)
    seen: list[str] = []
    with pytest.raises(OperatorError, match="No space left"):
        editing.write(file, FILE, "", seen.append)
    assert seen == ["changed", "not_written"]
    assert file.read_text() == FILE


def test_what_this_user_may_not_write_is_known_before(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert editing.cannot_write(file) is None
    linked = file.with_name("linked.toml")
    linked.symlink_to(file)
    assert editing.cannot_write(linked) is None
    file.chmod(0o440)
    assert editing.cannot_write(file) == "alerts.toml is marked as read-only"
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert editing.cannot_write(file) == "alerts.toml belongs to another user or group"
    file.unlink()
    assert editing.cannot_write(file) == "alerts.toml cannot be read: No such file or directory"
