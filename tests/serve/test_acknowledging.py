"""The link of a message: anyone who has it can acknowledge one alert, and sees nothing of it."""

import shutil
import tempfile
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Subject
from pipeline.alert.messages.links import PATH, VALID_FOR, Links
from pipeline.alert_rules import AlertsFile
from pipeline.continuity.service import LedgerService
from pipeline.log.entries import Entry
from tests.serve.test_api import ASKED, Client, bearer, held
from tests.support.ledgers import said_in

__all__ = ["held"]

ALERT = "5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c"
DUE = Due(
    *(ALERT, "before_3d", "risk", "officer"),
    assignee=None,
    process_id="p1",
    seller_id="s1",
    review_type="ACI",
    state="OVERDUE",
    since=0,
    deadline_at=None,
    next_action=None,
    seq=1,
)


@pytest.fixture
def client(held: LedgerService) -> Client:
    return Client()


def raised(service: LedgerService) -> None:
    draft = entries.raised(DUE, Subject("p1", "s1"), instants.now())
    service.inbox.append([draft])


def link(service: LedgerService, at: int | None = None, key: bytes | None = None) -> str:
    links = Links(None, key or service.inbox.log_key)
    return PATH + links.token(ALERT, "ana", instants.now() if at is None else at)


def acknowledged(service: LedgerService) -> list[Entry]:
    return [it for it in service.inbox.find(kind="alert") if b'"acknowledged"' in (it.body or b"")]


def test_the_page_shows_a_button_and_only_that_acknowledges(
    client: Client, held: LedgerService
) -> None:
    raised(held)
    page = client.get(link(held))
    assert page.status_code == 200
    assert "<button>" in page.text
    for word in (ALERT, "p1", "s1", "ana", "before_3d"):
        assert word not in page.text
    assert acknowledged(held) == []

    assert client.post(link(held)).status_code == 200
    [entry] = acknowledged(held)
    assert (entry.process_id, entry.name) == ("p1", "ana")


def test_what_was_changed_or_is_too_old_or_of_another_log_permits_nothing(
    client: Client, held: LedgerService
) -> None:
    raised(held)
    whole = link(held)
    alert, name, until, mark = whole.removeprefix(PATH).split(".")
    old = instants.now() - VALID_FOR - 2 * instants.SECOND
    for token in (
        "x",
        "....",
        f"{'0' * 32}.{name}.{until}.{mark}",
        f"{alert}.{b'bruno'.hex()}.{until}.{mark}",
        f"{alert}.{name}.{int(until) + 1}.{mark}",
        f"{alert}.{name}.{until}.{mark[:-1]}",
        f"{alert}.{name}.{until}.é",
        link(held, old).removeprefix(PATH),
        link(held, key=b"another log's key").removeprefix(PATH),
    ):
        for ask in (client.get, client.post):
            answer = ask(PATH + token)
            assert (answer.status_code, "<button>" in answer.text) == (404, False), token
    fresh = link(held)
    held.inbox.clock = lambda: instants.now() + VALID_FOR + instants.MINUTE  # this machine's is off
    assert client.get(fresh).status_code == 404
    assert acknowledged(held) == []


def test_who_was_taken_out_of_the_file_sees_to_nothing_by_a_message_of_before(
    client: Client, held: LedgerService, tmp_path: Path
) -> None:
    """Anyone who had left, and still read their mail, ended an alert for all who stayed."""
    raised(held)
    (tmp_path / "alerts.toml").write_text("[recipients.bruno]\napprise_file = 'channels'")
    held.alert_rules = AlertsFile(tmp_path / "alerts.toml")
    for ask in (client.get, client.post):
        assert ask(link(held)).status_code == 404
    (tmp_path / "alerts.toml").write_text("[recipients.ana]\napprise_file = 'channels'")
    held.alert_rules = AlertsFile(tmp_path / "alerts.toml")
    assert client.post(link(held)).status_code == 200
    assert len(acknowledged(held)) == 1


def test_a_button_that_is_pressed_over_and_over_is_one_entry(
    client: Client, held: LedgerService
) -> None:
    raised(held)
    for _ in range(3):
        assert client.post(link(held)).status_code == 200
    assert len(acknowledged(held)) == 1


