"""The evidence beside each field that is sent.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

import pytest

from tests.rules.builders import aci, found
from tests.support.ledgers import asked
from tests.support.lines import answered, at, finished, started


def coverage(history: list[dict], as_of: str = "2026-03-03T00:00:00") -> dict:
    return {
        row["path"]: (row["requested"], row["covered"])
        for row in asked(history, "evidence_coverage", at(as_of))
    }


def test_a_field_answered_by_the_seller_with_the_value_sent_is_covered():
    history = [aci(), answered(), started(), finished()]
    [row] = asked(history, "evidence_coverage", at("2026-03-03T00:00:00"))
    assert row == {
        "process_id": "p1",
        "path": "revenue",
        "requested": True,
        "answered_at": at("2026-03-01T18:00:00"),
        "answer_source": "seller",
        "sent_at": at("2026-03-02T00:00:00"),
        "covered": True,
    }
    assert coverage(history[:2]) == {"revenue": (True, None)}


@pytest.mark.parametrize(
    ("answers", "rule"),
    [
        ([{}], None),
        ([{"occurred_at": "2026-03-02T00:00:00Z"}], None),
        ([{"occurred_at": "2026-03-01T12:00:00Z"}], None),
        ([], "field_without_evidence"),
        ([{"step": "confirmed"}], "field_without_evidence"),
        ([{"process_id": "p2"}], "field_without_evidence"),
        ([{"fields": {"revenue": 1000}}], "field_without_evidence"),
        ([{"occurred_at": "2026-03-02T00:00:00.000001Z"}], "field_without_evidence"),
        ([{"source": "bureau"}], "source_not_seller"),
        ([{"occurred_at": "2026-03-01T11:59:59.999999Z"}], "evidence_before_request"),
        (
            [{"occurred_at": "2026-03-01T11:00:00Z", "source": "bureau"}],
            "source_not_seller",
        ),
        (
            [{}, {"occurred_at": "2026-03-01T19:00:00Z", "fields": {"revenue": "1_to_2"}}],
            "field_without_evidence",
        ),
        (
            [
                {"source": "bureau"},
                {"occurred_at": "2026-03-01T19:00:00Z", "fields": {"revenue": "1_to_2"}},
            ],
            "field_without_evidence",
        ),
        (
            [{"source": "bureau", "fields": {"revenue": "1_to_2"}}],
            "field_without_evidence",
        ),
        (
            [
                {"occurred_at": "2026-03-01T11:00:00Z"},
                {"occurred_at": "2026-03-01T19:00:00Z", "fields": {"revenue": "1_to_2"}},
            ],
            "field_without_evidence",
        ),
        ([{}, {"occurred_at": "2026-03-01T19:00:00Z", "source": "bureau"}], "source_not_seller"),
        ([{"source": "bureau"}, {"occurred_at": "2026-03-01T19:00:00Z"}], None),
    ],
)
def test_a_field_is_covered_or_breaks_exactly_one_of_three_rules(answers, rule):
    three = ("field_without_evidence", "source_not_seller", "evidence_before_request")
    history = [aci(), *(answered(**answer) for answer in answers), started(), finished()]
    start_seq = len(answers) + 2
    expected = [(rule, "breach", start_seq, at("2026-03-02T00:00:00"))] if rule else []
    assert found(history, "2026-03-03T00:00:00", *three) == expected
    [covered] = [
        row["covered"]
        for row in asked(history, "evidence_coverage", at("2026-03-03T00:00:00"))
        if (row["process_id"], row["path"]) == ("p1", "revenue")
    ]
    assert covered is (rule is None)


def test_objects_in_answers_and_payloads_are_flattened_to_fields():
    history = [
        aci(requested_fields=["address"]),
        answered(fields={"address": {"city": "Recife"}, "address.state": "PE"}),
        started(body={"process_id": "p1", "address": {"city": "Recife", "state": "SP"}}),
    ]
    assert coverage(history) == {
        "address.city": (True, True),
        "address.country_code": (True, None),
        "address.line1": (True, None),
        "address.line3": (True, None),
        "address.postal_code": (True, None),
        "address.state": (True, False),
    }
