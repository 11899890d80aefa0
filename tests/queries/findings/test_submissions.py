"""Rules of payloads and tries, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

import pytest

from tests.queries.findings.builders import breach, found, risk
from tests.support.lines import (
    ADDRESS,
    aci,
    acp,
    action,
    finished,
    live,
    started,
)

FULL = {
    "process_id": "p1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": ADDRESS,
}


def test_acp_incomplete():
    without_city = {key: it for key, it in ADDRESS.items() if key != "city"}
    history = [acp(), started(body={**FULL, "address": without_city})]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "address.city")
    ]
    assert found("acp_incomplete", [acp(), started(body=FULL)], "2026-03-03T00:00:00") == []


def test_acp_incomplete_without_the_owner_of_a_business():
    owner = {"revenue": "1000_to_5000", "address": ADDRESS}
    business = {**FULL, "type": "business"}
    history = [acp(), started(body=business)]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(
            2,
            "2026-03-02T00:00:00",
            "owner.address.city, owner.address.country_code, owner.address.line1, "
            "owner.address.line3, owner.address.postal_code, owner.address.state, owner.revenue",
        )
    ]
    history = [acp(), started(body={**business, "owner": owner})]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []


def test_acp_incomplete_by_the_event_received_by_the_start():
    asked_later = acp(
        "e2", "2026-03-01T13:00:00Z", "2026-03-02T00:00:00.000001Z", requested_fields=["documents"]
    )
    history = [acp(), started(body=FULL), asked_later]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []
    asked_before = acp(
        "e2", "2026-03-01T13:00:00Z", "2026-03-02T00:00:00Z", requested_fields=["documents"]
    )
    history = [acp(), started(body=FULL), asked_before]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "documents")
    ]
    history[1]["body"] = {**FULL, "documents": {"selfie": "x"}}
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []


def test_aci_extra_field():
    history = [aci(requested_fields=["address"]), started()]
    assert found("aci_extra_field", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "revenue")
    ]
    assert found("aci_extra_field", [aci(), started()], "2026-03-03T00:00:00") == []


def test_a_requested_path_covers_what_is_under_it_and_not_its_namesakes():
    payload = {"process_id": "p1", "type": "individual", "address": ADDRESS}
    history = [aci(requested_fields=["address"]), started(body=payload)]
    assert found("aci_extra_field", history, "2026-03-03T00:00:00") == []
    payload = {"process_id": "p1", "type": "individual", "address_2": "Rua A"}
    history = [aci(requested_fields=["address"]), started(body=payload)]
    assert found("aci_extra_field", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "address_2")
    ]


OTHER_PAYLOAD = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}


def test_payload_changed_on_retry():
    history = [
        acp(),
        started(),
        finished("a1", 500),
        started("a2", "2026-03-02T01:00:00Z", body=OTHER_PAYLOAD),
    ]
    assert found("payload_changed_on_retry", history, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:00", "a2")
    ]
    replaced = [*history, action("replacement", "2026-03-02T00:30:00Z")]
    assert found("payload_changed_on_retry", replaced, "2026-03-03T00:00:00") == []
    before = [*history, action("replacement", "2026-03-02T00:00:00Z")]  # allowed the first one
    assert len(found("payload_changed_on_retry", before, "2026-03-03T00:00:00")) == 1
    after_a_400 = [*history[:2], finished("a1", 400), history[3]]
    assert found("payload_changed_on_retry", after_a_400, "2026-03-03T00:00:00") == []


@pytest.mark.parametrize(
    ("started_at", "is_found"),
    [("2026-03-02T00:00:59.999999Z", False), ("2026-03-02T00:01:00Z", True)],
)
def test_payload_changed_on_retry_once_an_unanswered_attempt_is_unknown(started_at, is_found):
    history = [acp(), started(), started("a2", started_at, body=OTHER_PAYLOAD)]
    found_at = started_at.removesuffix("Z")
    assert found("payload_changed_on_retry", history, "2026-03-03T00:00:00") == (
        [risk(3, found_at, "a2")] if is_found else []
    )


def test_retries_exhausted_after_a_day():
    history = [acp(), started(), finished("a1", 500)]
    assert found("retries_exhausted", history, "2026-03-02T23:59:59.999999") == []
    assert found("retries_exhausted", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-03T00:00:00", "a1")
    ]


@pytest.mark.parametrize(("attempts", "is_found"), [(29, False), (30, True)])
def test_retries_exhausted_after_thirty_attempts(attempts, is_found):
    history = [acp()]
    for number in range(1, attempts + 1):
        at_minute = f"2026-03-02T00:{number:02}:00Z"
        history += [
            started(f"a{number:02}", at_minute),
            finished(f"a{number:02}", 503, at_minute),
        ]
    assert found("retries_exhausted", history, "2026-03-02T01:00:00") == (
        [risk(61, "2026-03-02T00:30:00", "a30")] if is_found else []
    )


@pytest.mark.parametrize(
    "ending",
    [
        [action("replacement", "2026-03-02T12:00:00Z")],
        [started("a2", "2026-03-02T12:00:00Z", body=OTHER_PAYLOAD), finished("a2", 400)],
        [acp("e2", "2026-03-02T12:00:00Z", status="FINISHED")],
    ],
)
def test_no_retries_exhausted_once_nobody_wants_another(ending):
    history = [acp(), started(), finished("a1", 500), *ending]
    assert found("retries_exhausted", history, "2026-03-04T00:00:00") == []


def test_no_retries_exhausted_after_an_outcome_that_is_not_retried():
    history = [acp(), started(), finished("a1", 404)]
    assert found("retries_exhausted", history, "2026-03-04T00:00:00") == []


def test_outcome_unknown_while_the_last_attempt_is_unknown_or_in_conflict():
    history = [acp(), started()]
    assert found("outcome_unknown", history, "2026-03-02T00:00:59.999999") == []
    assert found("outcome_unknown", history, "2026-03-02T00:01:00") == [
        risk(2, "2026-03-02T00:01:00")
    ]
    history = [acp(), started(), finished("a1", 409)]
    assert found("outcome_unknown", history, "2026-03-02T00:01:00") == [
        risk(3, "2026-03-02T00:00:01")
    ]
    retried = [
        *history,
        started("a2", "2026-03-02T02:00:00Z"),
        finished("a2", 500, "2026-03-02T02:00:01Z"),
    ]
    assert found("outcome_unknown", retried, "2026-03-03T00:00:00") == []
    reported = [*history, acp("e2", "2026-03-02T03:00:00Z", status="FINISHED")]
    assert found("outcome_unknown", reported, "2026-03-03T00:00:00") == []


@pytest.mark.parametrize(
    ("status", "error", "clears"),
    [(500, None, True), (409, None, True), (None, "timeout", False), (None, "tls_refused", False)],
)
def test_unauthorized_until_any_later_answer_of_another_kind(status, error, clears):
    history = [
        acp(),
        started(),
        finished("a1", 401),
        started("a2", "2026-03-02T01:00:00Z", process_id="p2"),
        finished("a2", status, "2026-03-02T01:00:01Z", process_id="p2", error=error),
    ]
    still = [] if clears else [risk(3, "2026-03-02T00:00:01", process=None)]
    assert found("unauthorized", history, "2026-03-03T00:00:00") == still


def test_tls_refused_until_any_later_answer():
    history = [
        acp(),
        started(),
        finished("a1", None, error="tls_refused"),
        started("a2", "2026-03-02T01:00:00Z"),
        finished("a2", None, "2026-03-02T01:00:01Z", error="tls_refused"),
    ]
    assert found("tls_refused", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-02T00:00:01", process=None)
    ]
    assert found("unauthorized", history, "2026-03-03T00:00:00") == []
    corrected = [
        *history,
        started("a3", "2026-03-02T02:00:00Z"),
        finished("a3", 401, "2026-03-02T02:00:01Z"),
    ]
    assert found("tls_refused", corrected, "2026-03-03T00:00:00") == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([finished()], [risk(2, "2026-03-02T00:00:01", "a1")]),
        ([finished("a1", 500)], [risk(2, "2026-03-02T00:00:01", "a1")]),
        ([finished("a1", None, error="timeout")], []),  # nothing was answered
        ([started(), finished()], []),
        ([started(body=None), finished()], [risk(3, "2026-03-02T00:00:01", "a1")]),
        ([started(body=""), finished()], []),  # that it was empty is known
    ],
)
def test_attempt_without_start(lines, expected):
    assert found("attempt_without_start", [acp(), *lines], "2026-03-03T00:00:00") == expected


def test_acp_incomplete_wants_a_process_id_but_of_what_came_by_the_gateway():
    payload = {"type": "individual", "revenue": "1000_to_5000", "address": ADDRESS}
    by_api = live(started(body=payload))
    assert found("acp_incomplete", [acp(), by_api], "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "process_id")
    ]
    by_gateway = {**by_api, "via": "gateway"}
    assert found("acp_incomplete", [acp(), by_gateway], "2026-03-03T00:00:00") == []


def test_acp_incomplete_is_no_breach_of_who_sends_a_gateways_bytes_again():
    """A try of the gateway that `prazo resume` sent again was a breach, for the same bytes."""
    payload = {"type": "individual", "revenue": "1000_to_5000", "address": ADDRESS}
    first = {**live(started(body=payload)), "via": "gateway"}
    again = live(started("a2", "2026-03-02T01:00:00Z", body=payload))
    history = [acp(), first, finished("a1", 500), again]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []
    other = live(started("a2", "2026-03-02T01:00:00Z", body={**payload, "revenue": "0_to_1"}))
    assert found("acp_incomplete", [*history[:3], other], "2026-03-03T00:00:00") == [
        breach(4, "2026-03-02T01:00:00", "process_id")
    ]


def test_acp_incomplete_wants_nothing_below_an_identity():
    payload = {"process_id": "p1", "type": "individual", "revenue": "1000_to_5000"}
    sent = live(started(body={**payload, "address": ADDRESS}))
    asked = acp(requested_fields=["revenue", "type.x", "process_id.y"])
    assert found("acp_incomplete", [asked, sent], "2026-03-03T00:00:00") == []


def test_unauthorized_until_any_later_200():
    history = [
        acp(),
        started(),
        finished("a1", 401, "2026-03-02T00:00:01Z"),
        started("a2", "2026-03-02T01:00:00Z"),
        finished("a2", 401, "2026-03-02T01:00:01Z"),
    ]
    assert found("unauthorized", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-02T00:00:01", process=None)
    ]
    other = started("a3", "2026-03-02T02:00:00Z", process_id="p2")
    accepted = finished("a3", 200, "2026-03-02T02:00:01Z", process_id="p2")
    assert found("unauthorized", [*history, other, accepted], "2026-03-03T00:00:00") == []
