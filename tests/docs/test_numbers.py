"""The numbers of `docs/rules.md` are the product's: each is read from the page and tried, by what
the product says at the instants on both sides of it. So are the limits of `docs/operations.md`."""

import json
import re
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Any

import pytest

from pipeline import instants
from pipeline.contract.body import MAX_DEPTH
from pipeline.log.artifacts import MAX_ARTIFACT_BYTES
from pipeline.receive.collections import MAX_ARTIFACTS
from pipeline.receive.ingest import MAX_LINE_BYTES
from pipeline.receive.rejections import Rejected, Rejections
from pipeline.serve.ledger_access import CATCH_UP_SECONDS
from pipeline.settings import Settings
from pipeline.trends import forecast_score
from tests.docs import pages
from tests.docs.pages import ROOT
from tests.queries.findings.builders import found
from tests.queries.submissions import test_retries as retries
from tests.queries.trends import test_after_expiry as expiry
from tests.queries.trends import test_denial_changes as changes
from tests.queries.trends import test_denials_by_month as months
from tests.queries.trends import test_forecast as forecast
from tests.submit.rules import builders as payloads
from tests.support.ledgers import asked
from tests.support.lines import (
    ACP_DEADLINE,
    OPENED,
    aci,
    acp,
    answered,
    at,
    finished,
    invited,
    live,
    posted,
    seller,
    started,
)
from tests.support.marketplace import REVENUE

TEXT = pages.text(ROOT / "docs/rules.md")
PAGE = " ".join(TEXT.split())
NAMES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
WORDS = {"a": 1, "an": 1, **{name: number for number, name in enumerate(NAMES, 1)}}
NUMBER = rf"\d+|{'|'.join(WORDS)}"
COUNTED = rf"\d+(?:st|nd|rd|th)?|{'|'.join(WORDS)}"
UNITS = "months?|weeks?|days?|hours?|h|minutes?|min|seconds?|s|%|digits?|letters?|end|or more"
OF_NO_RULE = (
    'people are shown: "{} h 07 left", "{} min late"',
    "could move a deadline by {} day.",
    "(the platform's limit is {} s)",
)
"""Examples, and what the platform promises."""

MOMENT = timedelta(microseconds=1)
OPENED_AT = at(OPENED.removesuffix("Z"))
SENT_AT = at("2026-03-02T00:00:00")
TRIED: list[str] = []
"""The quotes that tests read numbers from."""


def says(*quotes: str) -> pytest.MarkDecorator:
    """A test of what the page says in these words, with `{}` for each number."""
    TRIED.extend(quotes)
    return pytest.mark.parametrize("quote", quotes)


def places(quote: str) -> list[re.Match[str]]:
    pattern = re.escape(quote).replace(r"\{\}", rf"({NUMBER})").replace(r"\ ", " ")
    return [*re.finditer(pattern, PAGE)]


def numbers(quote: str) -> list[int]:
    """Those that stand on the page."""
    found_at = places(quote)
    assert len(found_at) == 1, "docs/rules.md says it in other words: put them here, too"
    return [WORDS[it] if it in WORDS else int(it) for it in found_at[0].groups()]


def test_each_number_of_the_page_is_tried():
    tried = [
        range(*place.span(number))
        for quote in (*TRIED, *OF_NO_RULE)
        for place in places(quote)
        for number in range(1, len(place.groups()) + 1)
    ]
    shown = re.finditer(rf"\b(?:{COUNTED}) (?:{UNITS})(?!\w)", PAGE)
    untried = [
        PAGE[max(0, number.start() - 50) : number.end() + 30]
        for number in shown
        if not any(number.start() in place for place in tried)
    ]
    assert len(tried) > 30
    assert untried == [], "try these in a test of this file"


def iso(instant: datetime) -> str:
    return f"{instant.isoformat()}Z"


def process(history: list[dict[str, Any]], as_of: datetime) -> dict[str, Any]:
    [row] = asked(history, "process_state", as_of)
    return row


# --- review processes ----------------------------------------------------------------------------


@says(
    "A *day* as a length is {} hours.",
    "whole days of {} hours from `as_of` to the deadline",
    "0 means due within {} hours",
)
def test_a_day_lasts(quote):
    [hours] = numbers(quote)
    day_before = at(ACP_DEADLINE.removesuffix("Z")) - timedelta(hours=hours)
    assert process([acp()], day_before)["days_to_deadline"] == 1
    assert process([acp()], day_before + MOMENT)["days_to_deadline"] == 0


