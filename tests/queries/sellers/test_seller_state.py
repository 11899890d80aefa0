"""What events say of a seller's state, and of their processes (docs/rules.md#seller-state)."""

import pytest

from tests.support.ledgers import KEYS, World, asked, ledger_of
from tests.support.lines import acp, at, digest, seller

WORLD = World()
BUSINESS = {
    "type": "business",
    "ein": "12345678000195",
    "business_name": "Padaria Sol Ltda",
    "business_email": "contato@sol.example",
    "business_phone": "551133334444",
    "business_address": {"line1": "Rua A, 1"},
    "owner": {"first_name": "Ana", "taxpayer_id": 2586980301},
}


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


@WORLD.given(
    {
        **seller("denied", "v1", "2026-03-01T00:00:00Z", "s1"),
        "occurred_at": "2026-03-05T00:00:00Z",
    },
    seller("enabled", "v2", "2026-03-02T00:00:00Z"),
    in_one_instant=[
        {**seller("denied", "v1", "2026-03-02T00:00:00Z"), "occurred_at": "2026-03-04T00:00:00Z"},
        {**seller("enabled", "v2", "2026-03-02T00:00:00Z"), "occurred_at": "2026-03-03T00:00:00Z"},
    ],
    received_at_once=[
        seller("denied", "v2", "2026-03-02T00:00:00Z"),
        seller("enabled", "v1", "2026-03-02T00:00:00Z"),
    ],
)
def test_the_latest_event_is_the_one_created_last_then_received_last_then_of_the_greater_id(
    history, in_one_instant, received_at_once
):
    assert seller_of(history, "2026-03-06T00:00:00")["status"] == "enabled"
    assert seller_of(in_one_instant, "2026-03-06T00:00:00")["status"] == "denied"
    assert seller_of(received_at_once, "2026-03-06T00:00:00")["status"] == "denied"


UPDATED = seller("updated", "v2", "2026-03-02T00:00:00Z", status="active", retry=False)


@WORLD.given(
    created=[seller("created", "v1", status="active"), UPDATED],
    updated=[UPDATED],
    nothing_said=[seller("updated", "v2")],
    created_again=[
        seller("enabled", "v1"),
        seller("created", "v2", "2026-03-03T00:00:00Z"),
        UPDATED,
    ],
)
def test_a_record_says_the_status_only_where_no_event_does(
    created, updated, nothing_said, created_again
):
    expected = ["pending_analysis", "active", "unknown", "enabled"]
    for history, status in zip(
        (created, updated, nothing_said, created_again), expected, strict=True
    ):
        assert seller_of(history, "2026-03-06T00:00:00")["status"] == status


REASONS = [{"reason": "FRAUD_PREVENTION", "detail": ""}, {"reason": "DOCUMENT_VALIDATION"}]


@WORLD.given(
    seller("denied", "v1", decision_reasons=REASONS, retry=True),
    seller("denied", "v2", "2026-03-02T00:00:00Z", decision_reasons=[]),
    seller("updated", "v3", "2026-03-03T00:00:00Z", retry=False),
)
def test_reasons_and_retry_are_those_of_the_latest_denial_that_says_any(history):
    row = seller_of(history, "2026-03-04T00:00:00")
    assert row["decision_reasons"] == [
        {"reason": "DOCUMENT_VALIDATION", "detail": None},
        {"reason": "FRAUD_PREVENTION", "detail": None},
    ]
    assert (row["retry"], row["denials"]) == (True, 2)


@WORLD.given(
    seller("created", "v1", "2026-03-01T12:00:00Z"),
    seller("disabled", "v2", "2026-03-01T12:01:00Z"),
    seller("denied", "v3", "2026-03-01T12:02:00Z"),
    seller("enabled", "v4", "2026-03-01T12:05:00Z"),
    undecided=[seller("created", "v1"), seller("disabled", "v2")],
)
def test_an_analysis_lasts_until_the_first_enabled_or_denied(history, undecided):
    assert seller_of(history, "2026-03-02T00:00:00")["analysis_seconds"] == 120.0
    assert seller_of(undecided, "2026-03-02T00:00:00")["analysis_seconds"] is None


def version(what, created_at, occurred_at, **record):
    return {**seller(what, "v1", created_at, **record), "occurred_at": occurred_at}


