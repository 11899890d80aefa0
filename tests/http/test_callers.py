"""Who may call: one rule for the gateway, collections and the API over the ledger."""

import base64
import hashlib
from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.http import callers
from pipeline.http.asgi import Headers, Message, Request, folded
from pipeline.http.callers import TurnedAway
from pipeline.http.tokens import SCOPES, Caller, Tokens
from tests.support.stores import settings_in

LOCAL = {b"host": b"127.0.0.1:8400"}
LOOPBACK = Caller("loopback", SCOPES)


@pytest.fixture
def required(tmp_path: Path) -> Tokens:
    digest = hashlib.sha256(b"secret").hexdigest()
    (tmp_path / "tokens").write_text(f"reader:read:{digest}\n")
    return Tokens(tmp_path / "tokens", local=b"of commands")


def bearer(token: bytes) -> dict[bytes, bytes]:
    return {**LOCAL, b"authorization": b"Bearer " + token}


def admit(
    tokens: Tokens, headers: Headers, scope: str, *, method: str = "GET", version: str = "1.1"
) -> Caller | TurnedAway:
    async def nothing() -> Message:
        raise AssertionError("a caller is admitted before the body is read")

    request = Request({"method": method, "http_version": version}, headers, nothing)
    return callers.admit(tokens, request, scope)


def status(admission: Caller | TurnedAway) -> int:
    return admission.status if isinstance(admission, TurnedAway) else 200


def test_a_token_is_known_as_bearer_and_as_the_password_of_basic(required: Tokens) -> None:
    reader = Caller("reader", frozenset({"read"}))
    assert admit(required, bearer(b"secret"), "read") == reader
    basic = b"Basic " + base64.b64encode(b"whoever:secret")
    assert admit(required, {**LOCAL, b"authorization": basic}, "read") == reader


def test_without_a_known_token_nobody_calls_where_tokens_are_required(required: Tokens) -> None:
    assert status(admit(required, LOCAL, "read")) == 401
    assert status(admit(required, bearer(b"guessed"), "read")) == 401


def test_a_token_is_good_for_its_scopes_alone(required: Tokens) -> None:
    assert admit(required, bearer(b"secret"), "submit") == TurnedAway(
        403, "this token lacks the scope submit"
    )


def test_no_two_names_have_one_token(tmp_path: Path) -> None:
    """The last line won without a word: its name stood in the log for the other's."""
    digest, other = (hashlib.sha256(it).hexdigest() for it in (b"secret", b"another"))
    (tmp_path / "tokens").write_text(f"ana:read:{digest}\nbia:read:{other}\ncaio:export:{digest}\n")
    with pytest.raises(SettingsError, match=r"Line 3 of .* is the token of ana again"):
        Tokens(tmp_path / "tokens")


def test_commands_on_this_machine_have_a_token_for_everything(required: Tokens) -> None:
    assert admit(required, bearer(b"of commands"), "export") == Caller("local", SCOPES)


def test_without_tokens_this_machine_calls_whatever_it_shows() -> None:
    """A marketplace's client shows the platform's credentials."""
    assert admit(Tokens(None), bearer(b"the platform's"), "submit") == LOOPBACK
    assert admit(Tokens(None), LOCAL, "submit") == LOOPBACK


def test_a_commands_token_of_another_process_is_not_taken_for_none() -> None:
    """It was written by a holder that is gone: this process has another ledger."""
    tokens = Tokens(None, local=b"of commands")
    assert status(admit(tokens, bearer(b"of another's commands"), "read")) == 401
    assert admit(tokens, LOCAL, "read") == LOOPBACK


@pytest.mark.parametrize(
    "header",
    [
        {b"origin": b"https://a.example"},
        {b"host": b"a.example"},
        {b"forwarded": b"x"},
        {b"via": b"1.1 somewhere"},
        {b"x-real-ip": b"203.0.113.7"},
        {b"cf-connecting-ip": b"203.0.113.7"},
    ],
)
def test_without_tokens_nobody_else_calls(header: dict[bytes, bytes]) -> None:
    assert status(admit(Tokens(None), {**LOCAL, **header}, "read")) == 403


def test_without_tokens_no_proxy_calls_that_speaks_as_nginx_does() -> None:
    """nginx sends its own address as Host, HTTP/1.0, and no other trace of the caller."""
    assert status(admit(Tokens(None), LOCAL, "submit", version="1.0")) == 403


def test_as_soon_as_anybody_outside_is_expected_a_token_is_needed(tmp_path: Path) -> None:
    """Deliveries were authenticated, a proxy in front hid who asked, and no tokens were set:
    anyone who reached the proxy could post evidence and submit."""
    for settings in (
        settings_in(tmp_path, webhook_auth="header", webhook_secret_file=tmp_path / "secret"),
        settings_in(tmp_path, allow_remote=True),
    ):
        tokens = Tokens.of(settings, local=b"of commands")
        away = admit(tokens, LOCAL, "submit")
        assert isinstance(away, TurnedAway)
        assert (away.status, "PRAZO_API_TOKENS_FILE gives none" in away.reason) == (401, True)
        assert admit(tokens, bearer(b"of commands"), "submit") == Caller("local", SCOPES)
    assert admit(Tokens.of(settings_in(tmp_path)), LOCAL, "submit") == LOOPBACK


def test_a_page_of_another_site_cannot_use_a_token_that_the_browser_remembers(
    required: Tokens,
) -> None:
    basic = b"Basic " + base64.b64encode(b"whoever:secret")
    known = {**LOCAL, b"authorization": basic}
    foreign = {**known, b"origin": b"https://a.example"}
    assert status(admit(required, foreign, "read", method="POST")) == 403
    image = {**known, b"sec-fetch-site": b"cross-site", b"sec-fetch-mode": b"no-cors"}
    assert status(admit(required, image, "read")) == 403
    own = {**known, b"origin": b"http://127.0.0.1:8400", b"sec-fetch-site": b"same-origin"}
    assert status(admit(required, own, "read", method="POST")) == 200


def test_a_head_of_many_fields_is_read_in_no_time() -> None:
    """Each was looked for among all: of a head as long as may come, one from anybody held up the
    receiver, and each delivery with it, for four seconds."""
    fields = [(b"x-%d" % number, b"") for number in range(80_000)]
    headers = folded([(b"host", b"a"), *fields, (b"host", b"b")])
    assert (len(headers), headers[b"host"]) == (80_001, b"a, b")
