"""The page as a process of its own, and processes of the platform for sellers to answer."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline import instants
from pipeline.contract.body import parse_json
from pipeline.inbox import Inbox, open_inbox
from pipeline.journey import links
from pipeline.journey.links import Minted
from pipeline.log.deliveries import delivery
from pipeline.log.entries import INGESTED, Draft, Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.settings import Settings
from tests import fork_server
from tests.journey.seller import Seller
from tests.support.machine import free_port
from tests.support.stores import environment_in

START_SECONDS = 60.0
ACP = ("revenue", "address")
OF_BUSINESS = (*ACP, "owner.revenue", "owner.address")


class Page:
    """A page, the inbox behind it, and what a test asks of both."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        port = free_port()
        self.folder = folder
        self.base = f"http://127.0.0.1:{port}"
        self.environment = {
            **environment_in(folder),
            "PRAZO_JOURNEY_URL": self.base,
            "PRAZO_JOURNEY_PORT": str(port),
            "PRAZO_JOURNEY_NAME": "Loja do Zé",
            **environment,
        }
        self.log = folder / "journey.log"
        self.inbox: Inbox = open_inbox(self.settings().inbox)
        self._process: subprocess.Popen[bytes] | None = None
        self._events = 0

    def settings(self, **changes: Any) -> Settings:
        named = {name.removeprefix("PRAZO_").lower(): it for name, it in self.environment.items()}
        return Settings.load(**{**named, **changes})

    # --- the process ---

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = fork_server.start(
                [sys.executable, "-m", "pipeline.cli", "journey", "run"],
                env={**os.environ, **self.environment},
                stderr=log,
            )
        until = time.monotonic() + START_SECONDS
        while True:
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, "the page did not start"
            try:
                with urllib.request.urlopen(f"{self.base}/healthz", timeout=5):
                    return
            except OSError:
                time.sleep(0.05)

    def stop(self, number: int = signal.SIGTERM) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(60)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()
        self.inbox.close()

    # --- the world ---

    def review(
        self,
        fields: Sequence[str] = ("revenue",),
        *,
        kind: str = "ACI",
        seller_type: str | None = "individual",
        status: str = "OVERDUE",
        process_id: str | None = None,
    ) -> str:
        """A process that the platform opened a minute ago for a seller of its own."""
        self._events += 1
        name = process_id or f"prc_{self._events}"
        at = instants.now() - instants.MINUTE + self._events
        types = {"ACP": "REGISTRATION_REVIEW_REQUIRED", "ACI": "INCONSISTENT_DATA_UPDATE_REQUIRED"}
        self.hear(
            "regulatory.registration.review.required",
            at,
            type=types[kind],
            process_id=name,
            customer_id=f"seller of {name}",
            status=status,
            deadline_at=instants.readable(at + (60 if kind == "ACP" else 30) * instants.DAY),
            requested_fields=list(fields),
        )
        if seller_type is not None:
            self.hear(
                "seller.enabled",
                at - instants.DAY,
                id=f"seller of {name}",
                status="enabled",
                resource="seller",
                type=seller_type,
            )
        return name

    def hear(self, event_type: str, at: int, **said: Any) -> None:
        """One webhook of the platform."""
        self._events += 1
        body = {
            "id": f"evt_{self._events}",
            "type": event_type,
            "created_at": instants.readable(at),
            "payload": {"object": said},
        }
        text = json.dumps(body).encode()
        self.inbox.append([delivery(text, occurred_at=at, recorded_by="webhook")])

    def refuse(self, process_id: str, *fields: str) -> None:
        """An attempt of another system, whose payload the platform refused for these fields."""
        self._events += 1
        attempt_id = f"{process_id} {self._events}"
        seller_id = f"seller of {process_id}"
        self.inbox.append(ended(attempt_id, process_id, seller_id, 400, {"fields": fields}))

    def mint(self, process_id: str, **how: Any) -> Minted:
        return links.mint(self.settings(), self.inbox, process_id, recorded_by="user:test", **how)

    def seller(self, **how: Any) -> Seller:
        return Seller(self.base, **how)

    # --- what the log has ---

    def collections(self, process_id: str) -> list[tuple[Entry, dict[str, Any]]]:
        """All but the receipts that were shown."""
        return [it for it in self._all_of(process_id) if not _is_receipt(it[1])]

    def receipts(self, process_id: str) -> list[dict[str, Any]]:
        return [said for _, said in self._all_of(process_id) if _is_receipt(said)]

    def _all_of(self, process_id: str) -> list[tuple[Entry, dict[str, Any]]]:
        entries = self.inbox.find(process_id=process_id, kind=COLLECTION)
        return [(it, parse_json(it.body or b"")) for it in entries]

    def steps(self, process_id: str) -> list[str]:
        return [said["step"] for _, said in self.collections(process_id)]

    def artifact(self, sha256: str) -> bytes:
        return (self.folder / "artifacts" / sha256[:2] / sha256).read_bytes()


def ended(
    attempt_id: str, process_id: str, seller_id: str, status: int, said: Mapping[str, Any]
) -> list[Draft]:
    """An attempt of another system, and the platform's answer."""
    now = instants.now()
    return [
        Draft(
            kind=kind,
            occurred_at=now + later,
            recorded_by="file",
            body=json.dumps(body).encode(),
            particulars={"via": INGESTED},
            attempt_id=attempt_id,
            process_id=process_id,
            seller_id=seller_id,
            status=answered,
        )
        for kind, later, body, answered in (
            (SUBMISSION_STARTED, 0, {"process_id": process_id}, None),
            (SUBMISSION_FINISHED, 1, said, status),
        )
    ]


def _is_receipt(said: Mapping[str, Any]) -> bool:
    return (said.get("screen"), said["step"]) == ("receipt", "confirmed")


@contextmanager
def served(folder: Path, **environment: str) -> Iterator[Page]:
    """A page that runs while the block does."""
    page = Page(folder, environment)
    try:
        page.start()
        yield page
    finally:
        page.close()
