"""Asks the process that holds the ledger, over its API: for rows, packages, checkpoints, audits."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from pipeline import instants
from pipeline.errors import (
    CallerError,
    LedgerInUse,
    OperatorError,
    PrazoError,
    UnknownView,
    WrongUsage,
)
from pipeline.files.disk import written_whole
from pipeline.files.temporary import remove_left
from pipeline.http import holder as announcements
from pipeline.http.outgoing import contexts
from pipeline.ledger.views import formats
from pipeline.serve import identifiers
from pipeline.settings import Settings

if TYPE_CHECKING:  # as in ledger_access.py
    import pyarrow as pa

    from pipeline.audit.export import Exported
    from pipeline.audit.package.preparing import OnProgress
    from pipeline.audit.request import Request
    from pipeline.continuity.service import SignedCheckpoint
    from pipeline.continuity.stores import OnProgress as OnChecked
    from pipeline.trends.forecast_score import Score
    from pipeline.verify import Verdict

ALIVE_SECONDS: Final = 2.0
STATUS_SECONDS: Final = 10.0
"""For what a holder knows at any time: one that was paused must not keep a command waiting."""
ROWS_SECONDS: Final = 300.0
ANSWER_SECONDS: Final = 3600.0
"""For packages and audits, which read the whole log."""
CHUNK_BYTES: Final = 2**20
TEXT_ROWS: Final = 2_000
"""Up to so many, the holder writes a file of text. To write more takes it seconds, in which it
answers others slowly; Parquet takes it a twenty-fifth, and the command makes text of that."""

_TEXTS: Final = frozenset({"json", "ndjson", "csv"})
"""Formats that look the same whoever writes them."""
_ERRORS: Final = {413: WrongUsage, 500: OperatorError}
_VIEW_ERRORS: Final = {**_ERRORS, 404: UnknownView}


class Holder:
    """The process that holds the ledger.

    Its methods raise `LedgerInUse` if it stops answering, `OperatorError` where its operator has to
    put something right, and `CallerError` if it refuses.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    @property
    def url(self) -> str:
        """Where the holder listens."""
        return str(self._client.base_url).rstrip("/")

    def is_alive(self) -> bool:
        """Whether it answers within a moment."""
        try:
            return self._client.get("/api/status", timeout=ALIVE_SECONDS).status_code == 200
        except httpx.HTTPError:
            return False

    def status(self) -> dict[str, Any]:
        """How far its ledger is: the fields of `pipeline.continuity.follower.Status`."""
        status: dict[str, Any] = self._get("/api/status", seconds=STATUS_SECONDS).json()
        return status

    def catch_up(self, seconds: float) -> int:
        """Waits, for `seconds` at most, until its ledger has what the inbox holds now.

        Returns how many entries it still lacks.
        """
        target: int = self.status()["inbox_seq"]
        until = time.monotonic() + seconds
        while (lacking := target - int(self.status()["last_seq"])) > 0 and time.monotonic() < until:
            time.sleep(0.05)
        return max(0, lacking)

    def problem(self) -> str | None:
        """What keeps it from following the inbox."""
        problem: str | None = self.status()["problem"]
        return problem

    def read(
        self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()
    ) -> "pa.Table":
        """The rows of a view, masked; `filters`: `COLUMN=VALUE`."""
        return _table(self._rows(formats.Asked(view, as_of, filters), "parquet"))

    def shown(self, asked: formats.Asked) -> formats.Shown:
        """A few rows; personal values are shown only after their entry is in the log."""
        answer = self._rows(asked, "json")
        rows: list[dict[str, Any]] = answer.json()
        columns = [*rows[0]] if rows else _columns(asked.view)
        return formats.Shown(_instant_of(answer), columns, rows)

    def encoded(self, asked: formats.Asked, form: formats.Format, look: formats.Look) -> bytes:
        """Rows as a file; personal values only after their entry is in the log."""
        if form in _TEXTS and self._are_few(asked):
            return self._rows(asked, form).content
        # A sheet looks as this command's settings say.
        answer = self._rows(asked, "parquet")
        return identifiers.file_of(_table(answer), asked, _instant_of(answer), form, look)

    def described(self, form: formats.Format) -> bytes:
        """What every view and column means, a row per column."""
        return self._get("/api/views", {"format": form}).content

    def _are_few(self, asked: formats.Asked) -> bool:
        if asked.limit is not None and asked.limit <= TEXT_ROWS:
            return True
        return self.count(asked.view, as_of=asked.as_of, filters=asked.filters) <= TEXT_ROWS

    def _rows(self, asked: formats.Asked, form: formats.Format) -> httpx.Response:
        path = _path_of(asked.view)
        parameters = {"format": form, **_selection(asked.as_of, asked.filters)}
        if asked.limit is not None:
            parameters["limit"] = asked.limit
        if asked.unmask is None:
            return self._get(path, parameters, _VIEW_ERRORS)
        content = {"unmask": asked.unmask.reason, "actor": asked.unmask.actor}
        with _answering():
            answer = self._client.post(path, params=parameters, json=content, timeout=ROWS_SECONDS)
        return _checked(answer, _VIEW_ERRORS)

    def count(self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()) -> int:
        """How many rows a view has."""
        path = f"{_path_of(view)}/count"
        count: int = self._get(path, _selection(as_of, filters), _VIEW_ERRORS).json()["count"]
        return count

    def forecast_scores(self, as_of: int | None = None) -> "Sequence[Score]":
        """How good the forecast was."""
        from pipeline.trends import forecast_score

        return forecast_score.read(self._get("/api/forecast-score", _moment(as_of)).json())

    def checkpoint(self) -> "SignedCheckpoint":
        """The signed checkpoint of this moment, with the log's keys."""
        from pipeline.continuity.service import SignedCheckpoint

        answer = self._get("/api/checkpoint").json()
        return SignedCheckpoint(answer["checkpoint"], answer["key"], answer["earlier_keys"])

    def audit(self, against: str | None, on_progress: "OnChecked") -> "Verdict":
        """Runs every check on ledger and inbox; see `pipeline.continuity.stores.audit`."""
        from pipeline.verify import Verdict

        with _answering():
            answer = _checked(self._client.post("/api/audits", json={"against": against})).json()
        verdict = Verdict()
        verdict.checked = answer["checked"]
        verdict.notes = answer["notes"]
        verdict.undecided = answer["undecided"]
        verdict.faults = answer["faults"]
        return verdict

    def export(self, request: "Request", out: Path, on_progress: "OnProgress") -> "Exported":
        """Lets the holder make a package, and writes it to `out`, whole or not at all."""
        from pipeline.audit.export import Exported
        from pipeline.audit.request import to_json

        on_progress("the ledger's holder makes the package", 0, 1)
        remove_left(f".{out.name}.", out.parent)  # by a command that was killed
        with (
            _answering(),
            self._client.stream("POST", "/api/exports", json=to_json(request)) as answer,
        ):
            if answer.status_code != 200:
                answer.read()
            _checked(answer)
            with written_whole(out) as file:
                for chunk in answer.iter_bytes(CHUNK_BYTES):
                    file.write(chunk)
            return Exported(path=out, **json.loads(answer.headers["Prazo-Export"]))

    def _get(
        self,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        kinds: Mapping[int, type[PrazoError]] = _ERRORS,
        seconds: float = ROWS_SECONDS,
    ) -> httpx.Response:
        with _answering():
            answer = self._client.get(path, params=parameters, timeout=seconds)
        return _checked(answer, kinds)


