"""Rules of evidence, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

import pytest

from tests.queries.findings.builders import breach, found, notice, risk
from tests.support.lines import (
    acp,
    answered,
    finished,
    invited,
    live,
    refusal,
    started,
)


@pytest.mark.parametrize(
    ("collection", "is_found"),
    [
        (answered("2026-03-02T00:00:00Z"), False),  # at the very start
        (answered("2026-03-02T00:00:00.000001Z"), True),
        (answered(fields={"revenue": "1000_to_5001"}), True),
        (answered(fields={"revenue.band": "1000_to_5000"}), True),
        (answered(process_id="p2", journey_id="j2"), True),
        (invited(step="confirmed"), True),
    ],
)
def test_field_without_evidence(collection, is_found):
    history = [acp(), collection, started()]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == (
        [breach(3, "2026-03-02T00:00:00", "revenue")] if is_found else []
    )


def test_a_number_is_no_evidence_for_the_same_digits_in_a_string():
    payload = {"process_id": "p1", "type": "individual", "revenue": 1000}
    history = [acp(), answered(fields={"revenue": "1000"}), started(body=payload)]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == [
        breach(3, "2026-03-02T00:00:00", "revenue")
    ]


def test_a_refusal_needs_no_evidence_and_a_field_is_found_once():
    history = [
        acp(),
        *refusal("a1", "2026-03-02T00:00:00Z"),
        started("a2", "2026-03-02T01:00:00Z"),
        started("a3", "2026-03-02T02:00:00Z"),
    ]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == [
        breach(4, "2026-03-02T01:00:00", "revenue")
    ]


def test_source_not_seller():
    history = [acp(), answered(source="bureau"), started()]
    assert found("source_not_seller", history, "2026-03-03T00:00:00") == [
        breach(3, "2026-03-02T00:00:00", "revenue")
    ]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == []


def test_the_latest_answer_alone_is_the_evidence():
    of_seller = answered("2026-03-01T17:00:00Z")
    of_bureau = answered("2026-03-01T18:00:00Z", source="bureau")
    other_value = answered("2026-03-01T19:00:00Z", fields={"revenue": "5000_to_9000"})
    broken = [acp(), of_seller, of_bureau, started()]
    assert found("source_not_seller", broken, "2026-03-03T00:00:00") == [
        breach(4, "2026-03-02T00:00:00", "revenue")
    ]
    corrected = [acp(), {**of_bureau, "occurred_at": "2026-03-01T16:00:00Z"}, of_seller, started()]
    assert found("source_not_seller", corrected, "2026-03-03T00:00:00") == []
    changed = [acp(), of_seller, of_bureau, other_value, started()]
    assert found("source_not_seller", changed, "2026-03-03T00:00:00") == []
    assert found("field_without_evidence", changed, "2026-03-03T00:00:00") == [
        breach(5, "2026-03-02T00:00:00", "revenue")
    ]


def test_evidence_before_request():
    history = [acp(), answered("2026-03-01T11:59:59.999999Z"), started()]
    assert found("evidence_before_request", history, "2026-03-03T00:00:00") == [
        breach(3, "2026-03-02T00:00:00", "revenue")
    ]
    history = [acp(), answered("2026-03-01T12:00:00Z"), started()]
    assert found("evidence_before_request", history, "2026-03-03T00:00:00") == []


def test_evidence_recorded_late_after_the_start():
    history = [
        acp(),
        live(started()),
        live(answered("2026-03-01T18:00:00Z"), "2026-03-02T00:00:00.000001Z"),
    ]
    assert found("evidence_recorded_late", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-02T00:00:00.000001")
    ]
    history = [
        acp(),
        live(started()),
        live(answered("2026-03-01T18:00:00Z"), "2026-03-02T00:00:00Z"),
    ]
    assert found("evidence_recorded_late", history, "2026-03-03T00:00:00") == []


def test_evidence_recorded_late_a_day_after_it_happened():
    late = live(answered("2026-03-01T18:00:00Z"), "2026-03-02T18:00:00.000001Z")
    history = [acp(), late, live(started("a1", "2026-03-05T00:00:00Z"))]
    assert found("evidence_recorded_late", history, "2026-03-06T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    in_time = live(answered("2026-03-01T18:00:00Z"), "2026-03-02T18:00:00Z")
    history = [acp(), in_time, live(started("a1", "2026-03-05T00:00:00Z"))]
    assert found("evidence_recorded_late", history, "2026-03-06T00:00:00") == []


def test_evidence_reused_a_journey_in_two_processes():
    other = acp("e2", process_id="p2")
    history = [acp(), other, answered(), answered("2026-03-01T19:00:00Z", process_id="p2")]
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == [
        breach(4, "2026-03-01T19:00:00", "j1", process="p2")
    ]
    history[3]["journey_id"] = "j2"
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == []


def test_evidence_reused_an_artifact_in_two_processes():
    digest = "ab" * 32
    screen = [{"name": "screen.png", "media_type": "image/png", "sha256": digest}]
    other = acp("e2", process_id="p2")
    again = answered("2026-03-01T19:00:00Z", process_id="p2", journey_id="j2", artifacts=screen)
    history = [acp(), other, answered(artifacts=screen), again]
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == [
        risk(4, "2026-03-01T19:00:00", digest, process="p2")
    ]
    shown = invited("2026-03-01T19:00:00Z", process_id="p2", journey_id="j2", artifacts=screen)
    history = [acp(), other, answered(artifacts=screen), shown]
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == []


def test_values_reused():
    payload = {"process_id": "p2", "type": "individual", "revenue": "1000_to_5000"}
    later = started("a2", "2026-03-02T01:00:00Z", process_id="p2", body=payload)
    accepted = finished("a2", 200, "2026-03-02T01:00:01Z", process_id="p2")
    history = [acp(), acp("e2", process_id="p2"), started(), later, accepted]
    assert found("values_reused", history, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:01", "a2", process="p2")
    ]
    said_again = answered("2026-03-02T00:30:00Z", process_id="p2", journey_id="j2")
    assert found("values_reused", [*history, said_again], "2026-03-03T00:00:00") == [
        notice(4, "2026-03-02T01:00:01", "a2", process="p2")
    ]
    too_late = {**said_again, "occurred_at": "2026-03-02T01:00:00.000001Z"}
    assert found("values_reused", [*history, too_late], "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:01", "a2", process="p2")
    ]
    later["body"] = {**payload, "address": {"city": "Recife"}}
    assert found("values_reused", history, "2026-03-03T00:00:00") == []
    later["body"], later["seller_id"] = payload, "s2"
    assert found("values_reused", history, "2026-03-03T00:00:00") == []
