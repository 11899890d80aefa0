"""Rules of evidence, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

from typing import Any

import pytest

from tests import depth
from tests.queries.findings.builders import breach, found, notice, risk
from tests.support.ledgers import World, asked
from tests.support.lines import (
    aci,
    acp,
    answered,
    at,
    finished,
    invited,
    live,
    refusal,
    started,
)

WORLD = World()


@WORLD.given(
    acp(),
    answered(fields={"revenue": "1000"}),
    started(body={"process_id": "p1", "type": "individual", "revenue": 1000}),
)
def test_a_number_is_not_evidence_for_the_same_digits_in_a_string(history):
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == [
        breach(3, "2026-03-02T00:00:00", "revenue")
    ]


@WORLD.given(
    acp(),
    *refusal("a1", "2026-03-02T00:00:00Z"),
    started("a2", "2026-03-02T01:00:00Z"),
    started("a3", "2026-03-02T02:00:00Z"),
)
def test_a_refusal_needs_no_evidence_and_a_field_is_found_once(history):
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == [
        breach(4, "2026-03-02T01:00:00", "revenue")
    ]


@WORLD.given(
    acp(),
    live(started()),
    live(answered("2026-03-01T18:00:00Z"), "2026-03-02T00:00:00.000001Z"),
    with_it=[
        acp(),
        live(started()),
        live(answered("2026-03-01T18:00:00Z"), "2026-03-02T00:00:00Z"),
    ],
)
def test_evidence_recorded_late_after_the_start(history, with_it):
    assert found("evidence_recorded_late", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-02T00:00:00.000001")
    ]
    assert found("evidence_recorded_late", with_it, "2026-03-03T00:00:00") == []


@WORLD.given(
    acp(),
    live(answered("2026-03-01T18:00:00Z"), "2026-03-02T18:00:00.000001Z"),
    live(started("a1", "2026-03-05T00:00:00Z")),
    in_time=[
        acp(),
        live(answered("2026-03-01T18:00:00Z"), "2026-03-02T18:00:00Z"),
        live(started("a1", "2026-03-05T00:00:00Z")),
    ],
)
def test_evidence_recorded_late_a_day_after_it_happened(history, in_time):
    assert found("evidence_recorded_late", history, "2026-03-06T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    assert found("evidence_recorded_late", in_time, "2026-03-06T00:00:00") == []


ASKED_TWICE = [acp(), acp("e2", process_id="p2"), answered()]


@WORLD.given(
    *ASKED_TWICE,
    answered("2026-03-01T19:00:00Z", process_id="p2"),
    apart=[*ASKED_TWICE, answered("2026-03-01T19:00:00Z", process_id="p2", journey_id="j2")],
)
def test_evidence_reused_a_journey_in_two_processes(history, apart):
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == [
        breach(4, "2026-03-01T19:00:00", "j1", process="p2")
    ]
    assert found("evidence_reused", apart, "2026-03-02T00:00:00") == []


def of_screen(digest, second_step):
    """A screen that an answer shows, and then a step of another process."""
    screen = [{"name": "screen.png", "media_type": "image/png", "sha256": digest}]
    of_p2 = {"process_id": "p2", "journey_id": "j2", "artifacts": screen}
    return [*ASKED_TWICE[:2], answered(artifacts=screen), second_step(**of_p2)]


@WORLD.given(
    again=of_screen("ab" * 32, lambda **more: answered("2026-03-01T19:00:00Z", **more)),
    shown=of_screen("cd" * 32, lambda **more: invited("2026-03-01T19:00:00Z", **more)),
)
def test_evidence_reused_an_artifact_in_two_processes(again, shown):
    assert found("evidence_reused", again, "2026-03-02T00:00:00") == [
        risk(4, "2026-03-01T19:00:00", "ab" * 32, process="p2")
    ]
    assert found("evidence_reused", shown, "2026-03-02T00:00:00") == []


PAYLOAD = {"process_id": "p2", "type": "individual", "revenue": "1000_to_5000"}


def sent_for_both(payload=PAYLOAD, **more):
    """What was sent for one process, and an hour later for another one."""
    return [
        *(acp(), acp("e2", process_id="p2"), started()),
        started("a2", "2026-03-02T01:00:00Z", process_id="p2", body=payload, **more),
        finished("a2", 200, "2026-03-02T01:00:01Z", process_id="p2"),
    ]


SAID_AGAIN = answered("2026-03-02T00:30:00Z", process_id="p2", journey_id="j2")


@WORLD.given(
    reused=sent_for_both(),
    said=[*sent_for_both(), SAID_AGAIN],
    said_too_late=[
        *sent_for_both(),
        {**SAID_AGAIN, "occurred_at": "2026-03-02T01:00:00.000001Z"},
    ],
    said_elsewhere=[*sent_for_both(), {**SAID_AGAIN, "source": "bureau"}],
    other=sent_for_both({**PAYLOAD, "address": {"city": "Recife"}}),
    of_other_seller=sent_for_both(seller_id="s2"),
)
def test_values_reused(reused, said, said_too_late, said_elsewhere, other, of_other_seller):
    assert found("values_reused", reused, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:01", "a2", process="p2")
    ]
    assert found("values_reused", said, "2026-03-03T00:00:00") == [
        notice(4, "2026-03-02T01:00:01", "a2", process="p2")
    ]
    for history in (said_too_late, said_elsewhere):
        assert found("values_reused", history, "2026-03-03T00:00:00") == [
            risk(4, "2026-03-02T01:00:01", "a2", process="p2")
        ]
    assert found("values_reused", other, "2026-03-03T00:00:00") == []
    assert found("values_reused", of_other_seller, "2026-03-03T00:00:00") == []


BOTH = {**PAYLOAD, "process_id": "p1", "extra": "x"}
HALF = {"process_id": "p1", "type": "individual", "extra": "x"}


@WORLD.given(
    # The entries of the first attempt name no seller: its process's counts.
    nameless=[
        {**line, "seller_id": None} if "body" in line and line["kind"] != "webhook" else line
        for line in sent_for_both()
    ],
    at_once=[
        *sent_for_both()[:3],
        started("a2", process_id="p2", body=PAYLOAD),
        finished("a2", 200, "2026-03-02T00:00:01Z", process_id="p2"),
    ],
    of_one_process=[
        *[acp(), started(), finished("a1", 500)],
        *[started("a2", "2026-03-02T01:00:00Z"), finished("a2", 200, "2026-03-02T01:00:01Z")],
    ],
    not_accepted=[*sent_for_both()[:-1], finished("a2", 400, process_id="p2")],
    of_two_attempts=[
        *[acp(), acp("e2", process_id="p2")],
        started("a0", body=HALF),
        *sent_for_both({**PAYLOAD, "extra": "x"})[2:],
    ],
    half_said=[
        *[acp(), acp("e2", process_id="p2"), SAID_AGAIN, started(body=BOTH)],
        *sent_for_both({**PAYLOAD, "extra": "x"})[3:],
    ],
)
def test_values_are_reused_where_one_earlier_submission_for_another_process_had_them_all(
    nameless, at_once, of_one_process, not_accepted, of_two_attempts, half_said
):
    assert found("values_reused", nameless, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:01", "a2", process="p2")
    ]
    for history in (at_once, of_one_process, not_accepted, of_two_attempts):
        assert found("values_reused", history, "2026-03-03T00:00:00") == []
    # One of its two fields was not said again.
    assert found("values_reused", half_said, "2026-03-03T00:00:00") == [
        risk(5, "2026-03-02T01:00:01", "a2", process="p2")
    ]


@WORLD.given(
    used_twice=[
        acp(),
        live(started()),
        live(answered("2026-03-01T18:00:00Z"), "2026-03-02T18:00:00.000001Z"),
        live(started("a2", "2026-03-03T00:00:00Z")),
    ],
    of_another_value=[
        acp(),
        live(started()),
        live(answered(fields={"revenue": "1_to_2"}), "2026-03-05T18:00:00Z"),
    ],
)
def test_evidence_that_was_recorded_late_is_found_once_and_only_where_it_was_used(
    used_twice, of_another_value
):
    assert found("evidence_recorded_late", used_twice, "2026-03-06T00:00:00") == [
        risk(3, "2026-03-02T18:00:00.000001")
    ]
    assert found("evidence_recorded_late", of_another_value, "2026-03-06T00:00:00") == []


OF_P2 = answered("2026-03-01T17:00:00Z", process_id="p2")
AT_ONCE = answered(process_id="p2")


@WORLD.given(
    first_of_p2=[*ASKED_TWICE, OF_P2],
    at_once=[*ASKED_TWICE, AT_ONCE],
    the_other_way_round=[*ASKED_TWICE[:2], AT_ONCE, ASKED_TWICE[2]],
)
def test_evidence_is_reused_by_the_process_that_had_it_later_then_by_the_greater_id(
    first_of_p2, at_once, the_other_way_round
):
    assert found("evidence_reused", first_of_p2, "2026-03-02T00:00:00") == [
        breach(3, "2026-03-01T18:00:00", "j1", process="p1")
    ]
    for history, seq in ((at_once, 4), (the_other_way_round, 3)):
        assert found("evidence_reused", history, "2026-03-02T00:00:00") == [
            breach(seq, "2026-03-01T18:00:00", "j1", process="p2")
        ]


CONFIRMED = {"occurred_at": "2026-03-01T19:00:00Z", "step": "confirmed"}


@WORLD.given(*of_screen("ef" * 32, lambda **more: invited(**CONFIRMED, **more)))
def test_an_artifact_of_a_confirmation_is_evidence_too(history):
    assert found("evidence_reused", history, "2026-03-01T18:59:59.999999") == []
    assert found("evidence_reused", history, "2026-03-01T19:00:00") == [
        risk(4, "2026-03-01T19:00:00", "ef" * 32, process="p2")
    ]


# --- what digests decide: in ledgers of their own ---


@pytest.mark.parametrize("value", depth.few(["1_to_2", "2_to_3", "3_to_4", "4_to_5"], 2))
def test_of_answers_at_one_instant_the_same_is_the_evidence_in_every_order(value):
    one, other = answered(), answered(fields={"revenue": value})
    there, back = (
        [row[4] for row in found("field_without_evidence", history, "2026-03-03T00:00:00")]
        for history in ([acp(), one, other, started()], [acp(), other, one, started()])
    )
    assert there == back


def test_a_collection_that_comes_twice_is_one_and_what_the_seller_did_again_another():
    again = answered("2026-03-01T19:00:00Z")
    history = [acp(), live(answered()), live(answered()), live(again)]
    rows = asked(history, "collections", at("2026-03-02T00:00:00"))
    assert [(row["seq"], row["occurred_at"]) for row in rows] == [
        (4, at("2026-03-01T19:00:00")),
        (2, at("2026-03-01T18:00:00")),
    ]


# --- the evidence beside each field that is sent ---


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


ANSWERS: list[tuple[list[dict[str, Any]], str | None]] = [
    ([{}], None),
    ([{"occurred_at": "2026-03-02T00:00:00Z"}], None),
    ([{"occurred_at": "2026-03-01T12:00:00Z"}], None),
    ([], "field_without_evidence"),
    ([{"step": "confirmed"}], "field_without_evidence"),
    ([{"process_id": "p2"}], "field_without_evidence"),
    ([{"process_id": "p2", "journey_id": "j2"}], "field_without_evidence"),
    ([{"fields": {"revenue": 1000}}], "field_without_evidence"),
    ([{"fields": {"revenue": "1000_to_5001"}}], "field_without_evidence"),
    ([{"fields": {"revenue.band": "1000_to_5000"}}], "field_without_evidence"),
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
    (
        [
            {},
            {"occurred_at": "2026-03-01T19:00:00Z", "source": "bureau"},
            {"occurred_at": "2026-03-01T20:00:00Z", "fields": {"revenue": "1_to_2"}},
        ],
        "field_without_evidence",
    ),
    ([{"source": "bureau"}, {"occurred_at": "2026-03-01T19:00:00Z"}], None),
]
"""What was answered, and the rule that it breaks, if any."""


@pytest.mark.parametrize(
    ("history", "answers", "rule"),
    [
        (WORLD.add(aci(), *(answered(**it) for it in some), started(), finished()), some, rule)
        for some, rule in ANSWERS
    ],
)
def test_a_field_is_covered_or_breaks_exactly_one_of_three_rules(history, answers, rule):
    its_start = breach(len(answers) + 2, "2026-03-02T00:00:00", "revenue")
    for one in ("field_without_evidence", "source_not_seller", "evidence_before_request"):
        assert found(one, history, "2026-03-03T00:00:00") == ([its_start] if one == rule else [])
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
