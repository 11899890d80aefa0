"""Feeds of deadlines, as another program reads them, and what a wrong address hears."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import vobject
from starlette.applications import Starlette

from pipeline import instants
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.errors import InboxUnavailable
from pipeline.files import reread
from pipeline.log.actions import action
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Draft
from pipeline.log.kinds.calendar import calendar_made, calendar_revoked
from pipeline.serve import api, calendar
from tests.support.ledgers import said_in
from tests.support.stores import settings_in

NOW = datetime.now(UTC).replace(microsecond=0)
NOT_FOUND = {"error": "there is no such calendar"}


def micro(instant: datetime) -> int:
    return instants.from_datetime(instant)


def review(process_id: str, deadline: datetime, *, seller: str = "sel_1", at: datetime = NOW):
    """A request for an ACI, two days old unless it is said, with another event id each time."""
    received = at - timedelta(days=2)
    event = {
        "id": f"evt_{process_id}_{deadline.isoformat()}",
        "type": "regulatory.registration.review.required",
        "created_at": received.isoformat(),
        "payload": {
            "object": {
                "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
                "process_id": process_id,
                "customer_id": seller,
                "status": "OVERDUE",
                "deadline_at": deadline.isoformat(),
                "requested_fields": ["revenue"],
            }
        },
    }
    body = json.dumps(event).encode()
    return delivery(body, occurred_at=micro(received), recorded_by="webhook")


def assignment(process_id: str, name: str) -> Draft:
    return action(
        "assignment",
        reason="hers",
        actor="eva",
        recorded_by="test",
        process_id=process_id,
        assignee=name,
    )


def accepted(process_id: str) -> list[Draft]:
    """A submission that the platform took."""
    named = {"recorded_by": "test", "process_id": process_id, "attempt_id": f"att_{process_id}"}
    return [
        Draft("submission_started", micro(NOW) - 2_000_000, body=b"{}", **named),
        Draft("submission_finished", micro(NOW) - 1_000_000, body=b"{}", status=200, **named),
    ]


class Feeds:
    """A log, the feeds over it, and somebody who asks for them over HTTP."""

    def __init__(self, service: LedgerService) -> None:
        self.service = service
        self._transport = httpx.ASGITransport(app=Starlette(routes=api.routes()))

    def record(self, *drafts: Draft) -> None:
        receipts = self.service.inbox.append(drafts)
        assert receipts[-1].entry is not None
        self.service.reach(receipts[-1].entry.seq)

    def new(self, assignee: str | None = None) -> calendar.Secret:
        secret = calendar.new_secret()
        self.record(
            calendar_made(
                secret.feed_id,
                token_sha256=secret.token_sha256,
                assignee=assignee,
                actor="eva",
                recorded_by="test",
            )
        )
        return secret

    def ask(self, path: str, method: str = "GET", **headers: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            url = "http://127.0.0.1:8501"
            async with httpx.AsyncClient(transport=self._transport, base_url=url) as client:
                return await client.request(method, path, headers=headers, timeout=60)

        return asyncio.run(ask())

    def events(self, token: str, **headers: str) -> dict[str, Any]:
        """What vobject reads in the feed: an event by its summary."""
        answer = self.ask(token if "/" in token else f"/calendar/{token}.ics", **headers)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
        read = vobject.readOne(answer.text)
        return {it.summary.value: it for it in read.contents.get("vevent", [])}


@pytest.fixture
def feeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Feeds]:
    monkeypatch.setattr(calendar, "FEEDS_SECONDS", 0.0)
    monkeypatch.setattr(calendar, "TEXT_SECONDS", 0.0)
    monkeypatch.setattr(reread, "RECHECK_SECONDS", 0.0)
    rules = tmp_path / "alerts.toml"
    rules.write_text('dashboard_url = "https://prazo.example/"')
    with ledger_service(settings_in(tmp_path, alerts_file=rules)) as service:
        yield Feeds(service)


def test_another_program_reads_every_deadline_and_no_caller_chooses_where_its_link_leads(
    feeds: Feeds, tmp_path: Path
) -> None:
    soon, later = NOW + timedelta(days=3), NOW + timedelta(days=20)
    feeds.record(review("prc_1", soon), review("prc/2 ", later, seller="sel_2"))
    token, asked = feeds.new().token, {"host": "elsewhere.example", "x-forwarded-proto": "http"}
    found = feeds.events(token, **asked)
    assert list(found) == [
        "ACI prc_1: OVERDUE · in time",
        "ACI prc/2 : OVERDUE · in time",
    ]
    first, second = found.values()
    assert (first.dtstart.value, second.dtstart.value) == (soon, later)
    assert {it.status.value for it in found.values()} == {"CONFIRMED"}
    assert first.description.value == "Seller sel_1"
    assert first.url.value == "https://prazo.example/process?process=prc_1"
    assert second.url.value == "https://prazo.example/process?process=prc%2F2%20"
    assert int(first.sequence.value) == 4
    assert first.dtstamp.value == NOW - timedelta(days=2)
    known = feeds.service.settings, feeds.service.alert_rules.get(), token, "pt"
    address = calendar.address(*known).removeprefix("https://prazo.example")
    in_portuguese = feeds.events(address)["ACI prc_1: OVERDUE · no prazo"]
    assert in_portuguese.description.value == "Vendedor sel_1"
    assert in_portuguese.uid.value == first.uid.value
    (tmp_path / "alerts.toml").write_text("")  # without an address there is no link
    assert ["url" in it.contents for it in feeds.events(token).values()] == [False, False]


def test_a_deadline_that_moves_keeps_its_uid_and_a_finished_one_is_cancelled(feeds: Feeds) -> None:
    feeds.record(review("prc_1", NOW + timedelta(days=3)))
    token = feeds.new().token
    [before] = feeds.events(token).values()
    moved = NOW + timedelta(days=9)
    feeds.record(review("prc_1", moved, at=NOW + timedelta(hours=1)))
    [after] = feeds.events(token).values()
    assert after.uid.value == before.uid.value
    assert after.dtstart.value == moved
    assert int(after.sequence.value) > int(before.sequence.value)
    feeds.record(*accepted("prc_1"))
    [(summary, finished)] = feeds.events(token).items()
    assert (summary, finished.status.value) == ("ACI prc_1: FINISHED · done", "CANCELLED")
    assert finished.uid.value == before.uid.value
    assert int(finished.sequence.value) > int(after.sequence.value)


def test_an_assignee_has_their_own_calendar(feeds: Feeds) -> None:
    soon = NOW + timedelta(days=3)
    feeds.record(review("prc_1", soon), review("prc_2", soon), review("prc_3", soon))
    feeds.record(assignment("prc_1", "bia"), assignment("prc_2", "ana"))
    token, everybody = feeds.new("bia").token, feeds.new().token
    assert list(feeds.events(token)) == ["ACI prc_1: OVERDUE · in time"]
    assert len(feeds.events(everybody)) == 3
    feeds.record(assignment("prc_1", "ana"))
    [taken] = feeds.events(token).values()
    assert taken.status.value == "CANCELLED"
    assert feeds.events(everybody)["ACI prc_1: OVERDUE · in time"].status.value == "CONFIRMED"


def test_nothing_personal_is_in_it(feeds: Feeds) -> None:
    """Some marketplaces know a seller by the CPF, and people call each other by e-mail."""
    feeds.record(review("52998224725", NOW + timedelta(days=3), seller="ana@example.com"))
    feeds.record(assignment("52998224725", "bia@example.com"))
    token = feeds.new("bia@example.com").token
    text = feeds.ask(f"/calendar/{token}.ics").text
    assert "***25~" in text
    assert "a***~" in text
    for personal in ("52998224725", "@example.com", "revenue", "URL"):
        assert personal not in text
    [event] = feeds.events(token).values()
    assert event.uid.value.endswith("@prazo")


def test_a_revoked_address_and_one_that_never_was_hear_the_same(feeds: Feeds) -> None:
    feeds.record(review("prc_1", NOW + timedelta(days=3)))
    secret, other = feeds.new(), feeds.new()
    assert feeds.ask(f"/calendar/{secret.token}.ics").status_code == 200
    feeds.record(calendar_revoked(secret.feed_id, actor="eva", recorded_by="test"))
    heard = {
        path: feeds.ask(path)
        for path in (
            f"/calendar/{secret.token}.ics",
            f"/calendar/{calendar.new_secret().token}.ics",
            f"/calendar/{secret.feed_id}.ics",
            f"/calendar/{secret.token_sha256}.ics",
            "/calendar/%F0%9F%92%A9.ics",
            f"/calendar/{'x' * 5000}.ics",
        )
    }
    assert {it.status_code for it in heard.values()} == {404}
    assert [it.json() for it in heard.values()] == [NOT_FOUND] * len(heard)
    assert len({tuple(it.headers.items()) for it in heard.values()}) == 1
    assert feeds.ask(f"/calendar/{other.token}.ics").status_code == 200
    assert feeds.ask(f"/calendar/{other.token}.ics", "POST").status_code == 405


def test_the_log_holds_no_secret(feeds: Feeds) -> None:
    secret = feeds.new("bia")
    [entry] = feeds.service.inbox.find(kind="calendar")
    assert entry.body is not None
    assert secret.token.encode() not in entry.body + entry.leaf + (entry.record or b"")
    assert said_in(entry) == {
        "actor": "eva",
        "assignee": "bia",
        "feed": secret.feed_id,
        "step": "made",
        "token_sha256": secret.token_sha256,
    }


def test_who_guesses_is_counted_and_turned_away_and_nobody_else_is(
    feeds: Feeds, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(calendar, "WRONG_PER_MINUTE", 3)
    token = feeds.new().token
    guesses = [feeds.ask(f"/calendar/guess-{it}.ics") for it in range(5)]
    assert [it.status_code for it in guesses] == [404, 404, 404, 429, 429]
    assert guesses[-1].headers["retry-after"] == "60"
    assert feeds.ask(f"/calendar/{token}.ics").status_code == 200
    assert calendar.of(feeds.service).wrong == 5
    assert len([it for it in caplog.records if "wrong address" in it.getMessage()]) == 2
    calendar.of(feeds.service)._minute -= 60
    assert feeds.ask("/calendar/guess.ics").status_code == 404


def test_a_feed_is_made_once_for_those_who_ask_again_soon(
    feeds: Feeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendar, "TEXT_SECONDS", 3600.0)
    token = feeds.new().token
    assert feeds.events(token) == {}
    feeds.record(review("prc_1", NOW + timedelta(days=3)))
    assert feeds.events(token) == {}
    monkeypatch.setattr(calendar, "TEXT_SECONDS", 0.0)
    assert len(feeds.events(token)) == 1


def test_a_feed_that_is_cut_says_so(feeds: Feeds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines that passed come last: of a thousand of them, no later one was in the calendar."""
    monkeypatch.setattr(calendar, "MAX_DEADLINES", 3)
    feeds.record(*(review(f"prc{it}", NOW + timedelta(days=it)) for it in (-8, 9, -1, 1)))
    token = feeds.new().token
    assert sorted(feeds.events(token)) == [
        "ACI prc-1: EXPIRED · late",
        "ACI prc1: OVERDUE · in time",
        "ACI prc9: OVERDUE · in time",
    ]
    text = feeds.ask(f"/calendar/{token}.ics").text
    assert "X-WR-CALDESC:Only the first 3 of 4 deadlines" in text


