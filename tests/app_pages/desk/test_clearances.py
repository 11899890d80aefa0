"""What waits for a second person, on the page Alerts and in the bell."""

import json
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.desk import clearances as offered
from pipeline.clearance import acts, clearances
from pipeline.continuity.service import LedgerService
from pipeline.log.actions import By
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import links, page_text, press

HISTORY = [review("prc_1", before(days=10))]


def ask(visit: Visit) -> AppTest:
    """Ana asks for the full package about a process."""
    app = visit("evidence", as_of=None, subject="prc_1")
    app.radio(key="profile").set_value("full")
    app.text_area(key="reason").set_value("yearly audit")
    app.text_input(key="actor").set_value("Ana")
    press(app, "Make the package")
    return app


def decide(visit: Visit, service: LedgerService, name: str, button: str) -> AppTest:
    app = visit("alerts", as_of=None)
    [row] = service.reader.read("clearances", where={"state": "requested"}).to_pylist()
    app.text_input(key=f"decide_reason {row['request_id']}").set_value("I read it")
    app.text_input(key=f"decide_actor {row['request_id']}").set_value(name)
    press(app, button)
    return app


def state(service: LedgerService) -> list[str]:
    service.reach(service.inbox.last()[0])
    return service.reader.read("clearances").column("state").to_pylist()


@pytest.mark.usefixtures("bell")
def test_a_full_package_is_made_once_somebody_else_has_approved_it(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY, four_eyes="export") as service:
        asked = ask(visit)
        assert "This package waits for a second person" in page_text(asked)
        assert state(service) == ["requested"]
        bell = [it.label for it in visit("overview", as_of=None).get("page_link")]
        assert any("1 to approve" in it for it in bell)
        own = decide(visit, service, " ana", "Approve")
        # It was the refusal of the log, in English on a Portuguese page, too, and led nowhere.
        assert "You asked for it: somebody else has to decide." in page_text(own)
        app = decide(visit, service, "Bia", "Approve")
        assert "Nothing waits for a second person." in page_text(app)
        assert state(service) == ["approved"]
        app = visit("evidence", as_of=None)
        app.session_state["name of the reader"] = "Ana"
        app.switch_page("app_pages/pages/alerts.py").run()
        assert "Bia has approved what you asked for." in page_text(app)
        assert "The package is ready" in page_text(ask(visit))
        assert state(service) == ["used"]
        assert "This package waits for a second person" in page_text(ask(visit))


def draw(app: AppTest) -> None:
    """Ana asks for a sample of one."""
    app.radio(key="profile").set_value("full")
    app.number_input(key="sample_size").set_value(1)
    app.text_input(key="sample_number").set_value("4711")
    app.text_area(key="reason").set_value("yearly audit")
    press(app, "Draw and make the package")


def test_a_sample_that_was_approved_is_led_to_by_the_checkpoint_that_was_asked_for(
    open_log: OpenLog, visit: Visit
) -> None:
    """Whoever came back to the page found a later checkpoint, asked for another drawing by it, and
    waited once more. The log had one entry when it was asked for."""
    days = [f"{before(days=it):%Y-%m-%d}" for it in (20, 1)]
    with open_log(HISTORY, four_eyes="export") as service:
        app = visit("evidence", as_of=None, list="sample", days=days)
        app.session_state["name of the reader"] = "Ana"
        draw(app.run())
        assert "This package waits for a second person" in page_text(app)
        decide(visit, service, "Bia", "Approve")
        app.switch_page("app_pages/pages/alerts.py").run()
        assert "Processes drawn: 1 Number: 4711 Checkpoint: 1 Of so many: 1" in page_text(app)
        [led] = [query for label, query in links(app) if label == "Export evidence"]
        asked = parse_qs(led)
        assert asked == {"list": ["sample"], "days": days, "checkpoint": ["1"]}
        app = visit("evidence", as_of=None, **asked)
        app.session_state["name of the reader"] = "Ana"
        draw(app.run())
        assert "The package is ready" in page_text(app)
        assert state(service) == ["used"]


@pytest.mark.parametrize(
    ("detail", "led"),
    [
        ({"process": "p"}, {"scope": "process", "subject": "p"}),
        ({"seller": "s"}, {"scope": "seller", "subject": "s"}),
        (
            {"seller": "s", "from": "2026-04-01T00:00:00Z", "to": "2026-07-01T00:00:00Z"},
            {"scope": "seller", "subject": "s", "quarter": "2026-04"},
        ),
        (
            {"from": "2026-05-12T00:00:00Z", "to": "2026-06-01T00:00:00Z"},
            {"scope": "period", "days": ["2026-05-12", "2026-05-31"]},
        ),
    ],
)
def test_what_was_approved_leads_to_exactly_that_package(
    detail: dict[str, str], led: dict[str, object]
) -> None:
    ids = {"process_id": detail.get("process"), "seller_id": detail.get("seller")}
    assert offered._package({"detail": json.dumps(detail), **ids}) == led


def test_what_waits_is_offered_however_much_was_asked_for_and_decided_since(
    open_log: OpenLog, visit: Visit
) -> None:
    """Where people log in, nobody can decide but on this page: nothing may fall off it."""
    with open_log(HISTORY, four_eyes="export,unmask") as service:
        ask(visit)
        [first] = service.reader.read("clearances").column("request_id").to_pylist()
        terms = acts.Terms.of(service.settings)
        for number in range(21):
            what = acts.rows("seller_state", as_of=None, where={}, limit=number + 1)
            with pytest.raises(clearances.Awaited) as waits:
                clearances.settle(service.inbox, terms, what, By("a letter", "Caio", "test"))
            request = waits.value.request_id
            no = By("a letter", "Bia", "test")
            clearances.decide(service.inbox, terms, request, "refused", no, is_proved=False)
        follow(service)
        decide(visit, service, "Bia", "Approve")
        [row] = service.reader.read("clearances", where={"request_id": first}).to_pylist()
    assert row["state"] == "approved"


def test_whoever_asked_is_offered_no_form_and_the_past_none_and_what_was_refused_is_not_made(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY, four_eyes="export") as service:
        app = ask(visit)
        app.switch_page("app_pages/pages/alerts.py").run()
        assert "You asked for it: somebody else has to decide." in page_text(app)
        assert "Approve" not in {it.label for it in app.button}
        assert "Nothing waits for a second person." in page_text(visit("alerts"))
        decide(visit, service, "Bia", "Refuse")
        assert state(service) == ["refused"]
        assert "The package is ready" not in page_text(ask(visit))


def test_without_the_setting_nothing_of_it_is_shown(open_log: OpenLog, visit: Visit) -> None:
    """That a package is made at once, as test_evidence.py shows, is all that is left."""
    with open_log(HISTORY):
        assert "second person" not in page_text(visit("alerts", as_of=None))
        assert "second person" not in page_text(visit("evidence", as_of=None, subject="prc_1"))
