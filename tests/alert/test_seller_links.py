"""A message about a seller who is to be asked brings a fresh link to the seller's page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.alert.decision import Message
from pipeline.alert.entries import Due, Item
from pipeline.alert.messages import alert_texts, transport
from pipeline.alert.messages.links import Links
from pipeline.alert_rules.recipients import Recipient
from pipeline.inbox import Inbox, open_inbox
from pipeline.journey import links
from pipeline.log.deliveries import delivery
from pipeline.log.kinds.collection import COLLECTION
from tests.support.events import review
from tests.support.stores import settings_in

SELLERS_PAGE = "https://cadastro.loja.example"


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    inbox = open_inbox(tmp_path / "inbox.db")
    inbox.append([delivery(review(), occurred_at=instants.now(), recorded_by="webhook")])
    yield inbox
    inbox.close()


def said(inbox: Inbox, folder: Path, next_action: str, process_id: str = "prc_1") -> str:
    """The text of a message about one process."""
    settings = settings_in(folder, journey_url=SELLERS_PAGE)
    fresh = links.for_messages(settings, inbox, "alerts")
    due = Due(
        *("alert_1", "before_3d", "risk", "officer", instants.now(), None, process_id, "sel_1"),
        *("ACP", "PENDING", instants.now(), next_action, 1),
    )
    recipient = Recipient(email="ana@loja.example", seller_links=True)
    text = alert_texts.message(
        (Item(due, 0, 1),),
        "ana",
        recipient,
        Links(None, inbox.log_key, fresh),
        "America/Sao_Paulo",
        instants.now(),
    )
    return text.plain


def test_each_message_has_a_link_of_its_own_which_is_an_invitation_in_the_log(
    inbox: Inbox, tmp_path: Path
) -> None:
    found = [
        re.findall(rf"{SELLERS_PAGE}/j/[\w-]+", said(inbox, tmp_path, "remind_seller"))
        for _ in range(2)
    ]
    assert [len(it) for it in found] == [1, 1]
    assert found[0] != found[1]
    entries = inbox.find(process_id="prc_1", kind=COLLECTION)
    assert [it.recorded_by for it in entries] == ["alerts", "alerts"]


def test_a_webhook_has_the_link_that_its_message_made_where_its_recipient_may_have_one(
    inbox: Inbox, tmp_path: Path
) -> None:
    settings = settings_in(tmp_path, journey_url=SELLERS_PAGE)
    due = Due(
        *("alert_1", "before_3d", "risk", "officer", instants.now(), None, "prc_1", "sel_1"),
        *("ACP", "PENDING", instants.now(), "remind_seller", 1),
    )
    message = Message("desk", "webhook", (Item(due, 0, 1), Item(due._replace(alert="b"), 0, 1)))
    made = Links(None, inbox.log_key, links.for_messages(settings, inbox, "alerts"))
    first, second = json.loads(transport.payload(message, 0, made))["alerts"]
    assert first["seller_link"].startswith(f"{SELLERS_PAGE}/j/")
    assert second["seller_link"] == first["seller_link"]
    assert len(inbox.find(process_id="prc_1", kind=COLLECTION)) == 1
    without = json.loads(transport.payload(message, 0, Links(None, inbox.log_key)))
    assert set(without["alerts"][0]) == {
        *("alert", "level", "tries_before", "kind", "severity", "role", "process_id", "seller_id"),
        *("review_type", "state", "since", "deadline_at", "next_action", "seq", "ledger_at"),
        "files",
    }, "what docs/alerts.md shows, and no link"


@pytest.mark.parametrize(
    ("next_action", "process_id"),
    [("submit", "prc_1"), ("remind_seller", "prc_unheard_of"), ("remind_seller", "***12")],
)
def test_where_the_seller_is_not_to_be_asked_or_cannot_be_there_is_none(
    inbox: Inbox, tmp_path: Path, next_action: str, process_id: str
) -> None:
    assert SELLERS_PAGE not in said(inbox, tmp_path, next_action, process_id)
    assert inbox.find(process_id="prc_1", kind=COLLECTION) == []
