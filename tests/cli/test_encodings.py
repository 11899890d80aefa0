"""Deliveries whose bytes are the fault: each has a way out, and the bytes stay as they came.

A review behind a byte order mark was answered 200 and went to quarantine for good, as one in
Latin-1 did: no command could read it, and nobody saw its deadline.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import pytest

from pipeline.errors import Unreadable
from pipeline.inbox import Inbox, open_inbox
from pipeline.log import deliveries
from tests import depth
from tests.cli.conftest import Prazo

RECEIVED = 1_772_323_201_000_000  # 2026-03-01T00:00:01Z
BODY = json.dumps(
    {
        "id": "evt_1",
        "type": "regulatory.registration.review.required",
        "created_at": "2026-03-01T00:00:00Z",
        "payload": {
            "object": {
                "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
                "process_id": "prc_são",
                "customer_id": "s1",
                "status": "OVERDUE",
                "deadline_at": "2026-03-31T00:00:00Z",
                "requested_fields": ["address.city"],
            }
        },
    },
    ensure_ascii=False,
)
MARK = b"\xef\xbb\xbf"
BY = ("--reason", "the platform's support said so", "--actor", "ana")


@contextmanager
def opened(environment: Mapping[str, str]) -> Iterator[Inbox]:
    with closing(open_inbox(environment["PRAZO_INBOX"])) as inbox:
        yield inbox


def deliver(environment: Mapping[str, str], body: bytes) -> str:
    """Records a delivery as the receiver does; its kind."""
    with opened(environment) as inbox:
        [receipt] = inbox.append(
            [deliveries.delivery(body, occurred_at=RECEIVED, recorded_by="webhook")]
        )
    assert receipt.entry is not None
    return receipt.entry.kind


def rows(prazo: Prazo, view: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(prazo("show", view, "--format", "json").stdout)
    return found


def assert_review_lives(prazo: Prazo) -> None:
    [process] = rows(prazo, "process_state")
    assert (process["process_id"], process["deadline_at"]) == ("prc_são", "2026-03-31T00:00:00Z")
    assert [it["rule"] for it in rows(prazo, "findings") if it["rule"] == "quarantined"] == []
    assert prazo("verify").returncode == 0


def test_a_byte_order_mark_before_a_delivery_is_skipped_and_stays(
    prazo: Prazo, environment: dict[str, str]
):
    assert deliver(environment, MARK + BODY.encode()) == "webhook"
    assert_review_lives(prazo)
    with opened(environment) as inbox:
        entry = inbox.entry(1)
    assert entry is not None
    assert entry.body == MARK + BODY.encode()


def test_a_delivery_that_an_earlier_release_could_not_read_for_its_mark_is_replayed(
    prazo: Prazo, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as earlier_release:

        def refuse(_: bytes):
            raise Unreadable("not JSON: it starts with a byte order mark")

        earlier_release.setattr(deliveries, "identify", refuse)
        assert deliver(environment, MARK + BODY.encode()) == "quarantine"
    assert rows(prazo, "process_state") == []
    replayed = prazo("quarantine", "--replay")
    assert (replayed.returncode, replayed.stdout) == (0, "1 replayed, 0 still cannot be read\n")
    assert_review_lives(prazo)


@pytest.mark.parametrize(
    ("body", "name"),
    depth.few(
        [
            (BODY.encode("latin-1"), "latin-1"),
            (BODY.encode("latin-1"), "ISO_8859-1"),
            (BODY.encode("cp1252"), "windows-1252"),
            (BODY.encode("utf-16"), "utf-16"),
            (b"\xfe\xff" + BODY.encode("utf-16-be"), "UTF-16"),
            (BODY.encode("utf-16-be"), "utf-16"),
            (BODY.encode("utf-16-le"), "utf-16le"),
        ],
        3,
    ),
)
def test_a_person_says_in_which_encoding_a_delivery_is_and_its_review_lives(
    prazo: Prazo, environment: dict[str, str], body: bytes, name: str
):
    assert deliver(environment, body) == "quarantine"
    assert prazo("quarantine", "--replay").returncode == 1
    said = prazo("quarantine", "--encoding", name, "1", *BY)
    assert (said.returncode, said.stdout) == (0, "delivery 1 is entry 3 now\n"), said.stderr
    assert_review_lives(prazo)
    [delivery] = [it for it in rows(prazo, "deliveries") if it["kind"] == "webhook"]
    assert (delivery["occurred_at"], delivery["replay_of"]) == ("2026-03-01T00:00:01Z", 1)
    with opened(environment) as inbox:
        came, supply, replay = (inbox.entry(seq) for seq in (1, 2, 3))
    assert came is not None and supply is not None and replay is not None  # noqa: PT018
    assert came.body == body
    assert replay.body == BODY.encode()
    of = json.loads(supply.body or b"")
    assert (supply.kind, of["of"], of["reason"], supply.name) == ("supply", 1, BY[1], "ana")
    assert of["encoding"] == replay.particulars["encoding"]

    again = prazo("quarantine", "--encoding", name, "1", *BY)
    assert (again.returncode, "Delivery 1 was read before" in again.stderr) == (1, True)
    assert prazo("quarantine", "--replay").returncode == 0


def test_what_is_missing_is_supplied_in_the_same_command_as_the_encoding(
    prazo: Prazo, environment: dict[str, str]
):
    nameless = json.loads(BODY)
    del nameless["payload"]["object"]["process_id"]
    nameless["payload"]["object"]["note"] = "são"
    deliver(environment, json.dumps(nameless, ensure_ascii=False).encode("latin-1"))
    alone = prazo("quarantine", "--encoding", "latin-1", "1", *BY)
    assert (alone.returncode, "still cannot be read" in alone.stderr) == (1, True)
    assert "--supply" in alone.stderr
    part = "payload.object.process_id=prc_são"
    both = prazo("quarantine", "--supply", "1", part, "--encoding", "latin-1", *BY)
    assert both.returncode == 0, both.stderr
    assert_review_lives(prazo)


@pytest.mark.parametrize(
    ("body", "arguments", "status", "why"),
    [
        (BODY.encode("latin-1"), ("latin-9", "1", *BY), 2, "latin-1, windows-1252, utf-16"),
        (BODY.encode("latin-1"), ("latin-1", "1"), 2, "a reason and a name are needed"),
        (BODY.encode("latin-1"), ("latin-1", *BY), 2, "--encoding NAME SEQ"),
        (BODY.encode("latin-1"), ("latin-1", "a", *BY), 2, "--encoding NAME SEQ"),
        (BODY.encode("latin-1"), ("latin-1", "1", "--replay", *BY), 2, "not clear"),
        (BODY.encode("latin-1"), ("latin-1", "7", *BY), 1, "not a delivery in quarantine"),
        (BODY.encode("latin-1"), ("utf-16", "1", *BY), 1, "Delivery 1 "),
        (BODY.encode("utf-16"), ("latin-1", "1", *BY), 1, "still cannot be read"),
        (b'{"type":"s\xc3\xa3o"', ("latin-1", "1", *BY), 1, "it is UTF-8 as it stands"),
        (b'{"type":"\x81"}', ("windows-1252", "1", *BY), 1, "not windows-1252"),
    ],
)
def test_an_encoding_that_is_wrong_or_unsaid_changes_nothing(
    prazo: Prazo,
    environment: dict[str, str],
    body: bytes,
    arguments: tuple[str, ...],
    status: int,
    why: str,
):
    assert deliver(environment, body) == "quarantine"
    said = prazo("quarantine", "--encoding", *arguments)
    assert (said.returncode, why in said.stderr) == (status, True), said.stderr
    with opened(environment) as inbox:
        assert inbox.last()[0] == 1
