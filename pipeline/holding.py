"""Does for a command what needs the ledger: asks whoever holds it, else opens it here.

Exports, checkpoints and audits; rows of views are `reading.py`'s.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from pipeline import audit, evidence, holder
from pipeline.errors import CallerError, LedgerRefused, OperatorError
from pipeline.evidence import Exported, Progress
from pipeline.export_request import Request, to_json
from pipeline.service import unheld_ledger
from pipeline.settings import Settings
from pipeline.verify import Verdict

ALIVE_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 3600.0
CHUNK_BYTES: Final = 2**20


def export(settings: Settings, request: Request, out: Path, progress: Progress) -> Exported:
    """Makes a package at `out`; see `evidence.export`."""
    with _holder(settings) as client:
        if client is None:
            with unheld_ledger(settings) as service:
                return evidence.export(service, request, out, progress)
        progress("the ledger's holder makes the package", 0, 1)
        return _fetch(client, request, out)


def checkpoint(settings: Settings) -> tuple[str, str]:
    """The newest signed checkpoint, of this moment, and the verification key."""
    with _holder(settings) as client:
        if client is not None:
            told = _checked(client.get("/api/checkpoint")).json()
            return told["checkpoint"], told["key"]
        with unheld_ledger(settings) as service:
            service.catch_up()
            signed = service.checkpoint()
            if signed is None or service.signer is None:
                raise CallerError("Nothing was signed yet", "the log is empty, or its key is away")
            return signed.note, str(service.signer.key)


def verify_stores(settings: Settings, against: str | None, progress: audit.Progress) -> Verdict:
    """Ledger and inbox, checked against each other and against what was signed."""
    with _holder(settings) as client:
        if client is not None:
            return _verdict(_checked(client.post("/api/audits", json={"against": against})).json())
        try:
            with unheld_ledger(settings) as service:
                return audit.audit(service, against=against, progress=progress)
        except LedgerRefused as error:
            verdict = Verdict()
            verdict.fault(str(error))
            return verdict


def _verdict(told: dict[str, Any]) -> Verdict:
    verdict = Verdict()
    verdict.checked, verdict.notes, verdict.faults = (
        told["checked"],
        told["notes"],
        told["faults"],
    )
    return verdict


def _fetch(client: httpx.Client, request: Request, out: Path) -> Exported:
    draft = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        with client.stream("POST", "/api/exports", json=to_json(request)) as answer:
            if answer.status_code != 200:
                answer.read()
            _checked(answer)
            with draft.open("wb") as file:
                for chunk in answer.iter_bytes(CHUNK_BYTES):
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
        told = json.loads(answer.headers["Prazo-Export"])
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    return Exported(path=out, **told)


@contextmanager
def _holder(settings: Settings) -> Iterator[httpx.Client | None]:
    """A client of whoever holds the ledger, or None where nobody answers."""
    held = holder.find(settings.ledger)
    if held is None:
        yield None
        return
    with httpx.Client(
        base_url=held.url,
        headers={"Authorization": f"Bearer {held.token}"},
        timeout=httpx.Timeout(ANSWER_SECONDS, connect=ALIVE_SECONDS),
        trust_env=False,
    ) as client:
        try:
            is_alive = client.get("/api/status", timeout=ALIVE_SECONDS).status_code == 200
        except httpx.HTTPError:
            is_alive = False
        try:
            yield client if is_alive else None
        except httpx.HTTPError as error:
            raise OperatorError(
                "The ledger's holder did not answer", str(error), "look at its log, or stop it"
            ) from None


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.status_code == 200:
        return answer
    try:
        told = answer.json()
    except ValueError:
        told = {"error": f"The ledger's holder answered {answer.status_code}"}
    raise CallerError(told.get("error", ""), told.get("why", ""), told.get("remedy", ""))