def test_who_did_so_by_a_clock_that_was_ahead_can_do_so_again_and_that_once(
    client: Client, held: LedgerService
) -> None:
    """The first counts for nothing until its date, and the second was not recorded, though the page
    said so: who is next was told all the same."""
    raised(held)
    held.inbox.clock = lambda: instants.now() + instants.DAY
    assert client.post(link(held)).status_code == 200
    held.inbox.clock = instants.now
    for _ in range(2):
        assert client.post(link(held)).status_code == 200
    assert len(acknowledged(held)) == 2


def test_who_put_it_off_by_such_a_clock_can_put_it_off_again_until_the_same_minute(
    client: Client, held: LedgerService
) -> None:
    raised(held)
    now = instants.now()
    for ahead, hours in ((20, 4), (0, 24), (0, 24)):
        held.inbox.clock = lambda ahead=ahead: now + ahead * instants.HOUR
        form = {"do": "snooze", "hours": str(hours), "reason": "she is ill"}
        assert client.post(link(held), data=form).status_code == 200
    rows = held.inbox.query("select body from entries where kind = 'alert'")
    assert len([body for (body,) in rows if b'"snoozed"' in body]) == 2


def test_an_alert_is_put_off_with_a_reason_and_an_end_or_not_at_all(
    client: Client, held: LedgerService
) -> None:
    raised(held)
    whole = {"do": "snooze", "hours": "24", "reason": " ela está doente & volta "}
    for form in (
        whole | {"reason": " "},
        whole | {"reason": "x" * 501},
        whole | {"hours": "1000000"},
        whole | {"hours": ""},
        {"do": "snooze"},
        whole | {"reason": "x" * 20_000},
    ):
        assert client.post(link(held), data=form).status_code == 400
    assert client.post(link(held), content=b"%ff").status_code == 400
    before = instants.now()
    assert client.post(link(held), data=whole).status_code == 200
    alerts = held.inbox.find(kind="alert")
    [said] = [said_in(it) for it in alerts if b'"snoozed"' in (it.body or b"")]
    assert (said["actor"], said["reason"]) == ("ana", "ela está doente & volta")
    until = instants.parse(said["until"])
    assert before + 24 * instants.HOUR - instants.MINUTE <= until <= before + 25 * instants.HOUR
    assert acknowledged(held) == []


def test_what_people_do_and_cannot_be_recorded_is_counted_and_makes_the_holder_unready(
    client: Client, held: LedgerService, tmp_path: Path
) -> None:
    """Of links in alerts, packages and looks at people nothing was counted, and `/api/ready` asked
    the ledger alone."""
    raised(held)
    held.reach(held.inbox.last()[0])
    path = link(held)
    assert client.get("/api/ready", headers=bearer("reader")).status_code == 200
    (tmp_path / "inbox.db").rename(tmp_path / "away.db")
    assert client.post(path).status_code == 503
    assert client.post("/api/exports", json=ASKED, headers=bearer("officer")).status_code == 503
    shown = {"unmask": "a look", "actor": "Ana"}
    rows = client.post("/api/views/seller_state", json=shown, headers=bearer("officer"))
    assert rows.status_code == 503
    figures = client.get("/api/metrics", headers=bearer("reader")).text.splitlines()
    for way in ("alert_links", "exports", "views"):
        assert f'prazo_refused_total{{reason="store",way="{way}"}} 1.0' in figures
    assert "prazo_inbox_unavailable_total 3.0" in figures
    assert client.get("/api/ready", headers=bearer("reader")).status_code == 503
    (tmp_path / "away.db").rename(tmp_path / "inbox.db")


def test_a_full_disk_of_temporary_files_makes_the_holder_unready(
    client: Client, held: LedgerService, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.reach(held.inbox.last()[0])
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
    unready = client.get("/api/ready", headers=bearer("reader"))
    assert (unready.status_code, unready.json()["stores"]) == (503, ["temporary_files"])
    assert "there is no room left for them" in unready.json()["error"]
    figures = client.get("/api/metrics", headers=bearer("reader")).text.splitlines()
    assert 'prazo_store_ready{store="temporary_files"} 0.0' in figures
    assert 'prazo_store_ready{store="inbox"} 1.0' in figures