@says("the contract's total: {} days for an ACP, {} days otherwise")
def test_a_deadline_that_no_event_carries(quote):
    acp_days, other_days = numbers(quote)
    for review, days in ((acp, acp_days), (aci, other_days)):
        deadline_at = process([review(deadline_at=None)], OPENED_AT)["deadline_at"]
        assert deadline_at == OPENED_AT + timedelta(days=days)


@says("for an ACP, `opened_at` + {} days or `deadline_at` - {} days, whichever is earlier")
def test_an_acp_is_overdue(quote):
    after, before = numbers(quote)
    late = OPENED_AT + timedelta(days=after + before + 1)
    soon = OPENED_AT + timedelta(days=after + before - 1)
    overdue_at = OPENED_AT + timedelta(days=after)
    assert process([acp(deadline_at=iso(late))], OPENED_AT)["overdue_at"] == overdue_at
    overdue_at = soon - timedelta(days=before)
    assert process([acp(deadline_at=iso(soon))], OPENED_AT)["overdue_at"] == overdue_at


@says("more than {} day off `opened_at` + {} days (ACP) or + {} days (otherwise)")
def test_a_deadline_is_not_the_contracts(quote):
    off, acp_days, other_days = numbers(quote)
    for review, days in ((acp, acp_days), (aci, other_days)):
        for sign in (1, -1):
            edge = OPENED_AT + timedelta(days=days) + sign * timedelta(days=off)
            for deadline_at, differs in ((edge, False), (edge + sign * MOMENT, True)):
                row = process([review(deadline_at=iso(deadline_at))], OPENED_AT)
                assert row["deadline_mismatch"] is differs, (review, deadline_at)


@says("is neither the clock's state {} hour before `reported_at` nor the one {} hour after")
def test_a_report_disagrees_with_the_clock(quote):
    before, after = numbers(quote)
    overdue_at = OPENED_AT + timedelta(days=30)
    edge = overdue_at + timedelta(hours=before)
    for status, reported_at, differs in (
        ("PENDING", edge - MOMENT, False),
        ("PENDING", edge, True),
        ("OVERDUE", overdue_at - timedelta(hours=after), False),
        ("OVERDUE", overdue_at - timedelta(hours=after) - MOMENT, True),
    ):
        history = [acp(), acp("e2", iso(reported_at), status=status)]
        row = process(history, overdue_at + timedelta(days=1))
        assert row["status_disagrees"] is differs, (status, reported_at)


# --- submission attempts -------------------------------------------------------------------------


def failing(ends: list[datetime], name: str = "p1", **of_start: Any) -> list[dict[str, Any]]:
    """A try of a process that the platform could not process, so many times."""
    lines = []
    for number, end in enumerate(ends):
        attempt = f"{name}-{number}"
        lines += [
            live(started(attempt, iso(end), process_id=name, idempotency_key=name, **of_start)),
            live(finished(attempt, 500, iso(end), process_id=name)),
        ]
    return lines


@says("within the start's `timeout_seconds` ({} if it has none)")
def test_an_attempt_without_an_end(quote):
    [seconds] = numbers(quote)
    [row] = asked([acp(), started("a1", iso(SENT_AT))], "submission_attempts", SENT_AT)
    assert row["timeout_at"] == SENT_AT + timedelta(seconds=seconds)


@says("`min({} s * 2^(n-1), {} min)` after the end of the attempt before it, up to {} % earlier")
def test_the_nth_retry(quote):
    """Each of forty processes draws a place of its own in the spread."""
    first, longest, percent = numbers(quote)
    for retry in (1, 2, 5, 12):
        pause = min(first * 2 ** (retry - 1), longest * 60)
        history = []
        for number in range(40):
            name = f"p{number}"
            history += [acp(f"e{number}", process_id=name)]
            history += failing([SENT_AT + timedelta(seconds=it) for it in range(retry)], name)
        last = SENT_AT + timedelta(seconds=retry - 1)
        pending = [
            (row["retry_due_at"] - last) / timedelta(seconds=pause) * 100 - 100
            for row in asked(history, "submission_attempts", last)
            if row["is_retry_pending"]
        ]
        assert len(pending) == 40
        assert -percent <= min(pending) < -0.8 * percent, retry
        assert 0.8 * percent < max(pending) <= percent, retry


