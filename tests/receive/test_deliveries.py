"""POST /webhooks, clause by clause of docs/rules.md#deliveries."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from pipeline.contract.body import MAX_DEPTH
from pipeline.http.short import MAX_SHORT_BYTES
from pipeline.ledger.views.catalogue import macros
from tests.receive.conftest import Start
from tests.support.events import EVENT_TYPES, event, new_id, of_size, review, sample
from tests.support.machine import wait_until
from tests.support.receiver import Answer, RunningReceiver, Wire

MIB = 1_048_576


def _chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(it), it) for it in (*pieces, b""))


# --- what is taken ---


@pytest.mark.parametrize("event_type", EVENT_TYPES)
def test_each_event_type_of_the_contract_is_recorded_byte_for_byte(
    shared: RunningReceiver, event_type: str
):
    body = sample(event_type)
    answer = shared.deliver(body)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    content = json.loads(answer.body)
    assert content["recorded"] == "new"
    [entry] = shared.entries(event_id=json.loads(body)["id"])
    assert entry.seq == content["seq"]
    assert entry.kind == "webhook"
    assert entry.origin == "live"
    assert entry.recorded_by == "webhook"
    assert entry.body == body
    assert entry.occurred_at <= entry.recorded_at


def test_a_review_is_filed_under_its_process_and_its_seller(shared: RunningReceiver):
    process_id, seller_id = new_id(), new_id()
    body = review(process_id=process_id, customer_id=seller_id)
    assert shared.deliver(body).status == 200
    [entry] = shared.entries(process_id=process_id)
    assert entry.seller_id == seller_id
    assert entry.process_n == 1


def test_an_event_seen_before_is_recorded_again_and_says_so(shared: RunningReceiver):
    body = event()
    answers = [json.loads(shared.deliver(body).body) for _ in range(3)]
    assert [it["recorded"] for it in answers] == ["new", "again", "again"]
    entries = shared.entries(event_id=json.loads(body)["id"])
    assert [it.seq for it in entries] == [it["seq"] for it in answers]
    assert [it.is_again for it in entries] == [False, True, True]


def test_an_event_that_comes_again_with_other_bytes_is_kept_as_well(shared: RunningReceiver):
    name = new_id()
    first, other = event(id=name), event(id=name, created_at="2026-03-02T12:00:00Z")
    assert [shared.deliver(it).status for it in (first, other)] == [200, 200]
    assert [it.body for it in shared.entries(event_id=name)] == [first, other]


@pytest.mark.parametrize(
    "body",
    [
        event(type="seller.promoted"),
        event(type="x" * 5000),
        event(payload=None),
        event(payload=[1, 2]),
        event(payload={"object": {"id": 7}}),
        event(payload={"object": {"id": "sel_1", "decision_reasons": "none"}}),
        event(created_at="yesterday"),
        event(extra={"deep": [{"er": None}]}),
        review(process_id=5),
        review(customer_id=None),
        review(customer_id=5),
        review(type={}),
        review(type="QUARTERLY"),
        review(status="PAUSED"),
        review(deadline_at=None),
        review(deadline_at="2026-04-30"),
        review(deadline_at="30/04/2026"),
        review(requested_fields="revenue"),
    ],
    ids=range(18),
)
def test_what_the_contract_does_not_show_is_recorded_all_the_same(
    shared: RunningReceiver, body: bytes
):
    answer = shared.deliver(body)
    assert (answer.status, json.loads(answer.body)["recorded"]) == (200, "new")
    [entry] = shared.entries(event_id=json.loads(body)["id"])
    assert entry.kind == "webhook"
    assert entry.body == body


@pytest.mark.parametrize("missing", ["absent", None, "", 17.5, "x" * 513, "nul\0"])
def test_an_event_without_a_usable_id_is_named_by_the_digest_of_its_bytes(
    shared: RunningReceiver, missing: object
):
    body = event(id=missing, nonce=new_id())
    if missing == "absent":
        content = json.loads(body)
        del content["id"]
        body = json.dumps(content).encode()
    assert json.loads(shared.deliver(body).body)["recorded"] == "new"
    assert json.loads(shared.deliver(body).body)["recorded"] == "again"
    name = "sha256:" + hashlib.sha256(body).hexdigest()
    assert [it.body for it in shared.entries(event_id=name)] == [body, body]


def test_a_whole_number_is_the_id_that_its_digits_spell(shared: RunningReceiver):
    body = event(id=1_700_000_001)
    assert json.loads(shared.deliver(body).body)["recorded"] == "new"
    assert json.loads(shared.deliver(body).body)["recorded"] == "again"
    assert [it.body for it in shared.entries(event_id="1700000001")] == [body, body]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "nonsense", ""])
def test_the_content_type_does_not_matter(shared: RunningReceiver, content_type: str):
    assert shared.deliver(event(), {"Content-Type": content_type}).status == 200


def test_a_content_type_is_recorded_without_whom_it_names(shared: RunningReceiver):
    """A masked package shows what is recorded beside a body, and so it showed whose CPF it was."""
    named = new_id()
    shared.deliver(event(id=named), {"Content-Type": "text/plain; of=529.982.247-25"})
    [entry] = shared.entries(event_id=named)
    assert entry.particulars == {"content_type": "text/plain; of=***"}


# --- what goes to quarantine ---

UNREADABLE = [
    (b"", "not JSON: Expecting value (line 1, column 1)"),
    (b"seller.created", "not JSON: Expecting value (line 1, column 1)"),
    (b'{"type":"a"} {}', "not JSON: Extra data (line 1, column 14)"),
    (b"\xef\xbb\xbf", "not JSON: Expecting value (line 1, column 1)"),
    (b"\xef\xbb\xbf{}", "no event type: `type` must be a non-empty string"),
    (b'{"type":"\xff"}', "not UTF-8: invalid start byte at byte 9"),
    ('{"type":"a"}'.encode("utf-16"), "not UTF-8: invalid start byte at byte 0"),
    (b"[]", "not a JSON object"),
    (b"null", "not a JSON object"),
    (b'"seller.created"', "not a JSON object"),
    (b'{"type":"a","type":"a"}', "the key 'type' stands twice in one object"),
    (b'{"type":"a","b":[{"c":1,"c":2}]}', "the key 'c' stands twice in one object"),
    (b'{"type":"a","b":NaN}', "NaN is not a JSON number"),
    (b'{"type":"a","b":-Infinity}', "-Infinity is not a JSON number"),
    (b'{"type":"a","b":1e999}', "a number beyond the range of a double"),
    (b'{"type":"a","b":18446744073709551616}', "a whole number beyond 64 bits"),
    (b'{"type":"a","b":' + b"9" * 5000 + b"}", "a whole number beyond 64 bits"),
    (b'{"type":"\\ud800"}', "a lone surrogate (half a character) in a string"),
    (b'{"type":"a","b":' + b"[" * 64 + b"]" * 64 + b"}", "nested deeper than 64 levels"),
    (b"[" * 100_000, "nested deeper than 64 levels"),
    (b"{}", "no event type: `type` must be a non-empty string"),
    (b'{"type":""}', "no event type: `type` must be a non-empty string"),
    (b'{"type":null}', "no event type: `type` must be a non-empty string"),
    (b'{"type":7}', "no event type: `type` must be a non-empty string"),
    (b'{"type":["seller.created"]}', "no event type: `type` must be a non-empty string"),
]


@pytest.mark.parametrize(("body", "reason"), UNREADABLE, ids=lambda body: repr(body[:24]))
def test_what_cannot_be_read_is_answered_200_and_kept_in_quarantine(
    shared: RunningReceiver, body: bytes, reason: str
):
    answer = shared.deliver(body)
    assert answer.status == 200
    content = json.loads(answer.body)
    assert content["recorded"] == "quarantined"
    assert content["reason"] == reason
    entry = shared.entry(content["seq"])
    assert entry.kind == "quarantine"
    assert entry.body == body
    assert entry.particulars == {"reason": reason}
    assert entry.event_id is None


def test_the_deepest_nesting_allowed_is_recorded(shared: RunningReceiver):
    assert MAX_DEPTH == 64
    body = b'{"type":"a","b":' + b"[" * 63 + b"]" * 63 + b"}"
    assert shared.deliver(body).status == 200


def test_a_path_as_deep_as_a_body_may_be_has_all_of_its_parents() -> None:
    with duckdb.connect() as connection:
        connection.execute(macros())
        [(parents,)] = connection.execute("select above(?)", [".".join("a" * 65)]).fetchall()
    assert len(parents) == MAX_DEPTH


@pytest.mark.parametrize("value", [None, "", 7.5, True, {}, [], "a\0b", "x" * 513])
def test_a_review_that_names_no_process_goes_to_quarantine(shared: RunningReceiver, value: object):
    answer = shared.deliver(review(process_id=value))
    assert answer.status == 200
    content = json.loads(answer.body)
    assert content["recorded"] == "quarantined"
    assert content["reason"] == "a review event without a readable payload.object.process_id"


def test_a_setting_answers_422_to_what_cannot_be_read(start: Start):
    strict = start(QUARANTINE_STATUS="422")
    answer = strict.deliver(b"?")
    assert (answer.status, json.loads(answer.body)["recorded"]) == (422, "quarantined")
    assert strict.deliver(event()).status == 200


# --- what is turned away unread ---


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_any_method_but_post_is_answered_405(shared: RunningReceiver, method: str):
    answer = shared.ask(method, "/webhooks")
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("method", ["BREW", "post", "X-Y.z~1"])
def test_a_method_that_http_does_not_have_is_answered_501(shared: RunningReceiver, method: str):
    """RFC 9110, section 9.1: 501 for a method that is not recognised, 405 for one that is. It was
    called a request that cannot be read."""
    assert shared.ask(method, "/webhooks").status == 501
    assert shared.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize(
    "sent", [b"BREW\r\n", b"\x16\x03\x01 / HTTP/1.1\r\n\r\n", b"B REW\r\n\r\n"]
)
def test_what_is_not_a_request_is_answered_400(shared: RunningReceiver, sent: bytes):
    with shared.wire() as wire:
        wire.send(sent)
        wire.stop_sending()
        assert wire.next_line() == b"HTTP/1.1 400 Bad Request\r\n"


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "identity, gzip", "gzip, identity", "x"])
def test_any_content_encoding_but_identity_is_answered_415(shared: RunningReceiver, coding: str):
    body = event()
    assert shared.deliver(body, {"Content-Encoding": coding}).status == 415
    assert shared.entries(event_id=json.loads(body)["id"]) == []


@pytest.mark.parametrize("coding", ["identity", "Identity", " identity ", "identity, identity", ""])
def test_content_encoding_identity_is_taken(shared: RunningReceiver, coding: str):
    assert shared.deliver(event(), {"Content-Encoding": coding}).status == 200


def test_a_second_content_encoding_counts_as_well(shared: RunningReceiver):
    body = event()
    with shared.wire() as wire:
        wire.send(
            b"POST /webhooks HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
            b"Content-Encoding: identity\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        assert wire.answer().status == 415


def test_a_body_at_the_limit_is_recorded_and_one_byte_more_is_answered_413(
    shared: RunningReceiver,
):
    at_the_limit = of_size(MIB)
    assert len(at_the_limit) == MIB
    assert shared.deliver(at_the_limit).status == 200
    [entry] = shared.entries(event_id=json.loads(at_the_limit)["id"])
    assert entry.body == at_the_limit
    over = of_size(MIB + 1)
    answer = shared.deliver(over)
    assert answer.status == 413
    assert json.loads(answer.body) == {"error": "the body is over 1048576 bytes"}
    assert shared.entries(event_id=json.loads(over)["id"]) == []


@pytest.mark.parametrize("piece", [100, 70_000])
def test_the_limit_holds_for_bodies_of_unknown_length(shared: RunningReceiver, piece: int):
    for size, status in ((MIB, 200), (MIB + 1, 413)):
        with shared.wire() as wire:
            wire.send(
                b"POST /webhooks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            wire.send(_chunked(of_size(size), piece))
            assert wire.answer().status == status


def test_the_limit_is_a_setting(start: Start):
    small = start(MAX_BODY_BYTES="1024")
    assert small.deliver(of_size(1024)).status == 200
    assert small.deliver(of_size(1025)).status == 413


def test_checks_come_in_the_order_of_the_rules(start: Start, tmp_path):
    """Each request breaks one rule more than the one before; the first one broken answers."""
    (tmp_path / "secret").write_text("right\n")
    strict = start(
        WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"), MAX_BODY_BYTES="1024"
    )
    right, wrong = {"X-Webhook-Secret": "right"}, {"X-Webhook-Secret": "wrong"}
    unreadable, too_large = b"?", b"?" * 1025
    gzip = {"Content-Encoding": "gzip"}
    assert strict.deliver(unreadable, right).status == 200
    assert strict.deliver(unreadable, wrong).status == 401
    assert strict.deliver(too_large, wrong).status == 413
    assert strict.deliver(too_large, wrong | gzip).status == 415
    assert strict.ask("PUT", "/webhooks", too_large, wrong | gzip).status == 405
    assert [it.status for it in strict.entries()] == [None, 401, 413, 415, 405]


# --- where it is ---


@pytest.mark.parametrize(
    "path",
    [
        *("/webhooks?source=a", "/%77ebhooks", "http://localhost/webhooks"),
        *("/webhooks/", "/webhooks/?source=a", "/webhooks%2F"),
    ],
)
def test_the_endpoint_is_found_however_its_path_is_spelled(shared: RunningReceiver, path: str):
    assert shared.ask("POST", path, event()).status == 200


@pytest.mark.parametrize("path", ["/", "/webhooks//", "/Webhooks", "//webhooks", "/webhooks%00"])
def test_other_paths_are_answered_404_and_say_where_deliveries_go(
    shared: RunningReceiver, path: str
):
    answer = shared.ask("POST", path, event())
    assert answer.status == 404
    assert "POST /webhooks" in json.loads(answer.body)["error"]


# --- the short way and the usual one
# (docs/decisions/inbox.md#a-short-delivery-has-no-task-of-its-own) ---

HEAD = b"POST /webhooks HTTP/1.1\r\nHost: localhost\r\n"


def framed(body: bytes, fields: bytes = b"") -> bytes:
    return b"%b%bContent-Length: %d\r\n\r\n%b" % (HEAD, fields, len(body), body)


def chunked(body: bytes, fields: bytes = b"") -> bytes:
    chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    return b"%b%bTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % (HEAD, fields, chunk)


def without_its_place(answer: Answer) -> tuple[object, ...]:
    content = {**json.loads(answer.body), "seq": "any"}
    said = {name: answer.headers.get(name) for name in ("content-type", "connection")}
    return answer.status, said, "date" in answer.headers, content


@pytest.mark.parametrize(
    "make",
    [event, lambda: b"?", lambda: b"", lambda: b'{"type":"a","type":"a"}'],
    ids=["event", "no JSON", "nothing", "a key twice"],
)
@pytest.mark.parametrize("fields", [b"", b"Connection: close\r\n", b"X-Webhook-Secret: wrong\r\n"])
def test_both_ways_have_the_same_answer(
    shared: RunningReceiver, make: Callable[[], bytes], fields: bytes
):
    answers = []
    for frame in (framed, chunked):
        with shared.wire() as wire:
            wire.send(frame(make(), fields))
            answers.append(wire.answer())
            if b"close" in fields:
                assert wire.ends()
    assert without_its_place(answers[0]) == without_its_place(answers[1])
    assert answers[0].status == 200


@pytest.mark.parametrize("fields", [b"", b"X-Webhook-Secret: wrong\r\n"])
def test_both_ways_are_turned_away_alike(start: Start, tmp_path: Path, fields: bytes):
    (tmp_path / "secret").write_text("right\n")
    strict = start(WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    answers = []
    for frame in (framed, chunked):
        with strict.wire() as wire:
            wire.send(frame(event(), fields))
            answers.append(wire.answer())
            wire.send(frame(event(), b"X-Webhook-Secret: right\r\n"))
            assert wire.answer().status == 200
    assert without_its_place(answers[0]) == without_its_place(answers[1])
    assert answers[0].status == 401
    assert [(it.kind, it.status) for it in strict.entries()] == [
        ("rejection", 401),
        ("webhook", None),
        ("webhook", None),
    ]


@pytest.mark.parametrize("size", [MAX_SHORT_BYTES, MAX_SHORT_BYTES + 1])
@pytest.mark.parametrize("piece", [10_000, 1_000_000])
def test_at_the_limit_both_ways_record_byte_for_byte(
    shared: RunningReceiver, size: int, piece: int
):
    body = of_size(size)
    sent = framed(body)
    with shared.wire() as wire:
        for at in range(0, len(sent), piece):
            wire.send(sent[at : at + piece])
        assert wire.answer().status == 200
    [entry] = shared.entries(event_id=json.loads(body)["id"])
    assert entry.body == body


def test_requests_of_both_ways_on_one_connection_are_answered_in_their_order(
    shared: RunningReceiver,
):
    asked: list[tuple[bytes, Callable[[Answer], bool]]] = [
        (framed(event()), lambda answer: b'"new"' in answer.body),
        (
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            lambda answer: b"alive" in answer.body,
        ),
        (framed(b"?"), lambda answer: b'"quarantined"' in answer.body),
        (chunked(event()), lambda answer: b'"new"' in answer.body),
        (framed(event(), b"Content-Encoding: gzip\r\n"), lambda answer: answer.status == 415),
        (framed(event()), lambda answer: b'"new"' in answer.body),
    ]
    with shared.wire() as wire:
        wire.send(b"".join(request for request, _ in asked))
        assert [is_right(wire.answer()) for _, is_right in asked] == [True] * len(asked)


def test_who_goes_while_it_is_recorded_costs_the_others_nothing(shared: RunningReceiver):
    bodies = [event() for _ in range(30)]
    wires = [Wire(shared.port) for _ in bodies]
    for wire, body in zip(wires, bodies, strict=True):
        wire.send(framed(body))
    for wire in wires[::2]:
        wire.__exit__(None, None, None)
    for wire in wires[1::2]:
        assert wire.answer().status == 200
        wire.__exit__(None, None, None)
    ids = [json.loads(body)["id"] for body in bodies]
    wait_until(lambda: all(len(shared.entries(event_id=it)) == 1 for it in ids))
    assert "Traceback" not in shared.log.read_text()
