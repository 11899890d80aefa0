"""What events say of a seller's state, and of their processes (docs/rules.md#seller-state)."""

from tests.support.ledgers import World, asked
from tests.support.lines import acp, at, seller

WORLD = World()


def seller_of(history, as_of):
    [row] = asked(history, "seller_state", at(as_of))
    return row


@WORLD.given(
    seller("deleted", "v1", "2026-03-02T00:00:00Z"),
    seller("enabled", "v2", "2026-03-03T00:00:00Z"),
)
def test_deletion_is_final(history):
    assert seller_of(history, "2026-03-04T00:00:00")["status"] == "deleted"


LATEST = seller("enabled", "v1", "2026-03-02T00:00:00Z")
RECEIVED_LATER = {
    **seller("denied", "v1", "2026-03-01T00:00:00Z"),
    "occurred_at": "2026-03-03T00:00:00Z",
}


@WORLD.given(
    in_order=[LATEST, RECEIVED_LATER],
    the_other_way_round=[RECEIVED_LATER, LATEST],
    corrected=[RECEIVED_LATER, seller("enabled", "v1", "2026-03-05T00:00:00Z")],
)
def test_of_versions_that_are_not_reviews_the_latest_counts(
    in_order, the_other_way_round, corrected
):
    for history in (in_order, the_other_way_round):
        row = seller_of(history, "2026-03-04T00:00:00")
        assert (row["status"], row["denials"]) == ("enabled", 0)
    before = seller_of(corrected, "2026-03-04T00:00:00")
    after = seller_of(corrected, "2026-03-05T00:00:00")
    assert (before["status"], after["status"]) == ("denied", "enabled")


def process_of(history, as_of):
    [row] = asked(history, "process_state", at(as_of))
    return row


@WORLD.given(acp(), seller("deleted", "v1", "2026-03-02T00:00:00Z"))
def test_a_process_says_that_its_seller_was_deleted(history):
    assert process_of(history, "2026-03-01T23:00:00")["seller_deleted_at"] is None
    row = process_of(history, "2026-03-03T00:00:00")
    assert row["seller_deleted_at"] == at("2026-03-02T00:00:00")
    assert row["state"] == "PENDING"


def test_a_whole_number_names_a_seller_by_its_digits():
    assert process_of([acp(customer_id=17)], "2026-03-03T00:00:00")["seller_id"] == "17"
