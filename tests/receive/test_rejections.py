"""What is turned away unread becomes a count, at most once a minute and reason."""

from pathlib import Path

from pipeline.receive.rejections import Rejected, Rejections, entry_of
from tests.receive import impatient
from tests.receive.conftest import Start
from tests.support.events import event
from tests.support.machine import wait_until

UNSIGNED, TOO_LARGE = (
    Rejected(401, "the secret is missing"),
    Rejected(413, "the body is over 9 bytes"),
)


def test_the_first_is_recorded_at_once_and_the_rest_of_the_minute_together():
    rejections = Rejections()
    rejections.note(UNSIGNED)
    assert rejections.take_due(1000.0) == {UNSIGNED: 1}
    for _ in range(7):
        rejections.note(UNSIGNED)
    assert rejections.take_due(1059.9) == {}
    assert rejections.take_due(1060.0) == {UNSIGNED: 7}
    assert rejections.take_due(1120.0) == {}
    rejections.note(UNSIGNED)
    assert rejections.take_due(1120.0) == {UNSIGNED: 1}


def test_each_reason_has_a_minute_of_its_own():
    rejections = Rejections()
    rejections.note(UNSIGNED)
    rejections.take_due(1000.0)
    rejections.note(UNSIGNED)
    rejections.note(TOO_LARGE)
    assert rejections.take_due(1030.0) == {TOO_LARGE: 1}
    assert rejections.take_due(1060.0) == {UNSIGNED: 1}


def test_a_count_that_could_not_be_recorded_waits_for_the_next_entry():
    rejections = Rejections()
    rejections.note(UNSIGNED)
    [(rejected, deliveries)] = rejections.take_due(1000.0).items()
    rejections.note(rejected, deliveries)
    rejections.note(UNSIGNED)
    assert rejections.take_due(1060.0) == {UNSIGNED: 2}


def test_its_entry_holds_the_status_the_reason_and_the_count():
    draft = entry_of(TOO_LARGE, 3, occurred_at=5)
    assert (draft.kind, draft.occurred_at, draft.status, draft.body) == ("rejection", 5, 413, None)
    assert draft.particulars == {"reason": "the body is over 9 bytes", "deliveries": 3}


def test_nobody_fills_the_log_from_outside(start: Start, tmp_path: Path):
    (tmp_path / "secret").write_text("right\n")
    receiver = start(
        WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"), MAX_BODY_BYTES="1024"
    )
    for _ in range(30):
        assert receiver.ask("GET", "/webhooks").status == 405
        assert receiver.deliver(event(), {"Content-Encoding": "gzip"}).status == 415
        assert receiver.deliver(b"x" * 2000).status == 413
        assert receiver.deliver(event()).status == 401
        assert receiver.deliver(event(), {"X-Webhook-Secret": "wrong"}).status == 401
    assert receiver.deliver(event(), {"X-Webhook-Secret": "right"}).status == 200
    metrics = receiver.ask("GET", "/metrics").body.decode()
    assert 'prazo_rejections_total{status="401"} 60.0' in metrics
    assert 'prazo_rejections_total{status="413"} 30.0' in metrics
    assert receiver.terminate() == 0

    statuses = [405, 415, 413, 401, 401]
    entries = receiver.entries()
    first, delivery, rest = entries[:5], entries[5], entries[6:]
    assert delivery.kind == "webhook"
    assert [(it.kind, it.status, it.body) for it in first] == [
        ("rejection", status, None) for status in statuses
    ]
    # The rest is recorded when the receiver stops.
    assert [(it.kind, it.status) for it in rest] == [("rejection", it) for it in statuses]
    assert [it.particulars["deliveries"] for it in rest] == [29, 29, 29, 29, 29]
    assert [it.particulars for it in first] == [
        {"reason": "only POST is taken", "deliveries": 1},
        {"reason": "only Content-Encoding identity is taken", "deliveries": 1},
        {"reason": "the body is over 1024 bytes", "deliveries": 1},
        {"reason": "the secret is missing", "deliveries": 1},
        {"reason": "the secret does not match", "deliveries": 1},
    ]


def test_counts_are_recorded_in_time_though_nothing_else_comes(start: Start):
    receiver = start(program=impatient.PROGRAM)
    for _ in range(4):
        receiver.ask("PUT", "/webhooks")

    def counts() -> list[int]:
        return [it.particulars["deliveries"] for it in receiver.entries()]

    wait_until(lambda: sum(counts()) == 4, pause=0.1)
    assert counts()[0] == 1
