"""The page for the boss: what it says is what the views say, in both languages, on one A4."""

import re
import shutil
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pipeline import instants
from pipeline.trends import forecast_score, in_time, one_page, printed
from tests.queries.trends.test_forecast import cohort, opened_with
from tests.support.commands import here
from tests.support.ledgers import ledger_of
from tests.support.lines import seller
from tests.support.stores import environment_in
from tests.trends.conftest import LINES

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
NOW = instants.parse("2026-05-01T00:00:00Z")
PAIR = {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}
DENIED = [
    seller("denied", f"d{n}", f"2026-{when}T00:00:00Z", f"s{n}", decision_reasons=[PAIR])
    for n, when in enumerate(["03-10", *["04-10"] * 9])
]


class Read:
    """A ledger, as the page asks one."""

    def __init__(self, reader):
        self._reader = reader

    def read(self, view, *, as_of=None, filters=()):
        return self._reader.read(view, as_of=as_of)

    def forecast_scores(self, as_of=None):
        return forecast_score.scores(self._reader, as_of=as_of)


@pytest.fixture(scope="module")
def page():
    with ledger_of([*LINES, *DENIED]) as reader:
        return one_page.read(Read(reader), NOW, "Praça")


def test_its_first_sentences_say_the_finding_and_its_title_whose_reviews_these_are(page):
    """Nothing was due in April, the last whole month; one of the two open ones is expected to
    expire for certain, the other has a chance of a half."""
    assert one_page.title(page, "en") == "Praça · Reviews: how it stands and where it goes"
    assert one_page.title(page._replace(marketplace=None), "pt") == "Revisões: situação e tendência"
    found = one_page.finding(page, "en")
    assert found.startswith("20 reviews are EXPIRED (0 in 7 days). Of those open now, 2 are ")
    month = {"review_type": "ACI", "month": instants.of(NOW).date().replace(month=4)}
    april = {**month, "finished_in_time": 3, "due_so_far": 4}
    march = {**april, "month": april["month"].replace(month=3), "finished_in_time": 4}
    of = page._replace(rows={**page.rows, "on_time_by_month": [march, april]})
    assert one_page.finding(of, "en").startswith(
        "No clear change from the period before: 75.0% in time in Apr 2026. 20 reviews are EXPIRED"
    )
    assert one_page.finding(of, "pt").startswith(
        "Sem mudança clara em relação ao período anterior: 75,0% no prazo em abr. 2026. 20 revisões"
    )
    may = {**april, "month": april["month"].replace(month=5), "on_time_share": 0.5, "due_so_far": 2}
    of = page._replace(rows={**page.rows, "on_time_by_month": [march, april, may]})
    so_far = "in time in Apr 2026. May 2026: 1 in time, of 2 due so far. 20 reviews are EXPIRED"
    assert so_far in one_page.finding(of, "en")
    assert one_page.when(of, ZoneInfo("UTC"), "en").endswith(", UTC")


def test_it_has_no_word_that_only_analysts_know(page):
    for language in ("en", "pt"):
        shown = " ".join(" ".join(it) for it in printed.lines(page, ZoneInfo("UTC"), language))
        assert not re.search(
            r"Brier|column|coluna|\bview|\bvisão\b(?! geral)|_", shown, re.IGNORECASE
        )


def test_it_says_what_is_late_how_it_goes_and_what_to_expect(page):
    late, waiting, in_time, expected, denied = one_page.sections(page, ZoneInfo("UTC"), "en")
    assert [(it.label, it.said) for it in late.lines] == [
        ("EXPIRED · late", "20 (0 in 7 days)"),
        ("OVERDUE · in time", "2 (0 in 7 days)"),
        ("Due in 7 days", "1"),
    ]
    assert [tuple(it) for it in waiting.lines] == [("Start a collection", "20 (100.0%)", 1.0, True)]
    assert in_time.title == "Finished in time: ACI, by month of the deadline (full bar: 100%)"
    shares = [(it.label, it.said, it.part) for it in in_time.lines]
    assert shares == [
        ("Mar 2026", "66.7% of 60", pytest.approx(2 / 3)),
        ("May 2026", "0 in time, of 0 due so far", None),
    ]
    assert expected.title.endswith("by week of the deadline (full bar: 1)")
    assert [it.label for it in expected.lines[:2]] == ["week up to 8 May", "week up to 15 May"]
    assert len(expected.lines) == 8
    assert expected.lines[0].said == "1 (between 0 and 1) of 1 due"
    assert "No forecast of 60 days ago can be judged yet." in expected.notes
    [reason] = denied.lines
    assert reason.label == "Document: photo quality too low"
    assert (reason.said, reason.part) == ("9, after 1 in the 30 before: clearly more", 1.0)
    assert denied.title == "Most common reasons of denials in the last 30 days (full bar: 9)"