@says("**given up** {} hours after its first start or at its {}th end")
def test_a_try_is_given_up(quote):
    hours, ends = numbers(quote)
    until = SENT_AT + timedelta(hours=hours)
    [row] = asked([acp(), *failing([SENT_AT])], "submission_attempts", until - MOMENT)
    assert (row["gives_up_at"], row["is_given_up"]) == (until, False)
    [row] = asked([acp(), *failing([SENT_AT])], "submission_attempts", until)
    assert row["is_given_up"] is True
    for count, is_given_up in ((ends - 1, False), (ends, True)):
        each = [SENT_AT + timedelta(seconds=it) for it in range(count)]
        last, *_ = asked([acp(), *failing(each)], "submission_attempts", each[-1])
        assert last["is_given_up"] is is_given_up, count


@says("it ends in {} or more `platform_error` in a row that span {} hour or more")
def test_a_ticket_is_due_for_a_long_run(quote):
    run, hours = numbers(quote)
    over = SENT_AT + timedelta(hours=hours)
    for count, end, is_due in (
        (run, over, True),
        (run, over - MOMENT, False),
        (run - 1, over, False),
    ):
        history = [acp(), *failing([*[SENT_AT] * (count - 1), end])]
        assert process(history, over)["ticket_due"] is is_due, (count, end)


@says("it ends in {} or more in a row, and less than {} hours are left to the deadline")
def test_a_ticket_is_due_near_the_deadline(quote):
    run, hours = numbers(quote)
    far = SENT_AT + timedelta(hours=hours)
    for count, deadline_at, is_due in (
        (run, far - MOMENT, True),
        (run, far, False),
        (run - 1, far - MOMENT, False),
    ):
        history = [acp(deadline_at=iso(deadline_at)), *failing([SENT_AT] * count)]
        assert process(history, SENT_AT)["ticket_due"] is is_due, (count, deadline_at)


@says("that stands is less than {} hours old (`PRAZO_AWAIT_SELLER_HOURS`)")
def test_a_seller_is_given_time(quote):
    [hours] = numbers(quote)
    history = [acp(), invited(iso(OPENED_AT))]
    until = OPENED_AT + timedelta(hours=hours)
    for as_of, action in ((until - MOMENT, "await_seller"), (until, "remind_seller")):
        [row] = asked(history, "next_actions", as_of)
        assert row["next_action"] == action


# --- what may be sent, and evidence --------------------------------------------------------------


def is_right(path: str, value: str) -> bool:
    changed = payloads.with_(payloads.INDIVIDUAL, path, value)
    faults = payloads.faults(changed, payloads.acp())
    assert faults <= {(path, "wrong_format")}
    return not faults


@says("`postal_code` has {} digits without a mask")
def test_a_postal_code_has(quote):
    [digits] = numbers(quote)
    right = {it for it in range(1, 20) if is_right("address.postal_code", "5" * it)}
    assert right == {digits}


@says("`state` has {} letters")
def test_a_state_has(quote):
    [letters] = numbers(quote)
    right = {it for it in range(1, 10) if is_right("address.state", "P" * it)}
    assert right == {letters}


@says("dated more than {} minutes ahead")
def test_a_collection_that_is_dated_ahead(quote, gateway):
    """By a minute on both sides: a receiver gives no answer but 503 after a third of one."""
    [minutes] = numbers(quote)
    for more, status in ((-1, 200), (1, 422)):
        dated = instants.now() + (minutes + more) * instants.MINUTE
        collection = {
            **answered(instants.canonical(dated), process_id=f"ahead{more}"),
            "fields": {"revenue": REVENUE},
        }
        body = json.dumps(collection).encode()
        fields = {"Content-Type": "application/json"}
        answer = gateway.request("POST", "/v1/collections", body, fields)
        assert answer.status == status, answer


@says("was recorded more than {} hours after it happened; it counts all the same")
def test_a_contact_is_recorded_late(quote):
    [hours] = numbers(quote)
    until = SENT_AT + timedelta(hours=hours)
    for recorded_at, rows in ((until, 0), (until + MOMENT, 1)):
        history = [acp(), live(posted(), iso(recorded_at))]
        late = found("contact_recorded_late", history, (until + timedelta(days=2)).isoformat())
        assert len(late) == rows, recorded_at


