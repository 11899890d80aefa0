"""Of a log that nothing was recorded in yet nothing is verified."""

from contextlib import closing
from pathlib import Path

from pipeline.continuity.service import LedgerService
from pipeline.inbox import open_inbox
from pipeline.serve import ledger_access
from tests.support.stores import settings_in


def test_the_first_verification_of_all_finds_no_fault(tmp_path: Path) -> None:
    """It said NOT VERIFIED: of a ledger's file without an entry, DuckDB's statistics gave another
    last instant than stands in it. Then it said VERIFIED, of an inbox that a full disk had left."""
    settings = settings_in(tmp_path)
    open_inbox(settings.inbox).close()
    LedgerService(settings).close()  # now there are statistics of a file
    verdict = ledger_access.audit(settings, None, lambda *_: None)
    assert verdict.faults == []
    assert verdict.exit_code == 3
    assert [it for it in verdict.lines() if it.startswith(("VERIFIED", "UNDECIDED"))] == [
        "UNDECIDED: no fault was found, and not everything could be compared"
    ]
    assert verdict.undecided == [
        "inbox and ledger hold no entry: there is nothing yet that could be verified"
    ]
    with closing(LedgerService(settings)) as service:
        assert service.ledger.size == 0
