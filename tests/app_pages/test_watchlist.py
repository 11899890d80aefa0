"""The watchlist shows each queue, what can still be saved first, fifty a page."""

from datetime import timedelta
from urllib.parse import parse_qsl

import pytest

from app_pages.parts import address
from pipeline import instants
from pipeline.alert.summaries import reports
from pipeline.alert_rules import AlertRules
from pipeline.serve.due_alerts import processes_in
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import (
    AS_OF,
    attempt,
    before,
    collected,
    review,
    seller_event,
)
from tests.app_pages.support.reading import metrics, page_text, plain

HISTORY = [
    review("prc_worst", before(days=50), seller="sel_ana", fields=["revenue", "address.city"]),
    review("prc_late", before(days=40), seller="sel_bia"),
    review("prc_soon", before(days=26), seller="sel_ana"),
    review("prc_tolerated", before(days=55), seller="sel_caio", kind="ACP"),
    review("prc_pending", before(days=10), seller="sel_caio", kind="ACP"),
    *attempt("prc_late", before(days=2), status=401, seller="sel_bia"),
    collected("prc_soon", "invited", before(days=25)),
    collected("prc_soon", "answered", before(days=24)),
]


def test_a_long_next_action_says_that_it_is_cut(open_log: OpenLog, visit: Visit) -> None:
    history = [review("prc_1", before(days=20)), *attempt("prc_1", before(days=2), status=400)]
    with open_log(history):
        [action] = visit("watchlist").dataframe[0].value["next_action"]
    assert action == "Correct what was refu…"


def listed(app) -> list[str]:
    return list(app.dataframe[0].value["process_id"])


def test_what_can_still_be_saved_comes_first_and_then_what_expired_last(drawn: Visit) -> None:
    app = drawn("watchlist")
    assert listed(app) == ["prc_soon", "prc_tolerated", "prc_pending", "prc_late", "prc_worst"]
    grid = app.dataframe[0].value
    assert [list(states) for states in grid["state"]] == [
        ["OVERDUE · in time"],
        ["OVERDUE · in time"],
        ["PENDING · in time"],
        ["EXPIRED · late"],
        ["EXPIRED · late"],
    ]
    assert list(grid["time_left"]) == [
        "4 days left",
        "5 days left",
        "50 days left",
        "10 days late",
        "20 days late",
    ]
    assert list(grid["next_action"]) == [
        "Submit the answers",
        "Start a collection",
        "Start a collection",
        "Check the credentials",
        "Start a collection",
    ]


