"""Numbers take the right plural and dates are written one way, on every page, in both languages."""

import re

import pytest

from app_pages.language import formats
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.language.test_formats import speak
from tests.app_pages.support.occurrences import attempt, before, collected, review, seller_event
from tests.app_pages.support.reading import texts
from tests.language.test_catalogue import catalogue

# One of each thing that a page counts.
HISTORY = [
    seller_event("sel_ana", "created", before(days=100), taxpayer="52998224725"),
    seller_event(
        "sel_ana",
        "denied",
        before(days=3),
        taxpayer="52998224725",
        decision_reasons=[{"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}],
        retry=False,
    ),
    seller_event("sel_ana2", "created", before(days=2), taxpayer="52998224725"),
    seller_event("sel_ana2", "enabled", before(days=1), taxpayer="52998224725"),
    review("prc_1", before(days=40), fields=["revenue"]),
    collected("prc_1", "invited", before(days=39)),
    *attempt("prc_1", before(days=1, hours=1), status=500),
]
ADDED = [{"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"}]
PAGES: list[tuple[str, dict[str, str]]] = [
    ("overview", {}),
    ("watchlist", {}),
    ("since", {"since": "friday"}),
    ("process", {"process": "prc_1"}),
    ("alerts", {}),
    ("seller", {"seller_id": "sel_ana"}),
    ("findings", {}),
    ("submissions", {}),
    ("denials", {}),
    ("trends", {}),
    ("evidence", {"subject": "prc_1"}),
    ("ledger", {}),
]
ONE_OF_MANY = re.compile(r"(?<![\d.,:/+#-])1 (?!ms\b|is\b|as\b|das\b|dos\b)[a-zç]*[^s\W]s\b")
"""Of which there is one, and which ends as if there were several, in either language."""
OTHER_DATES = {
    "en": re.compile(
        r"\b\d{4}-\d\d-\d\d\b|\b\d\d?/\d\d?/\d{2,4}\b|\b[A-Z][a-z]{2,8} \d{1,2}, \d{4}"
    ),
    "pt": re.compile(
        r"\b\d{4}-\d\d-\d\d\b|\b\d\d?/\d\d?/\d\d\b|\b\d{1,2} (?:de )?[a-zç]{3,9}\.? (?:de )?\d{4}"
    ),
}


@pytest.mark.parametrize("lang", ["en", "pt"])
def test_one_is_one_and_a_date_is_written_one_way(
    lang: str, open_log: OpenLog, visit: Visit
) -> None:
    wrong = []
    with open_log([*HISTORY, *ADDED]):
        for page, query in PAGES:
            for text in texts(visit(page, lang=lang, **query)):
                for found in (*ONE_OF_MANY.finditer(text), *OTHER_DATES[lang].finditer(text)):
                    wrong.append((page, found[0], text))
    assert wrong == [], "use ngettext for what is counted, and formats.day or formats.minute"


FIXED = {
    "Type at least {n} characters.",
    "At most {n} characters go into the log: this text has {total}.",
    "Send to {n} sellers at most: cannot be undone",
    "nested deeper than {n} levels",
    "Showing its first {n} entries.",
    "The first {n} of {total} rows; the download has them all.",
    "More than {n} rows are not compared: choose filters.",
    "Only the first {n} of {total} deadlines",
    "There are {n} short questions. Each answer is saved at once.",
    "{days} days, every field is sent.",
    "{days} days, only the requested fields are sent.",
    "There are {n} short questions, or {most} for a business. Each answer is saved at once.",
    "No forecast of {days} days ago can be judged yet.",
    "How good were the forecasts of {days} days ago? {said}",
}
"""Their number is a limit of ours, far above one; or one has a text of its own."""
SEVERAL = re.compile(
    r"\{(?!name|number|share|first)(\w+)\}\*{0,2} "
    r"(?!as\b|is\b|has\b|nos\b|mais\b|stands\b)[a-zç]*[^s\W]s\b"
)


def test_what_is_counted_has_a_singular_of_its_own() -> None:
    """A text with one form may count nothing in the plural, in either language; one with two forms
    counts one thing, since a second number could be one where the first is many."""
    unsure = []
    for message, translations in catalogue().items():
        if isinstance(message, str):
            if message not in FIXED and any(map(SEVERAL.search, (message, *translations))):
                unsure.append(message)
        else:
            counted = {name for text in translations for name in SEVERAL.findall(text)}
            if len(counted) > 1:
                unsure.append(message[1])
    assert unsure == [], "use ngettext, one number in each; or name a number of ours in FIXED"


@pytest.mark.parametrize(
    ("change", "english", "portuguese"),
    [
        (0.0, "0 points", "0 ponto"),
        (0.0004, "0 points", "0 ponto"),
        (0.005, "+0.5 points", "+0,5 ponto"),
        (-0.01, "-1.0 point", "-1,0 ponto"),
        (0.019, "+1.9 points", "+1,9 ponto"),
        (0.02, "+2.0 points", "+2,0 pontos"),
    ],
)
def test_points_are_counted_as_each_language_does(
    change: float, english: str, portuguese: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    speak(monkeypatch, "en")
    assert formats.points(change) == english
    speak(monkeypatch, "pt")
    assert formats.points(change) == portuguese
