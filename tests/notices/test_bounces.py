"""A report that a message did not arrive counts if it names the message and its address."""

import imaplib
import threading
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.notices import bounces
from pipeline.notices.rules import NoticeRules
from tests import depth
from tests.alert.sinks import MailServer
from tests.notices.mailbox import Mailbox
from tests.notices.office import BY_MAIL, Office

MARIA = "maria@seller.example"
HEADERS = "message-id: <{id}@market.example>\nsubject: hello\n"
RETURNED = {
    "headers": "Content-Type: text/rfc822-headers\n\n" + HEADERS,
    "whole": "Content-Type: message/rfc822\n\n" + HEADERS + "\nthe words\n",
    "none": "Content-Type: text/plain\n\nnothing came back\n",
}


def report(message_id: str, to: str = MARIA, *, returned: str = "headers", **more: str) -> bytes:
    """A report about a message, in the form of RFC 3464."""
    said = {"Action": "failed", "Status": "5.1.1", "kind": "delivery-status", "envid": "", **more}
    said = {"why": f"<{to}>: no such user", "tried": "", "date": "", **said}
    tried = f"Last-Attempt-Date: {said['tried']}\n" if said["tried"] else ""
    date = f"Date: {said['date']}\n" if said["date"] else ""
    envelope = f"Original-Envelope-Id: {said['envid']}\n" if said["envid"] else ""
    text = f"""\
From: MAILER-DAEMON@relay.example
To: bounces@market.example
Subject: Undelivered Mail Returned to Sender
{date}MIME-Version: 1.0
Content-Type: multipart/report; report-type={said["kind"]}; boundary="b"

--b
Content-Type: text/plain

This is the mail system.

--b
Content-Type: message/delivery-status

{envelope}Reporting-MTA: dns; relay.example

Final-Recipient: rfc822; {to}
Action: {said["Action"]}
Status: {said["Status"]}
{tried}Diagnostic-Code: smtp; 550 5.1.1 {said["why"]}

--b
{RETURNED[returned].format(id=message_id)}
--b--
"""
    return text.encode()


def reader(office: Office, box: Mailbox, password: str = "secret") -> bounces.Reader:
    file = office.folder / "imap-password"
    file.write_text(f"{password}\n")
    named: dict[str, Any] = {"host": "localhost", "port": box.port, "user": "bounces"}
    named |= {"password_file": str(file), "ca_file": str(box.ca_file)}
    rules = NoticeRules.model_validate({"bounces": named})
    return bounces.Reader(office.inbox, lambda: rules)


def sent_to_maria(office: Office, folder: Path) -> str:
    office.seller("sel_1", email=MARIA)
    office.review("prc_1", "sel_1", days=20)
    office.review("prc_2", "sel_1", days=5)
    with MailServer(folder).running() as server:
        [done] = office.sending(mail=office.mail(server)).send(["sel_1"], BY_MAIL)
    assert done.message_id is not None
    return done.message_id


def test_a_report_in_the_mailbox_is_recorded_once_of_each_review_of_its_message(
    office: Office, tmp_path: Path
) -> None:
    message_id = sent_to_maria(office, tmp_path)
    before = office.results()
    with Mailbox(tmp_path).running() as box:
        box.messages = [b"Subject: lunch?\n\nat noon", report(message_id, MARIA.upper())]
        reads = reader(office, box)
        assert reads.turn() == 2
        assert sorted({*office.results()} - {*before}) == [
            ("prc_1", "bounced"),
            ("prc_2", "bounced"),
        ]
        fetched = [it for it in box.asked if it.startswith("UID FETCH")]
        assert reads.turn() == 0
        assert [it for it in box.asked if it.startswith("UID FETCH")] == fetched, "read once"
        box.messages.append(report(message_id))
        assert reader(office, box).turn() == 0, "another process, and the same said again"
        assert all(it.split()[0] != "SELECT" for it in box.asked), "the mailbox stays as it is"
        with pytest.raises(imaplib.IMAP4.error):
            reader(office, box, "wrong").turn()
    details = {it["detail"] for it in office.said("seller_notice_result") if it["detail"]}
    assert details == {"5.1.1 smtp; 550 5.1.1 ***: no such user"}


class OneTurn(threading.Event):
    """Is set as soon as somebody waits for it."""

    def wait(self, timeout: float | None = None) -> bool:
        self.set()
        return True


