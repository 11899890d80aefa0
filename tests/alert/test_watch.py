"""What is looked at beside the log: it is raised once it lasts, and cleared when it is over."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from pipeline import instants
from pipeline.alert import entries, watch
from pipeline.alert.alarms import Alarms
from pipeline.alert.entries import Due, Subject
from pipeline.alert.watch import Watch
from pipeline.alert_rules.ladder import Watch as Watched
from tests.alert.test_decision import at
from tests.support.machine import free_port
from tests.support.stores import settings_in

NOW = at("2026-03-02T12:00:00Z")
WELL = {"problem": None, "is_verified": True, "inbox_seq": 5, "lag_seconds": 0.0}
ALONE = Watched(receivers=())


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The steady clock by which it waits; tests move it."""
    clock = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: clock[0])
    return clock


@pytest.fixture
def watching(tmp_path: Path) -> Watch:
    return Watch(settings_in(tmp_path))


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
    watching: Watch, seconds: list[float], status: Any, expected: list[tuple[str, str]]
) -> None:
    assert watching.look(status, {}, ALONE, NOW).dues == []
    seconds[0] += 119
    assert watching.look(status, {}, ALONE, NOW).dues == []
    seconds[0] += 1
    found = watching.look(status, {}, ALONE, NOW).dues
    assert kinds(found) == expected
    assert [it.since for it in found] == [NOW - 120 * instants.SECOND for _ in expected]


def test_a_restart_is_no_news_and_what_is_over_is_cleared(
    watching: Watch, seconds: list[float], tmp_path: Path
) -> None:
    watching.look(None, {}, ALONE, NOW)
    seconds[0] += 120
    [due] = watching.look(None, {}, ALONE, NOW).dues
    alarms = Alarms()
    alarms.take(entries.raised(due, Subject(), NOW).body, NOW)

    again = Watch(settings_in(tmp_path))
    assert [it.alert for it in again.look(None, alarms, ALONE, NOW).dues] == [due.alert]
    assert again.look(WELL, alarms, ALONE, NOW) == ([], [due.alert])
    alarms.take(entries.cleared(due.alert, NOW).body, NOW)
    assert again.look(WELL, alarms, ALONE, NOW) == ([], [])


def test_a_receiver_that_does_not_answer_is_alarming(tmp_path: Path, seconds: list[float]) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    watching, watched = Watch(settings_in(tmp_path)), Watched(receivers=(nobody,))
    watching.look(WELL, {}, watched, NOW)
    seconds[0] += 120
    assert kinds(watching.look(WELL, {}, watched, NOW).dues) == [("receiver_down", "breach")]


def certificate(ends: str) -> bytes:
    """One that ends then, as PEM."""
    key = Ed25519PrivateKey.generate()
    made = x509.CertificateBuilder(x509.Name([]), x509.Name([]), key.public_key(), 1)
    made = made.not_valid_before(datetime.fromisoformat("2025-01-01T00:00:00Z"))
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
        ([], None),  # no certificate in it: each attempt says so
    ],
)
def test_a_client_certificate_is_alarming_30_7_and_1_day_before_its_chain_ends(
    tmp_path: Path, ends: list[str], rung_begins: str | None
) -> None:
    """Of a chain the first certificate alone was looked at, and its authority could end unsaid."""
    chain = tmp_path / "chain.pem"
    chain.write_bytes(b"".join(map(certificate, ends)))
    key = tmp_path / "key.pem"
    watching = Watch(settings_in(tmp_path, client_cert_file=chain, client_key_file=key))
    found = watching.look(WELL, {}, ALONE, NOW).dues
    expected = [] if rung_begins is None else [("certificate_ends", at(rung_begins))]
    assert [(it.kind, it.since) for it in found] == expected
