"""`forwardings` says how far each endpoint is, as the log last said it."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.forward import entries
from pipeline.forward.progress import Standing, Waiting
from pipeline.log.deliveries import Delivery
from pipeline.log.entries import Draft
from pipeline.serve.metrics import exposition
from tests.forward.conftest import of_seller
from tests.support.stores import settings_in

DAY = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


def at(minute: int) -> int:
    return DAY + minute * instants.MINUTE


def shown(minute: int) -> datetime:
    return instants.naive(at(minute))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LedgerService]:
    with closing(LedgerService(settings_in(tmp_path))) as opened:
        yield opened


def record(service: LedgerService, *drafts: Draft) -> None:
    for draft in drafts:
        service.inbox.clock = lambda instant=draft.occurred_at: instant  # type: ignore[misc]
        service.inbox.append([draft])
    service.catch_up()


def read(service: LedgerService, minute: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.reader.read("forwardings", as_of=at(minute)).to_pylist()
    return found


def delivered(minute: int, body: bytes | None = None) -> Draft:
    return Delivery(body or of_seller("sel_1"), at(minute), "webhook").draft()


def asked(step: str, minute: int, **content: Any) -> Draft:
    draft = entries.asked(step, "erp", reason="r", actor="Ana", recorded_by="user:ana", **content)
    return draft._replace(occurred_at=at(minute))


def test_the_last_word_of_the_log_counts(service: LedgerService) -> None:
    row = Standing(1, 3, b"", None, at(4), at(5), at(6), 3)
    record(
        service,
        entries.begun("erp", 0, at(1)),  # 1
        entries.begun("crm", 0, at(1)),
        delivered(3),  # 3
        delivered(5),
        delivered(6, b"not JSON"),  # 5
        entries.report("erp", row, 2, 1, at(7)),
    )
    crm, erp = read(service, 8)
    assert erp == {
        "endpoint": "erp",
        "reported_at": shown(7),
        "position": 3,
        "to_do": 2,
        "to_do_since": shown(5),
        "last_success_at": shown(4),
        "failing_since": shown(5),
        "waiting_sellers": 1,
        "dead_letters": 0,
        "paused_since": None,
        "seq": 6,
    }
    assert (crm["position"], crm["to_do"], crm["last_success_at"], crm["seq"]) == (0, 3, None, 2)
    [_, before] = read(service, 4)
    assert (before["position"], before["to_do"], before["waiting_sellers"]) == (0, 1, 0)
    assert read(service, 0) == []


def test_dead_letters_count_until_they_are_replayed(service: LedgerService) -> None:
    record(service, entries.begun("erp", 0, at(1)), delivered(2), delivered(2), delivered(2))
    for entry in service.inbox.read(1, 3):
        letter = Waiting("seller sel_1", entry.seq, 9, at(2), 0, "status 500")
        record(service, entries.died("erp", letter, entry, at(3)))
    assert read(service, 3)[0]["dead_letters"] == 3
    record(service, asked("replayed", 4, seq=2))
    assert read(service, 4)[0]["dead_letters"] == 2
    assert read(service, 3)[0]["dead_letters"] == 3
    record(service, asked("replayed", 5, from_seq=4, position=3, settled=3))
    assert [(it["dead_letters"], it["position"]) for it in read(service, 5)] == [(1, 3)]
    text = exposition(service).decode()
    assert 'prazo_forwarding_dead_letters{endpoint="erp"} 1.0' in text
    assert 'prazo_forwarding_to_do{endpoint="erp"} 1.0' in text
    [waits] = re.findall(
        r'^prazo_forwarding_lag_seconds{endpoint="erp"} (\S+)$', text, re.MULTILINE
    )
    assert float(waits) >= (at(5) - at(2)) / instants.SECOND
    assert 'prazo_forwarding_failing_seconds{endpoint="erp"} 0.0' in text


def test_dead_letters_that_are_sent_once_more_after_an_older_copy_count_no_longer(
    service: LedgerService,
) -> None:
    """Their rows are gone, so nobody could replay them, and the alert stood for ever."""
    record(service, entries.begun("erp", 0, at(1)), delivered(2), delivered(2))
    for entry in service.inbox.read(1, 2):
        letter = Waiting("seller sel_1", entry.seq, 9, at(2), 0, "status 500")
        record(service, entries.died("erp", letter, entry, at(3)))
    assert read(service, 3)[0]["dead_letters"] == 2
    record(service, entries.put_back("erp", 3, 2, at(4)))
    assert read(service, 4)[0]["dead_letters"] == 1


def test_a_pause_is_said_until_its_end(service: LedgerService) -> None:
    record(service, entries.begun("erp", 0, at(1)), asked("paused", 2), asked("resumed", 4))
    assert [read(service, it)[0]["paused_since"] for it in (1, 3, 5)] == [None, shown(2), None]
