"""Sellers' names are shown for a reason, to that person alone, and an entry holds whose."""

import json
import math
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.door import browsers
from app_pages.language import sellers
from app_pages.parts import acting, downloads, seller_names, sights
from pipeline.continuity.service import LedgerService
from pipeline.errors import SettingsError
from pipeline.log.actions import By
from pipeline.serve import shown_names
from pipeline.serve.roles import Permission
from pipeline.settings import Settings
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.parts.test_downloads import ANA
from tests.app_pages.support.occurrences import before, review, seller_event
from tests.app_pages.support.reading import links, page_text, press
from tests.support.ledgers import said_in

HISTORY = [
    review("prc_soon", before(days=26), seller="sel_ana"),
    review("prc_lost", before(days=60), seller="sel_caio"),
    review("prc_done", before(days=5), seller="sel_dora", status="FINISHED"),
    *(
        seller_event(seller, "enabled", before(days=90), first_name=first, last_name=last)
        for seller, first, last in (
            ("sel_ana", "Ana", "Neves"),
            ("sel_caio", "Caio", "Araújo"),
            ("sel_dora", "Dora", "Sá"),
        )
    ),
]
MUCH_LATER = SimpleNamespace(monotonic=lambda: math.inf)
"""The clock of who shows names; that of the follower goes on."""


def shown_by(service: LedgerService) -> list[dict[str, Any]]:
    """What the entries say, in their order."""
    return [said_in(it) for it in service.inbox.find(kind="unmask")]


def names_on(app: AppTest) -> list[str]:
    """The sellers of a list as it shows them: by name, or by whole ids where it shows none."""
    grid = app.dataframe[0].value
    return list(grid["seller_name" if "seller_name" in grid else "seller_id"])


def ask(app: AppTest, reason: str = "a call", name: str = "Bia") -> None:
    app.text_input(key="names_reason").set_value(reason)
    for asked in app.text_input:
        if asked.key == "names_actor":  # once it is known, nobody is asked
            asked.set_value(name)
    press(app, "Record the reason and show names")