@says("or more than {} hours after it happened")
def test_evidence_is_recorded_late(quote):
    [hours] = numbers(quote)
    until = OPENED_AT + timedelta(hours=hours)
    for recorded_at, rows in ((until, 0), (until + MOMENT, 1)):
        history = [
            acp(),
            live(answered(iso(OPENED_AT)), iso(recorded_at)),
            live(started("a1", iso(until + timedelta(days=1)))),
        ]
        late = found("evidence_recorded_late", history, (until + timedelta(days=2)).isoformat())
        assert len(late) == rows, recorded_at


# --- other findings, sellers and deliveries ------------------------------------------------------


@says("`OVERDUE` for {} hours, counted from `overdue_at`")
def test_nobody_was_asked(quote):
    [hours] = numbers(quote)
    until = OPENED_AT + timedelta(hours=hours)
    for as_of, rows in ((until - MOMENT, 0), (until, 1)):
        assert len(found("overdue_unstarted", [aci()], as_of.isoformat())) == rows, as_of


@says("recorded more than {} s after its receipt")
def test_a_record_was_slow(quote):
    [seconds] = numbers(quote)
    until = OPENED_AT + timedelta(seconds=seconds)
    for recorded_at, rows in ((until, 0), (until + MOMENT, 1)):
        slow = found("slow_record", [live(acp(), iso(recorded_at))], "2026-03-02T00:00:00")
        assert len(slow) == rows, recorded_at


@says("The platform promises {} seconds for {} %")
def test_the_platforms_analysis(quote):
    """Of a hundred sellers so many as it promises are decided in time, and one fewer."""
    seconds, percent = numbers(quote)
    until = OPENED_AT + timedelta(seconds=seconds)
    for in_time, is_kept in ((percent, True), (percent - 1, False)):
        history = []
        for number in range(100):
            decided_at = until if number < in_time else until + MOMENT
            history += [
                seller("created", f"c{number}", OPENED, f"s{number}"),
                seller("enabled", f"e{number}", iso(decided_at), f"s{number}"),
            ]
        [row] = asked(history, "onboarding_analysis", at("2026-03-02T00:00:00"))
        assert (row["analysed"], row["within_180_s"]) == (100, in_time)
        assert (row["p99_seconds"] <= seconds) is is_kept, in_time


@says("at most {} entry per minute and reason")
def test_what_is_turned_away_is_recorded(quote):
    """In an hour of one every second."""
    [entries] = numbers(quote)
    rejections, recorded = Rejections(), 0
    for second in range(3600):
        rejections.note(Rejected(401, "the secret is missing"))
        recorded += len(rejections.take_due(float(second)))
    assert recorded == 60 * entries


def test_what_an_answer_means_and_whether_it_is_sent_again():
    """The rows of the table of outcomes that begin with a status."""
    rows = re.findall(r"^\| (\d{3}[^|]*) \| `(\w+)` \| (yes|no)", TEXT, re.MULTILINE)
    answers = [
        (int(status), outcome, again == "yes")
        for said, outcome, again in rows
        for status in re.findall(r"\d{3}", said)
    ]
    assert len(answers) > 6
    history = []
    for status, *_ in answers:
        name = f"p{status}"
        history += [
            acp(f"e{status}", process_id=name),
            live(started(name, iso(SENT_AT), process_id=name, idempotency_key=name)),
            live(finished(name, status, iso(SENT_AT), process_id=name)),
        ]
    shown = asked(history, "submission_attempts", SENT_AT)
    of_each = {row["status"]: (row["outcome"], row["is_retry_pending"]) for row in shown}
    assert of_each == {status: (outcome, again) for status, outcome, again in answers}


@says("put back in front, to {} digits, or to {} digits where there are more")
def test_a_tax_id_that_lost_its_zeros(quote):
    lengths = numbers(quote)
    for length in lengths:
        for digits in (1, length - 1, length):
            if any(digits <= other < length for other in lengths):
                continue
            number = int("9" * digits)
            denied = seller("denied", "e1", OPENED, taxpayer_id=number)
            back = seller("created", "e2", iso(SENT_AT), "s2", taxpayer_id=f"{number:0{length}}")
            [row] = asked([denied, back], "denial_retries", SENT_AT)
            assert row["reonboarded"] == 1, (length, digits)


