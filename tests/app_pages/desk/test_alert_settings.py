"""An admin changes who is notified: by the file's own reader, with its comments, into the log."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.door import access
from app_pages.parts import acting, views
from pipeline.alert import entries
from pipeline.alert.entries import Item, Subject, Try
from pipeline.alert_rules import editing
from pipeline.continuity.service import LedgerService
from pipeline.log.kinds.alert_settings import alert_settings
from pipeline.serve.due_alerts import due_in
from pipeline.serve.roles import Person, Role
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import review
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


def routes(app: AppTest) -> list[Any]:
    """What chooses whom each route notifies, where the routes stand."""
    return [it for it in app.pills if it.label.startswith("Route ")]


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
        assert {"Less than 3 days left", "There is no recent backup"} < {*kinds.options}
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
    assert "Change recipients, when a route applies, or the hours" not in page_text(app)
    assert all(it.key != "alerts_change" for it in app.pills)


def test_before_others_are_notified_the_page_says_which_open_alerts_that_sends(
    open_log: OpenLog, visit: Visit, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three alerts were raised and sent to Ana; of one, somebody has taken care since."""
    opened_at = datetime.now(UTC) - timedelta(days=31)  # what is set now is about what is due now
    late = [review(f"prc_{n}", opened_at) for n in range(3)]
    file.write_text(FILE + 'at_any_hour = ["breach", "risk", "notice"]\n')
    with open_log(late, alerts_file=file) as held:
        dues = due_in(held.reader.read("alerts"))
        held.inbox.append([entries.raised(it, Subject(it.process_id), held.now()) for it in dues])
        for due in dues:
            made = Try(Item(due, level=0, number=1), "ana", "email", "m")
            subject = Subject(due.process_id)
            held.inbox.append([entries.tried(made, subject, held.now())])
            held.inbox.append([entries.answered(made, subject, held.now(), fault=None)])
        by = {"actor": "Ana", "recorded_by": "user:ana"}
        held.inbox.append([entries.acknowledged(dues[0].alert, Subject(dues[0].process_id), **by)])
        follow(held)
        app = visit("alerts", as_of=None)
        app.session_state[acting._NAME] = "Eva"
        [route] = [it for it in app.run().pills if it.label.startswith("Route 1")]
        assert route.value == ["ana"]
        assert "Save" not in [it.label for it in app.button]
        route.set_value(["ana", "bruno"]).run()
        assert "Once this is saved, 2 open alerts go to bruno at once." in page_text(app)
        assert file.read_text().startswith(FILE)
        press(app, "Save")
        assert 'to = ["ana", "bruno"]\n' in file.read_text()
        assert "Saved: Route 1: all." in page_text(app)
        assert any('class="prazo-look" data-at="who"' in it.proto.body for it in app.get("html"))
        assert "Save" not in [it.label for it in app.button]
        [route] = routes(app)
        route.set_value(["bruno"]).run()
        assert "Marked here is that with your own choice" not in page_text(app)
        assert "Save" in [it.label for it in app.button]
        [route] = routes(app)
        route.set_value(["ana", "bruno"]).run()

        app.pills(key="alerts_change").set_value("+ recipient").run()
        app.text_input(key="alerts + recipient name").set_value("carla")
        app.text_input(key="alerts + recipient email").set_value("c@market.example")
        press(app, "Save")  # no route leads to her
        app.pills(key="alerts_change").set_value("+ route").run()
        app.pills(key="alerts + route to").set_value(["carla"])
        app.pills(key="alerts + route at_any_hour").set_value(["breach"])
        press(app, "Save")
        assert "2 open alerts go to carla at once" in page_text(app)
        assert "Nothing is saved yet: press again to save it." in page_text(app)
        with monkeypatch.context() as patch:  # the second click of a double click
            patch.setattr(acting, "DOUBLE_CLICK_SECONDS", 60)
            press(app, "Save")
        assert "Nothing is saved yet: press again to save it." in page_text(app)
        app.pills(key="alerts + route at_any_hour").set_value(["breach", "risk"])
        press(app, "Save")  # of this change nothing was said yet
        assert "Nothing is saved yet: press again to save it." in page_text(app)
        assert '"carla"' not in file.read_text()
        press(app, "Save")
        assert 'to = ["carla"]' in file.read_text()


