"""What waits for a second person, on the page Alerts and in the bell."""

import pytest
from streamlit.testing.v1 import AppTest

from pipeline.clearance import acts, clearances
from pipeline.continuity.service import LedgerService
from pipeline.log.actions import By
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import page_text, press

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
