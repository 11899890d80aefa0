"""What is looked at beside the log: it is raised once it lasts, and cleared when it is over."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from pipeline import instants
from pipeline.alert import entries, watch
from pipeline.alert.alarms import Alarm, Alarms
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.entries import Due, Subject
from pipeline.alert.messages import transport
from pipeline.alert.watch import Found, Watch
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.ladder import Watched
from pipeline.alert_rules.untold import possible
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.heartbeats import Part, beat
from tests.alert.asked import Bare
from tests.alert.test_decision import EVA, MAIL, at
from tests.inbox.drafts import note
from tests.support.machine import free_port
from tests.support.stores import settings_in

NOW = at("2026-03-02T12:00:00Z")
WELL = {"problem": None, "is_verified": True, "inbox_seq": 5, "lag_seconds": 0.0}
BODIES = "select body from entries where kind = 'alert' order by seq"
ALONE = Watched(receivers=(), backup_days=0, rehearsal_days=0)


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The steady clock by which it waits; tests move it."""
    clock = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: clock[0])
    return clock


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    opened = open_inbox(tmp_path / "inbox.db")
    yield opened
    opened.close()


@pytest.fixture
def clock(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The inbox's clock, by which it records and processes leave signs for each other; tests move
    it."""
    instant = [NOW]
    for name in ("now", "clock"):
        monkeypatch.setattr(inbox, name, lambda: instant[0])
    return instant


@pytest.fixture
def begin(tmp_path: Path, inbox: Inbox) -> Callable[[], Watch]:
    """Begins to watch, as a process does that knows only what is in the inbox."""
    return lambda: Watch(settings_in(tmp_path), inbox)


@pytest.fixture
def watching(begin: Callable[[], Watch]) -> Watch:
    return begin()


def look(
    watching: Watch,
    status: watch.Status | None,
    alarms: Mapping[str, Alarm] = MappingProxyType({}),
    watched: Watched = ALONE,
    *,
    unusable: Mapping[str, str] = MappingProxyType({}),
    now: int = NOW,
) -> Found:
    """What is found, where the ledger stands so. `unusable`: files of channels."""
    return watching.look(status, alarms, watched, unusable, now)


def kinds(found: list[Due]) -> list[tuple[str, str]]:
    return [(it.kind, it.severity) for it in found]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (WELL, []),
        (WELL | {"lag_seconds": 600.0}, []),
        (WELL | {"lag_seconds": 601.0}, [("ledger_behind", "risk")]),
        (WELL | {"is_verified": False}, [("ledger_unverified", "breach")]),
        (WELL | {"is_verified": False, "inbox_seq": 0}, []),
        (WELL | {"is_verified": False, "lag_seconds": 30.0}, []),  # it is catching up
        (WELL | {"problem": "a fork"}, [("ledger_unverified", "breach")]),
        (None, [("ledger_down", "breach")]),
    ],
)
def test_what_is_wrong_is_alarming_once_it_has_lasted_two_minutes(
    watching: Watch,
    seconds: list[float],
    status: watch.Status | None,
    expected: list[tuple[str, str]],
) -> None:
    assert look(watching, status).dues == []
    seconds[0] += 119
    assert look(watching, status).dues == []
    seconds[0] += 1
    found = look(watching, status).dues
    assert kinds(found) == expected
    assert [it.since for it in found] == [NOW - 120 * instants.SECOND for _ in expected]


def raised(watching: Watch, seconds: list[float]) -> tuple[Due, Alarms]:
    """The ledger that nobody holds, once that has lasted and is in the log."""
    look(watching, None)
    seconds[0] += 120
    [due] = look(watching, None).dues
    assert (due.kind, due.severity, due.role) in {*possible(AlertRules().ladder, ())}
    alarms = Alarms()
    alarms.take(entries.raised(due, Subject(), NOW).body, NOW)
    return due, alarms


def test_a_restart_is_not_news_and_what_is_over_is_cleared(
    watching: Watch, seconds: list[float], clock: list[int], begin: Callable[[], Watch]
) -> None:
    due, alarms = raised(watching, seconds)

    again = begin()
    [as_before] = look(again, None, alarms, now=NOW + instants.HOUR).dues
    assert (as_before.alert, as_before.since) == (due.alert, NOW - 120 * instants.SECOND)
    clock[0] += 121 * instants.SECOND
    assert look(again, WELL, alarms) == ([], [due.alert])
    alarms.take(entries.cleared(due.alert, NOW).body, NOW)
    assert look(again, WELL, alarms) == ([], [])


def test_what_began_long_ago_and_lasts_is_the_same_alert_after_a_restart(
    seconds: list[float], clock: list[int], begin: Callable[[], Watch], inbox: Inbox
) -> None:
    """Raised more than two weeks before, it was unknown: a second one was raised, everybody heard
    of it once more, and nothing ever cleared the first."""
    rules = AlertRules.model_validate(
        {
            "mail": MAIL,
            "recipients": {"eva": EVA},
            "watch": {"receivers": [], "backup_days": 0, "rehearsal_days": 0},
            "hours": {"holidays": ""},
        }
    )
    sent = []

    def take_turns(dispatcher: Dispatcher) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transport, "send", lambda message, *_: sent.append(message.items))
            dispatcher.run_once()
            seconds[0] += 120
            dispatcher.run_once()

    def process() -> Dispatcher:
        return Dispatcher(inbox, Bare(), lambda: rules, begin(), now=lambda: clock[0])  # type: ignore[arg-type]

    def steps() -> list[tuple[str, str]]:
        bodies = [json.loads(it[0]) for it in inbox.query(BODIES)]
        return [(it["alert"], it["step"]) for it in bodies]

    take_turns(process())
    [(first, _), *_] = steps()
    clock[0] += 200 * instants.DAY
    take_turns(process())
    assert steps() == [(first, "raised"), (first, "tried"), (first, "sent")]
    assert len(sent) == 1

    dispatcher = process()
    dispatcher._source.status = lambda: WELL  # type: ignore[method-assign]
    dispatcher._source.due = dispatcher._source.new = list  # type: ignore[method-assign]
    clock[0] += 121 * instants.SECOND
    take_turns(dispatcher)
    assert steps()[3:] == [(first, "cleared")]
    clock[0] += 200 * instants.DAY
    take_turns(process())
    [(second, _), *_] = steps()[4:]
    assert steps()[4:] == [(second, "raised"), (second, "tried"), (second, "sent")]
    assert second != first


def test_two_processes_that_find_the_same_raise_one_alert(
    watching: Watch, seconds: list[float], begin: Callable[[], Watch], inbox: Inbox
) -> None:
    """Its name was made from the microsecond in which each of them saw it first."""
    other = begin()
    look(watching, None)
    look(other, None, now=NOW + 7)
    seconds[0] += 120
    [mine], [theirs] = (look(it, None, now=NOW + 9).dues for it in (watching, other))
    assert mine.alert == theirs.alert
    inbox.append([entries.raised(mine, Subject(), NOW)])  # which the other has not read yet
    [theirs] = look(other, None, now=NOW + 9).dues
    assert mine.alert == theirs.alert


def test_what_one_process_sees_is_over_for_no_other(
    watching: Watch,
    seconds: list[float],
    clock: list[int],
    begin: Callable[[], Watch],
    inbox: Inbox,
) -> None:
    """Of two machines, each with its ledger, one was well: it cleared, and the other raised again
    and again, with a message each time."""
    well = begin()
    due, alarms = raised(watching, seconds)
    assert look(well, WELL, alarms) == ([], [])
    assert look(watching, WELL, alarms) == ([], [due.alert])
    assert look(well, WELL, alarms) == ([], [due.alert])
    look(watching, None, alarms)  # it is killed then
    clock[0] += 120 * instants.SECOND
    assert look(well, WELL, alarms) == ([], [])
    clock[0] += 1
    assert look(well, WELL, alarms) == ([], [due.alert])
    assert inbox.query("select name from heartbeats") == []


def test_what_one_saw_by_a_clock_that_was_ahead_is_over_once_the_clock_is_right(
    watching: Watch, seconds: list[float], clock: list[int], begin: Callable[[], Watch]
) -> None:
    """Before: a process that was killed while the clock was a month ahead kept its alert open for a
    month, and nobody was told of what went wrong next: it was the same alert, told long ago."""
    well = begin()
    clock[0] += 30 * instants.DAY
    due, alarms = raised(watching, seconds)
    look(watching, None, alarms)  # it is killed then
    clock[0] = NOW
    assert look(well, WELL, alarms) == ([], [due.alert])
    clock[0] = NOW + 5 * instants.MINUTE  # of another machine, as far apart as clocks may be
    look(watching, None, alarms)
    clock[0] = NOW
    assert look(well, WELL, alarms) == ([], [])


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 7, 8, 9])
def test_the_last_of_a_kind_is_found_however_many_there_were(
    watching: Watch, inbox: Inbox, number: int
) -> None:
    for each in range(1, number + 1):
        name = watch.name_of("ledger_down", str(each))
        due = Due(name, "ledger_down", "breach", "admin", NOW)
        inbox.append([entries.raised(due, Subject(), NOW)])
        if each < number:
            inbox.append([entries.cleared(name, NOW)])
    assert watching._last("ledger_down") == number
    assert watching.lasting() == ([] if number == 0 else [2 * number - 1])
    inbox.append([entries.cleared(watch.name_of("ledger_down", str(number)), NOW)])
    assert watching.lasting() == []


def test_a_receiver_that_does_not_answer_is_alarming(watching: Watch, seconds: list[float]) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    watched = Watched(receivers=(nobody,))
    look(watching, WELL, {}, watched)
    seconds[0] += 120
    assert kinds(look(watching, WELL, {}, watched).dues) == [("receiver_down", "breach")]


def test_a_receiver_that_keeps_silent_is_alarming(
    watching: Watch, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(watch, "ASK_SECONDS", 0.01)
    monkeypatch.setattr(watch, "ask", lambda _: answers.wait(60))
    watched = Watched(receivers=("http://127.0.0.1:9300",))
    look(watching, WELL, {}, watched)
    seconds[0] += 120
    assert kinds(look(watching, WELL, {}, watched).dues) == [("receiver_down", "breach")]
    answers.set()


def certificate(
    ends: str, key: Ed25519PrivateKey | None = None, begins: str = "2025-01-01T00:00:00Z"
) -> bytes:
    """One that ends then, as PEM."""
    key = key or Ed25519PrivateKey.generate()
    made = x509.CertificateBuilder(x509.Name([]), x509.Name([]), key.public_key(), 1)
    made = made.not_valid_before(datetime.fromisoformat(begins))
    signed = made.not_valid_after(datetime.fromisoformat(ends)).sign(key, None)
    return signed.public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    ("ends", "rung_begins"),
    [
        (["2026-04-01T12:00:00Z"], None),  # in 30 days
        (["2026-04-01T11:59:59Z"], "2026-03-02T11:59:59Z"),
        (["2026-03-09T12:00:00Z"], "2026-02-07T12:00:00Z"),  # in 7 days
        (["2026-03-09T11:59:59Z"], "2026-03-02T11:59:59Z"),
        (["2026-03-02T13:00:00Z"], "2026-03-01T13:00:00Z"),  # in an hour
        (["2026-02-01T00:00:00Z"], "2026-01-31T00:00:00Z"),  # it has ended
        (["2027-01-01T00:00:00Z", "2026-03-09T11:59:59Z"], "2026-03-02T11:59:59Z"),
        (["2026-03-09T11:59:59Z", "2027-01-01T00:00:00Z"], "2026-03-02T11:59:59Z"),
        ([], None),  # no certificate in it: that is an alert of its own
    ],
)
def test_a_client_certificate_is_alarming_30_7_and_1_day_before_its_chain_ends(
    tmp_path: Path, inbox: Inbox, ends: list[str], rung_begins: str | None
) -> None:
    """Of a chain the first certificate alone was looked at, and its authority could end unsaid."""
    chain = tmp_path / "chain.pem"
    chain.write_bytes(b"".join(map(certificate, ends)))
    key = tmp_path / "key.pem"
    watching = Watch(settings_in(tmp_path, client_cert_file=chain, client_key_file=key), inbox)
    found = look(watching, WELL).dues
    expected = [] if rung_begins is None else [("certificate_ends", at(rung_begins))]
    assert [(it.kind, it.since) for it in found] == expected


def test_the_platform_s_authority_is_alarming_before_the_last_of_its_file_ends(
    tmp_path: Path, inbox: Inbox
) -> None:
    """Nobody was told, and each submission failed from that day on."""
    authority = tmp_path / "ca.pem"
    watching = Watch(settings_in(tmp_path, platform_ca_file=authority), inbox)
    former, present = map(certificate, ("2026-02-01T00:00:00Z", "2026-03-09T11:59:59Z"))
    authority.write_bytes(former + present)
    [found] = look(watching, WELL).dues
    assert (found.kind, found.since) == ("certificate_ends", at("2026-03-02T11:59:59Z"))
    authority.write_bytes(former + present + certificate("2027-01-01T00:00:00Z"))
    assert look(watching, WELL).dues == []


def test_files_for_the_platform_that_nobody_could_begin_to_send_with_are_alarming(
    tmp_path: Path, inbox: Inbox, seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever sends went on with what it had read, and nobody was told before it began again."""
    key, year = Ed25519PrivateKey.generate(), "2027-01-01T00:00:00Z"
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    whole = {
        "client_cert_file": certificate(year, key),
        "client_key_file": pem,
        "platform_ca_file": certificate(year),
        "platform_credentials_file": b"shop:secret",
    }
    files = {name: tmp_path / name for name in whole}
    settings = settings_in(tmp_path, platform_url="https://platform.example", **files)
    watching = Watch(settings, inbox)

    def found(**now: bytes | None) -> list[tuple[str, str]]:
        for name, content in (whole | now).items():
            files[name].unlink(missing_ok=True)
            if content is not None:
                files[name].write_bytes(content)
        look(watching, WELL)
        seconds[0] += 120
        return kinds(look(watching, WELL).dues)

    faults: list[tuple[str, bytes | None]] = [
        *[(name, content) for name in whole for content in (None, b"\xff garbage")],
        ("client_cert_file", certificate(year)),  # of another key
        ("client_key_file", locked),
        ("platform_credentials_file", b""),  # a rotation that was interrupted
        ("platform_credentials_file", b"secret"),  # without a user
        ("client_cert_file", certificate(year, key, "2026-03-03T00:00:00Z")),
    ]
    for name, content in faults:
        assert found() == []
        assert found(**{name: content}) == [("platform_files", "risk")], (name, content)
    assert ("platform_files", "risk", "admin") in {*possible(AlertRules().ladder, ())}
    said = [it.getMessage() for it in caplog.records if "for the platform" in it.getMessage()]
    assert len(said) == len(faults), "each once, however often it is looked at"


def test_files_that_channels_need_are_named_by_their_places_and_no_recipient_like_a_person(
    watching: Watch, seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    faults = {"mail.password_file": "gone", "recipients.a@b.example.apprise_file": "empty"}
    shown = ("mail.password_file", "recipients.***.apprise_file")
    assert look(watching, WELL, unusable=faults).dues == []
    seconds[0] += 120
    [due] = look(watching, WELL, unusable=faults).dues
    assert (due.kind, due.severity, due.role, due.files) == (
        "channel_files",
        "risk",
        "admin",
        shown,
    )
    raised = entries.raised(due, Subject(), NOW)
    assert json.loads(raised.body or b"")["files"] == list(shown)
    alarms = Alarms()
    alarms.take(raised.body, NOW)
    one = {"mail.password_file": "gone"}
    [same] = look(watching, WELL, alarms, unusable=one).dues
    assert (same.alert, same.files) == (due.alert, shown[:1])
    look(watching, WELL, alarms, unusable={"mail.password_file": "empty"})
    assert [it.getMessage() for it in caplog.records if "nobody is told" in it.getMessage()] == [
        "nobody is told by mail.password_file: gone",
        "nobody is told by recipients.a@b.example.apprise_file: empty",
        "nobody is told by mail.password_file: empty",
    ]
    assert look(watching, WELL, alarms) == ([], [due.alert])


def test_a_backup_or_a_rehearsal_that_is_overdue_is_alarming_and_one_that_was_made_ends_it(
    watching: Watch, inbox: Inbox, clock: list[int], seconds: list[float]
) -> None:
    def found(days: float, **watched: int) -> list[tuple[str, str]]:
        now = clock[0] = NOW + round(days * instants.DAY)
        by = Watched(receivers=(), **watched)
        look(watching, WELL, watched=by, now=now)
        seconds[0] += 120
        return sorted(kinds(look(watching, WELL, watched=by, now=now).dues))

    assert found(400) == []  # nothing is in the log yet
    clock[0] = NOW
    inbox.append([note()])
    assert found(1.9) == []
    assert found(2.1) == [("backup_old", "risk")]
    assert found(36) == [("backup_old", "risk"), ("rehearsal_old", "risk")]
    assert found(36, backup_days=0, rehearsal_days=37) == []
    beat(inbox, Part.BACKUP)
    assert found(37) == [("rehearsal_old", "risk")]
    beat(inbox, Part.REHEARSAL)
    assert found(37.5) == []
    assert found(40) == [("backup_old", "risk")]
