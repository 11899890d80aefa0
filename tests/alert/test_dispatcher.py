"""Alerts over a real log, a real mail server and a real webhook: told once, and written down."""

import base64
import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import alert_rules, instants
from pipeline.alert import acting
from pipeline.alert.decision import BACKOFF
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.entries import Due
from pipeline.alert.messages import alert_texts
from pipeline.alert.messages.links import Links
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.recipients import Route
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError
from pipeline.http import standard_webhooks
from pipeline.inbox import Inbox
from pipeline.journey.links import for_messages
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Draft
from pipeline.log.kinds.collection import COLLECTION
from pipeline.serve.due_alerts import DueByLedger
from pipeline.serve.ledger_access import OwnLedger
from tests import depth, fork_server
from tests.alert.asked import Asked
from tests.alert.sinks import MailServer, WebhookServer
from tests.support.events import review
from tests.support.machine import wait_until
from tests.support.stores import environment_in, in_use, settings_in

SECRET = b"a secret of thirty-two bytes, yes"
DAY = 24 * instants.HOUR


@pytest.fixture
def mail(tmp_path: Path) -> Iterator[MailServer]:
    with MailServer(tmp_path).running() as server:
        yield server


@pytest.fixture
def webhook() -> Iterator[WebhookServer]:
    with WebhookServer().running() as server:
        yield server


@pytest.fixture
def rules(tmp_path: Path, mail: MailServer, webhook: WebhookServer) -> AlertRules:
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "secret").write_text("whsec_" + base64.b64encode(SECRET).decode() + "\n")
    file = tmp_path / "alerts.toml"
    file.write_text(
        f"""
        dashboard_url = "https://prazo.market.example/"

        [mail]
        host = "localhost"
        port = {mail.port}
        sender = "prazo@market.example"
        user = "prazo"
        password_file = "{tmp_path}/password"
        ca_file = "{mail.ca_file}"

        [recipients.ana]
        email = "ana@market.example"
        assigned_as = ["Ana Lima"]

        [recipients.ops]
        webhook = "{webhook.url}"
        webhook_secret_file = "{tmp_path}/secret"
        role = "admin"

        [[routes]]
        to = ["assignee", "ops"]
        at_any_hour = ["breach", "risk", "notice"]
        """
    )
    return alert_rules.load(file)


class Stores:
    """An inbox with one inconsistency whose deadline is in two days, and its ledger."""

    def __init__(self, folder: Path) -> None:
        self.service = LedgerService(settings_in(folder))

    @property
    def inbox(self) -> Inbox:
        return self.service.inbox

    @property
    def source(self) -> DueByLedger:
        return DueByLedger(OwnLedger(self.service), self.inbox)

    def dispatcher(self, rules: AlertRules, **more: Any) -> Dispatcher:
        return Dispatcher(self.inbox, self.source, lambda: rules, **more)

    def rows(self, view: str, as_of: int | None = None) -> list[dict[str, Any]]:
        self.service.catch_up()
        return self.service.reader.read(view, as_of=as_of).to_pylist()