def test_what_comes_next_is_a_filter_away(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert listed(visit("watchlist", state="PENDING")) == ["prc_pending"]
        assert listed(visit("watchlist", due="7")) == ["prc_soon", "prc_tolerated"]
        shown = page_text(visit("watchlist", due="7", state="EXPIRED"))
    assert "No process matches these filters" in shown


def test_the_card_tells_of_a_row_what_it_may_cost_and_what_to_do(drawn: Visit) -> None:
    app = drawn("watchlist", row="prc_worst")
    shown = page_text(app)
    assert metrics(app)["Deadline"] == ("20 days late", "12 May 2026, 09:00")
    assert "The seller can be exposed to regulatory penalties" in shown
    assert "2 requested fields" in shown
    assert "Revenue revenue · City address.city" in shown


JUST_LATE_AND_DELETED = [
    review("prc_just_late", before(days=30, minutes=4), seller="sel_bia"),
    review("prc_due", before(days=30) + timedelta(hours=2, minutes=7), seller="sel_bia"),
    review("prc_1", before(days=40)),
    seller_event("sel_ana", "created", before(days=100)),
    seller_event("sel_ana", "deleted", before(days=3)),
]


def test_a_deadline_minutes_ago_is_minutes_late_and_not_a_day(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(JUST_LATE_AND_DELETED):
        english, portuguese = (visit("watchlist", seller="BIA", lang=it) for it in ("en", "pt"))
    assert list(english.dataframe[0].value["time_left"]) == ["2 h 07 left", "4 min late"]
    assert metrics(english)["Deadline"][0] == "2 h 07 left"
    assert list(portuguese.dataframe[0].value["time_left"]) == [
        "faltam 2 h 07",
        "4 min de atraso",
    ]


def test_an_open_process_of_a_deleted_seller_says_whom_to_ask(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(JUST_LATE_AND_DELETED):
        shown = page_text(visit("watchlist", row="prc_1"))
        other = page_text(visit("watchlist", row="prc_1", as_of="2026-05-20T12:00:00Z"))
    assert "The platform deleted this seller on 29 May 2026, 09:00." in shown
    assert "Ask what still stands before anything is collected or sent." in shown
    assert "prc_1" in other
    assert "The platform deleted this seller" not in other


def test_filters_stand_in_the_url_as_codes(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("watchlist")
        app.pills(key="state").set_value(["OVERDUE"]).run()
        assert listed(app) == ["prc_soon", "prc_tolerated"]
        assert app.query_params["state"] == "OVERDUE"
        app.pills(key="type").set_value(["ACP"]).run()
        assert listed(app) == ["prc_tolerated"]
        assert app.query_params["type"] == "ACP"


INVITED = [
    review("prc_asked", before(days=2), seller="sel_ana"),
    collected("prc_asked", "invited", before(days=1)),
]


@pytest.mark.parametrize(
    ("asked", "types", "states"),
    [
        (
            {},
            ["ACI (3)", "ACP (2)"],
            ["EXPIRED · late (2)", "OVERDUE · in time (2)", "PENDING · in time (1)"],
        ),
        ({"queue": "waiting_for_seller"}, ["ACI (1)", "ACP (0)"], ["OVERDUE · in time (1)"]),
        (
            {"queue": "all"},
            ["ACI (4)", "ACP (2)"],
            ["EXPIRED · late (2)", "OVERDUE · in time (3)", "PENDING · in time (1)"],
        ),
        (
            {"state": "PENDING"},
            ["ACI (0)", "ACP (1)"],
            ["EXPIRED · late (2)", "OVERDUE · in time (2)", "PENDING · in time (1)"],
        ),
    ],
)
def test_a_number_beside_a_filter_is_how_many_rows_it_leaves_in_this_queue(
    asked: dict[str, str],
    types: list[str],
    states: list[str],
    open_log: OpenLog,
    visit: Visit,
) -> None:
    with open_log([*HISTORY, *INVITED]):
        app = visit("watchlist", **asked)
    assert sorted(app.pills(key="type").options) == types
    assert [plain(it) for it in app.pills(key="state").options if "(0)" not in it] == states
    pending = "state" in asked
    assert app.segmented_control(key="queue").options == [
        f"Act now ({1 if pending else 5})",
        "Expired, waiting (0)",
        "Waiting for the platform (0)",
        f"Waiting for the seller ({0 if pending else 1})",
        f"All ({1 if pending else 6})",
    ]


@pytest.mark.parametrize(
    ("asked", "queued", "states", "types", "actions"),
    [
        (
            {"type": "ACI"},
            3,
            ["EXPIRED · late (2)", "OVERDUE · in time (1)"],
            ["ACI (3)", "ACP (2)"],
            ["Check the credentials (1)", "Start a collection (1)", "Submit the answers (1)"],
        ),
        (
            {"seller": "caio"},
            2,
            ["OVERDUE · in time (1)", "PENDING · in time (1)"],
            ["ACP (2)"],
            ["Start a collection (2)"],
        ),
        (
            {"action": "start_collection", "state": ["EXPIRED", "PENDING"]},
            2,
            ["EXPIRED · late (1)", "OVERDUE · in time (1)", "PENDING · in time (1)"],
            ["ACI (1)", "ACP (1)"],
            ["Check the credentials (1)", "Start a collection (2)"],
        ),
        (
            {"due": "7"},
            2,
            ["OVERDUE · in time (2)"],
            ["ACI (1)", "ACP (1)"],
            ["Start a collection (1)", "Submit the answers (1)"],
        ),
    ],
)
def test_a_number_beside_a_filter_counts_what_the_other_filters_leave(
    asked: dict[str, str | list[str]],
    queued: int,
    states: list[str],
    types: list[str],
    actions: list[str],
    open_log: OpenLog,
    visit: Visit,
) -> None:
    """Anyone who had chosen a type read "OVERDUE · in time (12)", and found three."""
    with open_log(HISTORY):
        app = visit("watchlist", **asked)

    def left(key: str) -> list[str]:
        widget = app.multiselect(key=key) if key == "action" else app.pills(key=key)
        return sorted(plain(it) for it in widget.options if "(0)" not in it)

    assert app.segmented_control(key="queue").options[0] == f"Act now ({queued})"
    assert (left("state"), left("type"), left("action")) == (states, types, actions)


def test_a_number_is_what_a_click_on_its_filter_leads_to(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("watchlist", type="ACI")
        assert "OVERDUE · in time (1)" in [plain(it) for it in app.pills(key="state").options]
        app.pills(key="state").set_value(["OVERDUE"]).run()
        assert listed(app) == ["prc_soon"]
        assert app.pills(key="type").options == ["ACP (1)", "ACI (1)"]


def test_a_filter_stays_when_its_number_changes(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("watchlist", type="ACP")
        app.segmented_control(key="queue").set_value("expired").run()
        assert not app.dataframe
        assert app.pills(key="type").value == ["ACP"]
        assert app.query_params["type"] == "ACP"


def test_a_link_opens_with_its_filters_in_either_language(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        for lang in ("en", "pt"):
            app = visit("watchlist", lang=lang, state="EXPIRED", seller="BIA")
            assert listed(app) == ["prc_late"]
            app = visit("watchlist", lang=lang, action="submit")
            assert listed(app) == ["prc_soon"]


def test_a_code_that_is_no_filter_is_left_out(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert len(listed(visit("watchlist", state="' or 1=1 --"))) == 5


def test_filters_that_match_nothing_say_so(drawn: Visit) -> None:
    app = drawn("watchlist", seller="nobody")
    assert "No process matches these filters" in page_text(app)
    assert not app.dataframe


def test_an_empty_watchlist_says_when_it_will_not_be(open_log: OpenLog, visit: Visit) -> None:
    new = review("prc_new", before(days=2), seller="sel_ana")
    with open_log([new, collected("prc_new", "invited", before(days=1))]):
        assert "Nothing has to be done now" in page_text(visit("watchlist"))


def test_a_long_list_is_paged_in_the_url_and_a_new_filter_starts_at_its_first_page(
    open_log: OpenLog, visit: Visit
) -> None:
    many = [review(f"prc_{n:03}", before(days=40, minutes=200 - n)) for n in range(120)]
    few = [review(f"prc_z{n}", before(days=45), kind="ACP") for n in range(60)]
    other = review("prc_bia", before(days=1), seller="sel_bia", kind="ACP")
    with open_log([*many, *few, other]):
        first = visit("watchlist", type="ACI")
        assert listed(first) == [f"prc_{n:03}" for n in range(119, 69, -1)]
        assert "120 processes" in page_text(first)
        app = visit("watchlist", type="ACI", page="3")
        last = [f"prc_{n:03}" for n in range(19, -1, -1)]
        assert listed(app) == last
        assert listed(visit("watchlist", type="ACI", page="99")) == last
        assert listed(visit("watchlist", type="ACI", page="x")) == listed(first)
        app.pills(key="type").set_value(["ACP"]).run()
        assert listed(app)[0] == "prc_z0"
        # A list without other pages keeps none, by which its first click drew the whole page.
        alone = visit("watchlist", type="ACP", page="2")
        alone.text_input(key="seller").set_value("sel_bia").run()
        assert listed(alone) == ["prc_bia"]
        assert address.PAGE not in alone.session_state
        assert "page" not in app.query_params


def test_the_last_day_of_the_calendar_is_not_a_day_to_look_at(open_log: OpenLog, visit: Visit):
    """It has no day after it, where it would end: the page failed."""
    with open_log(HISTORY):
        assert listed(visit("watchlist", day="9999-12-31")) == listed(visit("watchlist"))
        before_it = visit("watchlist", day="9999-12-30")
    assert not before_it.dataframe
    assert "No process matches these filters" in page_text(before_it)


def test_a_day_and_a_period_that_are_both_chosen_both_count(open_log: OpenLog, visit: Visit):
    """The day of a bar alone did, and the period was chosen in vain."""
    with open_log(HISTORY):
        assert listed(visit("watchlist", day="2026-06-05", period="this_month")) == ["prc_soon"]
        neither = page_text(visit("watchlist", day="2026-06-05", period="last_month"))
    assert "No process matches these filters" in neither


QUERIES = (
    "",
    "queue=all",
    "queue=waiting_for_seller",
    "queue=expired&state=PENDING",
    "due=7&type=ACP",
    "whose=unassigned&state=PENDING&state=EXPIRED",
    "seller=BIA",
    "period=this_month",
    "period=this_month&day=2026-06-05",
    "period=last_month&day=2026-06-05",
    "action=submit",
)


def test_a_report_lists_what_the_page_shows(open_log: OpenLog, visit: Visit) -> None:
    rules = AlertRules.model_validate(
        {"mail": {"host": "m", "sender": "a@b"}, "recipients": {"ana": {"email": "a@b"}}}
    )
    now = instants.parse(AS_OF)
    assert now is not None
    with open_log([*HISTORY, *INVITED]) as service:
        rows = processes_in(service.reader.read("open_processes", as_of=now))
        for query in QUERIES:
            asked: dict[str, list[str]] = {}
            for name, value in parse_qsl(query):
                asked.setdefault(name, []).append(value)
            app = visit("watchlist", **asked)
            shown = listed(app) if app.dataframe else []
            sent = [row.process_id for row in rows if reports.fits(row, query, "ana", rules, now)]
            assert sorted(sent) == sorted(shown), query


def test_a_reader_may_have_the_lowest_chance_first(open_log: OpenLog, visit: Visit) -> None:
    """Of sixty that were due, those open with four days left were never finished; all of those with
    twenty-eight left were open, and forty were finished in time."""
    due = [review(f"prc_{n}", before(days=70), seller="sel_bia") for n in range(60)]
    done = [
        line for n in range(40) for line in attempt(f"prc_{n}", before(days=60 - n % 2), status=200)
    ]
    fresh = review("prc_fresh", before(days=2), seller="sel_ana")
    with open_log([*due, *done, fresh, review("prc_near", before(days=26), seller="sel_ana")]):
        app = visit("watchlist", by="chance", queue="all")
        sellers = visit("sellers", by="chance")
    shown = app.dataframe[0].value
    assert list(shown["process_id"])[:2] == ["prc_near", "prc_fresh"]
    assert list(shown["chance"])[:3] == ["0.0%", "66.7%", "–"]
    assert len(shown) == 22
    of_sellers = sellers.dataframe[0].value
    assert list(zip(of_sellers["seller_id"], of_sellers["lowest_chance"], strict=True)) == [
        ("sel_ana", "0.0%"),
        ("sel_bia", "–"),
    ]