def test_a_ledger_that_cannot_be_read_says_nothing_of_an_address(
    feeds: Feeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InboxUnavailable("The inbox /x cannot be read", "disk I/O error")

    monkeypatch.setattr(feeds.service.reader, "read", fail)
    answer = feeds.ask("/calendar/guess.ics")
    assert (answer.status_code, answer.json()) == (503, {"error": "not now; ask again later"})


def row(**changes: Any) -> dict[str, Any]:
    """A row of `calendar_deadlines`."""
    return {
        "process_id": "prc_1",
        "seller_id": None,
        "review_type": None,
        "state": "OVERDUE",
        "deadline_at": instants.naive(micro(NOW)),
        "is_cancelled": False,
        "sequence": 4,
        "changed_at": instants.naive(micro(NOW)),
        **changes,
    }


@pytest.mark.parametrize("deadline", ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"])
def test_a_deadline_at_an_end_of_the_calendar_is_written(deadline: str) -> None:
    rows = [row(deadline_at=datetime.fromisoformat(deadline))]
    text = calendar.written(rows, 1, base="http://127.0.0.1", log_key=b"k").decode()
    assert f"DTSTART:{deadline[:4]}" in text
    assert "SUMMARY:review prc_1: OVERDUE · in time" in text


def test_no_id_adds_a_line_of_its_own() -> None:
    name = "prc\r\nSTATUS:CANCELLED\rX:\x07"
    rows = [row(process_id=name, seller_id=name)]
    text = calendar.written(rows, 1, base="http://127.0.0.1", log_key=b"k").decode()
    lines = text.replace("\r\n ", "").split("\r\n")
    assert [it for it in lines if it.startswith("STATUS")] == ["STATUS:CONFIRMED"]
    assert not any("\r" in it or "\n" in it or "\x07" in it for it in lines)