@pytest.fixture(scope="module")
def once_followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of such stores."""
    folder = tmp_path_factory.mktemp("stores")
    now = instants.now()
    due = instants.canonical(now + 2 * DAY)
    event = review(process_id="p1", customer_id="s1", status="OVERDUE", deadline_at=due)
    with closing(LedgerService(settings_in(folder))) as service:
        service.inbox.append([delivery(event, occurred_at=now, recorded_by="webhook")])
        service.catch_up()
    return folder


@pytest.fixture
def stores(once_followed: Path, tmp_path: Path) -> Iterator[Stores]:
    shutil.copytree(once_followed, tmp_path, dirs_exist_ok=True)
    in_use(tmp_path / "inbox.db")
    made = Stores(tmp_path)
    with closing(made.service):
        yield made


def test_each_hears_of_it_once_and_the_log_says_so_and_who_sees_to_it_by_the_messages_link(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    webhook.status, webhook.answer = 200, b"x" * 1_000_000  # however much it says, it has it
    stores.dispatcher(rules).run_once()
    [message] = mail.taken
    [posted] = webhook.taken
    assert message["To"] == "ana@market.example"
    assert message["Subject"] == "[Prazo] Faltam menos de 3 dias – p1"
    keys = standard_webhooks.check(
        [SECRET],
        posted.headers,
        posted.body,
        now=instants.now(),
        tolerance=instants.MINUTE,
    )
    assert keys == 1

    stores.dispatcher(rules).run_once()  # another process, or this one after a restart
    assert (len(mail.taken), len(webhook.taken)) == (1, 1)
    trail = [it for it in stores.rows("timeline") if it["step"] == "sent"]
    assert sorted((it["recipient"], it["channel"], it["about"]) for it in trail) == [
        ("ana", "email", "before_3d"),
        ("ops", "webhook", "before_3d"),
    ]
    told = stores.rows("alerts_sent")
    assert sorted((it["recipient"], it["via"], it["tries"]) for it in told) == [
        ("ana", "email", 1),
        ("ops", "webhook", 1),
    ]
    assert all(it["sent_at"] and it["process_id"] == "p1" for it in told)
    [alert] = stores.rows("alerts")
    assert (alert["told"], alert["undelivered"], alert["acknowledged_at"]) == (2, 0, None)

    plain = message.get_body(("plain",))
    assert plain is not None
    pattern = r"https://prazo\.market\.example(/api/alerts/acknowledge/\S+)"
    [link] = re.findall(pattern, plain.get_content())
    permission = Links(None, stores.inbox.log_key).read(link.rpartition("/")[2], instants.now())
    assert permission == (alert["alert_id"], "ana")
    acting.acknowledge(
        stores.inbox, permission.alert, actor=permission.name, recorded_by="alert link"
    )
    [alert] = stores.rows("alerts")
    assert alert["acknowledged_by"] == "ana"


def test_what_was_put_off_is_sent_again_when_that_is_over_as_a_message_of_its_own(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    stores.dispatcher(rules).run_once()
    [alert] = stores.rows("alerts")
    until = instants.now() + 4 * instants.HOUR
    acting.snooze(
        stores.inbox,
        alert["alert_id"],
        until=until,
        reason="the seller is ill",
        actor="ana",
        recorded_by="user:ana",
    )
    for now, sent in ((until - 1, 1), (until, 2), (until, 2)):
        stores.dispatcher(rules, now=lambda at=now: at).run_once()
        assert (len(mail.taken), len(webhook.taken)) == (sent, sent)
    first, again = (it.headers[b"webhook-id"] for it in webhook.taken)
    assert first != again
    told = stores.rows("alerts_sent", until + instants.SECOND)
    assert sorted((it["recipient"], it["tries"], it["may_be_doubled"]) for it in told) == [
        ("ana", 2, False),
        ("ops", 2, False),
    ]


@pytest.mark.parametrize("zone", ["America/Sao_Paulo", "Asia/Tokyo"])
def test_a_deadline_at_an_end_of_the_calendar_keeps_no_other_alert_back(
    stores: Stores, rules: AlertRules, mail: MailServer, zone: str
) -> None:
    """Other programs write such an instant where they have none: it failed the whole message."""
    for name, deadline in (("p2", "0001-01-01T00:00:00Z"), ("p3", "9999-12-31T23:59:59Z")):
        odd = review(process_id=name, customer_id="s2", status="OVERDUE", deadline_at=deadline)
        stores.inbox.append([delivery(odd, occurred_at=instants.now(), recorded_by="webhook")])
    hours = rules.hours.model_copy(update={"zone": zone})
    stores.dispatcher(rules.model_copy(update={"hours": hours})).run_once()
    said = "".join(it.get_body(("plain",)).get_content() for it in mail.taken)
    assert [it in said for it in ("p1", "p2", "p3")] == [True] * 3
    told = [it for it in stores.rows("alerts_sent") if it["recipient"] == "ana"]
    assert [bool(it["sent_at"]) for it in told] == [True] * 3


def test_an_alert_of_which_no_message_can_be_made_is_a_failed_try_of_its_own(
    stores: Stores, rules: AlertRules, mail: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an error of ours, say: the others of the message leave all the same."""
    event = review(process_id="p2", customer_id="s2", deadline_at="2099-01-01T00:00:00Z")
    stores.inbox.append([delivery(event, occurred_at=instants.now(), recorded_by="webhook")])
    lines = alert_texts._lines

    def broken(due: Due, *more: Any) -> Any:
        if due.process_id == "p2":
            raise ZeroDivisionError("s2 is called Ana")
        return lines(due, *more)

    monkeypatch.setattr(alert_texts, "_lines", broken)
    stores.dispatcher(rules).run_once()
    [message] = mail.taken
    assert "p1" in message["Subject"]
    told = {it["process_id"]: it for it in stores.rows("alerts_sent") if it["recipient"] == "ana"}
    assert told["p1"]["sent_at"] is not None
    assert (told["p2"]["sent_at"], told["p2"]["answer"]) == (None, "ZeroDivisionError")


