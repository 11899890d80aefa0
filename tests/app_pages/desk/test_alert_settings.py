"""An admin changes who is notified: by the file's own reader, with its comments, into the log."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.door import access
from app_pages.parts import acting
from pipeline.alert_rules import editing
from pipeline.continuity.service import LedgerService
from pipeline.serve.roles import Person, Role
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.reading import page_text, press

FILE = """\
# Ask Eva first.
[mail]
host = "mail.market.example"
sender = "prazo@market.example"
[recipients.ana]
email = "ana@market.example"   # at work
[recipients.bruno]
email = "bruno@market.example"
[[routes]]
to = ["ana"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "alerts.toml"
    path.write_text(FILE)
    return path


def opened(visit: Visit, chosen: str) -> AppTest:
    app = visit("alerts", as_of=None)
    app.session_state[acting._NAME] = "Eva"
    return app.run().pills(key="alerts_change").set_value(chosen).run()


def noted(service: LedgerService) -> list[dict[str, object]]:
    """What entries hold of changes, beside the pseudonym of who made them."""
    found = [json.loads(it.body or b"") for it in service.inbox.find(kind="alert_settings")]
    assert all(it.pop("actor").startswith("act_") for it in found)
    return found


def test_what_an_admin_saves_is_in_the_file_and_its_name_in_the_log(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    with open_log([], alerts_file=file) as service:
        app = opened(visit, "recipients.ana")
        own = "alerts recipients.ana"
        app.text_input(key=f"{own} digest_at").set_value("25:00")
        press(app, "Save")
        assert "'25:00' is not a time of day such as 08:00" in page_text(app)
        assert file.read_text() == FILE
        assert noted(service) == []
        app.text_input(key=f"{own} digest_at").set_value("07:30")
        app.text_input(key=f"{own} email").set_value("a@market.example")
        press(app, "Save")
        assert 'email = "a@market.example"   # at work\ndigest_at = "07:30"' in file.read_text()
        changed = {"parts": ["recipients.ana.email", "recipients.ana.digest_at"], "step": "changed"}
        assert noted(service) == [changed]
        assert "Saved: ana." in page_text(app)

        app.pills(key="alerts_change").set_value("routes.1").run()
        app.pills(key="alerts routes.1 severities").set_value(["breach"])
        press(app, "Save")
        assert 'to = ["ana"]\nseverities = ["breach"]\n' in file.read_text()
        assert "Nobody would be notified of" in page_text(app)

        app.pills(key="alerts_change").set_value("routes.1").run()
        kinds = app.multiselect(key="alerts routes.1 kinds")
        assert {"Less than 3 days left", "The last backup is old"} < {*kinds.options}
        kinds.set_value(["before_3d", "backup_old"])
        press(app, "Save")
        assert 'kinds = ["before_3d", "backup_old"]\n' in file.read_text()

        app.pills(key="alerts_change").set_value("recipients.ana").run()
        press(app, "Remove it")
        assert "there is no recipient 'ana'" in page_text(app)
        assert "[recipients.ana]" in file.read_text()


def test_who_was_overtaken_sees_how_and_overwrites_nothing(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    with open_log([], alerts_file=file) as service:
        app = opened(visit, "hours")
        file.write_text(FILE + 'severities = ["breach", "risk"]\n')
        app.text_input(key="alerts hours start").set_value("09:00")
        press(app, "Save")
        assert '+severities = ["breach", "risk"]' in page_text(app)
        assert file.read_text() == FILE + 'severities = ["breach", "risk"]\n'
        assert noted(service) == []


def test_where_the_file_cannot_be_written_its_new_text_is_handed_out(
    open_log: OpenLog, visit: Visit, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log([], alerts_file=file) as service:
        monkeypatch.setattr(editing, "cannot_write", lambda path: "it is mounted read-only")
        app = opened(visit, "+ recipient")
        app.text_input(key="alerts + recipient name").set_value("carla")
        app.text_input(key="alerts + recipient email").set_value("c@market.example")
        press(app, "Save")
        assert "it is mounted read-only" in page_text(app)
        [shown] = [it.value for it in app.code if "[recipients.carla]" in it.value]
        assert shown.startswith("# Ask Eva first.")
        assert file.read_text() == FILE
        assert noted(service) == []


def test_an_officer_changes_nothing(
    open_log: OpenLog, visit: Visit, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "session", lambda: lambda: Person("ana", frozenset({Role.OFFICER})))
    with open_log([], alerts_file=file):
        app = visit("alerts", as_of=None)
    assert "bruno" in page_text(app)
    assert "Change who is notified" not in page_text(app)
    assert all(it.key != "alerts_change" for it in app.pills)
