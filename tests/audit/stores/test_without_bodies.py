"""An analyst's ledger is verified as what it is."""

from contextlib import closing

import pytest

from pipeline.errors import LedgerRefused
from pipeline.ledger.service import LedgerService, unheld_ledger
from pipeline.serve import commands
from pipeline.settings import Settings


def test_a_ledger_without_bodies_that_nobody_holds_is_verified(settings: Settings) -> None:
    """It was NOT VERIFIED, whatever it held: it was opened as one that has bodies."""
    analyst = settings.model_copy(update={"ledger": settings.ledger.with_name("analyst.duckdb")})
    with closing(LedgerService(analyst, is_keeper=False, without_bodies=True)) as service:
        service.catch_up()
    verdict = commands.audit(analyst, None, lambda *_: None)
    assert verdict.faults == []
    assert verdict.checked[0].startswith("16 entries stand in inbox and ledger")
    with pytest.raises(LedgerRefused, match="without bodies"), unheld_ledger(analyst):
        pass
