"""A log with sellers and reviews, and the servers by which they are notified."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pipeline import instants
from pipeline.contract.body import parse_json
from pipeline.http.outgoing.mail_server import Mail
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Entry
from pipeline.log.kinds.seller_notice import SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.log.ndjson import read_collection
from pipeline.notices.rules import NoticeRules
from pipeline.notices.sending import Done, Order, Sending
from pipeline.settings import Settings
from tests.alert.sinks import MailServer
from tests.journey.served import ended
from tests.support.events import event, review
from tests.support.stores import environment_in, settings_in

SECRET = "whsec_c2VjcmV0LW9mLW5vYm9keQ=="
BASE = "https://answer.market.example"
BY_MAIL = Order("email", "user:test", "Ana Lima", "en")


class Office:
    """An inbox in a folder, and what tests put into it."""

    def __init__(self, folder: Path, inbox: Inbox) -> None:
        self.folder = folder
        self.inbox = inbox

    def settings(self, **more: Any) -> Settings:
        return settings_in(self.folder, journey_url=BASE, journey_name="Loja do Zé", **more)

    def environment(self) -> dict[str, str]:
        return {
            **environment_in(self.folder),
            "PRAZO_JOURNEY_URL": BASE,
            "PRAZO_JOURNEY_NAME": "Loja do Zé",
        }

    # --- what the platform and the seller say ---

    def take(self, body: bytes, occurred_at: int | None = None) -> None:
        at = self.inbox.now() if occurred_at is None else occurred_at
        self.inbox.append([delivery(body, occurred_at=at, recorded_by="platform")])

    def seller(self, seller_id: str, kind: str = "seller.enabled", **record: Any) -> None:
        now = instants.canonical(self.inbox.now())
        inner = {"id": seller_id, "resource": "seller", "status": "enabled", **record}
        self.take(event(type=kind, created_at=now, payload={"object": inner}))

    def review(
        self,
        process_id: str,
        seller_id: str,
        *,
        days: float = 30,
        asks: Sequence[str] = ("revenue", "address.city"),
        kind: str = "INCONSISTENT_DATA_UPDATE_REQUIRED",
        status: str = "PENDING",
    ) -> None:
        """A review that is open since a minute, with a deadline in so many days."""
        now = self.inbox.now()
        inner = json.loads(
            review(
                type=kind,
                process_id=process_id,
                customer_id=seller_id,
                status=status,
                deadline_at=instants.canonical(now + round(days * instants.DAY)),
                requested_fields=list(asks),
            )
        )
        inner["created_at"] = instants.canonical(now - instants.MINUTE)
        self.take(json.dumps(inner).encode())

    def answer(
        self, process_id: str, seller_id: str, step: str = "answered", **fields: Any
    ) -> None:
        said: dict[str, Any] = {
            "occurred_at": instants.canonical(self.inbox.now()),
            "process_id": process_id,
            "seller_id": seller_id,
            "journey_id": "j1",
            "step": step,
            "channel": "web_form",
            "source": "seller",
        }
        if fields:
            said["fields"] = fields
        drafted = read_collection(said, recorded_by="journey", keep=lambda artifact: artifact)
        self.inbox.append([drafted])

    def refuse(self, process_id: str, seller_id: str, *fields: str) -> None:
        """The platform refused a payload for these fields."""
        self.inbox.append(ended("attempt", process_id, seller_id, 400, {"fields": fields}))

    def accept(self, process_id: str, seller_id: str) -> None:
        """The platform took the answers, and finished the review."""
        self.inbox.append(ended("accepted", process_id, seller_id, 200, {}))

    # --- what was recorded ---

    def said(self, kind: str, **where: str) -> list[dict[str, Any]]:
        return [self.content(it) for it in self.inbox.find(kind=kind, **where)]

    @staticmethod
    def content(entry: Entry) -> dict[str, Any]:
        return {**parse_json(entry.body or b"{}"), "process_id": entry.process_id}

    def notices(self) -> list[dict[str, Any]]:
        return self.said(SELLER_NOTICE)

    def results(self) -> list[tuple[str | None, str]]:
        return [(it["process_id"], it["result"]) for it in self.said(SELLER_NOTICE_RESULT)]

    # --- sending ---

    def mail(self, server: MailServer) -> Mail:
        password = self.folder / "mail-password"
        password.write_text("secret")
        return Mail(
            host="localhost",
            port=server.port,
            sender="Loja do Zé <avisos@market.example>",
            user="prazo",
            password_file=password,
            ca_file=server.ca_file,
        )

    def webhook(self, url: str, name: str = "sms", *, address: bool = True) -> NoticeRules:
        secret = self.folder / "webhook-secret"
        secret.write_text(SECRET)
        channel = {"url": url, "secret_file": str(secret), "address": address}
        return NoticeRules.model_validate({"channels": {name: channel}})

    def sending(self, rules: NoticeRules | None = None, mail: Mail | None = None) -> Sending:
        return Sending(
            self.settings(),
            self.inbox,
            rules=rules or NoticeRules.model_validate({}),
            mail=mail,
            wait=lambda _: None,
        )


@contextmanager
def office_in(folder: Path) -> Iterator[Office]:
    with closing(open_inbox(settings_in(folder).inbox)) as inbox:
        yield Office(folder, inbox)


def results_of(done: Sequence[Done]) -> Mapping[str, tuple[str, str | None]]:
    return {it.seller_id: (it.result, it.why) for it in done}
