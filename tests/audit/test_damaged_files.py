"""Files that were cut or written over: refused, recovered or named, and never a traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.errors import InboxUnavailable, PrazoError
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests import depth
from tests.audit.conftest import entries_alone
from tests.continuity.stores.test_stores import faults, in_inbox

CUTS: dict[str, Callable[[bytes], bytes]] = {
    "cut to half": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "zeroed in the middle": lambda content: content[:8192] + bytes(8192) + content[16384:],
    "another file": lambda content: b"not a database at all, but long enough to look at" * 100,
}


@entries_alone
@pytest.mark.parametrize("cut", CUTS)
def test_a_damaged_inbox_file_is_refused_or_named_and_never_a_traceback(
    settings: Settings, cut: str
) -> None:
    path = Path(settings.inbox)
    path.write_bytes(CUTS[cut](path.read_bytes()))
    try:
        found = faults(settings)
    except PrazoError as refused:
        found = [str(refused)]
    assert found


@pytest.mark.parametrize("change", ["name = 'lag'", "value = x'ff'"])
def test_an_inbox_that_does_not_say_which_log_it_holds_is_refused(
    settings: Settings, change: str
) -> None:
    """Every command ended with a traceback where the name was not a text."""
    in_inbox(settings, f"update meta set {change} where name = 'log'")
    with pytest.raises(InboxUnavailable, match="does not say which log it holds"):
        open_inbox(settings.inbox)


@entries_alone
@pytest.mark.parametrize("cut", depth.few(list(CUTS), 2))
def test_a_damaged_ledger_file_is_recovered_or_named(settings: Settings, cut: str) -> None:
    settings.ledger.write_bytes(CUTS[cut](settings.ledger.read_bytes()))
    service = LedgerService(settings)
    try:
        assert service.status().recovered or audit(service).faults
        service.rebuild()
        assert audit(service).faults == []
    finally:
        service.close()
