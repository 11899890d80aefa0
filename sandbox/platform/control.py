"""The sandbox's remote control: plain HTTP on loopback, for the demo and for tests out of process.

    GET    /control/processes                    what the platform believes
    GET    /control/sellers
    GET    /control/deliveries                   every webhook attempt and how it was answered
    GET    /control/requests                     every call that came, and what it was answered
    POST   /control/sellers                      {"is_business"?, "adopted"?, "denied_for"?}
                                                 the latter a list of {"reason", "detail"?}
    POST   /control/sellers/{id}/{turn}          disable, enable, update, delete, bank_account
                                                 verdict {"denied_for"?}: of the coming analysis
    DELETE /control/sellers/{id}/bank_accounts/{account_id}
    POST   /control/reviews                      {"seller_id", "review_type",
                                                 "requested_fields"?, "days_ago"?}
    POST   /control/processes/{id}/{turn}        report {"event_id"?}: a new event, or under an id
                                                 that another event has
                                                 report_again: the last event, its status as of now
                                                 finish {"is_reported"?}, deadline {"days"}
    POST   /control/faults                       a fault, see faults.py;  GET lists, DELETE clears
    POST   /control/time                         {"advance_seconds"?, "scale"?}
    POST   /control/webhooks                     the body is delivered as it is
    POST   /control/flood                        {"deliveries"}
    POST   /control/endpoint                     {"url"}: where webhooks go from now on

A refused call answers 400 or 404 with {"error": why}.
"""

import json
from dataclasses import asdict
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.clock import DAY
from sandbox.platform.api import Api
from sandbox.platform.service import Service, process_view, seller_view
from sandbox.resources import ENABLED, REVIEW_TYPES, Json, Reason, Verdict, denied

MAX_FLOOD = 10_000


def control(service: Service, api: Api) -> Starlette:
    """The ASGI app that controls one running service."""
    answers = _Answers(service, api)
    return Starlette(
        routes=[
            Route("/control/processes", answers.processes),
            Route("/control/sellers", answers.sellers),
            Route("/control/sellers", answers.add_seller, methods=["POST"]),
            Route("/control/sellers/{seller_id}/{turn}", answers.turn_seller, methods=["POST"]),
            Route(
                "/control/sellers/{seller_id}/bank_accounts/{account_id}",
                answers.delete_bank_account,
                methods=["DELETE"],
            ),
            Route("/control/deliveries", answers.deliveries),
            Route("/control/requests", answers.requests),
            Route("/control/reviews", answers.require_review, methods=["POST"]),
            Route("/control/processes/{process_id}/{turn}", answers.turn_process, methods=["POST"]),
            Route("/control/faults", answers.faults, methods=["GET", "POST", "DELETE"]),
            Route("/control/time", answers.time, methods=["POST"]),
            Route("/control/webhooks", answers.webhook, methods=["POST"]),
            Route("/control/flood", answers.flood, methods=["POST"]),
            Route("/control/endpoint", answers.endpoint, methods=["POST"]),
        ],
        exception_handlers={KeyError: _not_found, ValueError: _refused, TypeError: _refused},
    )


