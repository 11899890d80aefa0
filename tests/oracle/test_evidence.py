"""The evidence beside each field that is sent.

Pins the oracle itself: every expected value is written out by hand from docs/rules.md.
"""

import pytest

from tests.oracle.builders import aci, found
from tests.support import oracle
from tests.support.lines import answered, at, finished, started


def coverage(history: list[dict], as_of: str = "2026-03-03T00:00:00") -> dict:
    return {
        row["path"]: (row["requested"], row["covered"])
        for row in oracle.rows("evidence_coverage", history, at(as_of))
    }


def test_a_field_answered_by_the_seller_with_the_value_sent_is_covered():
    history = [aci(), answered(), started(), finished()]
    [row] = oracle.rows("evidence_coverage", history, at("2026-03-03T00:00:00"))
    assert row == {
        "process_id": "p1",
        "path": "revenue",
        "requested": True,
        "answered_at": at("2026-03-01T18:00:00"),
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
        for row in oracle.rows("evidence_coverage", history, at("2026-03-03T00:00:00"))
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


def test_evidence_is_late_when_recorded_after_the_start_or_a_day_after_it_happened():
    def recorded(recorded_at: str) -> list[dict]:
        return [aci(), answered(recorded_at=recorded_at), started(occurred_at=start)]

    start = "2026-03-05T00:00:00Z"
    late = "evidence_recorded_late"
    assert found(recorded("2026-03-02T18:00:00Z"), "2026-03-06T00:00:00", late) == []
    assert found(recorded("2026-03-02T18:00:00.000001Z"), "2026-03-06T00:00:00", late) == [
        (late, "risk", 2, at("2026-03-05T00:00:00"))
    ]
    start = "2026-03-02T00:00:00Z"
    assert found(recorded("2026-03-02T00:00:00Z"), "2026-03-06T00:00:00", late) == []
    assert found(recorded("2026-03-02T00:00:00.000001Z"), "2026-03-06T00:00:00", late) == [
        (late, "risk", 2, at("2026-03-02T00:00:00.000001"))
    ]


def test_a_journey_in_two_processes_is_a_breach_and_an_artifact_a_risk():
    screen = [{"name": "screen.png", "media_type": "image/png", "sha256": "ab" * 32}]
    history = [
        answered(artifacts=screen),
        answered("2026-03-01T19:00:00Z", process_id="p2", step="invited", artifacts=screen),
        answered("2026-03-01T20:00:00Z", process_id="p3", journey_id="j3", artifacts=screen),
    ]
    assert found(history, "2026-03-03T00:00:00", "evidence_reused") == [
        ("evidence_reused", "breach", 2, at("2026-03-01T19:00:00")),
        ("evidence_reused", "risk", 3, at("2026-03-01T20:00:00")),
    ]
