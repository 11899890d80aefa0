"""The list of all processes: what it asks of the ledger at a click."""

import pytest

from app_pages.desk import visits
from app_pages.parts import views
from pipeline import instants
from pipeline.continuity.service import LedgerService
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, review


def noted(service: LedgerService, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each view that is read from here on."""
    asked: list[str] = []

    def noting(view: str, **options: object) -> object:
        asked.append(view)
        return read(view, **options)

    read = service.reader.records
    monkeypatch.setattr(service.reader, "records", noting)
    return asked


@pytest.mark.long
def test_a_number_beside_a_filter_counts_what_the_other_filters_leave(
    open_log: OpenLog, visit: Visit
) -> None:
    """Two ACI, one finished in time and one ten days late, and an ACP in its first days."""
    history = [
        review("prc_done", before(days=100)),
        *attempt("prc_done", before(days=99), status=200),
        review("prc_late", before(days=40)),
        review("prc_new", before(days=2), kind="ACP"),
    ]
    with open_log(history):
        said = [
            [visit("process", **asked).button_group(key=key).options for key in ("ends", "type")]
            for asked in ({}, {"ends": "expired"}, {"opened": "90", "type": "ACP"})
        ]
    ends = (
        "Any",
        "Finished in time",
        "Finished late",
        "PENDING · in time",
        "OVERDUE · in time",
        "EXPIRED · late",
    )
    assert said == [
        [
            [f"{name} ({n})" for name, n in zip(ends, numbers, strict=True)],
            [f"ACP ({acp})", f"ACI ({aci})"],
        ]
        for numbers, acp, aci in (
            ((3, 1, 0, 1, 0, 1), 1, 2),
            ((3, 1, 0, 1, 0, 1), 0, 1),
            ((1, 0, 0, 1, 0, 0), 1, 1),
        )
    ]


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
