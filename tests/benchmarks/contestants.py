"""The servers that the receiver is measured against, each run as a process of its own:

    python -m tests.benchmarks.contestants ceiling|least|receiver|peer PORT

`ceiling` answers a bare 200 and reads nothing: no app on this server can be faster.
`least` does the least that makes a body durable: one row in SQLite, many to a commit. It reads no
body, checks nothing and keeps no hash: what is left to gain by a better app (PRAZO_BENCH_FILE).
`peer` is what one would write in an afternoon, and do right: FastAPI over asyncpg, the body read
as JSON, one INSERT a request, committed to disk before the answer (PRAZO_BENCH_DATABASE).
All run on the receiver's own server, with the same options and short turns on the processor, and
look for cycles as seldom.
"""

import asyncio
import os
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from queue import Empty, SimpleQueue
from typing import Any

from pipeline import memory, short_turns
from pipeline.http import server
from pipeline.http.asgi import App, Receive, Scope, Send
from pipeline.receive import receiver
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


SLOW_SECONDS = 2.0


async def slow(scope: Scope, receive: Receive, send: Send) -> None:
    """An endpoint that takes its time before each answer."""
    if scope["type"] == "http":
        await asyncio.sleep(SLOW_SECONDS)
    await ceiling(scope, receive, send)


def least(path: str) -> App:
    waiting: SimpleQueue[tuple[bytes, asyncio.Future[None]]] = SimpleQueue()

    def answer(batch: list[tuple[bytes, asyncio.Future[None]]]) -> None:
        for _, answered in batch:
            answered.set_result(None)

    def write(loop: asyncio.AbstractEventLoop) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("create table deliveries (seq integer primary key, body blob)")
        while True:
            batch = [waiting.get()]
            try:
                while len(batch) < 512:
                    batch.append(waiting.get_nowait())
            except Empty:
                pass
            connection.execute("begin immediate")
            bodies = [(body,) for body, _ in batch]
            connection.executemany("insert into deliveries (body) values (?)", bodies)
            connection.execute("commit")
            loop.call_soon_threadsafe(answer, batch)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        if scope["type"] == "lifespan":
            threading.Thread(target=write, args=(loop,), daemon=True).start()
            await ceiling(scope, receive, send)
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        answered = loop.create_future()
        waiting.put((body, answered))
        await answered
        await ceiling(scope, receive, send)

    return app


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
    memory.look_for_cycles_less_often()  # as every command does
    short_turns.take_short_turns()  # as the receiver does
    if which == "receiver":
        receiver.serve(Settings.load(receiver_port=port))
    else:
        apps = {
            "ceiling": lambda: ceiling,
            "slow": lambda: slow,
            "least": lambda: least(os.environ["PRAZO_BENCH_FILE"]),
            "peer": lambda: peer(os.environ["PRAZO_BENCH_DATABASE"]),
        }
        server.run(apps[which](), "127.0.0.1", port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
