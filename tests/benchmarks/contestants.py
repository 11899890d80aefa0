"""The servers that the receiver is measured against, each run as a process of its own:

    python -m tests.benchmarks.contestants ceiling|receiver|peer PORT

`ceiling` answers a bare 200 and reads nothing: no app on this server can be faster.
`peer` is what one would write in an afternoon, and do right: FastAPI over asyncpg, the body read
as JSON, one INSERT a request, committed to disk before the answer (PRAZO_BENCH_DATABASE).
All three run on the receiver's own server, with the same options.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pipeline import receiver, server
from pipeline.asgi import Receive, Scope, Send
from pipeline.settings import Settings


async def ceiling(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    head = [(b"content-type", b"application/json"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": b""})


def peer(database: str) -> Any:
    import asyncpg
    from fastapi import Body, FastAPI, Request

    table = """
        create table if not exists deliveries (
            seq bigint generated always as identity primary key,
            event_id text not null,
            received_at timestamptz not null default now(),
            body bytea not null
        );
        create index if not exists deliveries_event on deliveries (event_id)
    """
    insert = "insert into deliveries (event_id, body) values ($1, $2) returning seq"

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        settings = {"synchronous_commit": "on"}
        async with asyncpg.create_pool(
            database, min_size=16, max_size=16, server_settings=settings
        ) as pool:
            await pool.execute(table)
            app.state.pool = pool
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/webhooks")
    async def webhooks(request: Request, event: dict[str, Any] = Body()) -> dict[str, Any]:  # noqa: B008
        seq = await request.app.state.pool.fetchval(insert, event["id"], await request.body())
        return {"seq": seq, "recorded": "new"}

    return app


def main(which: str, port: int) -> None:
    if which == "receiver":
        receiver.serve(Settings.load(receiver_port=port))
    else:
        app = ceiling if which == "ceiling" else peer(os.environ["PRAZO_BENCH_DATABASE"])
        server.run(app, "127.0.0.1", port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