SAID_BY_A_FILE = (
    {"step": "acknowledged"},
    {"step": ["acknowledged"]},
    {"step": "sent"},
    {"step": "raised"},
    {"step": "raised", "since": 7, "about": "expired"},
    {"step": "sent", "to": [], "via": {}, "level": "x", "try": None},
    {"step": "snoozed", "until": "never"},
    {"step": "snoozed"},
)
STEPS = Route.model_validate(
    {"to": ["ops"], "at_any_hour": ["risk"], "escalate": [{"after": "1h", "to": ["ana"]}]}
)
TOGETHER = [("ingested", it) for it in SAID_BY_A_FILE] + [("live", it) for it in SAID_BY_A_FILE[1:]]
ENDS = [("live", SAID_BY_A_FILE[0])]


@pytest.mark.parametrize("said", [TOGETHER, ENDS, *([it] for it in TOGETHER if depth.is_whole())])
def test_no_line_of_a_file_stops_alerts_or_ends_one(
    stores: Stores,
    rules: AlertRules,
    mail: MailServer,
    said: list[tuple[str, dict[str, Any]]],
) -> None:
    """Anyone who may ingest wrote one that stopped the process for two weeks."""
    by = rules.model_copy(update={"routes": (STEPS,)})
    stores.dispatcher(by).run_once()
    [alert] = stores.rows("alerts")
    at = instants.parse("2026-01-01T00:00:00Z")
    assert at is not None
    # An earlier release took such lines; this one names what they lack.
    draft = Draft(kind="alert", occurred_at=at, recorded_by="file")
    for origin, line in said:
        body = json.dumps({"alert": alert["alert_id"], **line}).encode()
        stores.inbox.append([draft._replace(body=body, origin=origin)])
    later = instants.now() + 2 * instants.HOUR
    stores.dispatcher(by, now=lambda: later).run_once()
    assert len(mail.taken) == (0 if said == ENDS else 1)


def test_a_clock_that_was_ahead_for_a_while_ends_no_alert(
    stores: Stores, rules: AlertRules, mail: MailServer
) -> None:
    """What was raised before counted as forgotten, and nobody was told of it until a restart."""
    clock = now = instants.now()
    sending = stores.dispatcher(rules.model_copy(update={"routes": (STEPS,)}), now=lambda: clock)
    for clock in (now, now + 366 * instants.DAY, now + 2 * instants.HOUR):  # noqa: B007
        sending.run_once()
    assert [it["To"] for it in mail.taken] == ["ana@market.example"]


