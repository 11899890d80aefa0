"""Runs an app on uvicorn until a signal stops it, with limits that uvicorn does not set."""

import asyncio
import contextlib
import errno
import logging
import os
import re
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import httptools
import uvicorn

from pipeline import hosts, signals
from pipeline.errors import OperatorError, PortTaken
from pipeline.http.asgi import App, folded
from pipeline.http.limits import Limited
from pipeline.http.short import Exchange, ShortPosts, is_short

LOG = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS: Final = 75
"""Longer than the minute for which proxies keep a connection, so that the proxy closes it first:
a request that is on its way while we close would be lost."""
BACKLOG: Final = 2048
GRACEFUL_SECONDS: Final = 17
"""For requests that are under way when the server stops."""
END_SECONDS: Final = 28.0
"""From the signal to the end of the process, whatever hangs: who sent the signal usually kills
after 30."""
LAST_WORDS_SECONDS: Final = 1.0
"""For saying what hangs: that could hang as well."""


_REQUEST_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^ \r\n]+ HTTP/1\.[01]\r\n")
"""Any method, whether HTTP knows it or not (RFC 9110, section 9.1)."""


def _unheard(status: bytes) -> None:
    """Hears of a refusal for an app that asks for none."""


class Connection(Limited):
    """A connection of a server without web sockets, with two more gaps closed. Without this class,
    uvicorn would

    - treat a trailer as a header, after the headers were checked;
    - lose the body of a request that offers to upgrade to HTTP/2, as Java's client does by default
      (uvicorn issue 2722). A server may ignore the offer (RFC 9110, section 7.8).

    An app that has `short_posts` gets these without a task for each. One that has `own_fields` has
    them in the server's own answers, too, and its `on_refusal` hears of each request that the
    server refuses by itself.
    """

    def __init__(self, config: uvicorn.Config, *arguments: Any, **options: Any) -> None:
        super().__init__(config, *arguments, **options)
        self._short_posts: ShortPosts = getattr(config.app, "short_posts", {})
        self._short: Exchange | None = None
        self.own_fields = getattr(config.app, "own_fields", b"")
        self._on_refusal: Callable[[bytes], None] = getattr(config.app, "on_refusal", _unheard)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Notes where small answers are written."""
        super().connection_made(transport)
        is_plain = sys.platform != "win32" and transport.get_extra_info("sslcontext") is None
        self._descriptor = transport.get_extra_info("socket").fileno() if is_plain else None

    def note_refusal(self, status: bytes) -> None:
        """Says to the app that a request of its was refused."""
        self._on_refusal(status)

    def write_at_once(self, data: bytes) -> None:
        """Writes a small answer. The transport would keep the GIL while the system sends it, which
        takes longer than all else about an answer; meanwhile the inbox's writer can have it
        (docs/decisions/inbox.md#an-answer-is-sent-without-the-gil)."""
        transport = self.transport
        if (
            self._descriptor is not None
            and not transport.is_closing()  # then another connection may have its number by now
            and not transport.get_write_buffer_size()
        ):
            with contextlib.suppress(OSError):  # the transport finds it, too, and sees to it
                data = data[os.write(self._descriptor, data) :]
        if data:
            transport.write(data)

    def feed(self, data: bytes) -> None:
        """Feeds the parser; where that fails, answers 400 and closes, or 501 where the request
        begins with a method that HTTP does not know (RFC 9110, section 15.6.2)."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._ignore_offer(data[offer.args[0] :])
        except httptools.HttpParserInvalidMethodError:
            is_request = _REQUEST_LINE.match(data) is not None
            self.cut_off(b"501 Not Implemented" if is_request else b"400 Bad Request")
        except httptools.HttpParserError:
            self.cut_off(b"400 Bad Request")

    def on_message_begin(self) -> None:
        """Starts a request. What apps are shown of one is put together only where they are."""
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self.begin_request()

    def on_headers_complete(self) -> None:
        """Hands the request on, unless its offer to upgrade has to be taken out first."""
        if self.parser.should_upgrade():
            return  # the head is parsed again, without the offer
        self._short = self._begun()
        if self._short is not None:
            self.cycle = self._answering = self._short  # type: ignore[assignment]
            return
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)  # this list is the one that the app is shown
        super().on_headers_complete()
        self.headers = []  # trailers are added to this list, which nobody reads
        if self.expect_100_continue:
            # If we answer before we read the body, the sender may still send it or leave it out.
            # We could not tell whether the next bytes are a body or a new request.
            self.cycle.keep_alive = False

    def _begun(self) -> Exchange | None:
        """The request as a short one, if it is one."""
        begin = self._short_posts.get(self.url)
        if (
            begin is None
            or self.parser.get_method() != b"POST"
            or self.parser.get_http_version() != "1.1"
            or self.expect_100_continue
            or not (self.cycle is None or self.cycle.response_complete)
            or self.flow.write_paused
        ):
            return None
        headers = folded(self.headers)
        if not is_short(headers) or (take := begin(headers)) is None:
            return None
        return Exchange(self, take, keep_alive=self.parser.should_keep_alive())

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the body."""
        if self._short is None:
            super().on_body(body)
        else:
            self.count_body(body)
            self._short.on_body(body)

    def on_message_complete(self) -> None:
        """Ends the request, unless its head is parsed again."""
        short, self._short = self._short, None
        if short is not None:
            self.end_request()
            short.on_message_complete()
        elif not self.parser.should_upgrade():
            super().on_message_complete()

    def _ignore_offer(self, rest: bytes) -> None:
        """The parser has stopped after the head: a new one parses the head without the offer."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.cut_off(b"400 Bad Request")
            return
        offer = (b"upgrade", b"connection", b"http2-settings")
        fields = [b"%b: %b" % it for it in self.headers if it[0] not in offer]
        version = self.parser.get_http_version().encode()  # 1.0 is the trace of a proxy
        line = b"%b %b HTTP/%b" % (method, self.url, version)
        self.parser = httptools.HttpRequestParser(self)
        self._head_bytes = 0
        self.data_received(b"\r\n".join((line, *fields, b"", rest)))


class _Server(uvicorn.Server):
    """uvicorn's server, which ends even if a thread is stuck where nobody can interrupt it."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A Ctrl-C reaches this process, and the one that started it, which then stops it again:
        the second signal cuts nothing short that is under way."""
        if self.should_exit:
            return
        watchdog = threading.Timer(END_SECONDS, _end_at_once)
        watchdog.daemon = True
        watchdog.start()
        super().handle_exit(sig, frame)


def _end_at_once() -> None:
    words = threading.Thread(target=_say_what_hangs, daemon=True)
    words.start()
    words.join(LAST_WORDS_SECONDS)
    os._exit(1)


def _say_what_hangs() -> None:
    """Whatever was answered 200 is on disk already; what still waited was answered 503."""
    frames = sys._current_frames()
    hanging = []
    for thread in threading.enumerate():
        stack = traceback.extract_stack(frames.get(thread.ident or 0))
        ours = [it for it in stack if "pipeline" in Path(it.filename).parts]
        if ours and ours[-1].name not in (_say_what_hangs.__name__, _end_at_once.__name__):
            place = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}"
            hanging.append(f"{thread.name} in {ours[-1].name} ({place})")
    LOG.error(
        "the server is ended %g s after the signal; these threads have not ended: %s",
        END_SECONDS,
        "; ".join(hanging),
    )


def run(app: App, host: str, port: int, *, chosen_by: str) -> None:
    """Serves until SIGTERM, SIGINT or SIGHUP, answers what is under way, and returns.

    `chosen_by`: the setting or option that names another port, to be said where this one is taken.
    If something hangs, the process exits with 1, `END_SECONDS` after the signal. Raises
    `OperatorError` if it cannot listen or the app does not start.
    """
    listeners = _listen(host, port, chosen_by)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        proxy_headers=False,
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )
    # uvicorn stops cleanly and then sends itself the signal again, which would kill the process.
    before = {it: signal.signal(it, _end) for it in (signal.SIGTERM, signal.SIGINT)}
    before[signal.SIGHUP] = signal.getsignal(signal.SIGHUP)
    signals.stop_server_by_hangup()
    try:
        _Server(config).run(listeners)
    except SystemExit as ended:
        if ended.code != signals.code():
            raise OperatorError(
                "The server did not start",
                "see the message above",
                "correct that, then start again",
            ) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for listener in listeners:
            listener.close()


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(signals.code())


def _listen(host: str, port: int, chosen_by: str) -> list[socket.socket]:
    """A listening socket for each of the host's addresses that this machine has."""
    listeners: list[socket.socket] = []
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, *_, address in dict.fromkeys(addresses):
            try:
                listeners.append(socket.create_server(address[:2], family=family, backlog=BACKLOG))
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise  # localhost has an IPv6 address even where IPv6 is switched off
        if not listeners:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    except OSError as error:
        for listener in listeners:
            listener.close()
        if (why := hosts.not_here(host, error)) is not None:
            raise OperatorError(
                f"Nothing can listen on {host}, port {port}", why, hosts.ELSEWHERE
            ) from None
        raise (PortTaken if error.errno == errno.EADDRINUSE else OperatorError)(
            f"Nothing can listen on {host}, port {port}",
            error.strerror or str(error),
            "choose a port from 1024 on: those below are the system administrator's"
            if isinstance(error, PermissionError)
            else f"stop what listens there already, or choose another port with {chosen_by}",
        ) from None
    return listeners
