"""Whatever the platform can ask for, a submission can answer, and the platform takes it."""

import json
import random
from typing import Any

import pytest

from sandbox import people
from sandbox.market.marketplace import Marketplace, Submit, answers_after
from sandbox.platform.judge import unanswerable
from sandbox.platform.state_machine import Platform
from sandbox.resources import BUSINESS_FIELDS, ReviewType, seller_record

DAY = 86_400_000_000
NOON = 1_772_366_400_000_000  # 1 March 2026, 12:00 UTC


def paths_of(record: dict[str, Any], above: str = "") -> list[str]:
    found = []
    for name, value in record.items():
        found.append(f"{above}{name}")
        if isinstance(value, dict):
            found += paths_of(value, f"{above}{name}.")
    return found


def answered(is_business: bool, review_type: ReviewType, *requested_fields: str) -> dict[str, Any]:
    """What the simulated marketplace sends for such a request; the platform has to take it."""
    platform, marketplace = Platform(), Marketplace()
    rng = random.Random(1)
    profile = people.business(rng) if is_business else people.person(rng)
    seller = platform.adopt_seller(profile, NOON - 400 * DAY)
    marketplace.know(seller.seller_id, profile)
    process = platform.require_review(seller.seller_id, review_type, NOON, requested_fields)
    marketplace.expect(process.process_id, answers_after(0))
    [review] = platform.take_events()
    marketplace.hear(review.body, NOON)
    sent = [it for it in marketplace.due(NOON + DAY) if isinstance(it, Submit)]
    while not sent:
        due_at = marketplace.next_at()
        assert due_at is not None, "the marketplace never answers"
        sent = [it for it in marketplace.due(due_at) if isinstance(it, Submit)]
    answer = platform.submit(seller.seller_id, sent[0].payload, sent[0].at, process.process_id)
    assert answer.status == 200, (requested_fields, sent[0].payload, answer.body)
    document: dict[str, Any] = json.loads(sent[0].payload)
    return document


@pytest.mark.parametrize("is_business", [False, True], ids=["individual", "business"])
@pytest.mark.parametrize("review_type", ["ACP", "ACI"])
def test_every_path_that_can_be_asked_for_can_be_answered(
    is_business: bool, review_type: ReviewType
) -> None:
    """Those of the contract's submission, those of its seller record, and others."""
    seller = Platform().adopt_seller(people.business(random.Random(1)), NOON)
    record = paths_of(seller_record(seller, "mkt"))
    others = ["process_id", "type", "owner", "owner.address", "owner.birthdate", "selfie.front"]
    for path in {*BUSINESS_FIELDS, *record, *others}:
        answered(is_business, review_type, path)


def test_a_field_that_the_contract_does_not_show_is_answered_where_it_is_asked_for() -> None:
    document = answered(False, "ACI", "address.neighborhood", "selfie", "selfie.front")
    assert set(document) == {"process_id", "type", "address", "selfie"}
    assert set(document["address"]) == {"neighborhood"}
    assert set(document["selfie"]) == {"front"}


@pytest.mark.parametrize("shown", ["individual", "business"])
def test_a_person_who_is_asked_for_an_owner_may_answer_as_either_type(shown: str) -> None:
    """Only a business has an owner (docs/contract.md): the request takes the seller for one."""
    platform = Platform()
    seller = platform.adopt_seller(people.person(random.Random(1)), NOON - DAY)
    process = platform.require_review(seller.seller_id, "ACI", NOON, ("owner.revenue",))
    payload = {"type": shown, "owner": {"revenue": "1000_to_5000"}}
    body = json.dumps({"process_id": process.process_id, **payload}).encode()
    assert platform.submit(seller.seller_id, body, NOON).status == 200


@pytest.mark.parametrize(
    "path", ["", ".", "address.", "address..city", "address.city.x", "revenue.band", "type.x"]
)
def test_what_nobody_could_answer_is_never_asked_for(path: str) -> None:
    platform = Platform()
    seller = platform.adopt_seller(people.person(random.Random(1)), NOON)
    with pytest.raises(ValueError, match="no submission could answer"):
        platform.require_review(seller.seller_id, "ACI", NOON, ("revenue", path))
    assert platform.take_events() == []
    assert unanswerable(["revenue", path]) == [path]