# --- over time, and the forecast -----------------------------------------------------------------

DENIED_AT = at(months.DENIED.removesuffix("Z"))
NOW = at(forecast.NOW)


@says("those with a tax id whose {} days since then are over")
def test_a_denied_seller_is_followed(quote):
    [days] = numbers(quote)
    until = DENIED_AT + timedelta(days=days)
    for as_of, followed in ((until - MOMENT, 0), (until, 1)):
        [row] = asked([months.denied("d1")], "denials_by_month", as_of)
        assert row["followed"] == followed, as_of


@says("another seller with that tax id was created after it, up to and including {} days")
def test_a_denied_seller_comes_back(quote):
    [days] = numbers(quote)
    until = DENIED_AT + timedelta(days=days)
    for instant, reonboarded in ((until, 1), (until + MOMENT, 0)):
        history = [months.denied("d1"), months.created(iso(instant))]
        [row] = asked(history, "denials_by_month", until + timedelta(days=1))
        assert row["reonboarded"] == reonboarded, instant


@says("such a seller was enabled after it within these {} days")
def test_a_denied_seller_is_cured(quote):
    [days] = numbers(quote)
    until = DENIED_AT + timedelta(days=days)
    for instant, cured in ((until, 1), (until + MOMENT, 0)):
        history = [
            months.denied("d1"),
            months.created(months.BACK),
            months.enabled(iso(instant)),
        ]
        [row] = asked(history, "denials_by_month", until + timedelta(days=1))
        assert row["cured"] == cured, instant


@says("denials of the {} days before `as_of` (`denials_now`) and of the {} days before these")
def test_denials_change_between(quote):
    last, before = numbers(quote)
    now = at(changes.NOW)
    first = now - timedelta(days=last)
    edges = [now, first + MOMENT, first, first - timedelta(days=before) + MOMENT]
    history = [changes.denied(iso(it)) for it in (*edges, first - timedelta(days=before))]
    [row] = asked(history, "denial_changes", now)
    assert (row["denials_now"], row["denials_before"]) == (2, 2)


def assert_wilsons(end: float, part: float, whole: int, percent: int) -> None:
    """Were this end the true part, what was seen would be at the edge of what chance brings."""
    away = abs(end - part) / (end * (1 - end) / whole) ** 0.5
    assert away == pytest.approx(deviations(percent))


def deviations(percent: int) -> float:
    return NormalDist().inv_cdf(0.5 + percent / 200)


@says("Its interval of {} % follows from Wilson's interval of the part p")
def test_a_change_of_denials_has_an_interval(quote):
    [percent] = numbers(quote)
    [row] = asked(changes.some(10, 20), "denial_changes", at(changes.NOW))
    for times in (row["times_low"], row["times_high"]):
        assert_wilsons(times / (1 + times), 20 / 30, 30, percent)


@says("of the {} days before `as_of`, so that each day of the week counts four times")
def test_an_hour_counts_attempts(quote):
    [days] = numbers(quote)
    until = at("2026-03-02T08:00:00") + timedelta(days=days)
    history = retries.attempts("p1", (500, "a"), start="2026-03-02T08:00:00Z")
    for as_of, rows in ((until - MOMENT, 1), (until, 0)):
        assert len(asked(history, "outcomes_by_hour", as_of)) == rows, as_of


@says("of the {} that end with `as_of`'s. One `stands_out` where at least {} attempts started")
def test_a_day_of_failures_is_among_so_many_and_has_so_many(quote):
    days, least = numbers(quote)
    outage = retries.a_day("03-02", least, 0)
    few = retries.a_day("03-02", least - 1, 0)
    last = at("2026-03-02T23:59:59") + timedelta(days=days - 1)
    for history, as_of, rows in (
        ([*outage, *retries.a_day("03-03", 0, 1)], last, 1),
        ([*outage, *retries.a_day("03-03", 0, 1)], last + timedelta(seconds=1), 0),
        ([*few, *retries.a_day("03-03", 0, 1)], last, 0),
    ):
        found = asked(history, "failures_by_day", as_of)
        assert sum(row["stands_out"] for row in found) == rows, as_of


