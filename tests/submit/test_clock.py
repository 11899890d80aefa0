"""One clock: what was read is judged, what is due is due by the inbox's clock, nobody forgets."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import instants
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.entries import Draft, Entry
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.ndjson import read_line
from pipeline.submit import resume as sending
from pipeline.submit import retries
from pipeline.submit.attempt import Sent
from pipeline.submit.casefile import CaseFile, CaseFiles, deciding_instant
from pipeline.submit.decision import Go, NotDue, Order, Terms, decide
from pipeline.submit.retries import UnderWay, Waiting
from tests.support import lines
from tests.support.marketplace import Marketplace

NOON = instants.parse("2026-03-01T12:00:00Z") or 0
SECOND = instants.SECOND
MINUTE = instants.MINUTE

KINDS = st.sampled_from(
    ["webhook", "collection", SUBMISSION_STARTED, SUBMISSION_FINISHED, "override"]
)
OFFSETS = st.integers(-2 * instants.HOUR, 2 * instants.HOUR) | st.sampled_from(
    [
        *(-1, 0, 1, SECOND // 2, MINUTE),
        *(instants.ALLOWED_AHEAD, instants.ALLOWED_AHEAD + 1, 400 * instants.DAY),
    ]
)
ENTRIES = st.lists(st.tuples(KINDS, OFFSETS, st.sampled_from(["live", "ingested"])), max_size=8)


def entry(kind: str, occurred_at: int, origin: str) -> Entry:
    known: dict[str, Any] = dict.fromkeys(Entry._fields)
    return Entry(**{**known, "kind": kind, "occurred_at": occurred_at, "origin": origin})


def is_own_attempt(given: Entry) -> bool:
    return given.origin == "live" and given.kind in (SUBMISSION_STARTED, SUBMISSION_FINISHED)


@given(ENTRIES)
def test_the_instant_of_a_decision_sees_every_attempt_of_ours_and_is_never_before_now(
    drawn: list[tuple[str, int, str]],
) -> None:
    own = [entry(kind, NOON + offset, origin) for kind, offset, origin in drawn]
    instant = deciding_instant(own, NOON)
    assert instant >= NOON
    assert instant in {NOON, *(it.occurred_at for it in own)}
    hidden = [it for it in own if it.occurred_at > instant]
    assert not any(map(is_own_attempt, hidden))
    assert all(it.occurred_at > NOON + 5 * MINUTE for it in hidden)
    of_attempts = {it.occurred_at for it in filter(is_own_attempt, own)}
    is_moved_far = instant > NOON + 5 * MINUTE
    assert not is_moved_far or instant in of_attempts, "a wrong clock must not expire a review"


@given(ENTRIES, ENTRIES, st.integers(0, instants.HOUR))
def test_the_instant_never_goes_back_with_more_entries_or_with_time_nor_asks_for_an_order(
    drawn: list[tuple[str, int, str]], more: list[tuple[str, int, str]], later: int
) -> None:
    own = [entry(kind, NOON + offset, origin) for kind, offset, origin in drawn]
    new = [entry(kind, NOON + offset, origin) for kind, offset, origin in more]
    assert deciding_instant(own, NOON) == deciding_instant(own[::-1], NOON)
    assert deciding_instant([*own, *new], NOON) >= deciding_instant(own, NOON)
    assert deciding_instant(own, NOON + later) >= deciding_instant(own, NOON)


# A case file with an attempt of a clock that differs


def a_failed_attempt(inbox: Inbox, process_id: str, at: int, *, is_finished: bool = True) -> bytes:
    """Of a process opened that morning, by the command line, stamped with `at`; its payload."""
    seller_id = f"s-{process_id}"
    review = lines.aci(
        f"e-{process_id}", "2026-03-01T09:00:00Z", process_id=process_id, customer_id=seller_id
    )
    answer = lines.answered(
        "2026-03-01T10:00:00Z", process_id=process_id, seller_id=seller_id, journey_id=process_id
    )
    body = json.dumps(
        {"process_id": process_id, "type": "individual", "revenue": "1000_to_5000"}
    ).encode()
    known: dict[str, Any] = {
        "recorded_by": "test",
        "attempt_id": f"a-{process_id}",
        "process_id": process_id,
        "seller_id": seller_id,
    }
    start = Draft(
        kind=SUBMISSION_STARTED,
        occurred_at=at,
        body=body,
        particulars={"via": "cli", "timeout_seconds": 60},
        **known,
    )
    finish = Draft(kind=SUBMISSION_FINISHED, occurred_at=at, status=500, **known)
    drafts = [read_line(json.dumps(it).encode(), recorded_by="test") for it in (review, answer)]
    inbox.append([*drafts, start, *([finish] if is_finished else [])])
    return body


def decided(case: CaseFile, process_id: str, body: bytes) -> object:
    order = Order(process_id, f"s-{process_id}", body, "cli", "test", retry="due")
    return decide(order, case, Terms("block", False))


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Any:
    inbox = open_inbox(tmp_path_factory.mktemp("clock") / "inbox.db")
    yield inbox
    inbox.close()


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(
    st.integers(0, 2**60),
    st.integers(-2 * MINUTE, 2 * MINUTE) | st.just(SECOND // 2),
    st.integers(0, 10 * SECOND),
)
def test_a_retry_is_neither_forgotten_nor_early_however_far_the_submitters_clock_was_out(
    inbox: Inbox, number: int, offset: int, later: int
) -> None:
    """Half a second ahead was enough to forget it: to the others nothing had been sent yet."""
    process_id = f"p{number}-{offset}-{later}"
    body = a_failed_attempt(inbox, process_id, NOON + offset)
    inbox.clock = lambda: NOON + later
    case = CaseFiles(inbox).open(process_id)
    standing = retries.standing(case.attempts)
    assert isinstance(standing, Waiting)
    assert standing.due_at is not None
    assert standing.due_at >= NOON + offset + 800_000
    decision = decided(case, process_id, body)
    if standing.due_at <= NOON + later:
        assert decision == Go()
    else:
        assert isinstance(decision, NotDue)


@pytest.mark.parametrize("offset", [-2 * SECOND, 0, SECOND // 2, MINUTE, instants.DAY])
def test_an_attempt_under_way_is_seen_whatever_clock_it_was_started_by(
    inbox: Inbox, offset: int
) -> None:
    process_id = f"q{offset}"
    a_failed_attempt(inbox, process_id, NOON + offset, is_finished=False)
    inbox.clock = lambda: NOON
    standing = retries.standing(CaseFiles(inbox).open(process_id).attempts)
    assert standing == UnderWay(NOON + offset + MINUTE)


# Whole


def test_a_retry_of_a_submitter_whose_clock_is_ahead_is_sent_by_another(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once nobody sent it: to all the others there was no attempt yet, and they looked no more."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    time_ns = time.time_ns
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time_ns", lambda: time_ns() + 3_000_000_000)
        sending.submit(
            marketplace.settings(),
            review.process_id,
            review.payload,
            recorded_by="test",
            patience_seconds=0,
        )
    left = sending.resume_all(
        marketplace.settings(), recorded_by="test", patience_seconds=30, on_attempt=lambda *_: None
    )
    assert left == []
    assert marketplace.outcomes(review.process_id) == ["platform_error", "accepted"]


def test_a_collection_of_a_clock_that_is_minutes_ahead_is_seen_by_the_next_submission(
    marketplace: Marketplace,
) -> None:
    """It was acknowledged. The start is not stamped before the evidence that it stands on."""
    review = marketplace.review(is_answered=False)
    ahead = instants.now() + 3 * MINUTE
    marketplace.collect(
        review.process_id,
        review.seller_id,
        {"revenue": "1000_to_5000"},
        occurred_at=instants.canonical(ahead),
    )
    ended = sending.submit(
        marketplace.settings(),
        review.process_id,
        review.payload,
        recorded_by="test",
        patience_seconds=0,
    )
    assert isinstance(ended.result, Sent)
    [start], [finish] = (
        marketplace.starts(review.process_id),
        marketplace.finishes(review.process_id),
    )
    assert start.occurred_at == ahead
    assert finish.occurred_at > start.occurred_at


def test_a_dry_run_judges_by_the_inboxs_clock(tmp_path: Path) -> None:
    """As two machines before one database: what is due is not this machine's to say."""
    inbox = open_inbox(tmp_path / "inbox.db")
    body = a_failed_attempt(inbox, "p1", NOON)
    for later, kind in ((SECOND // 2, NotDue), (2 * SECOND, Go)):
        inbox.clock = lambda later=later: NOON + later  # type: ignore[misc]
        assert isinstance(decided(CaseFiles(inbox).open("p1"), "p1", body), kind)
    inbox.close()


def test_the_end_of_an_attempt_is_never_dated_ahead_of_the_clock_that_dated_its_start(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the clock was slow to read, a caller had an answer that the log dated later."""
    review = marketplace.review()
    engine = type(marketplace.inbox)
    read = engine.now

    def slowly(inbox: Inbox) -> int:
        time.sleep(0.1)
        return read(inbox)

    with monkeypatch.context() as slow:
        slow.setattr(engine, "now", slowly)
        sending.submit(
            marketplace.settings(),
            review.process_id,
            review.payload,
            recorded_by="test",
            patience_seconds=0,
        )
    [finish] = marketplace.finishes(review.process_id)
    assert finish.occurred_at <= finish.recorded_at
