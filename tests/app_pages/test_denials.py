"""The denials page tells why sellers were denied and how those who came back fared."""

import pytest

from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, seller_event
from tests.app_pages.support.reading import chart, metrics, page_text, unfold

QUALITY = {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}
NAME = {"reason": "REGISTRATION_INCONSISTENCY", "detail": "NAME_INVALID"}
POLICY = {"reason": "INTERNAL_KYC_POLICY"}


def denied(n: int, *reasons: dict[str, str], retry: bool, days: float, taxpayer: str = "") -> dict:
    return seller_event(
        f"sel_{n}",
        "denied",
        before(days=days),
        decision_reasons=list(reasons),
        retry=retry,
        taxpayer=taxpayer or f"{n:011}",
    )


# Eight denials for the photo, one for the name, one by policy; sel_1 came back as sel_21 and was
# enabled, sel_10 came back as sel_22 although its denial said no.
HISTORY = [
    *(denied(n, QUALITY, retry=True, days=10 + n) for n in range(1, 9)),
    denied(9, NAME, retry=True, days=3),
    denied(10, POLICY, retry=False, days=30),
    seller_event("sel_21", "created", before(days=5), taxpayer=f"{1:011}"),
    seller_event("sel_21", "enabled", before(days=4), taxpayer=f"{1:011}"),
    seller_event("sel_22", "created", before(days=2), taxpayer=f"{10:011}"),
]


def test_one_sentence_says_how_few_reasons_explain_most(drawn: Visit) -> None:
    shown = page_text(drawn("denials"))
    assert "1 reason accounts for 80.0% of all reasons given." in shown
    assert "The most frequent is “Document: photo quality too low” (8)." in shown


def test_the_page_says_that_figures_and_charts_do_not_follow_the_filters_of_the_list(
    drawn: Visit,
) -> None:
    """Filtered by a type that no denial here has, the list was empty under the bars of all ten, and
    nothing said that these do not follow."""
    app = drawn("denials", type="business")
    assert chart(app)["data"][0]["x"] == [8, 1, 1]
    shown = page_text(app)
    assert "No denial matches these filters" in shown
    assert "Figures and charts count every denial. The filters below apply to the list" in shown


def test_what_became_of_the_denied_follows_the_rules(drawn: Visit) -> None:
    app = drawn("denials")
    shown = metrics(app)
    assert shown["Denied sellers"] == ("10", "10 denials")
    assert shown["Can be corrected"][0] == "90.0%"
    assert shown["Came back"] == ("20.0%", "2 as new sellers")
    assert shown["Cured"] == ("50.0%", "of those who came back")
    assert "1 came back although the platform had said that a new attempt has no chance" in (
        page_text(app)
    )


def test_how_long_a_cure_took_is_said(drawn: Visit) -> None:
    """`sel_1` was denied eleven days ago, and its successor enabled four days ago."""
    shown = page_text(drawn("denials", list="returned", cured="yes"))
    assert "Of all who were ever cured, half took at most 7 days from their first denial." in shown
    assert "Cured after\n28 May 2026, 09:00:00\n7 days" in shown


def test_colours_are_explained_where_both_are_drawn(open_log: OpenLog, visit: Visit) -> None:
    """Of 20 reasons given once each, 16 reach 80 %, and the 12 drawn are all red."""
    ways = [{**NAME, "detail": f"Detail {n}"} for n in range(20)]
    with open_log([denied(n, way, retry=True, days=3) for n, way in enumerate(ways)]):
        app = visit("denials")
    assert len(set(chart(app)["data"][0]["marker"]["color"])) == 1
    assert "Red:" not in page_text(app)
    assert "Showing the 12 most frequent of 20." in page_text(app)


def test_the_vital_few_are_red_and_the_weeks_are_counted(drawn: Visit) -> None:
    app = drawn("denials")
    bars = chart(app)["data"][0]
    assert bars["x"] == [8, 1, 1]
    assert bars["marker"]["color"] == ["#D64550", "#7A869A", "#7A869A"]
    assert "Red: the few that account for most; grey: the others." in page_text(app)
    weeks = chart(app, 2)["data"][0]
    assert [sum(cell or 0 for cell in week) for week in zip(*weeks["z"], strict=True)] == [
        1,
        0,
        5,
        3,
        1,
    ]
    assert weeks["x"] == ["4 May", "11 May", "18 May", "25 May", "1 Jun"]