@WORLD.given(
    # The third of three versions is received before the second one: at no instant do two count.
    out_of_order=[
        version("denied", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        version("enabled", "2026-03-03T00:00:00Z", "2026-03-03T00:00:00Z"),
        version("denied", "2026-03-02T00:00:00Z", "2026-03-05T00:00:00Z"),
    ],
    created_at_once=[
        version("enabled", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
        version("denied", "2026-03-01T00:00:00Z", "2026-03-03T00:00:00Z"),
    ],
    # Without the instant of its creation, that of its receipt counts.
    undated=[
        version("denied", None, "2026-03-03T00:00:00Z"),
        version("enabled", "2026-03-02T00:00:00Z", "2026-03-04T00:00:00Z"),
    ],
)
def test_of_several_versions_one_counts_at_each_instant(out_of_order, created_at_once, undated):
    for as_of in ("2026-03-04T00:00:00", "2026-03-06T00:00:00"):
        row = seller_of(out_of_order, as_of)
        assert (row["status"], row["denials"]) == ("enabled", 0)
    for history in (created_at_once, undated):
        row = seller_of(history, "2026-03-06T00:00:00")
        assert (row["status"], row["denials"]) == ("denied", 1)


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


def test_of_versions_of_one_instant_and_receipt_the_greater_digest_is_the_latest():
    versions_of = {
        f"s{n}": [seller(what, f"v{n}", seller_id=f"s{n}") for what in ("enabled", "denied")]
        for n in range(1, 9)
    }
    expected = {
        seller_id: max(versions, key=digest)["body"]["type"].removeprefix("seller.")
        for seller_id, versions in versions_of.items()
    }
    there = [line for versions in versions_of.values() for line in versions]
    for history in (there, there[::-1]):
        found = asked(history, "seller_state", at("2026-03-02T00:00:00"))
        assert {row["seller_id"]: row["status"] for row in found} == expected
    assert len({*expected.values()}) == 2


def known_by(history, *views):
    """The only row of each view, unmasked."""
    with ledger_of(history) as reader:
        return [
            reader.read(view, as_of=AS_OF, unmask=True).to_pylist()[0]
            for view in (*views, "seller_state")
        ]


AS_OF = 1_790_000_000_000_000


@pytest.mark.parametrize(
    ("records", "name", "email", "phone", "tax_id"),
    [
        ([BUSINESS], "Padaria Sol Ltda", "contato@sol.example", "551133334444", "12345678000195"),
        # What an individual's record says comes first, whichever event says it.
        (
            [{"first_name": "Ana", "email": "ana@sol.example", "taxpayer_id": "1"}, BUSINESS],
            *("Ana", "ana@sol.example", "551133334444", "1"),
        ),
        (
            [BUSINESS, {"last_name": "Lima", "phone_number": "5511", "taxpayer_id": "1"}],
            *("Lima", "contato@sol.example", "5511", "1"),
        ),
        # What is empty, or no tax id, leaves the place to the next.
        (
            [{**BUSINESS, "first_name": "", "last_name": "", "email": "", "taxpayer_id": "--"}],
            *("Padaria Sol Ltda", "contato@sol.example", "551133334444", "12345678000195"),
        ),
        (
            [
                {
                    **BUSINESS,
                    "first_name": " ",
                    "last_name": "\t",
                    "email": "\u00a0",
                    "phone_number": " ",
                }
            ],
            *("Padaria Sol Ltda", "contato@sol.example", "551133334444", "12345678000195"),
        ),
        (
            [{"document_number": 2586980301, "email": "a@b.example"}],
            None,
            "a@b.example",
            None,
            "2586980301",
        ),
        ([{"ein": "", "document_number": "25.869"}], None, None, None, "25.869"),
    ],
)
def test_a_business_is_known_by_what_its_own_record_carries(records, name, email, phone, tax_id):
    """It had no name, no row among those whom one can look for, and no finding said so."""
    history = [
        seller("updated", f"v{day}", f"2026-03-0{day}T00:00:00Z", **record)
        for day, record in enumerate(records, 1)
    ]
    names, state = known_by(history, "seller_names")
    assert (names["seller_name"], names["email"], names["taxpayer_id"]) == (name, email, tax_id)
    assert (state["email"], state["phone_number"], state["taxpayer_id"]) == (email, phone, tax_id)


@pytest.mark.parametrize("blank", ["", "  ", "\u00a0"])
def test_what_says_nothing_gets_no_mask(blank):
    """A seller without a tax id was shown with one that was masked, as `***`."""
    record = {"first_name": blank, "ein": blank, "taxpayer_id": blank, "birthdate": blank}
    masked = seller_of([seller("enabled", "v1", **record)], "2026-03-04T00:00:00")
    assert [masked[name] for name in record] == ["", "", "", ""]


def test_each_field_of_a_business_is_personal_and_found_by():
    [identity, state] = known_by([seller("enabled", "v1", **BUSINESS)], "seller_identities")
    assert (identity["seller_name"], identity["email"]) == (
        "Padaria Sol Ltda",
        "contato@sol.example",
    )
    assert identity["taxpayer_key"] == KEYS.of_taxpayer("12.345.678/0001-95").hex()
    assert state["business_owner"] == '{"first_name":"Ana","taxpayer_id":2586980301}'
    masked = seller_of([seller("enabled", "v1", **BUSINESS)], "2026-03-04T00:00:00")
    assert {
        name: masked[name]
        for name in (*BUSINESS, "email", "taxpayer_id", "phone_number")
        if name != "owner"
    } == {
        "type": "business",
        "ein": "***95",
        "business_name": "P***",
        "business_email": "c***",
        "business_phone": "***44",
        "business_address": "***",
        "email": "c***",
        "taxpayer_id": "***95",
        "phone_number": "***44",
    }
    assert masked["business_owner"] == "***"