@says("lower end of Wilson's interval of {} % of the share of attempts that failed")
def test_a_day_of_failures_has_an_interval(quote):
    [percent] = numbers(quote)
    history = [*retries.a_day("04-10", 10, 2), *retries.a_day("04-12", 0, 20)]
    row = asked(history, "failures_by_day", at(retries.NOW))[0]
    assert_wilsons(row["share_low"], 10 / 12, 12, percent)


@says("`after_expiry` has one row per {}, {} and {} days")
def test_sellers_are_followed_after_an_expiry(quote):
    for days in numbers(quote):
        until = at("2026-03-31T12:00:00") + timedelta(days=days)
        for as_of, is_over in ((until - MOMENT, False), (until, True)):
            found = asked(expiry.due(1), "after_expiry", as_of)
            assert (days in {row["days"] for row in found}) == is_over, as_of


@says("each process of its type whose deadline came in the {} days before `as_of`")
def test_a_process_is_comparable(quote):
    [days] = numbers(quote)
    until = forecast.DEADLINE + timedelta(days=days)
    opened = until - timedelta(days=10)
    history = [*forecast.HISTORY, *forecast.process("open", opened=opened)]
    for as_of, comparable in ((until - MOMENT, 40), (until, 0)):
        row = forecast.row_of(history, as_of=as_of.isoformat())
        assert row["comparable"] == comparable, as_of


@says("`chance_low` and `chance_high` are Wilson's interval of {} %")
def test_a_chance_has_an_interval(quote):
    [percent] = numbers(quote)
    row = forecast.row_of([*forecast.HISTORY, *forecast.opened_with(20)])
    for end in (row["chance_low"], row["chance_high"]):
        assert_wilsons(end, row["chance"], row["comparable"], percent)


@says("each of the {} weeks of {} days after `as_of`")
def test_weeks_are_forecast(quote):
    weeks, days = numbers(quote)
    ends = [NOW + timedelta(days=days * week) for week in range(weeks + 1)]
    history = [
        acp(f"e{edge}{end}", OPENED, process_id=f"p{edge}{end}", deadline_at=iso(end + edge))
        for end in ends
        for edge in (0 * MOMENT, MOMENT)
    ]
    found = asked(history, "forecast_weeks", NOW)
    assert [(row["ends_at"], row["due"]) for row in found] == [(end, 2) for end in ends[1:]]


@says("Its interval of {} % adds two things")
def test_what_is_expected_of_a_week_has_an_interval(quote):
    """Of forty processes with the same chance."""
    [percent] = numbers(quote)
    alike = [line for number in range(40) for line in forecast.opened_with(6, f"open{number}")]
    history = [*forecast.HISTORY, *forecast.cohort(*[28] * 20, prefix="q"), *alike]
    row = forecast.row_of(history, "open0")
    chance = row["chance"]
    [week, *_] = asked(history, "forecast_weeks", NOW)
    luck = deviations(percent) * (40 * chance * (1 - chance)) ** 0.5
    assert week["expected"] == pytest.approx(40 * (1 - chance))
    for end, shared in (
        (week["expected_low"] - week["expected"], 40 * (row["chance_high"] - chance)),
        (week["expected_high"] - week["expected"], 40 * (row["chance_low"] - chance)),
    ):
        assert abs(end) == pytest.approx((luck**2 + shared**2) ** 0.5)


@says("what the view says at {} and {} days before `as_of`")
def test_the_forecast_is_judged(quote):
    assert tuple(numbers(quote)) == forecast_score.JUDGED_AFTER


def test_the_limits_of_the_operations_page():
    """It had each posted collection hold 50 files of 32 MiB, which are refused above 32 in all. The
    tests of each limit try these constants at their edges."""
    limits = pages.text(ROOT / "docs/operations.md").partition("\n## Limits\n")[2]
    shown = [int(it) for it in re.findall(r"(?<!\w)\d+(?= |$)", limits, re.MULTILINE)]
    defaults = Settings.model_fields
    assert shown == [
        defaults["max_body_bytes"].default // 2**20,
        MAX_DEPTH,
        MAX_LINE_BYTES // 2**20,
        MAX_ARTIFACT_BYTES // 2**20,
        MAX_ARTIFACTS,
        defaults["max_collection_bytes"].default // 2**20,
        CATCH_UP_SECONDS,
    ]