def test_months_stand_side_by_side_as_they_passed(open_log: OpenLog, visit: Visit) -> None:
    """Months without a denial had no column: February stood beside May as if it came before it.
    Those before the first denial have none: they took two thirds of the room."""
    with open_log([denied(1, QUALITY, retry=True, days=3), denied(2, NAME, retry=True, days=100)]):
        months = chart(visit("denials", by="month"), 2)["data"][0]
    assert months["x"] == ["Feb 2026", "Mar 2026", "Apr 2026", "May 2026", "Jun 2026"]
    assert months["z"] == [[None, None, None, 1, None], [1, None, None, None, None]]


def test_where_weeks_had_no_denial_nothing_is_drawn(open_log: OpenLog, visit: Visit) -> None:
    with open_log([denied(1, QUALITY, retry=True, days=100)]):
        app = visit("denials")
    assert page_text(app).count("Nothing to show yet.") == 2  # nobody came back, either


def test_the_latest_denials_are_listed_with_their_reasons(drawn: Visit) -> None:
    app = drawn("denials")
    grid = app.dataframe[0].value
    assert list(grid["seller_id"])[:2] == ["sel_9", "sel_1"]
    assert [list(cell) for cell in grid["retry"]][:2] == [["can be corrected"]] * 2
    assert "Registration data: name differs from the tax authority's record" in page_text(app)


