"""An act reaches the processes that were ticked, or typed for, whatever has come in their place."""

import json
import threading
import time
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.desk import recording
from app_pages.parts import acting, views
from pipeline.continuity.service import LedgerService
from pipeline.log.kinds.ticket import ticket
from pipeline.log.ndjson import read_line
from pipeline.serve.roles import Permission
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import Occurrence, before, review
from tests.app_pages.support.reading import links, marked, page_text, plain, press, unfold

HISTORY = [
    *(review(f"prc_{n}", before(days=50 - n)) for n in range(4)),
    review("prc_acp", before(days=70), kind="ACP"),
]
END = before(days=1)


def tick(app: AppTest, *rows: int) -> None:
    """Ticks rows of the list, as a browser says so: by their numbers."""
    _, _, key = app.dataframe[0].proto.id.split("-", 2)
    app.session_state[key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
    app.run()
    assert not app.exception, app.exception


def comes(service: LedgerService, *occurrences: Occurrence) -> None:
    """They are in the log now, and in the answers that pages give."""
    lines = [json.dumps(it).encode() for it in occurrences]
    service.inbox.append([read_line(it, recorded_by="test") for it in lines])
    follow(service)
    views.forget_answers()


def ends(service: LedgerService, process: str, days: int) -> None:
    comes(service, review(process, before(days=days), status="FINISHED", at=END))


def recorded(service: LedgerService, kind: str) -> list[tuple[str, str]]:
    """Of which processes, and in which words, in their order."""
    rows = service.reader.read("timeline", where={"kind": kind}).to_pylist()
    return sorted((row["process_id"], row["reason"] or row["detail"] or "") for row in rows)


def test_a_new_session_takes_no_tick_of_the_one_before_for_other_rows(
    open_log: OpenLog, visit: Visit
) -> None:
    """A page that stays open over a start of the dashboard says again which rows are ticked, by
    their numbers and the key of their grid. A process had come meanwhile: another was ticked."""

    def key() -> str:
        return str(visit("watchlist", as_of=None).dataframe[0].proto.id)

    with open_log(HISTORY) as service:
        before_it = key()
        assert key() == before_it  # nothing is lost where the rows are the same
        comes(service, review("prc_first", before(days=60)))
        assert key() != before_it


def test_what_is_done_to_many_is_done_to_those_that_were_ticked_also_after_a_refusal(
    open_log: OpenLog, visit: Visit
) -> None:
    """The second row ended, and its note stood on the third. And after a refusal ticks and text
    were gone: the second try recorded nothing and said nothing."""
    with open_log(HISTORY) as service:
        app = visit("watchlist", as_of=None)
        every = ["prc_acp", "prc_3", "prc_2", "prc_1", "prc_0"]
        assert list(app.dataframe[0].value["process_id"]) == every
        app.segmented_control(key="many_what").set_value("note").run()
        tick(app, 2, 3)
        app.text_area(key="many_note").set_value("x" * 2001)
        press(app, "Record it")
        assert "A name is needed: it goes into the log." in page_text(app)
        app.text_input(key="many_actor").set_value("Bia")
        press(app, "Record it")
        assert "At most 2,000 characters go into the log: this text has 2,001." in page_text(app)
        assert recorded(service, "note") == []
        ends(service, "prc_1", 49)
        app.text_area(key="many_note").set_value("x" * 2000)
        press(app, "Record it")
        assert recorded(service, "note") == [("prc_1", "x" * 2000), ("prc_2", "x" * 2000)]
        every.remove("prc_1")
        assert list(app.dataframe[0].value["process_id"]) == every
        assert app.text_area(key="many_note").value == ""


@pytest.mark.usefixtures("folded")
def test_what_was_done_to_many_is_said_where_it_is_seen(open_log: OpenLog, visit: Visit) -> None:
    """It was said within the form, which is shut once nothing is ticked any more: anyone who had
    called three sellers saw and heard nothing, and did it again."""
    with open_log(HISTORY) as service:
        app = visit("watchlist", as_of=None)
        tick(app, 2, 3)
        unfold(app, "many 0")
        app.segmented_control(key="many_what").set_value("contact").run()
        press(app, "Record it")
        assert "A name is needed: it goes into the log." in said_in_popovers(app.main)
        app.text_input(key="many_actor").set_value("Bia")
        app.segmented_control(key="contact_outcome many").set_value("reached")
        press(app, "Record it")
        told = service.reader.read("seller_notices").to_pylist()
        assert {row["process_id"] for row in told} == {"prc_1", "prc_2"}
        assert len({row["message_id"] for row in told}) == 1  # one call, to one seller
        assert [plain(it.value) for it in app.success] == [
            "Recorded for prc_2 prc_1: telephone · reached."
        ]
        assert said_in_popovers(app.main) == []
        assert "Undo" in [it.label for it in app.button]


def said_in_popovers(block: Any, is_within: bool = False) -> list[str]:
    """What became of presses, where it stands in a popover: seen while that is open."""
    is_within = is_within or block.type == "popover"
    said = []
    for child in block.children.values():
        if hasattr(child, "children"):
            said += said_in_popovers(child, is_within)
        elif is_within and child.type in ("success", "warning"):
            said.append(child.value)
    return said


def test_ticks_stay_on_their_rows_when_others_leave_the_list_or_it_is_filtered(
    open_log: OpenLog, visit: Visit
) -> None:
    """They stayed on the numbers of rows, where others stood then."""
    with open_log(HISTORY) as service:
        app = visit("watchlist", as_of=None)
        app.segmented_control(key="many_what").set_value("note").run()
        names = list(app.dataframe[0].value["process_id"])
        tick(app, names.index("prc_2"), names.index("prc_acp"))
        app.pills(key="type").set_value(["ACI"]).run()
        ends(service, "prc_0", 50)
        app.run()
        assert list(app.dataframe[0].value["process_id"]) == ["prc_3", "prc_2", "prc_1"]
        app.text_area(key="many_note").set_value("called")
        app.text_input(key="many_actor").set_value("Bia")
        press(app, "Record it")
        assert recorded(service, "note") == [("prc_2", "called")]


def test_whoever_takes_many_on_writes_their_name_once(open_log: OpenLog, visit: Visit) -> None:
    """Who will take care of it, and who says so: the first time both asked for the same name."""
    with open_log(HISTORY) as service:
        app = visit("watchlist", as_of=None)
        tick(app, 2, 3)
        app.text_input(key="many_actor").set_value("Bia")
        press(app, "Record it")
        assert not app.warning
        rows = service.reader.read("assignments").to_pylist()
    assigned = sorted((row["process_id"], row["assignee"]) for row in rows)
    assert assigned == [("prc_1", "Bia"), ("prc_2", "Bia")]


def test_each_act_says_what_it_lacks_and_one_about_alerts_that_there_are_none(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        app = visit("watchlist", as_of=None)
        for what, says in {
            "assign": "A name is needed",
            "contact": "A name is needed",
            "ticket": "Something is still missing",
            "acknowledge": "A name is needed",
        }.items():
            app.segmented_control(key="many_what").set_value(what).run()
            tick(app, 0)
            press(app, "Record it")
            assert says in page_text(app), what
        app.text_input(key="many_actor").set_value("Bia")
        press(app, "Record it")
        assert "Nobody was notified of an alert on these that is not taken yet." in page_text(app)
        assert service.inbox.last()[0] == len(HISTORY)


def test_a_note_for_a_process_that_ended_meanwhile_is_recorded_of_it_or_shown_again(
    open_log: OpenLog, visit: Visit
) -> None:
    """The text was gone without a word, and another process's card stood in its place."""
    with open_log(HISTORY) as service:
        app, nameless = (visit("watchlist", as_of=None, row="prc_2") for _ in range(2))
        ends(service, "prc_2", 48)
        for either in (app, nameless):
            either.text_area(key="note_text prc_2").set_value("they sent it by post")
        press(nameless, "Record the note")
        assert recorded(service, "note") == []
        assert "A name is needed: it goes into the log." in page_text(nameless)
        assert "they sent it by post" in [it.value for it in nameless.code]

        app.text_input(key="note_actor prc_2").set_value("Bia")
        press(app, "Record the note")
        shown = page_text(app)
        assert recorded(service, "note") == [("prc_2", "they sent it by post")]
        assert "Recorded for prc_2." in shown
        assert "This list does not have prc_2, or not any more" in shown
        assert ("Open the process", "process=prc_2") in links(app)
        press(app, "Show the first row")
        assert marked(app) == "0"


def test_a_second_ticket_is_not_recorded_and_keeps_its_number_and_none_closes_for_another(
    open_log: OpenLog, visit: Visit
) -> None:
    """Bruno's number vanished: the form that it was typed into was not drawn any more. And a ticket
    that was opened since was closed in the place of the one that was drawn, in another tab of the
    same person, for one."""
    by = {"recorded_by": "test", "process_id": "prc_2", "seller_id": "sel_ana", "actor": "Ana"}
    with open_log(HISTORY) as service:
        ana, bruno = (visit("process", as_of=None, process="prc_2") for _ in range(2))
        for app, name, number in ((ana, "Ana", "T-1"), (bruno, "Bruno", "T-2")):
            app.text_input(key="ticket_number prc_2").set_value(number)
            app.text_input(key="ticket_actor prc_2").set_value(name)
            press(app, "Record it as opened")
        shown = page_text(bruno)
        [row] = service.reader.read("tickets").to_pylist()
        assert (row["number"], row["actor"]) == ("T-1", "Ana")
        assert "Nothing was recorded. For prc_2, ticket T-1 has been open since" in shown
        assert "by Ana. Close that one first." in shown
        assert "T-2" in [it.value for it in bruno.code]
        assert "Record T-1 as closed" in [it.label for it in bruno.button]

        service.inbox.append([ticket("closed", **by)])
        service.inbox.append([ticket("opened", number="T-3", **by)])
        bruno.text_input(key="ticket_actor prc_2").set_value("Bruno")
        press(bruno, "Record T-1 as closed")
        [row] = service.reader.read("tickets").to_pylist()
        assert (row["step"], row["number"]) == ("opened", "T-3")
        assert "Ticket T-1 is not open any more." in page_text(bruno)
        press(bruno, "Record T-3 as closed")
        [row] = service.reader.read("tickets").to_pylist()
        assert (row["step"], row["actor"]) == ("closed", "Bruno")


def test_who_takes_what_somebody_has_taken_since_hears_of_it_first(open_log: OpenLog) -> None:
    """Ana was never told that what she had taken was Bia's, one click later."""
    drawn = {"process_id": "prc_2", "seller_id": "sel_ana", "assignee": None}
    with open_log(HISTORY) as service:

        def assigns(row: views.Row, name: str, actor: str) -> tuple[str, str]:
            feedback = recording.assign([row], name, "", actor)
            [assigned] = service.reader.read("assignments").to_pylist()
            return feedback.text, assigned["assignee"]

        assert assigns(drawn, "Ana", "Ana") == ("Recorded for `prc_2`: assigned to Ana.", "Ana")
        said, assignee = assigns(drawn, "Bia", "Bia")
        assert (said.partition(" since ")[0], assignee) == (
            "Nothing was recorded. prc_2 has been assigned to Ana",
            "Ana",
        )
        assert recording.assign([drawn], "Bia", "he is ill", "Bia").kept == "Bia he is ill"
        assert assigns(drawn | {"assignee": "Ana"}, "Bia", "Bia")[1] == "Bia"
        assert assigns(drawn | {"assignee": "Ana"}, "Bia", "Eva")[0] == (
            "Recorded for `prc_2`: assigned to Bia."
        )


@pytest.mark.long
def test_of_two_who_open_a_ticket_in_the_same_moment_the_second_is_refused(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both had looked before either was recorded, and both were."""
    looked = recording._ticket_in_the_way
    by = {"actor": "Bruno", "recorded_by": "test", "process_id": "prc_2", "seller_id": "sel_ana"}
    with open_log(HISTORY) as service:

        def look(*asked: Any) -> str | None:
            found = looked(*asked)
            if found is None:
                service.inbox.append([ticket("opened", number="T-2", **by)])
            return found

        monkeypatch.setattr(recording, "_ticket_in_the_way", look)
        app = visit("process", as_of=None, process="prc_2")
        app.text_input(key="ticket_number prc_2").set_value("T-1")
        app.text_input(key="ticket_actor prc_2").set_value("Ana")
        press(app, "Record it as opened")
        numbers = [json.loads(it.body or b"")["number"] for it in service.inbox.find(kind="ticket")]
    assert numbers == ["T-2"]
    assert "Nothing was recorded. For prc_2, ticket T-2 has been open since" in page_text(app)


def test_whoever_comes_between_is_seen_at_a_second_look_which_says_what_was_recorded_at_the_first(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said that nothing was recorded."""
    drawn = [
        {"process_id": process, "seller_id": "sel_ana", "assignee": None}
        for process in ("prc_1", "prc_2")
    ]
    looked = recording._assigned_since
    with open_log(HISTORY) as service:
        inbox = service.inbox

        def look(*asked: Any) -> str | None:
            found = looked(*asked)
            if not inbox.find(kind="assignment"):  # after the first look, and before its entries
                inbox.append([recording.assignment(drawn[1], "Eva", "", "Eva")])
            return found

        monkeypatch.setattr(recording, "_assigned_since", look)
        said = recording.assign(drawn, "Bia", "", "Bia")
        service.reach(inbox.last()[0])
        found = service.reader.read("assignments").to_pylist()
        half = said.half
        assert half is not None
        assert half.undo is not None
        undone = half.undo()
        service.reach(inbox.last()[0])
        back = service.reader.read("assignments").to_pylist()
    assert {it["process_id"]: it["assignee"] for it in found} == {"prc_1": "Bia", "prc_2": "Eva"}
    assert (undone.text, half.text) == ("Undone.", "Recorded for `prc_1`: assigned to Bia.")
    assert {it["process_id"]: it["assignee"] for it in back} == {"prc_1": None, "prc_2": "Eva"}
    assert said.text.startswith(
        "Recorded for `prc_1`, and not for `prc_2`. prc_2 has been assigned to Eva since "
    )
    assert (said.is_done, said.undo) == (False, None)


def test_a_double_click_acts_once_and_none_without_its_role(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second click of one comes from the page as it was before the act, or right after it."""
    with open_log(HISTORY) as service:
        app = visit("process", as_of=None, process="prc_2")
        app.text_input(key="contact_actor prc_2").set_value("Bia")
        app.segmented_control(key="contact_outcome prc_2").set_value("reached")
        press(app, "Record the call or letter")
        press(app, "Record the call or letter")
        monkeypatch.setattr(acting, "DOUBLE_CLICK_SECONDS", 60)
        press(app, "Record the call or letter")
        assert len(service.inbox.find(kind="seller_notice")) == 2
        monkeypatch.setattr(acting, "DOUBLE_CLICK_SECONDS", 0)
        app.session_state["presses"].note("contact prc_2", acting.Feedback("", is_done=True))
        press(app, "Record the call or letter")
        assert len(service.inbox.find(kind="seller_notice")) == 2
        # The form was gone without a word, as if it had been recorded.
        monkeypatch.setattr(acting.access, "may", lambda _: False)
        press(app, "Record the call or letter")
        assert len(service.inbox.find(kind="seller_notice")) == 2
        assert "Nothing was recorded: your role does not allow it any more." in page_text(app)


def test_of_two_presses_at_once_the_second_waits_and_does_nothing() -> None:
    """Streamlit answers a click that comes meanwhile on another thread: six milliseconds apart,
    both clicks of a double click were recorded."""
    presses, done = acting._Presses(), list[str]()

    def act() -> acting.Feedback:
        time.sleep(0.05)
        done.append("once")
        return acting.Feedback("", is_done=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acting.access, "may", lambda _: True)
        patch.setattr(acting.views, "as_of", lambda: None)
        asked = ("key", act, Permission.ANNOTATE, False, presses, 0)
        clicks = [threading.Thread(target=acting._press, args=asked) for _ in range(2)]
        for click in clicks:
            click.start()
        for click in clicks:
            click.join()
    assert done == ["once"]