def test_names_are_shown_for_one_reason_on_all_pages_and_masked_again(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        app = visit("sellers")
        assert names_on(app) == ["sel_ana", "sel_caio"]
        ask(app, reason=" ")
        assert "Fill this in: it goes into the log." in page_text(app)
        assert shown_by(service) == []
        ask(app)
        assert names_on(app) == ["Ana Neves", "Caio Araújo"]
        # Others read the same rows: names are in none of the answers that they share.
        assert names_on(visit("sellers")) == ["sel_ana", "sel_caio"]
        app.switch_page("app_pages/pages/watchlist.py").run()
        named = {it.value for it in app.markdown} & {"**Ana Neves**", "**Caio Araújo**"}
        assert len(named) == 1, "the card of a process had ids alone"
        app.switch_page("app_pages/pages/process.py").run()
        assert sorted(names_on(app)) == ["Ana Neves", "Caio Araújo", "Dora Sá"]
        app.query_params["process"] = "prc_done"
        app.run()
        assert "Dora Sá · prc_done" in page_text(app)
        first, second = shown_by(service)
        assert first["sellers"] == ["sel_ana", "sel_caio"]
        assert second["sellers"] == ["sel_dora"]
        app.text_input(key="find").set_value("sel_").run()
        assert ("Caio Araújo", "seller_id=sel_caio") in links(app), "ids led there, names below"
        assert "sel_caio · fits: id · tax id" in page_text(app)
        for entry in (first, second):
            assert (entry["reason"], entry["actor"], entry["view"]) == (
                "a call",
                "Bia",
                "seller_names",
            )
        press(app, "Mask names")
        app.switch_page("app_pages/pages/sellers.py").run()
        assert names_on(app) == ["sel_ana", "sel_caio"]
        ask(app, name="Bia")
        press(app, "I am somebody else")
        assert names_on(app) == ["sel_ana", "sel_caio"]
        ask(app, name="Caio")
        assert len(shown_by(service)) == 4


def test_a_page_loaded_again_shows_names_to_the_same_person_in_the_same_browser_alone(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were masked again, and a second reason was asked for."""

    def look(name: str, browser: str) -> AppTest:
        monkeypatch.setattr(acting, "kept_name", lambda: name)
        monkeypatch.setattr(browsers, "current", lambda: browser)
        return visit("sellers")

    with open_log(HISTORY) as service:
        ask(look("Bia", "hers"))
        assert names_on(look("Bia", "hers")) == ["Ana Neves", "Caio Araújo"]
        [entry] = shown_by(service)
        assert (entry["actor"], entry["sellers"]) == ("Bia", ["sel_ana", "sel_caio"])
        assert names_on(look("Caio", "hers")) == ["sel_ana", "sel_caio"]
        assert names_on(look("Bia", "another")) == ["sel_ana", "sel_caio"]
        assert names_on(look("", "hers")) == ["sel_ana", "sel_caio"]

        open_page, loaded_again = look("Bia", "hers"), look("Bia", "hers")
        press(loaded_again, "Mask names")
        assert names_on(open_page.run()) == ["sel_ana", "sel_caio"]
        assert names_on(look("Bia", "hers")) == ["sel_ana", "sel_caio"]

        ask(look("Bia", "hers"), reason="another call")
        overview = look("Bia", "hers").switch_page("app_pages/pages/overview.py").run()
        press(overview, "I am somebody else")
        assert names_on(look("Bia", "hers")) == ["sel_ana", "sel_caio"], "she has left since"

        ask(look("Bia", "hers"), reason="a third call")
        monkeypatch.setattr(shown_names, "time", MUCH_LATER)
        assert names_on(look("Bia", "hers")) == ["sel_ana", "sel_caio"]
        assert [it["reason"] for it in shown_by(service)] == [
            "a call",
            "another call",
            "a third call",
        ]


def test_names_are_masked_once_the_time_is_over_and_where_the_role_may_not_see_them(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(HISTORY):
        app = visit("sellers")
        ask(app)
        may = seller_names.access.may
        with monkeypatch.context() as patch:
            patch.setattr(
                seller_names.access, "may", lambda asked: asked != Permission.UNMASK and may(asked)
            )
            assert names_on(app.run()) == ["sel_ana", "sel_caio"]
            assert "Show names" not in page_text(app)
        assert names_on(app.run())[0] == "Ana Neves"
        monkeypatch.setattr(shown_names, "time", MUCH_LATER)
        assert names_on(app.run()) == ["sel_ana", "sel_caio"]


def test_a_page_with_names_that_has_no_button_to_mask_them_is_drawn_again_in_time(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overview had them in clear for as long as it was left open."""
    waited: list[str] = []
    monkeypatch.setattr(seller_names, "_wait_for_the_end", lambda: waited.append("once"))
    with open_log(HISTORY):
        app = visit("sellers")
        app.switch_page("app_pages/pages/overview.py").run()
        assert waited == []
        ask(app.switch_page("app_pages/pages/sellers.py").run())
        waited.clear()
        app.switch_page("app_pages/pages/overview.py").run()
        assert "Ana Neves" in page_text(app)
        assert waited == ["once"]


def test_a_second_person_agrees_to_names_first_where_the_settings_say_so(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY, four_eyes="unmask") as service:
        app = visit("sellers")
        ask(app)
        assert "To show names waits for a second person." in page_text(app)
        assert names_on(app) == ["sel_ana", "sel_caio"]
        [request] = service.inbox.find(kind="clearance")
        clearances = shown_names.clearances
        clearances.decide(
            service.inbox,
            shown_names.acts.Terms.of(service.settings),
            json.loads(request.body)["request"],
            "approved",
            By("yes", "Caio", "test"),
            is_proved=True,
        )
        ask(app, reason="another")
        assert names_on(app) == ["Ana Neves", "Caio Araújo"]
        [entry] = shown_by(service)
        assert (entry["reason"], entry["sellers"]) == ("a call", ["sel_ana", "sel_caio"])
        press(app, "Mask names")
        ask(app)
        assert "To show names waits for a second person." in page_text(app)


def test_a_role_that_always_sees_names_leaves_the_same_entries_and_none_without_bodies(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(HISTORY, show_names_to="officer,admin") as service:
        app = visit("sellers")
        assert names_on(app)[0] == "sel_ana", "nobody has said who they are"
        app.text_input(key="name header").set_value("Bia")
        press(app, "That is me")
        assert names_on(app) == ["Ana Neves", "Caio Araújo"]
        assert "Show names" not in page_text(app)
        app.run()
        [entry] = shown_by(service)
        assert (entry["actor"], entry["sellers"]) == ("Bia", ["sel_ana", "sel_caio"])
        overview = visit("overview")
        assert "Ana Neves" not in page_text(overview)
        overview.text_input(key="name header").set_value("Bia")
        press(overview, "That is me")
        assert "Ana Neves" in page_text(overview)
        monkeypatch.setattr(sights, "_LATEST", {})
        monkeypatch.setattr(type(service.ledger), "is_without_bodies", True)
        assert names_on(app.run()) == ["sel_ana", "sel_caio"]
    with pytest.raises(SettingsError, match="choose one"):
        Settings.load(show_names_to="admin", four_eyes="unmask")


def test_a_file_has_the_names_while_they_are_shown(open_log: OpenLog) -> None:
    question = downloads.Question("seller_watchlist", where={"worst_state": ["EXPIRED"]})
    with open_log(HISTORY) as service:
        showing = shown_names.begin(service, By("a call", "Bia", "dashboard"))
        named = downloads.maker(question, "csv", ANA, showing)().content.decode()
        assert "sel_caio,Caio Araújo," in named
        assert [it["sellers"] for it in shown_by(service)] == [["sel_ana", "sel_caio"]]
        over = shown_names.Showing(showing.by, 0, None)
        assert "Caio" not in downloads.maker(question, "csv", ANA, over)().content.decode()
        assert len(shown_by(service)) == 1


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("+55 (11) 98765-4321", "[+55 (11) 98765-4321](tel:+5511987654321)"),
        ("***21", "***21"),
    ],
)
def test_a_number_that_is_shown_can_be_called(number: str, shown: str) -> None:
    assert sellers.in_record("phone_number", number).replace("\\", "") == shown


def test_who_saw_a_name_on_a_list_stands_among_the_entries_on_that_seller(
    open_log: OpenLog,
) -> None:
    with open_log(HISTORY) as service:
        seen = shown_names.begin(service, By("a call", "Bia", "test"))
        assert seen.names(service, ["sel_ana", "sel_caio"], None)
        service.catch_up()
        (shown,) = service.inbox.find(kind="unmask")

        def seqs(seller: str) -> list[int]:
            found = service.reader.read("seller_entries", where={"seller_id": seller})
            return found.column("seq").to_pylist()

        assert [shown.seq in seqs(it) for it in ("sel_ana", "sel_caio", "sel_dora")] == [
            True,
            True,
            False,
        ]


def test_a_seller_without_a_name_is_said_to_have_none_while_names_are_shown(
    open_log: OpenLog,
) -> None:
    """The button seemed to have failed: the first six rows had ids alone, as before."""
    with open_log(HISTORY):
        seen = shown_names.Showing(By("a reason", "Ana", "test"), 60, None)
        assert seller_names.shown("sel_eva", None, None) == "sel_eva"
        assert seller_names.shown("sel_eva", None, seen) == "sel_eva, no name"
        assert seller_names.shown("sel_eva", "Eva Luz", seen) == "Eva Luz"
        assert seller_names.shown(None, None, seen) == ""


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("names", "Names are masked again: show them once more if you still need them."),
        ("record", "Personal data is masked again: show it once more if you still need it."),
    ],
)
def test_what_left_a_page_because_its_time_was_over_is_said_once(
    open_log: OpenLog, shown: str, said: str
) -> None:
    """Of names it was said, of other personal data nothing."""

    def page(shown: str) -> None:
        import streamlit as st

        from app_pages.parts import acting, seller_names

        acting.say_what_was_masked()
        if st.session_state.pop("is_shown", False):
            if shown == "names":
                seller_names._wait_for_the_end()
            acting._mask_in_time("seller_state", "sel_ana")

    with open_log(HISTORY):
        app = AppTest.from_function(page, args=(shown,))
        app.session_state["is_shown"] = True
        assert [it.value for it in app.run().toast] == [said]
        assert not app.run().toast