def test_whom_a_turn_tells_is_said_by_the_rules_in_force(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    """Between two turns Ana leaves; what was decided before is not in anybody's way."""
    in_force = [rules]
    sends = Dispatcher(stores.inbox, stores.source, lambda: in_force[0])
    others = {name: it for name, it in rules.recipients.items() if name != "ana"}
    in_force[0] = rules.model_copy(update={"recipients": others})
    sends.run_once()
    assert (len(mail.taken), len(webhook.taken)) == (0, 1)
    in_force[0] = rules
    sends.run_once()
    assert (len(mail.taken), len(webhook.taken)) == (1, 1)


def test_a_message_that_waits_for_others_is_not_sent_once_somebody_sees_to_its_alert(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    sends = stores.dispatcher(rules)
    waiting: list[Any] = []
    sends.turn(lambda *sent: waiting.append(sent))
    [alert] = stores.rows("alerts")
    acting.acknowledge(stores.inbox, alert["alert_id"], actor="Ana", recorded_by="user:ana")
    sends.turn(lambda *sent: waiting.append(sent))
    assert len(waiting) == 2
    for message in waiting:
        sends._deliver(*message)
    assert (mail.taken, webhook.taken, stores.rows("alerts_sent")) == ([], [], [])


def test_what_a_channel_refuses_is_repeated_and_given_up_and_then_a_finding(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    mail.refuses, webhook.status = "550 <ana@market.example> mailbox full", 410
    known = Asked(stores.source.due())
    began = instants.now()
    for pause in (0, *BACKOFF):
        began += pause + instants.SECOND
        Dispatcher(stores.inbox, known, lambda: rules, now=lambda at=began: at).run_once()
    told = {it["recipient"]: it for it in stores.rows("alerts_sent", began)}
    assert (told["ana"]["tries"], told["ana"]["sent_at"]) == (8, None)
    assert told["ana"]["answer"] == "550 <***> mailbox full"  # the log names no address
    assert told["ops"]["answer"] == "it answered 410"
    assert told["ops"]["sent_at"] is None

    stores.dispatcher(rules, now=lambda: began + instants.SECOND).run_once()
    findings = stores.rows("findings", began + 2 * instants.SECOND)
    [found] = [it for it in findings if it["rule"] == "alert_undelivered"]
    assert (found["severity"], found["process_id"], found["detail"]) == ("breach", "p1", "ana, ops")


def test_a_link_that_the_desk_has_for_the_seller_is_not_a_message_to_the_officer(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer, tmp_path: Path
) -> None:
    """Making a link asks nobody: the officer's failed message is repeated."""
    far = review(process_id="p1", customer_id="s1", deadline_at="2099-01-01T00:00:00Z")
    stores.inbox.append([delivery(far, occurred_at=instants.now(), recorded_by="webhook")])
    desk = rules.recipients["ops"].model_copy(update={"seller_links": True})
    by = rules.model_copy(update={"recipients": rules.recipients | {"ops": desk}})
    settings = settings_in(tmp_path, journey_url="https://cadastro.market.example")
    fresh = for_messages(settings, stores.inbox, "alerts")
    mail.refuses = "451 later"
    stores.dispatcher(by, fresh=fresh).run_once()
    assert b"seller_link" in webhook.taken[0].body
    [alert] = stores.rows("alerts")
    assert (alert["kind"], alert["next_action"], alert["told"]) == (
        "overdue",
        "start_collection",
        1,
    )
    mail.refuses = None
    later = instants.now() + BACKOFF[0] + instants.SECOND
    stores.dispatcher(by, fresh=fresh, now=lambda: later).run_once()
    assert [it["To"] for it in mail.taken] == ["ana@market.example"]


def test_a_message_that_failed_comes_with_its_link_for_the_seller_when_it_is_repeated(
    stores: Stores, rules: AlertRules, mail: MailServer, tmp_path: Path
) -> None:
    """The log had the link as an invitation: the next try said to wait for a seller whom nobody had
    asked, and had no link."""
    far = review(process_id="p1", customer_id="s1", deadline_at="2099-01-01T00:00:00Z")
    stores.inbox.append([delivery(far, occurred_at=instants.now(), recorded_by="webhook")])
    ana = rules.recipients["ana"].model_copy(update={"seller_links": True})
    by = rules.model_copy(update={"recipients": rules.recipients | {"ana": ana}})
    fresh = for_messages(
        settings_in(tmp_path, journey_url="https://cadastro.market.example"), stores.inbox, "alerts"
    )
    now = [instants.now()]
    dispatcher = stores.dispatcher(by, fresh=fresh, now=lambda: now[0])
    mail.refuses = "451 later"
    dispatcher.run_once()
    mail.refuses = None
    now[0] += BACKOFF[0] + instants.SECOND
    dispatcher.run_once()
    [sent] = mail.taken
    plain = sent.get_body(("plain",))
    assert plain is not None
    text = plain.get_content()
    assert "https://cadastro.market.example/j/" in text
    assert "Próxima ação: Iniciar uma coleta" in text
    assert len(stores.inbox.find(process_id="p1", kind=COLLECTION)) == 1


def test_alerts_are_raised_from_the_first_recipient_on(
    stores: Stores, rules: AlertRules, mail: MailServer
) -> None:
    in_force = [rules.model_copy(update={"recipients": {}})]
    source = stores.source
    dispatcher = Dispatcher(stores.inbox, source, lambda: in_force[0])
    dispatcher.run_once()
    assert stores.rows("alerts_sent") == []
    [alert] = stores.rows("alerts")
    assert (alert["raised_at"], len(mail.taken)) == (None, 0)
    in_force[0] = rules
    dispatcher.run_once()
    assert len(mail.taken) == 1


def test_two_that_send_at_once_send_each_message_once(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    dues = stores.source.due()
    meet = threading.Barrier(6)

    class Meeting(Asked):
        def due(self) -> list[Due]:
            meet.wait()
            return super().due()

    senders = [
        threading.Thread(target=Dispatcher(stores.inbox, Meeting(dues), lambda: rules).run_once)
        for _ in range(6)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert (len(mail.taken), len(webhook.taken)) == (1, 1)


def test_killed_while_a_message_leaves_it_is_sent_again_and_the_log_says_that_it_may_be_doubled(
    stores: Stores, rules: AlertRules, webhook: WebhookServer, tmp_path: Path
) -> None:
    webhook.gate.clear()
    environment = os.environ | environment_in(tmp_path)
    environment["PRAZO_ALERTS_FILE"] = str(tmp_path / "alerts.toml")
    stores.service.close()  # the command opens the ledger itself
    process = fork_server.start(
        [sys.executable, "-m", "pipeline.cli", "alerts", "send"], env=environment, cwd=tmp_path
    )
    wait_until(lambda: len(webhook.taken) == 1)
    process.kill()
    process.wait()
    webhook.gate.set()

    stores.service = LedgerService(settings_in(tmp_path))
    stores.dispatcher(rules).run_once()
    assert len(webhook.taken) == 1  # anyone who tried may still be at it
    later = instants.now() + 5 * instants.MINUTE
    stores.dispatcher(rules, now=lambda: later).run_once()
    assert len(webhook.taken) == 2
    first, second = (json.loads(it.body)["alerts"] for it in webhook.taken)
    assert [first[0]["alert"], first[0]["level"]] == [second[0]["alert"], second[0]["level"]]
    told = stores.rows("alerts_sent", later)
    assert {it["recipient"]: it["may_be_doubled"] for it in told}["ops"]


def test_no_message_holds_an_id_that_looks_like_a_tax_id(
    stores: Stores, rules: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    """Its entries stand in the stream of the true id all the same."""
    event = review(
        process_id="p2",
        customer_id="52998224725",
        status="OVERDUE",
        deadline_at=instants.canonical(instants.now() + DAY),
    )
    stores.inbox.append([delivery(event, occurred_at=instants.now(), recorded_by="webhook")])
    stores.dispatcher(rules).run_once()
    assert b"p2" in webhook.taken[0].body
    assert b"52998224725" not in webhook.taken[0].body
    assert "52998224725" not in mail.taken[0].as_string()
    sent = stores.inbox.query(
        "select count(*) from entries where kind = 'alert' and seller_id = $1", "52998224725"
    )
    assert sent[0][0] == 5  # raised, and tried and sent to two


def test_an_alert_that_was_never_raised_cannot_be_acknowledged(stores: Stores) -> None:
    with pytest.raises(CallerError, match="no alert 'x' that was raised"):
        acting.acknowledge(stores.inbox, "x", actor="ana", recorded_by="user:ana")