@contextmanager
def holder(settings: Settings) -> Iterator[Holder | None]:
    """The process that announced itself as the ledger's holder, or None if it does not answer."""
    announced = announcements.find(settings.ledger)
    if announced is None:
        yield None
        return
    with httpx.Client(
        base_url=announced.url,
        headers={"Authorization": f"Bearer {announced.token}"},
        timeout=httpx.Timeout(ANSWER_SECONDS, connect=ALIVE_SECONDS),
        trust_env=False,
        verify=contexts.bare(),  # a process of this machine, by HTTP
    ) as client:
        candidate = Holder(client)
        yield candidate if candidate.is_alive() else None


def _instant_of(answer: httpx.Response) -> int:
    """Of which instant its rows are, in microseconds."""
    instant = instants.parse(answer.headers["Prazo-As-Of"])
    assert instant is not None  # whoever has the ledger says it
    return instant


def _columns(view: str) -> list[str]:
    """Of a view that has no row to say them."""
    from pipeline.ledger.views.catalogue import public

    return [*public()[view].columns]


def _path_of(view: str) -> str:
    """Of a view's rows. Raises `UnknownView` for what cannot be a name: a path of the API may lie
    behind it, or another view's parameters."""
    if not view.isidentifier():
        from pipeline.ledger.views.catalogue import asked_for

        asked_for(view)
    return f"/api/views/{view}"


def _table(answer: httpx.Response) -> "pa.Table":
    """Rows that came as Parquet, where instants say that they are UTC; here they no longer do: to
    read one that does, Arrow imports pandas, which takes a third of a second and 60 MB."""
    import pyarrow as pa
    import pyarrow.parquet

    # `read_table` would do so, too. Only this thread reads: others could still release Python's
    # bytes when the command ends, which aborts the interpreter.
    rows = pyarrow.parquet.ParquetFile(pa.BufferReader(answer.content)).read(use_threads=False)
    naive = [
        column.with_type(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
        for column in rows.schema
    ]
    return rows.cast(pa.schema(naive))


def _selection(as_of: int | None, filters: Sequence[str]) -> dict[str, Any]:
    return {"where": list(filters), **_moment(as_of)}


def _moment(as_of: int | None) -> dict[str, str]:
    return {} if as_of is None else {"as_of": instants.canonical(as_of)}


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise LedgerInUse(
            "The ledger's holder did not answer", str(error), "look at its log, or stop it"
        ) from None
    except httpx.InvalidURL:
        raise WrongUsage(
            "The question is too long to be asked",
            remedy="filter by fewer values, or by shorter ones",
        ) from None


def _checked(
    answer: httpx.Response, kinds: Mapping[int, type[PrazoError]] = _ERRORS
) -> httpx.Response:
    """The answer if its status is 200; otherwise raises the error in it.

    `kinds`: the class of the error by status; `CallerError` for any other, and for what no holder
    of ours has put into words. Its exit code is the one that the holder says.
    """
    if answer.status_code == 200:
        return answer
    try:
        fault = answer.json()
    except ValueError:
        raise CallerError(f"The ledger's holder answered {answer.status_code}") from None
    kind = kinds.get(answer.status_code, CallerError)
    error = kind(fault.get("error", ""), fault.get("why", ""), fault.get("remedy", ""))
    error.exit_code = fault.get("exit_code", kind.exit_code)
    raise error