def test_why_nothing_is_forecast_fits_both_reasons():
    """Fifty of its type ended, yet none was open as long before its deadline."""
    with ledger_of([*cohort(*[5] * 50), *opened_with(5)]) as reader:
        weeks = reader.read("forecast_weeks", as_of=NOW).to_pylist()
    notes = one_page._expected(weeks, [], ZoneInfo("UTC"), "en").notes
    assert notes[1:] == ["Not counted, for lack of comparable reviews in the year before: 1."]


def test_the_month_that_is_not_over_never_has_a_share():
    row = {"month": None, "on_time_share": 1.0, "due_so_far": 3}
    assert in_time.so_far([row], "en") == "3 in time, of 3 due so far"
    today = instants.of(NOW).date().replace(day=20)
    known = {"month": today.replace(day=1), "review_type": "ACI", "due": 9}
    [section] = one_page._in_time([{**row, **known}], today, "pt")
    assert [tuple(it) for it in section.lines] == [
        ("mai. 2026", "3 no prazo, de 3 até agora", None, False)
    ]


def test_of_four_types_those_are_named_of_which_most_were_due():
    today = instants.of(NOW).date()
    row = {"month": today.replace(day=1, month=4), "on_time_share": 1.0, "due_so_far": 3}
    rows = [
        {**row, "review_type": name, "due": due}
        for name, due in [("AAA", 1), ("ACI", 5), ("ACP", 9), (None, 5)]
    ]
    assert [it.title.split(": ")[1] for it in one_page._in_time(rows, today, "en")] == [
        "ACP, by month of the deadline (full bar",
        "ACI, by month of the deadline (full bar",
        "Unknown type, by month of the deadline (full bar",
    ]


def test_reasons_of_which_there_were_none_of_late_are_not_among_the_most_common():
    row = {"reason": "A", "detail": None, "denials_before": 4, "is_more_than_chance": True}
    section = one_page._denied([{**row, "denials_now": 0}], "en")
    assert (section.lines, section.notes) == ([], ("Nobody was denied in the last 30 days.",))
    assert len(one_page._denied([{**row, "denials_now": now} for now in (1, 0)], "en").lines) == 1


def written(folder: Path, name: str, *more: str, **settings: str) -> bytes:
    asked = ("trends", "page", "--as-of", "2026-05-01T00:00:00Z", "--out", name, *more)
    done = here(*asked, environment=environment_in(folder) | settings, folder=folder)
    assert done.returncode == 0, done.stderr
    return (folder / name).read_bytes()


def test_the_command_writes_it_without_a_script_or_anything_from_elsewhere(folder: Path) -> None:
    html = written(folder, "page.html").decode()
    assert '<html lang="pt-BR">' in html
    assert "Revisões: situação e tendência" in html
    assert "66,7% de 60" in html
    assert not re.search(r"<(script|img|svg|link)|https?:", html)


@pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium")
def test_as_a_pdf_it_is_one_page(folder: Path) -> None:
    pdf = written(folder, "page.pdf", "--language", "en", PRAZO_JOURNEY_BROWSER=str(BROWSER))
    assert pdf.startswith(b"%PDF-")
    assert re.findall(rb"/Count (\d+)", pdf) == [b"1"]


def test_without_a_browser_a_pdf_is_refused_before_anything_is_read(folder: Path) -> None:
    asked = ("trends", "page", "--out", "page.pdf")
    done = here(*asked, environment=environment_in(folder), folder=folder)
    assert (done.returncode, "set PRAZO_JOURNEY_BROWSER" in done.stderr) == (2, True)