@pytest.mark.parametrize(
    ("password", "uids", "error"),
    [("sécret", "1", "UnicodeEncodeError"), ("secret", "maria", "ValueError")],
)
def test_whatever_goes_wrong_is_said_without_what_it_quotes_and_reading_goes_on(
    office: Office, tmp_path: Path, caplog: Any, password: str, uids: str, error: str
) -> None:
    with Mailbox(tmp_path).running() as box:
        box.uids = uids
        reader(office, box, password).run(OneTurn())
    assert caplog.messages == [f"reports of messages that did not arrive wait: {error}"]


@pytest.mark.parametrize(
    ("tried", "date", "expected"),
    depth.few(
        [(1, 2, 1), (None, 2, 2), (-1, 2, 2), (4, None, 3), (None, None, 3), ("soon", 2, 2)], 2
    ),
)
def test_a_message_came_back_when_the_server_says(
    office: Office,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tried: int | str | None,
    date: int | None,
    expected: int,
) -> None:
    """It was dated by our reading: days later where the mailbox could not be read, and after what
    the seller had got since by another way."""
    message_id = sent_to_maria(office, tmp_path)
    sent = office.inbox.now() + instants.SECOND

    def on(day: int | str | None) -> str:
        if not isinstance(day, int):
            return day or ""
        return format_datetime(instants.of(sent + day * instants.DAY))

    monkeypatch.setattr(office.inbox, "clock", lambda: sent + 3 * instants.DAY)
    with Mailbox(tmp_path).running() as box:
        box.messages = [report(message_id, tried=on(tried), date=on(date))]
        assert reader(office, box).turn() == 2
    results = office.inbox.find(kind=SELLER_NOTICE_RESULT)
    [at] = {it.occurred_at for it in results if office.content(it)["result"] == "bounced"}
    assert round((at - sent) / instants.DAY, 3) == expected


def test_what_is_too_old_to_count_is_not_fetched_and_the_rest_is_without_a_pause(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mailbox of years was read from its beginning, two hundred a minute."""
    monkeypatch.setattr(bounces, "MOST_PER_TURN", 1)
    with Mailbox(tmp_path).running() as box:
        box.messages, box.old = [b"Subject: lunch?\n\nat noon"] * 5, 2
        reader(office, box).run(OneTurn())
        fetched = [it.split()[2] for it in box.asked if it.startswith("UID FETCH")]
        [day] = {it.split()[-1] for it in box.asked if it.startswith("UID SEARCH")}
    assert fetched == ["3", "4", "5"]
    since = instants.from_datetime(datetime.strptime(day, "%d-%b-%Y"))  # noqa: DTZ007
    assert 30 <= (office.inbox.now() - since) / instants.DAY < 33


@pytest.mark.parametrize(
    ("said", "is_meant"),
    depth.few(
        [
            ({"returned": "headers"}, True),
            ({"returned": "whole"}, True),
            ({"returned": "none"}, False),
            ({"returned": "none", "envid": "{id}"}, True),
            ({"to": "eva@seller.example"}, False),  # hostile: somebody else's address
            ({"Action": "delayed"}, False),
            ({"kind": "disposition-notification"}, False),
            ({"id": "msg_0123456789abcdef01234567"}, False),
        ],
        2,
    ),
)
def test_only_a_report_about_our_message_to_that_address_counts(
    office: Office, tmp_path: Path, said: dict[str, str], is_meant: bool
) -> None:
    message_id = sent_to_maria(office, tmp_path)
    more = {name: text.format(id=message_id) for name, text in said.items()}
    with Mailbox(tmp_path).running() as box:
        box.messages = [report(more.pop("id", message_id), **more)]
        assert reader(office, box).turn() == (2 if is_meant else 0)


@pytest.mark.parametrize(
    ("why", "kept"),
    [
        (f"blocked: https://answer.market.example/{'t' * 43} as spam", "blocked: *** as spam"),
        (f"blocked: answer.market.example/{'t' * 43}", "blocked: ***"),
        (f"{'x' * 160} https://answer.market.example/{'t' * 43}", f"{'x' * 160} ***"),
        ("Maria: mailbox of maria. is full", "***: mailbox of ***. is full"),
    ],
)
def test_what_is_kept_of_a_report_opens_nothing_and_names_nobody(why: str, kept: str) -> None:
    [found] = bounces.reports_in(report("msg_0123456789abcdef01234567", why=why))
    assert found.detail == f"5.1.1 smtp; 550 5.1.1 {kept}"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe\x00",
        b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n",
        report("msg_0123456789abcdef01234567")[:450],
        report("m").replace(b"rfc822; ", b"rfc822; =?utf-8?q?=FF?= "),
    ],
)
def test_what_cannot_be_read_reports_nothing(raw: bytes) -> None:
    assert bounces.reports_in(raw) == []
