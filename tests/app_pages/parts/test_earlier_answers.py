"""An answer about an earlier instant stands until an entry comes that occurred by then."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app_pages.parts import answers, views
from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.files import reread
from pipeline.ledger.views.reader import Reader
from tests.app_pages.conftest import OpenLog, fill, follow
from tests.app_pages.support.occurrences import before, review, seller_event

THEN = instants.from_datetime(before(days=10))
HISTORY = [
    review("prc_1", before(days=20)),
    review("prc_2", before(days=5), seller="sel_bia"),
    seller_event("sel_caio", "created", before(days=30)),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The views of which the ledger was asked, in order."""
    names: list[str] = []
    for method in ("records", "count", "groups"):
        honest = getattr(Reader, method)

        def noting(self: Reader, view: str, *some: Any, _honest: Any = honest, **more: Any) -> Any:
            names.append(view)
            return _honest(self, view, *some, **more)

        monkeypatch.setattr(Reader, method, noting)
    return names


@pytest.fixture
def service(open_log: OpenLog, monkeypatch: pytest.MonkeyPatch) -> Iterator[LedgerService]:
    """Where no answer is given on another basis than it was made on, nor was to another test."""
    monkeypatch.setattr(answers, "AGE_TO_COST", -1)
    with open_log(HISTORY) as service:
        views._ROWS.forget()
        views._COUNTS.forget()
        yield service


def open_then() -> list[str]:
    """The processes that there were, by what pages read."""
    return [row["process_id"] for row in views.read("process_state", at=THEN)]


def come(service: LedgerService, folder: Path, *lines: dict[str, Any]) -> None:
    fill(folder, lines)
    follow(service)


def test_what_occurs_later_asks_nothing_again_and_what_occurred_by_then_does(
    service: LedgerService, asked: list[str], tmp_path: Path
) -> None:
    assert open_then() == ["prc_1"]
    come(service, tmp_path, review("prc_3", before(days=2)))
    assert open_then() == ["prc_1"]
    assert asked == ["process_state"]
    come(service, tmp_path, review("prc_4", before(days=15)))
    assert open_then() == ["prc_1", "prc_4"]
    assert asked == ["process_state"] * 2


def test_so_it_is_of_one_process_and_of_one_seller(
    service: LedgerService, asked: list[str], tmp_path: Path
) -> None:
    def shown() -> list[list[Any]]:
        of_process = views.read("process_state", at=THEN, where={"process_id": "prc_1"})
        of_seller = views.read("seller_state", at=THEN, where={"seller_id": "sel_ana"})
        return [[it["state"] for it in of_process], [it["open_processes"] for it in of_seller]]

    assert shown() == [["OVERDUE"], [1]]
    come(service, tmp_path, review("prc_9", before(days=2)))  # of sel_ana
    come(service, tmp_path, review("prc_1", before(days=20), status="FINISHED", at=before(days=1)))
    assert shown() == [["OVERDUE"], [1]]
    assert asked == ["process_state", "seller_state"]
    come(service, tmp_path, review("prc_1", before(days=20), status="FINISHED", at=before(days=12)))
    assert shown() == [["FINISHED"], [0]]


def test_what_somebody_records_leaves_answers_that_still_hold(
    service: LedgerService, asked: list[str]
) -> None:
    open_then()
    views.read("process_state")
    views.forget_answers()
    open_then()
    assert asked == ["process_state"] * 2
    views.read("process_state")
    assert asked == ["process_state"] * 3


def test_the_page_says_up_to_which_entry_it_counts(service: LedgerService, tmp_path: Path) -> None:
    views.begin()
    open_then()
    come(service, tmp_path, review("prc_3", before(days=2)))
    views.begin()
    open_then()
    assert views.rests_on()[1] == service.ledger.size == len(HISTORY) + 1


def test_what_is_said_of_the_log_counts_each_entry(service: LedgerService, tmp_path: Path) -> None:
    def last() -> list[int]:
        [health] = views.read("ledger_health", at=THEN)
        return [health["last_seq"], views.read("log_entries", at=THEN)[-1]["seq"]]

    assert last() == [3, 3]
    come(service, tmp_path, review("prc_3", before(days=2)))
    assert last() == [4, 4]


def names() -> list[str]:
    return [row["seller_name"] for row in views.read("seller_names", at=THEN) if row["seller_name"]]


def test_an_erasure_takes_every_answer_with_it(
    service: LedgerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that would be given a little longer."""
    monkeypatch.setattr(forgetting, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(answers, "AGE_TO_COST", 1_000_000)
    assert names() == ["A***"]
    open_then()
    said = {"reason": "a request", "actor": "bia", "recorded_by": "user:bia"}
    forget(service.settings, service.inbox, "sel_caio", **said)
    service.rebuild()
    service.catch_up()
    assert names() == []
    assert [it.view for it in views._ROWS._questions] == ["seller_names"]


def test_a_ledger_that_was_opened_again_is_asked_again(
    service: LedgerService, asked: list[str]
) -> None:
    open_then()
    service.ledger.reopen()
    assert open_then() == ["prc_1"]
    assert asked == ["process_state"] * 2


def test_what_the_file_of_alerts_says_since_counts(
    open_log: OpenLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "AGE_TO_COST", -1)
    monkeypatch.setattr(reread, "RECHECK_SECONDS", 0.0)
    file = tmp_path / "alerts.toml"
    file.write_text("", encoding="utf-8")

    def alarming() -> list[tuple[str, str]]:
        alerts = views.read("alerts", at=instants.from_datetime(before(days=19)))
        return [(row["kind"], row["process_id"]) for row in alerts]

    with open_log(HISTORY, alerts_file=file):
        assert alarming() == [("opened", "prc_1")]
        file.write_text("[ladder]\nopened = []\noverdue = false\n", encoding="utf-8")
        assert alarming() == []
