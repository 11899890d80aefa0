"""Entries that somebody who can write into the inbox made unreadable."""

import pytest

from pipeline.settings import Settings
from tests.audit.conftest import command
from tests.continuity.stores.test_stores import in_inbox


@pytest.mark.parametrize(
    ("seq", "change"),
    [(4, "body = null"), (4, "body = cast('[1]' as blob)"), (6, "record = cast('[]' as blob)")],
)
def test_an_entry_that_cannot_be_read_is_named_where_no_ledger_is_left(
    settings: Settings, seq: int, change: str
) -> None:
    """`prazo verify` ended in a traceback, which named neither the entry nor a remedy."""
    in_inbox(settings, f"update entries set {change} where seq = {seq}")
    settings.ledger.unlink()
    verified = command(settings, "verify")
    assert f"FAULT    Entry {seq} cannot be read: its bytes are not" in verified.stdout
    assert (verified.returncode, "Traceback" in verified.stderr) == (1, False)
