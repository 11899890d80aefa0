"""What a channel took, what it did not, and what nobody knows."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apprise
import pytest

from pipeline import instants
from pipeline.alert.decision import UNANSWERED, Message
from pipeline.alert.dispatcher import MAX_AT_ONCE, Dispatcher
from pipeline.alert.entries import Item
from pipeline.alert.messages import transport
from pipeline.alert.messages.alert_texts import Text
from pipeline.alert.messages.transport import Unsure
from pipeline.alert_rules import AlertRules
from pipeline.cli.supervisor import STOP_SECONDS
from pipeline.errors import Quoted
from pipeline.http.outgoing import asking, mails
from pipeline.inbox import open_inbox
from tests import depth
from tests.alert.asked import Bare
from tests.alert.sinks import MailServer, WebhookServer
from tests.alert.test_decision import ANA, due

TEXT = Text("subject", "plain", "<p>html</p>")
NOON = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z
SENDER = {"sender": "prazo@market.example"}
MESSAGE = Message("ana", "email", (Item(due(), 0, 1),))


@contextmanager
def silent_after(verb: bytes) -> Iterator[int]:
    """The port of a mail server that says nothing more once it was told something."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listener.accept()
        said = {b"DATA": b"354 go on", b"QUIT": b"221 bye"}
        with peer, peer.makefile("rwb") as lines:
            answer, is_body = b"220 hello", False
            while True:
                if answer:
                    lines.write(answer + b"\r\n")
                    lines.flush()
                line = lines.readline()
                if not line:
                    return
                word = line.strip().upper()
                is_end = is_body and word == b"."
                if is_end:
                    is_body, word = False, b"."
                is_silent = not is_body and word.split(b" ")[0] == verb
                is_text = is_body
                is_body = is_body or word == b"DATA"
                answer = b"" if is_silent or is_text else said.get(word, b"250 ok")

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def by(port: int) -> AlertRules:
    mail = {"host": "127.0.0.1", "port": port, "security": "none", "sender": "prazo@market.example"}
    return AlertRules.model_validate({"mail": mail, "recipients": {"ana": ANA}})


@pytest.mark.parametrize(
    ("verb", "expected"),
    depth.few([(b".", Unsure), (b"EHLO", Quoted), (b"QUIT", type(None))], 2),
)
def test_a_mail_server_that_falls_silent_may_have_the_message_or_has_it_or_has_not(
    monkeypatch: pytest.MonkeyPatch, verb: bytes, expected: type
) -> None:
    """After the message it was repeated as if it had been refused; after the farewell, too."""
    monkeypatch.setattr(mails, "SMTP_SECONDS", 3)
    with silent_after(verb) as port:
        assert type(transport.send(MESSAGE, TEXT, by(port), NOON)) is expected


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Apprise's own
def test_a_service_that_has_a_message_is_left_out_when_others_are_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One dead service of two, and the other got the message eight times. In the text log Apprise
    named tokens, and whom a message was for by telephone; at its lowest level, the message."""
    caplog.set_level(logging.DEBUG, "apprise")
    with WebhookServer().running() as good, WebhookServer().running() as bad:
        bad.status = 500
        urls = (it.url.replace("http://", "json://") for it in (good, bad))
        (tmp_path / "channels").write_text("\n".join(urls))
        rules: Any = AlertRules.model_validate(
            {"recipients": {"ana": {"apprise_file": tmp_path / "channels"}}}
        )
        message = MESSAGE._replace(via="apprise")
        faults = [transport.send(message, TEXT, rules, NOON) for _ in range(2)]
        assert faults == [Unsure("Apprise could not deliver it to 1 of 2 services")] * 2
        assert all(isinstance(it, Unsure) for it in faults)
        bad.status = 200
        assert transport.send(message, TEXT, rules, NOON) is None
        assert (len(good.taken), len(bad.taken)) == (1, 3)
    logging.getLogger("apprise").warning(
        "Failed to send to %s, ana@x.example", "+55 (11) 9123-4567"
    )
    (tmp_path / "channels").write_text("slack://T0K3N-of-nobody")
    assert "not an Apprise URL" in str(transport.send(message, TEXT, rules, NOON))
    said = caplog.text
    assert "error=500" in said
    assert "Failed to send to ***, ***" in said
    assert not any(it in said for it in (TEXT.plain, "T0K3N", "http://"))
    without_a_sender: Any = message._replace(via="sms")
    assert transport.send(without_a_sender, TEXT, rules, NOON) == "AssertionError", "by Apprise"


def test_a_service_that_answers_late_has_the_message_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apprise waits for 4 s; who took longer had the message, and got it eight times."""
    monkeypatch.setattr(apprise.URLBase, "socket_read_timeout", 0.05)
    with WebhookServer().running() as slow, WebhookServer().running() as brief:
        urls = [it.url.replace("http://", "json://") for it in (slow, brief)]
        (tmp_path / "channels").write_text(f"{urls[0]}\n{urls[1]}?rto=0.1")
        slow.gate.clear()
        brief.gate.clear()
        threading.Timer(0.5, slow.gate.set).start()
        rules: Any = AlertRules.model_validate(
            {"recipients": {"ana": {"apprise_file": tmp_path / "channels"}}}
        )
        message = MESSAGE._replace(via="apprise")
        fault = transport.send(message, TEXT, rules, NOON)
        brief.gate.set()
    assert fault == "Apprise could not deliver it to 1 of 2 services", "its URL asks for less"


