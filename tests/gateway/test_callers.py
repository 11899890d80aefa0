"""Who may call: one rule for the gateway, collections and the API over the ledger."""

import base64
import hashlib
from pathlib import Path

import pytest

from pipeline.callers import TurnedAway, admit
from pipeline.tokens import SCOPES, Caller, Tokens

LOCAL = {b"host": b"127.0.0.1:8400"}
LOOPBACK = Caller("loopback", SCOPES)


@pytest.fixture
def required(tmp_path: Path) -> Tokens:
    digest = hashlib.sha256(b"secret").hexdigest()
    (tmp_path / "tokens").write_text(f"reader:read:{digest}\n")
    return Tokens(tmp_path / "tokens", local=b"of commands")


def bearer(token: bytes) -> dict[bytes, bytes]:
    return {**LOCAL, b"authorization": b"Bearer " + token}


def status(told: Caller | TurnedAway) -> int:
    return told.status if isinstance(told, TurnedAway) else 200


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
    "header", [{b"origin": b"https://a.example"}, {b"host": b"a.example"}, {b"forwarded": b"x"}]
)
def test_without_tokens_nobody_else_calls(header: dict[bytes, bytes]) -> None:
    assert status(admit(Tokens(None), {**LOCAL, **header}, "read")) == 403
