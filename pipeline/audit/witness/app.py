"""A witness over HTTP: `POST /add-checkpoint`, as C2SP's tlog-witness describes it."""

import logging
from typing import Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pipeline.audit.witness.service import MAX_REQUEST_BYTES, Witness
from pipeline.errors import OperatorError

LOG: Final = logging.getLogger(__name__)


def app(witness: Witness) -> Starlette:
    """The app of one witness."""

    async def add_checkpoint(request: Request) -> Response:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_REQUEST_BYTES:
                return PlainTextResponse(f"over {MAX_REQUEST_BYTES} bytes\n", 413)
        try:
            answer = await run_in_threadpool(witness.add, bytes(body))
        except (OperatorError, OSError) as error:
            LOG.error("no checkpoint can be cosigned: %s", error)
            return PlainTextResponse("this witness cannot keep what it sees\n", 503)
        return Response(answer.text, answer.status, media_type=answer.media_type)

    async def key(_: Request) -> Response:
        return PlainTextResponse(f"{witness.cosigner.key}\n")

    return Starlette(
        routes=[
            Route("/add-checkpoint", add_checkpoint, methods=["POST"]),
            Route("/key", key),
        ]
    )
