"""On a seller's page calls are recorded and undone, and messages stopped and let go on."""

from datetime import date, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.parts import acting
from pipeline import instants
from pipeline.log.actions import By
from pipeline.log.kinds.notice_schedule import wished
from pipeline.log.kinds.retraction import retraction
from tests.app_pages.conftest import Messages, OpenLog, Visit
from tests.app_pages.desk.test_casework import say_name
from tests.app_pages.support.occurrences import attempt, before, review, text
from tests.app_pages.support.parts import run_part
from tests.app_pages.support.reading import page_text, press

HISTORY = [
    review("prc_1", before(days=26)),
    review("prc_2", before(days=20)),
]


def labels(app) -> set[str]:
    return {button.label for button in app.button}


def recorded(visit: Visit) -> AppTest:
    """The seller's page once Bia has recorded there that a call reached them."""
    app = visit("seller", as_of=None, seller_id="sel_ana")
    say_name(app, "header", "Bia")
    app.segmented_control(key="contact_outcome sel_ana").set_value("reached")
    press(app, "Record the call or letter")
    return app


def test_one_call_is_about_all_reviews_of_a_seller_and_undone_by_who_recorded_it(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the API could take back a call that was recorded for the wrong seller."""
    with open_log(HISTORY) as service:
        app = recorded(visit)
        calls = service.reader.read("seller_notices").to_pylist()
        assert {it["process_id"] for it in calls} == {"prc_1", "prc_2"}
        assert len({it["message_id"] for it in calls}) == 1
        assert "telephone · reached · " in page_text(app)

        undo = "Record the reason and undo"
        assert undo not in labels(app), "for ten seconds Undo needs none"
        monkeypatch.setattr(acting, "UNDO_SECONDS", 0)
        press(app.run(), undo)
        assert "Fill this in: it goes into the log." in page_text(app)
        say_why(app, "another seller", "why")
        press(app, undo)
        assert undo not in labels(app)
        said = service.reader.read("timeline", where={"kind": "retraction"}).to_pylist()
        calls = service.reader.read("seller_notices").to_pylist()
    assert [(it["actor"], it["reason"]) for it in said] == [("Bia", "another seller")] * 2
    assert all(it["retracted_at"] and not it["contacted_at"] for it in calls)


def test_the_form_that_undoes_a_call_later_is_the_pages_and_an_undone_call_is_gone(
    open_log: OpenLog, visit: Visit, sent: list[Messages], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part of the page that waits for ten seconds drew the form, and its press that part
    alone: nothing was seen to be undone, so people did so again, into the log."""
    with open_log(HISTORY):
        app = recorded(visit)
        waiting = [it.auto_rerun for it in sent[-1] if it.HasField("auto_rerun")]
        monkeypatch.setattr(acting, "UNDO_SECONDS", 0)
        sent.clear()
        for part in waiting:
            run_part(app, part.fragment_id)
        form = "Record the reason and undo"
        drawn = [it.delta for run in sent for it in run if it.delta.HasField("new_element")]
        assert {it.fragment_id for it in drawn if it.new_element.button.label == form} == {""}
        say_why(app.run(), "another seller", "why")
        press(app, form)
        shown = page_text(app)
    assert "telephone · reached" not in shown.partition("Open processes, side by side")[0]


def test_a_call_is_undone_once_whoever_else_still_sees_it(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three entries in a row took one call back, and went into the evidence."""
    with open_log(HISTORY) as service:
        app = recorded(visit)
        monkeypatch.setattr(acting, "UNDO_SECONDS", 0)
        other = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(other, "header", "Bia")
        say_why(app.run(), "another seller", "why")
        press(app, "Record the reason and undo")
        say_why(other, "a mistake", "why")
        press(other, "Record the reason and undo")
        assert "Nothing was recorded. It was undone already" in page_text(other)
        said = service.reader.read("timeline", where={"kind": "retraction"}).to_pylist()
    assert [it["reason"] for it in said] == ["another seller"] * 2, "one for each review"


def test_of_a_call_that_was_undone_for_one_review_the_rest_is_undone(
    open_log: OpenLog, visit: Visit
) -> None:
    """By *Undo* nothing of it could be, since one review's part was undone already."""
    with open_log(HISTORY) as service:
        app = recorded(visit)
        call, _ = service.reader.read("seller_notices").to_pylist()
        by = By("not about it", "Bia", "dashboard")
        about = {"process_id": "prc_1", "seller_id": "sel_ana"}
        service.inbox.append([retraction(call["message_id"], by, **about)])
        press(app, "Undo")
        calls = service.reader.read("seller_notices").to_pylist()
        said = service.reader.read("timeline", where={"kind": "retraction"}).to_pylist()
    assert all(it["retracted_at"] for it in calls)
    assert {it["process_id"]: it["reason"] for it in said} == {
        "prc_1": "not about it",
        "prc_2": "undone",
    }


def test_what_was_said_stands_under_the_call_and_in_its_entry(
    open_log: OpenLog, visit: Visit
) -> None:
    """It could be read nowhere but in the evidence, and no entry said what was promised."""
    call = {
        "kind": "seller_notice",
        "occurred_at": text(before(hours=1)),
        "message_id": "call_1",
        "process_id": "prc_1",
        "seller_id": "sel_ana",
        "channel": "phone",
        "outcome": "reached",
        "promised_for": "2026-06-05",
        "note": "moved house, CPF 529.982.247-25",
        "actor": "Bia",
    }
    mail = {
        **call,
        "channel": "email",
        "outcome": None,
        "message_id": "mail_1",
        "note": "a service",
    }
    with open_log([*HISTORY, call, mail]):
        for page, asked in (
            ("seller", {"seller_id": "sel_ana"}),
            ("process", {"process": "prc_1"}),
        ):
            app = visit(page, **asked)
            above, _, _ = page_text(app).partition("Latest notice")
            assert "moved house, CPF ***" in page_text(app)
            assert "52998224725" not in above
            [entry] = [it for it in trail(app) if "telephone" in it]
            assert "telephone · reached · promised for 5 Jun 2026 · Bia · moved house" in entry
            assert "a service" not in page_text(app)


TODAY = instants.of(instants.now()).date()


@pytest.mark.parametrize(
    ("outcome", "day", "says"),
    [
        (None, None, "What came of the call is still missing."),
        ("no_answer", TODAY + timedelta(days=9), "Only who was reached can have promised a day"),
        ("reached", TODAY - timedelta(days=9), "is over: choose the day"),
    ],
)
def test_a_call_that_cannot_be_so_is_not_recorded(
    open_log: OpenLog, visit: Visit, outcome: str | None, day: date | None, says: str
) -> None:
    with open_log(HISTORY) as service:
        app = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(app, "header", "Bia")
        if outcome is not None:
            app.segmented_control(key="contact_outcome sel_ana").set_value(outcome)
        app.date_input(key="contact_promise sel_ana").set_value(day)
        press(app, "Record the call or letter")
        assert says in page_text(app)
        assert service.reader.count("seller_notices") == 0


def test_what_was_said_may_be_too_long_for_the_log_and_is_then_still_there_to_be_shortened(
    open_log: OpenLog, visit: Visit
) -> None:
    """A field with a limit of its own took nothing of a text that was pasted, and said nothing."""
    with open_log(HISTORY) as service:
        app = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(app, "header", "Bia")
        app.segmented_control(key="contact_outcome sel_ana").set_value("reached")
        app.text_area(key="contact_note sel_ana").set_value("x" * 2001)
        press(app, "Record the call or letter")
        too_long = "At most 2,000 characters go into the log: this text has 2,001."
        assert too_long in page_text(app)
        assert app.text_area(key="contact_note sel_ana").value == "x" * 2001
        assert service.reader.count("seller_notices") == 0
        app.text_area(key="contact_note sel_ana").set_value("y" * 2000)
        press(app, "Record the call or letter")
        assert service.reader.count("seller_notices") == 2, "one for each review"
    # In a card with more in it, it begins and is folded away.
    assert f"{'y' * 140} …" in [it.label for it in app.expander]


def test_beside_the_next_step_stands_what_a_call_came_to_and_a_promise_that_is_too_late(
    open_log: OpenLog, visit: Visit
) -> None:
    """The page still said to call, a minute after the call, and a promise beyond the deadline was
    taken without a word. Of the two reviews one has 4 days left, the other 10."""
    day = TODAY + timedelta(days=6)
    in_words = f"{day.day} {day:%b %Y}"
    today = instants.of(instants.now())
    left = {"prc_1": 4, "prc_2": 10}
    history = [review(it, today - timedelta(days=30 - left[it])) for it in left]
    with open_log(history):
        app = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(app, "header", "Bia")
        app.segmented_control(key="contact_outcome sel_ana").set_value("reached")
        app.date_input(key="contact_promise sel_ana").set_value(day)
        press(app, "Record the call or letter")
        [said] = [it.value for it in app.success]
        on_seller = beside_the_next_step(app)
        on_process = beside_the_next_step(visit("process", as_of=None, process="prc_1"))
    too_late = f"telephone · reached · promised for {in_words}, after the deadline"
    assert too_late in said
    assert [(too_late in it, f"promised for {in_words}" in it) for it in on_seller] == [
        (True, True),
        (False, True),
    ]
    assert [too_late in it for it in on_process] == [True]


def beside_the_next_step(app: AppTest) -> list[str]:
    return [it.value for it in app.markdown if it.value.startswith(":material/call: telephone")]


def test_ten_calls_are_ten_however_many_reviews_each_was_about(
    open_log: OpenLog, visit: Visit
) -> None:
    """Of a seller with two reviews, five calls stood there."""
    calls = [
        {
            "kind": "seller_notice",
            "occurred_at": text(before(hours=n)),
            "message_id": f"call_{n}",
            "process_id": process,
            "channel": "phone",
            "outcome": "reached",
        }
        for n in range(1, 12)
        for process in ("prc_1", "prc_2")
    ]
    with open_log([*HISTORY, *calls]):
        app = visit("seller", seller_id="sel_ana")
        listed = [it.value for it in app.markdown if it.value.startswith("telephone · reached · ")]
        said = page_text(app)
    assert len(listed) == 10
    assert "Showing 10 of 11." in said


def test_a_seller_is_asked_again_where_the_page_says_so(open_log: OpenLog, visit: Visit) -> None:
    """*Ask again* stood beside the name of a review, and its button on two other pages alone."""
    with open_log(HISTORY):
        app = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(app, "header", "Bia")
        assert "Prazo has no way to write to sellers yet" in page_text(app)
        in_past = page_text(visit("seller", seller_id="sel_ana"))
    assert "Prazo has no way to write to sellers yet" not in in_past


@pytest.mark.long
def test_one_call_about_several_reviews_stands_once_in_the_sellers_trail(
    open_log: OpenLog, visit: Visit
) -> None:
    """It stood once for each review, as if the seller had been called that often."""
    with open_log(HISTORY):
        app = recorded(visit)
        press(app, "Undo")
        on_seller = trail(app)
        on_process = trail(visit("process", as_of=None, process="prc_1"))
    [undone] = [it for it in on_seller if "Call or letter retracted" in it]
    [call] = [it for it in on_seller if "Call or letter**" in it]
    assert "telephone · reached · Bia · about 2 reviews" in call
    assert "entries 3, 4" in call
    assert "about 2 reviews" in undone
    assert "entries 5, 6" in undone
    [call] = [it for it in on_process if "Call or letter**" in it]
    assert "review" not in call


def trail(app: AppTest) -> list[str]:
    """What each step of the audit trail says of itself."""
    return [it.label for it in app.expander if "entr" in it.label]


def test_messages_to_one_seller_are_stopped_and_go_on(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(app, "header", "Bia")
        press(app, "Stop messages")
        assert "Fill this in: it goes into the log." in page_text(app)
        say_why(app, "a dispute")
        press(app, "Stop messages")
        assert "No messages go to this seller by themselves since" in page_text(app)
        assert "Bia: a dispute" in page_text(app)
        assert service.reader.count("held_sellers") == 1
        press(app, "Undo")
        assert service.reader.count("held_sellers") == 0
        say_why(app, "another dispute")
        press(app, "Stop messages")
        press(app, "Resume messages")
        assert "Fill this in: it goes into the log." in page_text(app), "the field was emptied"
        say_why(app, "settled")
        press(app, "Resume messages")
        steps = service.reader.read("timeline", where={"kind": "notice_schedule"}).to_pylist()
        assert [(it["step"], it["actor"], it["reason"]) for it in steps] == [
            ("held", "Bia", "a dispute"),
            ("released", "Bia", "undone"),
            ("held", "Bia", "another dispute"),
            ("released", "Bia", "settled"),
        ]
        assert "Stop messages" in labels(app)
        in_trail = [it for it in trail(app) if "Schedule of seller notices" in it]
        assert [it.partition("  \n")[0].partition("** · ")[2] for it in in_trail] == [
            "Bia · settled",
            "Bia · another dispute",
            "Bia · undone",
            "Bia · a dispute",
        ]


def say_why(app: AppTest, text: str, form: str = "hold") -> None:
    [why] = [it for it in app.text_input if it.label == "Why?" and str(it.key).startswith(form)]
    why.set_value(text)


def test_who_is_not_the_seller_is_a_persons_task_and_no_undo_ends_it(
    open_log: OpenLog, visit: Visit
) -> None:
    """No page said so. Undo of a stop ended it, and undo of its end forgot it."""
    refused = [review("prc_3", before(days=20)), *attempt("prc_3", before(days=1), status=400)]
    with open_log([*HISTORY, *refused]) as service:

        def stands() -> tuple[str, str | None]:
            acting.catch_up()
            rows = service.reader.read("timeline", where={"kind": "notice_schedule"}).to_pylist()
            last = max(rows, key=lambda row: row["seq"])
            return last["step"], last["reason"]

        app = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(app, "header", "Bia")
        say_why(app, "a dispute")
        press(app, "Stop messages")
        by = {"seller_id": "sel_ana", "recorded_by": "journey"}
        service.inbox.append([wished("not_me", journey_id="jrn_1", **by)])
        press(app, "Undo")
        assert "it was changed meanwhile" in page_text(app)
        assert stands() == ("stopped", "not_me")

        app = visit("seller", as_of=None, seller_id="sel_ana")
        say_name(app, "header", "Bia")
        assert "is not the seller, they say" in page_text(app)
        for page, asked in (("process", {"process": "prc_1"}), ("sellers", {})):
            assert "is not the seller, they say" in page_text(visit(page, as_of=None, **asked))
        # Process led with "Ask again. Act now", and said this small and far below.
        first = "First find out who the messages go to."
        for process in ("prc_1", "prc_3"):
            assert first in page_text(visit("process", as_of=None, process=process))
        press(app, "Resume messages")
        assert "Fill this in: it goes into the log." in page_text(app)
        assert stands() == ("stopped", "not_me")
        say_why(app, "reached by telephone")
        press(app, "Resume messages")
        assert stands() == ("released", "reached by telephone")
        assert "ended the messages" not in page_text(visit("sellers", as_of=None))
        assert first not in page_text(visit("process", as_of=None, process="prc_1"))
        press(app, "Undo")
        assert stands() == ("stopped", "not_me")
