"""The ledger page tells how sound the log is and hands out what proves it."""

from tests.dashboard.conftest import OpenLog, Visit
from tests.dashboard.occurrences import before, review
from tests.dashboard.reading import metrics, page_text

BROKEN = {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"}
HISTORY = [review("prc_1", before(days=10)), review("prc_1", before(days=10)), BROKEN]


def test_deliveries_and_quarantine_are_counted_and_shown(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("ledger")
    shown = metrics(app)
    assert shown["Entries"] == ("2", "none missing")
    assert shown["Deliveries"] == ("1", "0 delivered again")
    assert shown["In quarantine"] == ("1", "a review may hide in one")
    assert list(app.dataframe[0].value["seq"]) == [2]
    assert "prazo quarantine --replay" in page_text(app)


def test_the_checkpoint_and_its_key_are_there_to_take_away(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("ledger")
        note, key = service.checkpoint().note, str(service.signer.key)
        shown = [block.value for block in app.code]
    assert note.splitlines()[:2] in [block.splitlines()[:2] for block in shown]
    assert key in shown


def test_verifying_runs_every_check_and_says_what_it_found(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("ledger")
        next(it for it in app.button if it.label == "Verify now").click().run()
        assert "checks found nothing wrong." in app.success[0].value
        service.ledger.cursor().execute("insert into facts.reviews select * from facts.reviews")
        app = visit("ledger")
        next(it for it in app.button if it.label == "Verify now").click().run()
        assert app.error, "a fact that is there twice must not pass"
