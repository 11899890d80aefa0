"""What an officer gets in one hour of the demo: over its past, at its pace, by its own file."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import alert_rules, instants
from pipeline.alert.decision import Message
from pipeline.alert.messages import transport
from pipeline.cli import demo
from pipeline.log.deliveries import delivery
from sandbox.clock import Clock
from sandbox.market.history import Past
from sandbox.market.live import Live
from sandbox.market.marketplace import Marketplace
from sandbox.platform.service import Service
from tests.alert.test_decision import at
from tests.alert.test_waiting import Desk

NOON = "2026-11-20T15:00:00Z"
"""Of São Paulo, on a Friday."""
PAUSE, LOOKS = 2, 4
"""Seconds between two acts of the demo's platform; looks in the hour. Few are enough, as alerts are
counted, and not messages, of which there are no more."""


@pytest.mark.long
@pytest.mark.timeout(300)
def test_one_hour_tells_an_officer_fewer_than_ten_alerts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was 273, nearly all of them about a process that opened."""
    past = Past(at(NOON), sellers=60)
    history = tmp_path / "history.ndjson"
    history.write_text("".join(json.dumps(it) + "\n" for it in past.occurrences()))
    known = {"mail_port": 25, "mail_authority": "ca.pem", "endpoint": "http://127.0.0.1:9/"}
    desk, got = Desk(tmp_path, alert_rules.load(None)), list[Message]()
    settings, secret = desk.service.settings, tmp_path / "endpoint.secret"
    file = demo._alerts_file(tmp_path / "alerts.toml", settings, known, secret)
    desk.rules = alert_rules.load(file)

    def send(message: Message, *_: object) -> None:
        got.append(message)

    monkeypatch.setattr(transport, "send", send)
    with closing(desk.service):
        desk.start()
        demo._record_past(settings, history)
        monkeypatch.setattr(desk.inbox, "clock", lambda: desk.now)
        service = Service(past.platform, clock=Clock(at(NOON), scale=0))
        live = Live(service, Marketplace())
        desk.look(NOON)
        assert [it.due.kind for message in got for it in message.items if message.to == "ana"]
        got.clear()
        for _ in range(LOOKS):
            drafts = []
            for _ in range(3600 // LOOKS // PAUSE):
                service.advance(PAUSE)
                live.act()
                while service.events:
                    body, now = service.events.popleft().body, service.clock.now()
                    drafts.append(delivery(body, occurred_at=now, recorded_by="webhook"))
            desk.inbox.append(drafts)
            desk.look(instants.canonical(service.clock.now()))
        opened = [alarm for alarm in desk.known() if alarm.kind == "opened"]
    assert len(opened) > 500
    alerts = [it.due.severity for message in got for it in message.items if message.to == "ana"]
    assert len(alerts) < 10
    assert "notice" not in alerts