def test_a_choice_stays_where_somebody_else_changed_the_route_meanwhile(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    """The second of two people lost their choice, and read a difference of the file's lines."""
    file.write_text(
        FILE.replace("[[routes]]", '[recipients.carla]\nemail = "c@m.example"\n[[routes]]')
    )
    with open_log([], alerts_file=file) as held:
        app = visit("alerts", as_of=None)
        app.session_state[acting._NAME] = "Eva"
        [route] = [it for it in app.run().pills if it.label.startswith("Route 1")]
        route.set_value(["ana", "carla"]).run()
        file.write_text(file.read_text().replace('to = ["ana"]', 'to = ["ana", "bruno"]'))
        by = {"actor": "Marta", "recorded_by": "dashboard"}
        held.inbox.append([alert_settings("changed", ["routes.1.to"], **by)])
        follow(held)
        views.forget_answers()
        press(app, "Save")
        said = page_text(app)
        assert "It is not saved yet: somebody has changed who is notified meanwhile." in said
        # What the two have chosen stood in one row, with no word of whose is which.
        assert re.search(
            r"Marta has changed it meanwhile, .*\. Now: ana, bruno\. Marked here is that with", said
        )
        [route] = [it for it in app.pills if it.label.startswith("Route 1")]
        assert route.value == ["ana", "bruno", "carla"]
        press(app, "Save")
        assert 'to = ["ana", "bruno", "carla"]' in file.read_text()


def test_what_somebody_changed_meanwhile_is_said_in_words(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    """Lines of the file with plus and minus were all that it said."""
    with open_log([], alerts_file=file):
        app = visit("alerts", as_of=None)
        app.session_state[acting._NAME] = "Eva"
        app.run().pills(key="alerts_change").set_value("hours").run()
        app.text_input(key="alerts hours start").set_value("07:00")
        new = '[recipients.dora]\nemail = "d@m.example"\n'
        file.write_text(file.read_text().replace('to = ["ana"]', 'to = ["ana", "bruno"]') + new)
        press(app, "Save")
        said = page_text(app)
        assert "Route 1, Notified: ana → ana, bruno" in said
        assert "dora, E-mail address: – → d@m.example" in said.replace("\N{WORD JOINER}", "")
        assert "Working hours, " not in said  # of what is not changed nothing is said


def test_a_route_without_recipients_asks_for_one(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    """Half way through a swap, the page said that the file was not right, with its path."""
    with open_log([], alerts_file=file):
        app = opened(visit, "+ route")
        press(app, "Save")
        assert "Choose at least one recipient." in page_text(app)
        app.pills(key="alerts_change").set_value(None).run()
        routes(app)[0].set_value([]).run()
        said = page_text(app)
        assert "Once saved, no longer notified by this route: ana." in said
        assert "Choose at least one recipient." in said
        assert "A setting is not right" not in said
        assert "Save" not in [it.label for it in app.button]
        routes(app)[0].set_value(["bruno"]).run()
        assert "Choose at least one recipient." not in page_text(app)
        press(app, "Save")
    assert file.read_text() == FILE.replace('to = ["ana"]', 'to = ["bruno"]')


def test_what_somebody_sees_to_is_said_only_where_routes_go_by_it(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    """Who "sees to reviews" was not among those whom the route for reviews notifies."""

    def columns() -> list[str]:
        app = visit("alerts", as_of=None)
        return next([*it.value.columns] for it in app.table if "Recipient" in it.value.columns)

    with open_log([], alerts_file=file):
        assert columns() == ["Recipient", "Channels", "Stand-in"]
        file.write_text(FILE + 'escalate = [{after = "4h", to = ["role"]}]\n')
        assert columns() == ["Recipient", "Channels", "Sees to", "Stand-in"]
        file.write_text(FILE.removesuffix('[[routes]]\nto = ["ana"]\n'))
        assert "Sees to" in columns()


def test_a_choice_goes_to_no_other_route_and_a_change_by_hand_is_nobodys(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    """It went to the route that had the number since, and Marta was named for a change of before
    the page was opened."""
    late, soon = 'to = ["ana"]\nseverities = ["breach"]\n', 'to = ["ana"]\nroles = ["admin"]\n'
    head = FILE.removesuffix('to = ["ana"]\n')
    file.write_text(f"{head}{late}[[routes]]\n{soon}")
    with open_log([], alerts_file=file) as held:
        by = {"actor": "Marta", "recorded_by": "dashboard"}
        held.inbox.append([alert_settings("changed", ["routes.1.to"], **by)])
        follow(held)
        app = visit("alerts", as_of=None)
        app.session_state[acting._NAME] = "Eva"
        routes(app.run())[0].set_value(["ana", "bruno"]).run()
        file.write_text(f"{head}{soon}[[routes]]\n{late}")
        app.run()
        assert [it.value for it in routes(app)] == [["ana"], ["ana"]]

        routes(app)[1].set_value(["ana", "bruno"]).run()
        file.write_text(file.read_text().replace('["ana"]\nsev', '["ana", "role"]\nsev'))
        app.run()
        assert [it.value for it in routes(app)] == [["ana"], ["ana", "role", "bruno"]]
        assert "Somebody has changed it meanwhile. Now: " in page_text(app)


def test_of_more_routes_than_the_page_has_in_sight_the_form_asks_whom_they_notify(
    open_log: OpenLog, visit: Visit, file: Path
) -> None:
    """No page could change that, with 21 of them."""
    file.write_text(FILE + '[[routes]]\nto = ["ana"]\n' * 20)
    with open_log([], alerts_file=file):
        app = opened(visit, "routes.21")
        assert not routes(app)
        app.pills(key="alerts routes.21 to").set_value(["bruno"])
        press(app, "Save")
    assert file.read_text().endswith('[[routes]]\nto = ["ana"]\n[[routes]]\nto = ["bruno"]\n')
