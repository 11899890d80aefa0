"""Says to the marketplace's backend which reviews of a seller are open, and makes a link when the
seller clicks: for a banner in the marketplace's own seller area.

A page of the marketplace may ask on each visit, so both calls have threads and limits of their own:
they take nothing from other calls, and little of the inbox from whoever records deliveries.
"""

import logging
import threading
import time
from collections import OrderedDict
from functools import lru_cache
from typing import Any, Final

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pipeline import instants
from pipeline.continuity.service import LedgerService, current
from pipeline.contract.body import identifier, parse_json
from pipeline.errors import CallerError, PrazoError, SettingsError, Unreadable
from pipeline.http.callers import TurnedAway
from pipeline.http.pace import Pace
from pipeline.http.preamble import whole_body
from pipeline.http.tokens import Caller
from pipeline.journey import links
from pipeline.journey.reviews import Reviews
from pipeline.serve import asked, standing
from pipeline.serve.openapi import TEXT, WHOLE, Call, an_object

LOG = logging.getLogger(__name__)

PATH: Final = "/v1/sellers/"
SCOPE: Final = "seller_area"
WAY: Final = "seller_area"
STATES: Final = ("PENDING", "OVERDUE", "EXPIRED")
KEPT_SECONDS: Final = 5.0
"""For so long an answer is given again; the marketplace may keep it as long."""
MAX_KEPT: Final = 10_000
MAX_REVIEWS: Final = 50
ASKS: Final = (300, 0.01)
"""At once, and the seconds until one more."""
LINKS: Final = (20, 0.2)
MAX_BODY_BYTES: Final = 4096
_READING: Final = CapacityLimiter(2)
_MAKING: Final = CapacityLimiter(1)
MAX_WAITING: Final = 50
"""Requests that wait for a thread; more are asked to come back."""
_COLUMNS: Final = (
    *("process_id", "review_type", "state", "deadline_at", "seconds_to_deadline"),
    *("fields_required", "fields_answered"),
)


def calls() -> list[Call]:
    """What a seller area asks."""
    path = f"{PATH}{{seller_id}}/open-reviews"
    moment = {"type": "string", "format": "date-time"}
    whole = {"type": ["integer", "null"]}
    review = {
        "process_id": TEXT,
        "review_type": {"type": ["string", "null"]},
        "state": {**TEXT, "enum": [*STATES]},
        "deadline_at": {"type": ["string", "null"], "format": "date-time"},
        "seconds_to_deadline": whole,
        "fields_required": whole,
        "fields_answered": whole,
    }
    reviews = {"type": "array", "items": an_object(review, *review)}
    answer = {"seller_id": TEXT, "as_of": moment, "reviews": reviews}
    link = {"journey": TEXT, "journey_id": TEXT, "url": TEXT, "expires_at": moment, "seq": WHOLE}
    return [
        Call("GET", path, _open_reviews, "A seller's open reviews", _json(answer)),
        Call(
            "POST",
            f"{path}/{{process_id}}/link",
            _link,
            "A link to the seller's page, when the seller clicks",
            _json(link),
            body=an_object({"return_url": TEXT}),
        ),
    ]


