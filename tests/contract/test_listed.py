"""Whatever the contract lists is there in every place that has to know it."""

import re

from pipeline.contract.events import read_event
from pipeline.contract.listed import KINDS, listed
from pipeline.contract.review_types import REVIEW_TYPES
from sandbox import resources
from tests.docs import pages
from tests.support.events import SAMPLES
from tests.support.histories import names
from tests.support.oracle import contract, payload
from tests.support.rich import RICH

Listed = dict[str, set[str]]
LISTED: Listed = {kind: {it for of, it in listed() if of == kind} for kind in KINDS}
SAMPLE_EVENTS = [read_event(it.read_bytes()) for it in SAMPLES.glob("*.json")]

ORACLE: Listed = {
    "event type": set(contract.LISTED_EVENTS),
    "review type": set(contract.REVIEW_TYPES),
    "review status": set(contract.REVIEW_STATUSES),
    "requested path": set(payload.SHOWN_PATHS),
    "reason": set(contract.REASONS),
    "detail": set(contract.DETAILS),
}
SANDBOX: Listed = {
    "review type": {it.code for it in resources.REVIEW_TYPES.values()},
    "reason": {it.reason for it in resources.DENIAL_REASONS},
    "detail": {it.detail for it in resources.DENIAL_REASONS if it.detail},
}
SAMPLED: Listed = {
    "event type": {it.type for it in SAMPLE_EVENTS},
    "review type": {it.review.type for it in SAMPLE_EVENTS if it.review and it.review.type},
}
HISTORIES: Listed = {
    "review type": set(names.TYPE_OF.values()),
    "review status": {it for it in names.STATUSES if it},
    "reason": {it["reason"] for it in names.REASONS},
    "detail": {it.get("detail") or "" for it in names.REASONS},
}
RICH_ONES: Listed = {
    kind: {it for it in LISTED[kind] if any(it in str(line) for line in RICH)}
    for kind in ("review type",)
}


def test_each_code_is_known_wherever_one_of_its_kind_has_to_be() -> None:
    """A type of review that metrics, histories or filters did not know was dropped from them
    without a word; an event without a sample was read by no test."""
    places = {"oracle": ORACLE, "sandbox": SANDBOX, "samples": SAMPLED, "histories": HISTORIES}
    lacking = {
        (place, kind): LISTED[kind] - known[kind]
        for place, known in (places | {"rich history": RICH_ONES}).items()
        for kind in known
        if LISTED[kind] - known[kind]
    }
    assert lacking == {}
    assert ORACLE == LISTED, "the oracle lists others"


def test_each_code_stands_on_the_contracts_page() -> None:
    page = pages.text(pages.ROOT / "docs/contract.md")
    # A path stands there by its last name, one of an owner's address too.
    names_of = {it: it.rpartition(".")[2] for it in LISTED["requested path"]}
    spelled = {it: names_of.get(it, it) for found in LISTED.values() for it in found}
    unsaid = sorted(it for it, name in spelled.items() if f"`{name}`" not in page)
    assert unsaid == [], "write them into docs/contract.md"


NAMING = {
    "pipeline/contract/review_types.py",  # the list itself
    "queries/state/deadline_calendar.sql",  # has a column for each of these two
    "app_pages/desk/saved.py",  # what somebody may look for
    "pipeline/language/codes.py",
}


def test_no_rule_names_a_type_of_review_where_it_means_a_trait() -> None:
    """A third type fell through whatever asked for ACP: it asks for the days, or `is_partial`."""
    spelled = [it for each in REVIEW_TYPES for it in (each.name, each.code)]
    quoted = re.compile(rf"""["']({"|".join(spelled)})["']""")
    files = [
        *(it for room in ("pipeline", "app_pages") for it in (pages.ROOT / room).rglob("*.py")),
        *(pages.ROOT / "queries").rglob("*.sql"),
    ]
    named = {str(it.relative_to(pages.ROOT)) for it in files if quoted.search(it.read_text())}
    assert named - NAMING == set(), "ask pipeline.contract.review_types, in SQL contract.is_partial"
