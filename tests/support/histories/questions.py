"""Instants to ask about: those of a history, and a microsecond beside them."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from tests.support.histories.moments import DAY, START, TICK
from tests.support.histories.whole import histories, instant_of
from tests.support.oracle.contract import REVIEW_TYPES

TYPES = REVIEW_TYPES.values()


def instants_of(history: list[dict]) -> st.SearchStrategy[datetime]:
    """An `as_of` at, just before or just after an instant at which something may change."""
    at = sorted(turning_points(history) | {START})
    return st.builds(
        lambda moment, ticks: moment + ticks * TICK,
        st.one_of(st.sampled_from(at), st.sampled_from(at[len(at) // 2 :])),
        st.sampled_from([0, 0, 0, -1, 1]),
    )


def turning_points(history: list[dict]) -> set[datetime]:
    """Every occurred_at, created_at, deadline and the instants that the rules derive of them."""
    points = set()
    for line in history:
        occurred_at = instant_of(line)
        points |= {occurred_at, occurred_at + timedelta(seconds=60), occurred_at + DAY}
        if line["kind"] in ("seller_notice", "seller_notice_result", "collection"):
            points.add(occurred_at + 3 * DAY)
        timeout = line.get("timeout_seconds")
        if timeout is not None:
            points.add(occurred_at + timedelta(seconds=timeout))
        points |= points_of_body(line) if line["kind"] == "webhook" else set()
    return points


def points_of_body(line: dict) -> set[datetime]:
    """When its event was created, its deadline, and the instants at their usual distances."""
    try:
        envelope = json.loads(line["body"])
        review = envelope["payload"]["object"]
        said = [envelope.get("created_at", line["occurred_at"]), review.get("deadline_at")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()
    created_at, deadline_at = (datetime_of(text) for text in said)
    points = set()
    if created_at is not None:
        spans = {span for it in TYPES for span in (it.pends, it.total)}
        points |= {created_at, created_at + DAY, *(created_at + it for it in spans)}
        points |= {created_at + it + DAY for it in spans}
    if deadline_at is not None:
        spans = {it.total - it.pends for it in TYPES if it.pends}
        points |= {deadline_at + days * DAY for days in (-3, -1, 0, 1)}
        points |= {deadline_at - it + late for it in spans for late in (timedelta(0), DAY)}
        points.add(instant_of(line) + (deadline_at - instant_of(line)) // 2)
    return points


def datetime_of(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


@st.composite
def histories_and_as_of(draw, **options) -> tuple[list[dict], datetime]:
    """A history and an interesting instant to look at it from; options as for `histories`."""
    history = draw(histories(**options))
    return history, draw(instants_of(history))