def _json(properties: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": an_object(properties, *properties)}}


class Area:
    """What is kept for a moment, and how often either is asked. Safe from any thread."""

    def __init__(self, service: LedgerService) -> None:
        self._service = service
        self._reviews = Reviews(service.inbox)
        self._kept: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()
        self.asks = Pace(*ASKS)
        self.links = Pace(*LINKS)

    def kept(self, seller_id: str) -> dict[str, Any] | None:
        """What was answered a moment ago."""
        with self._lock:
            at, said = self._kept.get(seller_id, (float("-inf"), None))
        return said if time.monotonic() - at < KEPT_SECONDS else None

    def look(self, seller_id: str) -> dict[str, Any]:
        """The seller's open reviews, what can still be saved first. Raises `PrazoError`."""
        if (known := self.kept(seller_id)) is not None:  # another request was faster
            return known
        at = self._service.now()
        found = self._service.reader.records(
            "open_processes", as_of=at, where={"seller_id": seller_id, "state": [*STATES]}
        )
        places = [found.columns.index(it) for it in _COLUMNS]
        reviews = [
            dict(zip(_COLUMNS, (row[it] for it in places), strict=True))
            for row in found.rows[:MAX_REVIEWS]
        ]
        for review in reviews:
            deadline = review["deadline_at"]
            review["deadline_at"] = None if deadline is None else f"{deadline.isoformat()}Z"
        said = {"seller_id": seller_id, "as_of": instants.readable(at), "reviews": reviews}
        with self._lock:
            self._kept[seller_id] = (time.monotonic(), said)
            self._kept.move_to_end(seller_id)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return said

    def mint(
        self, seller_id: str, process_id: str, return_url: str | None, by: Caller
    ) -> dict[str, Any] | None:
        """A link for a review of this seller; None where it is not one of theirs. Raises
        `CallerError`, `SettingsError` and `InboxUnavailable`."""
        process = self._reviews.look(process_id).process
        if process is None or process.seller_id != seller_id:
            return None
        service = self._service
        return links.mint(
            service.settings,
            service.inbox,
            process_id,
            recorded_by=by.name,
            return_url=return_url,
            reviews=self._reviews,
            is_clicked=True,
        ).as_answer


@lru_cache(maxsize=1)
def area(service: LedgerService) -> Area:
    """That of this process's ledger."""
    return Area(service)


async def _open_reviews(request: Request) -> Response:
    """Which reviews of a seller are open. It changes nothing, and names nobody."""
    caller = asked.by(request, SCOPE)
    if isinstance(caller, Response):
        return caller
    seller_id, here = request.path_params["seller_id"], area(current())
    if wait := here.asks.wait():
        return _crowded(wait)
    said = here.kept(seller_id)
    if said is None:
        if _READING.statistics().tasks_waiting >= MAX_WAITING:
            return _crowded(1)
        try:
            said = await to_thread.run_sync(here.look, seller_id, limiter=_READING)
        except PrazoError as error:
            return _not_now(error)
    headers = {"Cache-Control": f"private, max-age={KEPT_SECONDS:.0f}"}
    return JSONResponse(said, headers=headers)


async def _link(request: Request) -> Response:
    """A fresh link for one of the seller's reviews; no other ends by it."""
    caller = asked.by(request, SCOPE)
    if isinstance(caller, Response):
        return caller
    here = area(current())
    if _MAKING.statistics().tasks_waiting >= MAX_WAITING:
        return _crowded(1)
    if wait := here.links.wait():
        return _crowded(wait)
    body = await whole_body(asked.over_asgi(request), MAX_BODY_BYTES)
    if isinstance(body, TurnedAway):
        return asked.turned_away(body)
    seller_id, process_id = request.path_params["seller_id"], request.path_params["process_id"]
    try:
        return_url = _return_url(body)
        made = None
        if identifier(process_id) is not None:
            made = await to_thread.run_sync(
                here.mint, seller_id, process_id, return_url, caller, limiter=_MAKING
            )
    except (CallerError, SettingsError) as error:
        return JSONResponse({"error": error.in_one_line}, 422)
    except PrazoError as error:
        return _not_now(error)
    if made is None:
        return JSONResponse({"error": "the seller has no such review"}, 404)
    return JSONResponse(made, headers={"Cache-Control": "no-store"})


def _return_url(body: bytes) -> str | None:
    """What the body says, which may be empty. Raises `CallerError`."""
    said = parse_json(body) if body.strip() else {}
    if not isinstance(said, dict) or said.keys() - {"return_url"}:
        raise Unreadable("an object with no more than `return_url` is expected")
    url = said.get("return_url")
    if not isinstance(url, str | None):
        raise Unreadable("return_url is not a text")
    return url


def _crowded(seconds: int) -> Response:
    content = {"error": "too many requests; keep an answer for some seconds"}
    return JSONResponse(content, 429, {"Retry-After": str(seconds)})


def _not_now(error: PrazoError) -> Response:
    LOG.error("a seller area got no answer: %s", error.in_one_line)
    standing.note(current(), WAY, error)
    return JSONResponse({"error": "not now; ask again"}, 503, {"Retry-After": "5"})