def test_webhooks_and_mails_are_of_the_time_that_is_believed(tmp_path: Path) -> None:
    """They were of this machine's: while that was hours off, recipients refused the webhooks, and a
    mail of tomorrow is taken for spam."""
    (tmp_path / "password").write_text("secret")
    with MailServer(tmp_path).running() as post:
        ours = {"ca_file": post.ca_file, "user": "prazo", "password_file": tmp_path / "password"}
        mail = {"host": "localhost", "port": post.port, "sender": "prazo@market.example", **ours}
        of_mail: Any = AlertRules.model_validate({"mail": mail, "recipients": {"ana": ANA}})
        assert transport.send(MESSAGE, TEXT, of_mail, NOON) is None
        assert str(post.taken[0]["Date"]) == "Sun, 01 Mar 2026 12:00:00 -0000"
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    with WebhookServer().running() as server:
        ana = {"webhook": server.url, "webhook_secret_file": tmp_path / "secret"}
        rules: Any = AlertRules.model_validate({"recipients": {"ana": ana}})
        message = MESSAGE._replace(via="webhook")
        assert transport.send(message, b"{}", rules, NOON) is None
        assert server.taken[0].headers[b"webhook-timestamp"] == b"%d" % (NOON // instants.SECOND)


def test_a_mail_server_that_is_slow_is_waited_for_to_the_end_and_not_into_the_next_try() -> None:
    """It took each of eight tries, and all of them counted as failed."""
    # The greeting, EHLO, STARTTLS, EHLO, AUTH, the password, MAIL, RCPT, DATA and the message.
    assert transport.SEND_SECONDS >= 10 * mails.SMTP_SECONDS
    assert transport.STOP_SECONDS < STOP_SECONDS
    longest = transport.LATEST_SECONDS + transport.SEND_SECONDS + transport.LAST_SECONDS
    assert longest * instants.SECOND < UNANSWERED


@pytest.mark.parametrize(
    "sender",
    ["Prazo São Paulo <prazo@bücher.example>", '"Prazo, São Paulo" <prazo@bücher.example>'],
)
def test_a_sender_has_a_name_and_hosts_with_any_letters_are_reached(
    tmp_path: Path, sender: str
) -> None:
    """Servers without SMTPUTF8, as most are, took none of it."""
    (tmp_path / "password").write_text("secret")
    with MailServer(tmp_path).running() as server:
        rules: Any = AlertRules.model_validate(
            {
                "mail": {
                    "host": "localhost",
                    "port": server.port,
                    "sender": sender,
                    "user": "prazo",
                    "password_file": tmp_path / "password",
                    "ca_file": server.ca_file,
                },
                "recipients": {"ana": {"email": "ana@bücher.example"}},
            }
        )
        assert transport.send(MESSAGE, TEXT, rules, NOON) is None
    [taken] = server.taken
    [author] = taken["From"].addresses
    assert author.display_name == sender.partition("<")[0].strip().strip('"')
    assert author.addr_spec == "prazo@xn--bcher-kva.example"
    assert taken["To"] == "ana@xn--bcher-kva.example"
    assert taken["Message-ID"].endswith("@xn--bcher-kva.example>")


def test_an_answer_that_came_while_we_were_paused_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message counted as failed after the pause, and came twice."""
    monkeypatch.setattr(transport, "SEND_SECONDS", 0.0)
    monkeypatch.setattr(mails, "send", lambda *_, **__: time.sleep(0.6))  # past the first look
    assert transport.send(MESSAGE, TEXT, by(1), NOON) is None


def test_a_process_that_is_to_end_waits_for_no_slow_mail_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be killed before it could write down what came of the message."""
    monkeypatch.setattr(transport, "STOP_SECONDS", 0.1)
    stop = threading.Event()
    stop.set()
    with silent_after(b".") as port:
        assert transport.send(MESSAGE, TEXT, by(port), NOON, stop) == Unsure(
            "it was not done in time"
        )


def test_a_dead_server_holds_no_other_channel_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of nine who were mailed by a server that never answered, the ninth waited, and so did every
    webhook behind them."""
    mails = [Message(f"{number}", "email", ()) for number in range(MAX_AT_ONCE + 1)]
    waiting = [*mails, Message("hook", "webhook", ())]
    stop, is_over, has_arrived = threading.Event(), threading.Event(), threading.Event()

    def turn(_: Dispatcher, deliver: Callable[..., object]) -> None:
        while waiting:
            deliver([waiting.pop(0)], None, None)

    def deliver(_: Dispatcher, messages: list[Message], *__: object) -> None:
        if messages[0].via == "webhook":
            has_arrived.set()
        else:
            is_over.wait(60)

    monkeypatch.setattr(Dispatcher, "turn", turn)
    monkeypatch.setattr(Dispatcher, "_deliver_safely", deliver)
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        sends = Dispatcher(inbox, Bare(), AlertRules)  # type: ignore[arg-type]
        running = threading.Thread(target=sends.run, args=(stop,))
        running.start()
        try:
            assert has_arrived.wait(30)
        finally:
            stop.set()
            is_over.set()
            running.join(30)


@pytest.mark.parametrize(
    ("place", "content", "fault"),
    [
        ("mail.password_file", None, "The file {} cannot be read"),
        ("mail.password_file", " \n", "The file {} cannot be used: it is empty"),
        ("mail.ca_file", None, "The file {} cannot be used"),
        ("mail.ca_file", "garbage", "The file {} cannot be used"),
        ("recipients.ana.webhook_secret_file", None, "The file {} cannot be read"),
        ("recipients.ana.webhook_secret_file", "", "The webhook secrets in {} cannot be used"),
        ("recipients.ana.webhook_secret_file", "garbage", "The webhook secrets in {} cannot be"),
        ("recipients.ana.apprise_file", None, "The file {} cannot be read"),
        ("recipients.ana.apprise_file", "", "{} holds no Apprise URL"),
        (
            "recipients.ana.apprise_file",
            "garbage",
            "{} holds a line that is not an Apprise URL: line 1",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Apprise's own
def test_a_file_that_a_channel_cannot_use_is_named_and_fails_that_channel_alone(
    tmp_path: Path, place: str, content: str | None, fault: str
) -> None:
    """An authority that was missing was `No such file or directory`, and nobody knew which."""
    with (
        MailServer(tmp_path).running() as mail_server,
        WebhookServer().running() as hook,
        WebhookServer().running() as service,
    ):
        whole = {
            "mail.password_file": ("email", "secret\n"),
            "mail.ca_file": ("email", mail_server.ca_file.read_text()),
            "recipients.ana.webhook_secret_file": ("webhook", "whsec_" + "QUFB" * 8),
            "recipients.ana.apprise_file": ("apprise", service.url.replace("http:", "json:")),
        }
        tables: dict[str, Any] = {
            "mail": {"host": "localhost", "port": mail_server.port, "user": "prazo", **SENDER},
            "recipients.ana": {"email": "ana@market.example", "webhook": hook.url},
        }
        for name, (_, good) in whole.items():
            (tmp_path / name).write_text(good)
            of, _, field = name.rpartition(".")
            tables[of][field] = tmp_path / name
        rules = AlertRules.model_validate(
            {"mail": tables["mail"], "recipients": {"ana": tables["recipients.ana"]}}
        )
        file, files = tmp_path / place, transport.Files()

        def failing() -> dict[str, str]:
            found = {}
            for via in ("email", "webhook", "apprise"):
                message: Any = MESSAGE._replace(via=via)
                said = transport.send(message, b"{}" if via == "webhook" else TEXT, rules, NOON)
                if said is not None:
                    found[via] = said
            return found

        assert (files.unusable(rules), failing()) == ({}, {})
        file.unlink()
        if content is not None:
            file.write_text(content)
        expected, (via, good) = fault.format(file), whole[place]
        [(named, why)] = files.unusable(rules).items()
        assert (named, why[: len(expected)]) == (place, expected)
        assert failing() == {via: why}
        file.write_text(good)
        assert (files.unusable(rules), failing()) == ({}, {})


def test_a_webhook_that_leads_elsewhere_or_takes_too_long_has_not_surely_taken_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is redirected is not followed: what is there knows no secret of ours."""
    monkeypatch.setattr(asking, "ANSWER_SECONDS", 1.0)
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    message: Any = MESSAGE._replace(via="webhook")
    with WebhookServer().running() as hook:
        ana = {"webhook": hook.url, "webhook_secret_file": tmp_path / "secret"}
        rules = AlertRules.model_validate({"recipients": {"ana": ana}})
        for status in (204, 302, 307, 308, 400, 401, 403, 404, 410, 413, 500):
            hook.status = status
            fault = None if status == 204 else f"it answered {status}"
            assert transport.send(message, b"{}", rules, NOON) == fault
        assert len(hook.taken) == 11
        hook.status = 200
        hook.gate.clear()  # it has the message, and answers 200 once nobody waits
        assert type(transport.send(message, b"{}", rules, NOON)) is Unsure
        hook.gate.set()