def test_without_a_denial_the_page_says_so(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        assert "No seller has been denied" in page_text(visit("denials"))


def test_denials_without_a_reason_are_shown_all_the_same(open_log: OpenLog, visit: Visit) -> None:
    """The contract lets reasons be absent: the page used to fail on the first of none."""
    with open_log([denied(1, retry=True, days=3)]):
        app = visit("denials")
    assert metrics(app)["Denied sellers"] == ("1", "1 denial")
    assert "Nothing to show yet." in page_text(app)


def test_the_week_is_shown_beside_the_one_before(drawn: Visit) -> None:
    shown = page_text(drawn("denials"))
    assert "1 denial in the last 7 days, 3 in the 7 days before" in shown


def test_by_month_the_month_is_shown_beside_the_one_before(open_log: OpenLog, visit: Visit) -> None:
    """Anyone who compared months read how two weeks compare. On 1 June: one this morning; 31 and 1
    May; 30 April is the month before that."""
    days = (0.1, 1, 31, 32)
    with open_log([denied(n, QUALITY, retry=True, days=ago) for n, ago in enumerate(days)]):
        shown = page_text(visit("denials", by="month"))
    assert "1 denial this month so far, 2 in the whole month before" in shown
    assert "in the last 7 days," not in shown


def test_months_are_compared_without_a_click_by_reason(open_log: OpenLog, visit: Visit) -> None:
    """Of months it took another click, and what changed was said of rolling 30 days alone. On 1
    June: one this morning; 31 and 1 May."""
    days = (0.1, 1, 31)
    with open_log([denied(n, QUALITY, retry=True, days=ago) for n, ago in enumerate(days)]):
        shown = page_text(visit("denials"))
    assert (
        "1 denial this month so far, 2 in the whole month before. Changed most, this month so far"
        " after the whole month before: “Document: photo quality too low”, 1 after 2." in shown
    )


def test_what_did_not_change_between_months_is_not_said_to_have_changed_most(
    open_log: OpenLog, visit: Visit
) -> None:
    """“1 after 1” stood there. On 1 June: one this morning; 31 May."""
    with open_log([denied(n, QUALITY, retry=True, days=ago) for n, ago in enumerate((0.1, 1))]):
        shown = page_text(visit("denials"))
    assert "1 denial this month so far, 1 in the whole month before." in shown
    assert "Changed most" not in shown


def test_denials_are_filtered_by_what_the_platform_said_and_by_seller(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        hopeless = visit("denials", retry="no").dataframe[0].value
        one = visit("denials", of="_9").dataframe[0].value
        none = page_text(visit("denials", of="nobody"))
    assert list(hopeless["seller_id"]) == ["sel_10"]
    assert list(one["seller_id"]) == ["sel_9"]
    assert "No denial matches these filters" in none


@pytest.mark.long
def test_a_number_beside_a_filter_counts_what_the_other_filters_leave(
    open_log: OpenLog, visit: Visit
) -> None:
    """Denials had no numbers, and the guide said that every filter has one."""
    photo = "DOCUMENT_VALIDATION/DOCUMENT_QUALITY"
    with open_log(HISTORY):
        said = [
            visit("denials", **asked).button_group(key="retry").options
            for asked in ({}, {"retry": "no"}, {"reason": photo}, {"period": "last_month"})
        ]
        back = visit("denials", list="returned", cured="yes")
        cured, vain = (back.button_group(key=key).options for key in ("cured", "vain"))
        chosen = visit("denials", retry="no")
        chosen.button_group(key="retry").set_value(["yes"]).run()
    assert said == [
        ["can be corrected (9)", "no chance (1)"],
        ["can be corrected (9)", "no chance (1)"],
        ["can be corrected (8)", "no chance (0)"],
        ["can be corrected (9)", "no chance (1)"],
    ]
    assert (cured, vain) == (["cured (1)", "not yet (1)"], ["no chance (0)"])
    assert len(chosen.dataframe[0].value) == 9
    assert "9 denials" in page_text(chosen)


def test_denials_are_asked_for_by_reason_and_by_month(open_log: OpenLog, visit: Visit) -> None:
    """On 1 June: `sel_9` was denied on 29 May, `sel_8` on 14 May, `sel_10` on 2 May."""
    with open_log(HISTORY):
        photo = visit("denials", reason="DOCUMENT_VALIDATION/DOCUMENT_QUALITY")
        policy = visit("denials", reason="INTERNAL_KYC_POLICY")
        month = visit("denials", period="this_month")
        before_that = visit("denials", period="last_month", reason="INTERNAL_KYC_POLICY")
    assert len(photo.dataframe[0].value) == 8
    assert list(policy.dataframe[0].value["seller_id"]) == ["sel_10"]
    assert "No denial matches these filters" in page_text(month)
    assert list(before_that.dataframe[0].value["seller_id"]) == ["sel_10"]


def test_a_week_and_a_period_that_are_both_chosen_both_count(
    open_log: OpenLog, visit: Visit
) -> None:
    """The week of a bar alone did, and the period that stood beside it was chosen in vain."""
    with open_log(HISTORY):
        week = visit("denials", ends="2026-05-29")
        assert "From 23 May 2026 to 29 May 2026, UTC days." in page_text(week)
        week.segmented_control(key="period").set_value("last_month").run()
        assert list(week.dataframe[0].value["seller_id"]) == ["sel_9"]
        week.segmented_control(key="period").set_value("this_month").run()
        assert "No denial matches these filters" in page_text(week)


def test_a_week_before_the_calendar_is_none(open_log: OpenLog, visit: Visit) -> None:
    """It began before the first day that there is: the page failed."""
    with open_log(HISTORY):
        assert "10 denials" in page_text(visit("denials", ends="0001-01-03"))


def test_returns_are_drawn_by_week_with_what_became_of_them(drawn: Visit) -> None:
    app = drawn("denials")
    cured, others = chart(app, 3)["data"]
    assert (cured["y"][-1], others["y"][-1]) == (1, 1)
    assert sum(cured["y"]) + sum(others["y"]) == 2
    assert "In the last 12 weeks 2 denied sellers came back; 1 cured so far." in page_text(app)
    # Of those decided in the last 7 days, `sel_21` was enabled and `sel_9` denied.
    assert metrics(app)["Denial rate"][0] == "50.0%"


def test_denials_are_listed_by_type_of_seller(open_log: OpenLog, visit: Visit) -> None:
    """One denial names a business, one an individual, one says nothing of it: an analyst could not
    tell them apart."""
    history = [
        seller_event(f"sel_{n}", "denied", before(days=n), decision_reasons=[NAME], **said)
        for n, said in enumerate(({"type": "individual"}, {"type": "business"}, {"type": None}), 1)
    ]
    with open_log(history):
        everybody = visit("denials").dataframe[0].value
        app = visit("denials", type="business")
    assert list(everybody["seller_type"]) == ["individual", "business", "–"]
    assert list(app.dataframe[0].value["seller_id"]) == ["sel_2"]
    assert "business (1)" in app.button_group(key="type").options[1]
    assert "Type of seller: business" in page_text(app)


def test_those_who_came_back_are_listed_with_what_became_of_them(
    open_log: OpenLog, visit: Visit
) -> None:
    """`sel_10` came back two days ago, in vain; `sel_1` five days ago, and was enabled."""
    with open_log(HISTORY):
        app = visit("denials", list="returned")
        cured = visit("denials", list="returned", cured="yes").dataframe[0].value
        vain = visit("denials", list="returned", vain="yes").dataframe[0].value
        week = visit("denials", list="returned", ends="2026-05-25")
    grid = app.dataframe[0].value
    assert list(grid["seller_id"]) == ["sel_10", "sel_1"]
    assert list(grid["successor_id"]) == ["sel_22", "sel_21"]
    assert [list(cell) for cell in grid["is_cured"]] == [["not yet"], ["cured"]]
    assert [list(cell) for cell in grid["was_in_vain"]] == [["no chance"], []]
    assert list(grid["seconds_to_cure"].fillna("")) == ["", "7 days"]
    assert "2 sellers came back" in page_text(app)
    assert list(cured["seller_id"]) == ["sel_1"]
    assert list(vain["seller_id"]) == ["sel_10"]
    assert "No seller matches these filters" in page_text(week)


def test_figures_lead_to_those_who_came_back(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("denials")
        led = {button.key: button for button in app.button if str(button.key).startswith("rows")}
        led["rows [('list', 'returned'), ('cured', 'yes')]"].click()
        shown = app.run()
    assert list(shown.dataframe[0].value["seller_id"]) == ["sel_1"]


def test_which_fields_differ_is_worked_out_once_somebody_asks_and_says_no_value(
    open_log: OpenLog, visit: Visit
) -> None:
    """Three were accepted: two with all that they had but for the e-mail address, and one with a
    birthdate besides, which is thus in one of one."""
    changes = ({"email": "a@example.com"}, {"email": "b@example.com"}, {"birthdate": "1990-01-01"})
    new = [
        seller_event(f"sel_2{n}", what, before(days=days), taxpayer=f"{n:011}", **change)
        for n, change in enumerate(changes, start=1)
        for what, days in (("created", 5), ("enabled", 4))
    ]
    with open_log([*HISTORY[:-3], *new]):
        app = visit("denials")
        assert "accepted record" not in page_text(app).replace("accepted record?", "")
        unfold(app, "fields")
    shown = page_text(app)
    assert "The accepted record differs in 2 of 3: E-mail" in shown
    assert (
        "Denied for “Document: photo quality too low” and cured since: 3. No field of the" in shown
    )
    assert "a@example.com" not in shown


def test_the_time_of_analyses_stands_beside_what_is_promised(drawn: Visit) -> None:
    """A day from the creation to the decision."""
    shown = page_text(drawn("denials"))
    assert "The platform kept its 180 s on 0 of 1 day" in shown
    assert "it decided 0 of 1 in that time; 99% took at most 24 h." in shown


def test_a_month_says_how_many_came_back_of_how_many_and_how_many_were_cured(
    open_log: OpenLog, visit: Visit
) -> None:
    """Of three denied in March two came back, and one was enabled ten days after its denial."""
    history = [
        *(denied(n, QUALITY, retry=True, days=70) for n in (1, 2, 3)),
        seller_event("sel_21", "created", before(days=65), taxpayer=f"{1:011}"),
        seller_event("sel_21", "enabled", before(days=60), taxpayer=f"{1:011}"),
        seller_event("sel_22", "created", before(days=65), taxpayer=f"{2:011}"),
    ]
    history += [denied(4, NAME, retry=True, days=70)]
    with open_log(history):
        app = visit("denials")
        other = page_text(visit("denials", reason="REGISTRATION_INCONSISTENCY/NAME_INVALID"))
    shown = page_text(app)
    # Of whichever reason is asked for, such as by a click on its bar.
    said = "“Registration data: name differs from the tax authority's record”: 0 of 1 came back"
    assert said in other
    assert chart(app, 2)["data"][1]["text"] == ["50.0% of 2, half in 10 days", ""]
    assert "“Document: photo quality too low”: 2 of 3 came back within 60 days, 1 cured" in shown
    assert (
        "Of 3 denied in Mar 2026 for “Document: photo quality too low” 2 came back within 60 days,"
        " and 1 of these were cured. Half of the cured took at most 10 days."
    ) in shown


def test_what_is_more_than_chance_stands_apart_from_what_may_be_chance(
    open_log: OpenLog, visit: Visit
) -> None:
    """Nine after one is beyond an interval of 95 %; two after one is not."""
    history = [
        *(denied(n, QUALITY, retry=True, days=10) for n in range(9)),
        denied(9, QUALITY, retry=True, days=40),
        *(denied(n, NAME, retry=True, days=days) for n, days in ((10, 5), (11, 6), (12, 50))),
    ]
    with open_log(history):
        shown = page_text(visit("denials"))
    assert "1 reason clearly changed in the last 30 days" in shown
    assert (
        "Clearly more often than in the 30 days before: “Document: photo quality too low”, 9 after"
        " 1. What changed of the"
        " other reason may be chance."
    ) in shown
