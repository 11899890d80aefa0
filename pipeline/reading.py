"""Rows of views for a command: from whoever holds the ledger, else from the ledger itself.

Either way the rows include everything that the inbox held when the command started.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import httpx
import pyarrow as pa
import pyarrow.parquet

from pipeline import holder, instants, views
from pipeline.acts import unmasking
from pipeline.errors import CallerError, OperatorError, UnknownView, WrongUsage
from pipeline.service import LedgerService, unheld_ledger
from pipeline.settings import Settings

CATCH_UP_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Unmasking:
    """Why personal columns are shown, and to whom."""

    reason: str
    actor: str
    recorded_by: str


class Source(Protocol):
    """Somewhere to read views from."""

    behind: int
    """Entries of the inbox that the rows do not include, after having waited for them."""

    def read(
        self,
        view: str,
        *,
        as_of: int | None = None,
        filters: Sequence[str] = (),
        limit: int | None = None,
        unmask: Unmasking | None = None,
    ) -> pa.Table: ...

    def count(self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()) -> int: ...


@contextmanager
def source(settings: Settings) -> Iterator[Source]:
    """The ledger, wherever it is. Raises `LedgerInUse` where its holder cannot be asked."""
    held = holder.find(settings.ledger)
    if held is not None:
        with httpx.Client(
            base_url=held.url,
            headers={"Authorization": f"Bearer {held.token}"},
            timeout=ANSWER_SECONDS,
            trust_env=False,
        ) as client:
            remote = _Remote(client)
            if remote.is_alive():
                remote.wait()
                yield remote
                return
    with unheld_ledger(settings) as service:
        yield _Local(service)


class _Local:
    def __init__(self, service: LedgerService) -> None:
        self._service = service
        target = service.inbox.last()[0]
        service.catch_up(seconds=CATCH_UP_SECONDS)
        self.behind = max(0, target - service.ledger.size)

    def read(
        self,
        view: str,
        *,
        as_of: int | None = None,
        filters: Sequence[str] = (),
        limit: int | None = None,
        unmask: Unmasking | None = None,
    ) -> pa.Table:
        if unmask is not None:
            views.check(view, views.parse_filters(filters))
            self._service.inbox.append(
                [
                    unmasking(
                        view,
                        views.parse_filters(filters),
                        reason=unmask.reason,
                        actor=unmask.actor,
                        recorded_by=unmask.recorded_by,
                    )
                ]
            )
        return self._service.reader.read(
            view,
            as_of=as_of,
            where=views.parse_filters(filters),
            limit=limit,
            unmask=unmask is not None,
        )

    def count(self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()) -> int:
        return self._service.reader.count(view, as_of=as_of, where=views.parse_filters(filters))


class _Remote:
    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self.behind = 0

    def is_alive(self) -> bool:
        try:
            return self._client.get("/api/status", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def wait(self) -> None:
        """Until the holder has what the inbox holds now, for at most ten seconds."""
        target = self._status()["inbox_seq"]
        until = time.monotonic() + CATCH_UP_SECONDS
        while (status := self._status())["last_seq"] < target and time.monotonic() < until:
            time.sleep(0.05)
        self.behind = max(0, target - status["last_seq"])

    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._get("/api/status", {}).json()
        return status

    def read(
        self,
        view: str,
        *,
        as_of: int | None = None,
        filters: Sequence[str] = (),
        limit: int | None = None,
        unmask: Unmasking | None = None,
    ) -> pa.Table:
        parameters: dict[str, Any] = {"format": "parquet", "where": list(filters)}
        if as_of is not None:
            parameters["as_of"] = instants.canonical(as_of)
        if limit is not None:
            parameters["limit"] = limit
        if unmask is not None:
            parameters |= {"unmask": unmask.reason, "actor": unmask.actor}
        answer = self._get(f"/api/views/{view}", parameters)
        # `read_table` would import pandas for a second. On this thread alone: others would still be
        # letting go of Python's bytes when the command ends, and an ending interpreter aborts then.
        return pyarrow.parquet.ParquetFile(pa.BufferReader(answer.content)).read(use_threads=False)

    def count(self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()) -> int:
        parameters: dict[str, Any] = {"where": list(filters)}
        if as_of is not None:
            parameters["as_of"] = instants.canonical(as_of)
        count: int = self._get(f"/api/views/{view}/count", parameters).json()["count"]
        return count

    def _get(self, path: str, parameters: Mapping[str, Any]) -> httpx.Response:
        try:
            answer = self._client.get(path, params=dict(parameters))
        except httpx.HTTPError as error:
            raise OperatorError(
                "The ledger's holder did not answer", str(error), "look at its log, or stop it"
            ) from None
        if answer.status_code == 200:
            return answer
        try:
            told = answer.json()
        except ValueError:
            told = {"error": f"HTTP {answer.status_code}"}
        kind = {400: WrongUsage, 404: UnknownView}.get(answer.status_code, CallerError)
        raise kind(told.get("error", ""), told.get("why", ""), told.get("remedy", ""))