class _Answers:
    """Answers each call, and has the service do what it says."""

    def __init__(self, service: Service, api: Api) -> None:
        self._service = service
        self._api = api

    async def processes(self, request: Request) -> Response:
        return JSONResponse(self._service.processes())

    async def sellers(self, request: Request) -> Response:
        return JSONResponse(self._service.sellers())

    async def deliveries(self, request: Request) -> Response:
        return JSONResponse([asdict(attempt) for attempt in self._service.courier.attempts])

    async def requests(self, request: Request) -> Response:
        return JSONResponse(
            [
                asdict(seen) | {"body": seen.body.decode("utf-8", "replace")}
                for seen in self._api.requests
            ]
        )

    async def add_seller(self, request: Request) -> Response:
        terms = await _terms(request)
        is_business = bool(terms.get("is_business", False))
        if terms.get("adopted", False):
            seller = self._service.adopt_seller(is_business=is_business)
        else:
            seller = self._service.create_seller(
                is_business=is_business, verdict=_verdict(terms.get("denied_for"))
            )
        return JSONResponse(seller_view(seller), 201)

    async def turn_seller(self, request: Request) -> Response:
        seller_id, turn = request.path_params["seller_id"], request.path_params["turn"]
        terms = await _terms(request)
        platform, now = self._service.platform, self._service.clock.now()
        match turn:
            case "disable":
                platform.disable_seller(seller_id, now)
            case "enable":
                platform.enable_seller(seller_id, now)
            case "update":
                platform.update_seller(seller_id, platform.sellers[seller_id].profile, now)
            case "delete":
                platform.delete_seller(seller_id, now)
            case "bank_account":
                platform.associate_bank_account(seller_id, now)
            case "verdict":
                platform.foresee(seller_id, _verdict(terms.get("denied_for")))
            case _:
                raise KeyError(f"no such turn of a seller: {turn}")
        self._service.catch_up()
        return JSONResponse(seller_view(platform.sellers[seller_id]))

    async def delete_bank_account(self, request: Request) -> Response:
        seller_id, account_id = request.path_params["seller_id"], request.path_params["account_id"]
        self._service.platform.delete_bank_account(seller_id, account_id, self._service.clock.now())
        self._service.catch_up()
        return JSONResponse(seller_view(self._service.platform.sellers[seller_id]))

    async def require_review(self, request: Request) -> Response:
        terms = await _terms(request)
        if terms.get("review_type") not in REVIEW_TYPES:
            raise ValueError(f"review_type must be {' or '.join(REVIEW_TYPES)}")
        fields = terms.get("requested_fields")
        process = self._service.require_review(
            str(terms.get("seller_id")),
            terms["review_type"],
            requested_fields=None if fields is None else tuple(fields),
            days_ago=float(terms.get("days_ago", 0)),
        )
        return JSONResponse(process_view(process), 201)

    async def turn_process(self, request: Request) -> Response:
        process_id, turn = request.path_params["process_id"], request.path_params["turn"]
        terms = await _terms(request)
        platform, now = self._service.platform, self._service.clock.now()
        match turn:
            case "report":
                platform.report(process_id, now, terms.get("event_id"))
            case "report_again":
                platform.report_again(process_id, now)
            case "finish":
                platform.finish(process_id, now, is_reported=bool(terms.get("is_reported", True)))
            case "deadline":
                platform.move_deadline(process_id, now + int(float(terms["days"]) * DAY), now)
            case _:
                raise KeyError(f"no such turn of a process: {turn}")
        self._service.catch_up()
        return JSONResponse(process_view(platform.processes[process_id]))

    async def faults(self, request: Request) -> Response:
        if request.method == "POST":
            self._service.add_fault(**await _terms(request))
        elif request.method == "DELETE":
            self._service.faults.clear()
        return JSONResponse([asdict(fault) for fault in self._service.faults.pending])

    async def time(self, request: Request) -> Response:
        terms = await _terms(request)
        if "scale" in terms:
            self._service.set_scale(float(terms["scale"]))
        if "advance_seconds" in terms:
            self._service.advance(float(terms["advance_seconds"]))
        return JSONResponse({"now": self._service.clock.now()})

    async def webhook(self, request: Request) -> Response:
        self._service.deliver_raw(await request.body())
        return JSONResponse({}, 202)

    async def flood(self, request: Request) -> Response:
        deliveries = int((await _terms(request))["deliveries"])
        if not 0 < deliveries <= MAX_FLOOD:
            raise ValueError(f"deliveries must be between 1 and {MAX_FLOOD}")
        await self._service.flood(deliveries)
        return JSONResponse({"delivered": deliveries})

    async def endpoint(self, request: Request) -> Response:
        self._service.courier.point_at(str((await _terms(request))["url"]))
        return JSONResponse({})


async def _terms(request: Request) -> Json:
    body = await request.body()
    terms: Any = json.loads(body) if body else {}
    if not isinstance(terms, dict):
        raise ValueError("the body must be a JSON object")  # noqa: TRY004 - the caller's, not ours
    return terms


def _verdict(denied_for: Any) -> Verdict:
    if not denied_for:
        return ENABLED
    return denied(*(Reason(given["reason"], given.get("detail")) for given in denied_for))


async def _not_found(request: Request, failure: Exception) -> Response:
    return JSONResponse({"error": f"not found: {failure}"}, 404)


async def _refused(request: Request, failure: Exception) -> Response:
    return JSONResponse({"error": str(failure)}, 400)
