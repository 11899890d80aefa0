"""Rules of payloads and tries, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

import pytest

from tests.queries.findings.builders import breach, found, risk
from tests.support.ledgers import World
from tests.support.lines import (
    ADDRESS,
    aci,
    acp,
    action,
    finished,
    live,
    refusal,
    started,
)

WORLD = World()

FULL = {
    "process_id": "p1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": ADDRESS,
}


WITHOUT_CITY = {key: it for key, it in ADDRESS.items() if key != "city"}


@WORLD.given(
    *[acp(), started(body={**FULL, "address": WITHOUT_CITY})],
    full=[acp(), started(body=FULL)],
)
def test_acp_incomplete(history, full):
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "address.city")
    ]
    assert found("acp_incomplete", full, "2026-03-03T00:00:00") == []


TWICE = '{"process_id":"p1","type":"individual","revenue":"1_to_2","revenue":"1_to_2"}'
UNREADABLE = [
    (WORLD.add(acp(), started(body=body)), WORLD.add(aci(), started(body=body)))
    for body in (TWICE, "zzz", "", "[1]", "null", '{"revenue":NaN}')
]


@pytest.mark.parametrize(("of_acp", "of_aci"), UNREADABLE)
def test_a_body_that_is_not_a_readable_object_is_sent_against_the_rules(of_acp, of_aci):
    """Nothing was said of it: the platform took a revenue without evidence, and all looked well."""
    said = [breach(2, "2026-03-02T00:00:00", "no readable JSON object")]
    assert found("acp_incomplete", of_acp, "2026-03-03T00:00:00") == said
    assert found("aci_extra_field", of_aci, "2026-03-03T00:00:00") == said


BUSINESS = {**FULL, "type": "business"}
OWNER = {"revenue": "1000_to_5000", "address": ADDRESS}


@WORLD.given(
    *[acp(), started(body=BUSINESS)],
    with_owner=[acp(), started(body={**BUSINESS, "owner": OWNER})],
)
def test_acp_incomplete_without_the_owner_of_a_business(history, with_owner):
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(
            2,
            "2026-03-02T00:00:00",
            "owner.address.city, owner.address.country_code, owner.address.line1, "
            "owner.address.line3, owner.address.postal_code, owner.address.state, owner.revenue",
        )
    ]
    assert found("acp_incomplete", with_owner, "2026-03-03T00:00:00") == []


def asked_for_documents(received_at):
    return acp("e2", "2026-03-01T13:00:00Z", received_at, requested_fields=["documents"])


@WORLD.given(
    later=[acp(), started(body=FULL), asked_for_documents("2026-03-02T00:00:00.000001Z")],
    before=[acp(), started(body=FULL), asked_for_documents("2026-03-02T00:00:00Z")],
    sent=[
        acp(),
        started(body={**FULL, "documents": {"selfie": "x"}}),
        asked_for_documents("2026-03-02T00:00:00Z"),
    ],
)
def test_acp_incomplete_by_the_event_received_by_the_start(later, before, sent):
    assert found("acp_incomplete", later, "2026-03-03T00:00:00") == []
    assert found("acp_incomplete", before, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "documents")
    ]
    assert found("acp_incomplete", sent, "2026-03-03T00:00:00") == []


@WORLD.given(
    *[aci(requested_fields=["address"]), started()],
    asked_for=[aci(), started()],
)
def test_aci_extra_field(history, asked_for):
    assert found("aci_extra_field", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "revenue")
    ]
    assert found("aci_extra_field", asked_for, "2026-03-03T00:00:00") == []


def address_asked_for_and_sent(**sent):
    payload = {"process_id": "p1", "type": "individual", **sent}
    return [aci(requested_fields=["address"]), started(body=payload)]


@WORLD.given(
    under_it=address_asked_for_and_sent(address=ADDRESS),
    namesake=address_asked_for_and_sent(address_2="Rua A"),
)
def test_a_requested_path_covers_what_is_under_it_and_not_its_namesakes(under_it, namesake):
    assert found("aci_extra_field", under_it, "2026-03-03T00:00:00") == []
    assert found("aci_extra_field", namesake, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "address_2")
    ]


OTHER_PAYLOAD = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}


def changed_after(status):
    return [
        *(acp(), started(), finished("a1", status)),
        started("a2", "2026-03-02T01:00:00Z", body=OTHER_PAYLOAD),
    ]


@WORLD.given(
    changed=changed_after(500),
    replaced=[*changed_after(500), action("replacement", "2026-03-02T00:30:00Z")],
    before=[*changed_after(500), action("replacement", "2026-03-02T00:00:00Z")],
    after_a_400=changed_after(400),
)
def test_payload_changed_on_retry(changed, replaced, before, after_a_400):
    assert found("payload_changed_on_retry", changed, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:00", "a2")
    ]
    assert found("payload_changed_on_retry", replaced, "2026-03-03T00:00:00") == []
    # It allowed the first one.
    assert len(found("payload_changed_on_retry", before, "2026-03-03T00:00:00")) == 1
    assert found("payload_changed_on_retry", after_a_400, "2026-03-03T00:00:00") == []


@WORLD.given(
    in_flight=[acp(), started(), started("a2", "2026-03-02T00:00:59.999999Z", body=OTHER_PAYLOAD)],
    unknown=[acp(), started(), started("a2", "2026-03-02T00:01:00Z", body=OTHER_PAYLOAD)],
)
def test_payload_changed_on_retry_once_an_unanswered_attempt_is_unknown(in_flight, unknown):
    assert found("payload_changed_on_retry", in_flight, "2026-03-03T00:00:00") == []
    assert found("payload_changed_on_retry", unknown, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-02T00:01:00", "a2")
    ]


@WORLD.given(acp(), started(), finished("a1", 500))
def test_retries_exhausted_after_a_day(history):
    assert found("retries_exhausted", history, "2026-03-02T23:59:59.999999") == []
    assert found("retries_exhausted", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-03T00:00:00", "a1")
    ]


def failed(times):
    lines = [acp()]
    for number in range(1, times + 1):
        at_minute = f"2026-03-02T00:{number:02}:00Z"
        lines += [
            started(f"a{number:02}", at_minute),
            finished(f"a{number:02}", 503, at_minute),
        ]
    return lines


@WORLD.given(twenty_nine=failed(29), thirty=failed(30))
def test_retries_exhausted_after_thirty_attempts(twenty_nine, thirty):
    assert found("retries_exhausted", twenty_nine, "2026-03-02T01:00:00") == []
    assert found("retries_exhausted", thirty, "2026-03-02T01:00:00") == [
        risk(61, "2026-03-02T00:30:00", "a30")
    ]


@WORLD.given(
    *[acp(), started()],
    *[started("a2", "2026-03-03T02:00:00Z"), finished("a2", 400, "2026-03-03T02:00:01Z")],
    finished("a1", 500, "2026-03-03T06:00:00Z"),
)
def test_retries_exhausted_stays_when_an_answer_comes_after_more_than_a_day(history):
    assert found("retries_exhausted", history, "2026-03-03T05:59:59") == [
        risk(2, "2026-03-03T00:00:00", "a1")
    ]
    assert found("retries_exhausted", history, "2026-03-03T06:00:00") == [
        risk(5, "2026-03-03T00:00:00", "a1")
    ]


@pytest.mark.parametrize(
    "history",
    [
        WORLD.add(acp(), started(), finished("a1", 500), *ending)
        for ending in (
            [action("replacement", "2026-03-02T12:00:00Z")],
            [started("a2", "2026-03-02T12:00:00Z", body=OTHER_PAYLOAD), finished("a2", 400)],
            [acp("e2", "2026-03-02T12:00:00Z", status="FINISHED")],
        )
    ],
)
def test_no_retries_exhausted_once_nobody_wants_another(history):
    assert found("retries_exhausted", history, "2026-03-04T00:00:00") == []


@WORLD.given(acp(), started(), finished("a1", 404))
def test_no_retries_exhausted_after_an_outcome_that_is_not_retried(history):
    assert found("retries_exhausted", history, "2026-03-04T00:00:00") == []


IN_CONFLICT = [acp(), started(), finished("a1", 409)]


@WORLD.given(
    unanswered=[acp(), started()],
    in_conflict=IN_CONFLICT,
    retried=[
        *IN_CONFLICT,
        started("a2", "2026-03-02T02:00:00Z"),
        finished("a2", 500, "2026-03-02T02:00:01Z"),
    ],
    reported=[*IN_CONFLICT, acp("e2", "2026-03-02T03:00:00Z", status="FINISHED")],
)
def test_outcome_unknown_while_the_last_attempt_is_unknown_or_in_conflict(
    unanswered, in_conflict, retried, reported
):
    assert found("outcome_unknown", unanswered, "2026-03-02T00:00:59.999999") == []
    assert found("outcome_unknown", unanswered, "2026-03-02T00:01:00") == [
        risk(2, "2026-03-02T00:01:00")
    ]
    assert found("outcome_unknown", in_conflict, "2026-03-02T00:01:00") == [
        risk(3, "2026-03-02T00:00:01")
    ]
    assert found("outcome_unknown", retried, "2026-03-03T00:00:00") == []
    assert found("outcome_unknown", reported, "2026-03-03T00:00:00") == []


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (WORLD.add(acp(), finished()), [risk(2, "2026-03-02T00:00:01", "a1")]),
        (WORLD.add(acp(), finished("a1", 500)), [risk(2, "2026-03-02T00:00:01", "a1")]),
        # Nothing was answered.
        (WORLD.add(acp(), finished("a1", None, error="timeout")), []),
        (WORLD.add(acp(), started(), finished()), []),
        (
            WORLD.add(acp(), started(body=None), finished()),
            [risk(3, "2026-03-02T00:00:01", "a1")],
        ),
        # That it was empty is known.
        (WORLD.add(acp(), started(body=""), finished()), []),
    ],
)
def test_attempt_without_start(history, expected):
    assert found("attempt_without_start", history, "2026-03-03T00:00:00") == expected


WITHOUT_ID = {"type": "individual", "revenue": "1000_to_5000", "address": ADDRESS}
BY_API = live(started(body=WITHOUT_ID))
BY_GATEWAY = {**BY_API, "via": "gateway"}


@WORLD.given(by_api=[acp(), BY_API], by_gateway=[acp(), BY_GATEWAY])
def test_acp_incomplete_wants_a_process_id_but_of_what_came_by_the_gateway(by_api, by_gateway):
    assert found("acp_incomplete", by_api, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "process_id")
    ]
    assert found("acp_incomplete", by_gateway, "2026-03-03T00:00:00") == []


def sent_again(payload):
    second = live(started("a2", "2026-03-02T01:00:00Z", body=payload))
    return [acp(), BY_GATEWAY, finished("a1", 500), second]


@WORLD.given(
    same=sent_again(WITHOUT_ID),
    other=sent_again({**WITHOUT_ID, "revenue": "0_to_1"}),
)
def test_acp_incomplete_is_not_a_breach_of_whoever_sends_a_gateways_bytes_again(same, other):
    """A try of the gateway that `prazo resume` sent again was a breach, for the same bytes."""
    assert found("acp_incomplete", same, "2026-03-03T00:00:00") == []
    assert found("acp_incomplete", other, "2026-03-03T00:00:00") == [
        breach(4, "2026-03-02T01:00:00", "process_id")
    ]


@WORLD.given(
    acp(requested_fields=["revenue", "type.x", "process_id.y"]),
    live(started(body=FULL)),
)
def test_acp_incomplete_wants_nothing_below_an_identity(history):
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []


# --- which payload, and by which rules ---

NULL_CITY = {**FULL, "address": {**ADDRESS, "city": None}}
OWNER_LISTED = acp(requested_fields=["owner.address.line2"])


@WORLD.given(
    null_city=[acp(), started(body=NULL_CITY)],
    again=[
        *[acp(), started(body=NULL_CITY), finished("a1", 500)],
        started("a2", "2026-03-02T01:00:00Z", body=NULL_CITY),
    ],
    line2=[OWNER_LISTED, started(body={**BUSINESS, "owner": OWNER})],
    refused=[acp(), *refusal("a1", "2026-03-02T00:00:00Z", body=NULL_CITY)],
    of_another_type_since=[aci(), acp("e2", "2026-03-01T13:00:00Z"), started()],
)
def test_acp_incomplete_once_for_what_was_sent_without_a_value(
    null_city, again, line2, refused, of_another_type_since
):
    for history in (null_city, again):
        assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
            breach(2, "2026-03-02T00:00:00", "address.city")
        ]
    # `line2` may always be left out, nothing was sent, and the earliest event says the type.
    for history in (line2, refused, of_another_type_since):
        assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []


# --- what is about us, not about a process: in a ledger of its own ---


def tried(number, hour, status, error=None, process_id="p1"):
    """The attempt of an hour of 2 March, which ends a second later."""
    attempt = f"a{number}", f"2026-03-02T{hour:02}:00:0"
    return [
        started(attempt[0], f"{attempt[1]}0Z", process_id=process_id),
        finished(attempt[0], status, f"{attempt[1]}1Z", process_id=process_id, error=error),
    ]


REFUSED = [
    acp(),
    *tried(1, 0, 401),
    *tried(2, 1, None, "timeout", process_id="p2"),
    *tried(3, 2, None, "tls_refused", process_id="p2"),
    *tried(4, 3, 500, process_id="p2"),
    *tried(5, 4, 401),
    *tried(6, 5, 409, process_id="p2"),
    *tried(7, 6, 401),
    *tried(8, 7, 401),
    *tried(9, 8, 200, process_id="p2"),
    *tried(10, 9, None, "tls_refused"),
    *tried(11, 10, None, "tls_refused"),
    *tried(12, 11, 401),
]


def test_unauthorized_until_any_later_answer_of_another_kind():
    def unauthorized(hour):
        """Half an hour after that hour's attempt."""
        return found("unauthorized", REFUSED, f"2026-03-02T{hour:02}:30:00")

    first = [risk(3, "2026-03-02T00:00:01", process=None)]
    assert unauthorized(2) == first  # a timeout is no answer, nor a certificate that was refused
    assert unauthorized(3) == []
    assert unauthorized(4) == [risk(11, "2026-03-02T04:00:01", process=None)]
    assert unauthorized(5) == []
    assert unauthorized(7) == [risk(15, "2026-03-02T06:00:01", process=None)]
    assert unauthorized(8) == []


def test_tls_refused_until_any_later_answer():
    assert found("tls_refused", REFUSED, "2026-03-02T10:30:00") == [
        risk(21, "2026-03-02T09:00:01", process=None)
    ]
    assert found("unauthorized", REFUSED, "2026-03-02T10:30:00") == []
    assert found("tls_refused", REFUSED, "2026-03-02T11:30:00") == []


def test_an_answer_at_the_same_instant_clears_no_401():
    history = [started(), finished(status=401), started("a2"), finished("a2", 200)]
    assert found("unauthorized", history, "2026-03-03T00:00:00") == [
        risk(2, "2026-03-02T00:00:01", process=None)
    ]
