"""The list of all processes: what it asks of the ledger at a click."""

import pytest

from app_pages.desk import visits
from app_pages.parts import views
from pipeline import instants
from pipeline.ledger.service import LedgerService
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import review


def noted(service: LedgerService, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each view that is read from here on."""
    asked: list[str] = []

    def noting(view: str, **options: object) -> object:
        asked.append(view)
        return read(view, **options)

    read = service.reader.read
    monkeypatch.setattr(service.reader, "read", noting)
    return asked


@pytest.mark.parametrize(
    ("page", "chosen", "view"),
    [
        ("process", {"opened": "90"}, "process_state"),
        ("since", {"since": "visit"}, "changes"),
    ],
)
def test_a_click_a_moment_later_asks_the_same(
    open_log: OpenLog,
    visit: Visit,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    chosen: dict[str, str],
    view: str,
) -> None:
    """The last 90 days began at another microsecond at each click, so that no answer was shared and
    each click read all processes."""
    monkeypatch.setattr(visits, "last", lambda: None)
    with open_log([review("prc_new", instants.of(instants.now() - instants.HOUR))]) as service:
        tick = views.TICK_SECONDS * instants.SECOND
        now = instants.now() // tick * tick
        monkeypatch.setattr(service.inbox, "clock", lambda: now + 1)
        asked = noted(service, monkeypatch)
        app = visit(page, as_of=None, **chosen)
        assert view in asked
        asked.clear()
        monkeypatch.setattr(service.inbox, "clock", lambda: now + instants.SECOND)
        app.run()
        assert view not in asked
