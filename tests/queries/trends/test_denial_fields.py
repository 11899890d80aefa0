"""Which fields of the record differ between the denied one and the accepted one, by reason."""

import random

import pytest

from tests.support.ledgers import asked, standing
from tests.support.lines import aci, at, seller

NOW = "2026-06-01T00:00:00"
QUALITY, OTHER = {"reason": "A", "detail": "X"}, {"reason": "B"}


def denied(number, instant="2026-03-02T00:00:00Z", reasons=(QUALITY,), **record):
    return seller(
        "denied",
        f"d{number}-{instant}",
        instant,
        f"s{number}",
        **{"taxpayer_id": f"1{number}", "decision_reasons": [*reasons], **record},
    )


def cured(number, instant="2026-03-04T00:00:00Z", after="2026-03-05T00:00:00Z", **record):
    """A new seller with the same tax id, created and then enabled."""
    made = {"taxpayer_id": f"1-{number}", **record}
    return [
        seller("created", f"c{number}", instant, f"t{number}", **made),
        seller("enabled", f"v{number}", after, f"t{number}"),
    ]


def found(history):
    """Reason and field -> how many were cured, compared, and differ."""
    rows = asked(history, "denial_fields", at(NOW))
    return {(row["reason"], row["field"]): tuple(row.values())[3:6] for row in rows}


def test_a_field_counts_as_differing_or_not():
    history = [
        denied(1, mcc="1", email="a@b.c", address={"city": "Recife", "state": "PE"}, owner=None),
        *cured(
            1, mcc="2", email="a@b.c", address={"state": "PE", "city": "Recife"}, owner={"a": 1}
        ),
        denied(2, mcc="1"),
        *cured(2, mcc="1"),
        denied(3, mcc="1"),  # nobody with this tax id was enabled
        denied(4, taxpayer_id="1-1-9"),
    ]
    assert found(history) == {
        ("A", "mcc"): (2, 2, 1),
        ("A", "email"): (2, 1, 0),
        ("A", "address"): (2, 1, 0),
        ("A", "business_owner"): (2, 1, 1),
        ("A", "taxpayer_id"): (2, 2, 0),
        ("A", None): (2, 2, 1),  # of the second seller, whose documents may have gone another way
    }


def test_the_records_are_those_of_the_last_denial_before_the_return_and_of_the_first_enabling():
    history = [
        denied(1, mcc="1", reasons=[OTHER]),
        denied(1, "2026-03-03T00:00:00Z", mcc="2", reasons=[QUALITY, OTHER]),
        *cured(1, mcc="2"),
        seller("updated", "u1", "2026-03-05T00:00:00.000001Z", "t1", mcc="3"),
        denied(1, "2026-03-06T00:00:00Z", mcc="4", reasons=[{"reason": "C"}]),
    ]
    everything = {("mcc",): (1, 1, 0), ("taxpayer_id",): (1, 1, 0), (None,): (1, 1, 1)}
    assert found(history) == {
        (reason, field): numbers for reason in "AB" for (field,), numbers in everything.items()
    }


def test_a_field_that_one_record_lacks_differs():
    """What was missing and then supplied may be the very thing that led to the cure."""
    history = [denied(1, mcc=" ", email="a@b.c"), *cured(1, mcc="1", birthdate="1990-01-01")]
    assert found(history) == {
        ("A", "mcc"): (1, 1, 1),
        ("A", "email"): (1, 1, 1),
        ("A", "birthdate"): (1, 1, 1),
        ("A", "taxpayer_id"): (1, 1, 0),
        ("A", None): (1, 1, 0),
    }


def test_blanks_and_what_the_platform_writes_say_nothing():
    history = [
        denied(1, mcc=" ", status="denied", delinquent=True, marketplace_id="m", metadata={"a": 1}),
        *cured(1, mcc="", delinquent=False, marketplace_id="n", metadata={"a": 2}),
    ]
    assert found(history) == {("A", "taxpayer_id"): (1, 1, 0), ("A", None): (1, 1, 1)}


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        ("Maria", "Marta", (False, True)),
        ("Maria", "Maria", (False, False)),
        ("M***", "M***", (True, None)),  # of a ledger of masks: the names may differ
        ("M***", "N***", (False, True)),
        ("", "M***", (False, True)),
        ("Maria", None, (False, True)),
        (None, " ", (False, None)),
    ],
)
def test_of_two_equal_masks_nobody_knows_whether_they_differ(earlier, later, expected):
    cursor = standing([])._ledger.cursor()
    sql = "select unnest(compared('first_name', $1::varchar, $2::varchar, mask_text($2)))"
    [(_, *found)] = cursor.execute(sql, [earlier, later]).fetchall()
    assert tuple(found) == expected


FIELDS = {
    "first_name": ["Ana", "Bia", " "],
    "email": ["a@b.c", "d@b.c", None],
    "mcc": ["1", "2", 3],
    "is_mobile": [True, False, "true"],
    "revenue": [10, 12.5, "10"],
    "address": [{"city": "Recife"}, {"city": "Olinda"}],
    "owner": [{"a": 1}, None],
    "document_number": ["1-0", "10", "x2"],
    "delinquent": [True, False],
}


def any_history(seed):
    """Sellers of six tax ids, with records that differ here and there, and their reviews."""
    draw = random.Random(seed)
    history = []
    for number in range(40):
        day, minute = draw.randrange(1, 28), draw.randrange(60)
        what = draw.choice(["created", "denied", "denied", "enabled", "updated", "disabled"])
        record = {name: draw.choice(some) for name, some in FIELDS.items() if draw.random() < 0.7}
        reasons = draw.sample([QUALITY, OTHER], draw.randrange(3))
        of_seller = draw.randrange(14)
        history.append(
            seller(
                what,
                f"x{number}",
                f"2026-03-{day:02}T00:{minute:02}:00Z",
                f"s{of_seller}",
                taxpayer_id=f"{of_seller % 6}",
                decision_reasons=reasons,
                **record,
            )
        )
    for number in range(14):
        event = {"process_id": f"p{number}", "customer_id": f"s{number % 9}"}
        due = f"2026-03-{draw.randrange(2, 28):02}T00:00:00Z"
        history.append(aci(f"e{number}", "2026-02-20T00:00:00Z", **event, deadline_at=due))
        if draw.random() < 0.5:
            end = f"2026-03-{draw.randrange(2, 28):02}T00:30:00Z"
            history.append(aci(f"f{number}", end, **event, deadline_at=due, status="FINISHED"))
    return history


@pytest.mark.parametrize("seed", [1, 4])
def test_any_history_has_the_rows_that_the_rules_give(seed):
    """`asked` holds each view to the oracle, row by row."""
    history = any_history(seed)
    assert len(asked(history, "denial_fields", at(NOW))) > 5
    for view in ("after_expiry", "on_time_by_seller_type"):
        assert asked(history, view, at(NOW))
