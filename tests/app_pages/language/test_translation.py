"""No text of a page escapes translation, and none sends its reader where nothing is."""

import json
import re
from gettext import NullTranslations
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.language import occurrences
from pipeline.contract.events import read_event
from pipeline.errors import Unreadable
from pipeline.language import catalogue as language
from tests.app_pages.conftest import ROOT, OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, collected, review, seller_event
from tests.app_pages.support.reading import chart, texts
from tests.language.test_catalogue import catalogue, messages


@pytest.mark.parametrize(
    "body",
    [
        b"\xff",
        b"nothing",
        b"[" * 200,
        b'{"a":"x',
        b'{"a":"\\q"}',
        b'{"a":1,"a":2}',
        b'{"a b@c":1,"a b@c":2}',
        b'{"a":99999999999999999999999}',
        b'{"a":1e999}',
        b'{"a":NaN}',
        b'{"a":"\\ud800"}',
        b"[]",
        b"{}",
        b'{"type":"regulatory.registration.review.required"}',
        b'{"type":"regulatory.registration.review.required","payload":{"object":{}}}',
    ],
)
def test_why_a_delivery_is_in_quarantine_is_said_in_the_readers_language(
    body: bytes,
) -> None:
    with pytest.raises(Unreadable) as unreadable:
        read_event(body)
    translated = occurrences.unreadable(unreadable.value.what, "pt")
    assert translated != unreadable.value.what
    english = r"\b(?:not|the|beyond|without|levels|twice|Expecting|Unterminated|Invalid|invalid)\b"
    assert not re.search(english, translated), translated


class Bracketed(NullTranslations):
    """Shows every translated text in brackets: what stands outside of them was never translated."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid2}⟧"


HISTORY = [
    seller_event("sel_ana", "created", before(days=100)),
    seller_event(
        "sel_ana",
        "denied",
        before(days=99),
        decision_reasons=[{"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}],
        retry=True,
    ),
    review("prc_1", before(days=40)),
    review("prc_2", before(days=45), kind="ACP"),
    collected("prc_1", "answered", before(days=39)),
    *attempt("prc_1", before(days=38), status=500),
    *attempt("prc_1", before(days=37), error="timeout"),
]
ADDED = [{"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"}]

# What is the same in every language: names, ids, codes of the platform, units, commands.
OF_NO_LANGUAGE = re.compile(
    r"prc_\w+|sel_\w+|evt_[\w:.\-]+|att_[\w:.\-]+|jrn_\w+|file:[0-9a-f]+|\b[0-9a-f]{8,64}\b"
    r"|America/\w+|Europe/\w+|UTC|São Paulo|Sao Paulo|\bEN\b|\bHTTP\b|\bAC[PI]\b"
    r"|Language · Idioma|\ben\b|\bpt\b|\b\d{1,2} [A-Z][a-z]{2,3}\b"
    r"|\b[A-Z][a-z]{2,3} 20\d\d\b"
    r"|\b(?:ms|s|min|h|d)\b|\bACI?\b|revenue|address\.\w+|SHA-256"
    r"|\bCSV\b|\bParquet\b|\bXLSX\b"
    r"|prazo (?:ingest|verify|quarantine|submit|collect|forget) .*"
    r"|\]\(#\w+\)"
    r"|prazo/[0-9a-f]+|[A-Za-z0-9+/]{40,}=*|\+[0-9a-f]{8}\+"
)


def drawn_texts(app: AppTest) -> list[str]:
    """What grids and charts write: heads and hints of columns, names, ticks, marks."""
    found: list[str] = []
    for grid in app.dataframe:
        columns = json.loads(grid.proto.columns or "{}").values()
        found += [text for it in columns for text in (it.get("label"), it.get("help")) if text]
    for number in range(len(app.get("plotly_chart"))):
        figure: Any = chart(app, number)
        layout = figure["layout"]
        found += [it["text"] for it in layout.get("annotations", ())]
        found += [
            text
            for axis in ("xaxis", "yaxis")
            for name in ("ticktext", "categoryarray")
            for text in layout.get(axis, {}).get(name, ())
        ]
        for trace in figure["data"]:
            found += [trace["name"]] if "name" in trace else trace.get("node", {}).get("label", [])
            found += [it for it in trace.get("customdata", ()) if isinstance(it, str)]
    return [re.sub(r"<br>|%\{.*?\}", " ", text) for text in found]


PAGES: tuple[tuple[str, dict[str, str]], ...] = (
    ("overview", {}),
    ("watchlist", {}),
    ("watchlist", {"seller": "nobody"}),
    ("since", {"since": "friday"}),
    ("process", {}),
    ("process", {"process": "prc_1"}),
    ("process", {"process": "prc_9"}),
    ("seller", {}),
    ("seller", {"seller_id": "sel_ana"}),
    ("seller", {"seller_id": "sel_nobody"}),
    ("findings", {}),
    ("findings", {"of": "nobody"}),
    ("submissions", {}),
    ("denials", {}),
    ("trends", {}),
    ("privacy", {}),
    ("privacy", {"seller_id": "sel_ana"}),
    ("evidence", {"subject": "prc_1"}),
    ("evidence", {"scope": "seller", "subject": "sel_ana"}),
    ("evidence", {"scope": "period"}),
    ("ledger", {}),
)


def untranslated(text: str) -> bool:
    """Whether words stand outside of the brackets."""
    rest = text
    while "⟦" in rest and (inner := re.sub(r"⟦[^⟦⟧]*⟧", "", rest)) != rest:
        rest = inner
    return re.search(r"[A-Za-z]{2,}", OF_NO_LANGUAGE.sub("", rest)) is not None


def test_no_text_on_a_page_escapes_translation(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "translations", lambda _: Bracketed())
    found = []
    with open_log([*HISTORY, *ADDED]):
        for page, query in PAGES:
            app = visit(page, **query)
            shown = [*texts(app), *drawn_texts(app)]
            assert any("⟦" in text for text in shown), page
            found += [(page, query, text) for text in shown if untranslated(text)]
    assert found == [], "write each text by _(); name in OF_NO_LANGUAGE what no language changes"


def test_no_text_of_a_page_is_a_command() -> None:
    """The reader of a page may have no terminal: a text names the section of the guide that says
    how instead. The checklist of an empty log may name commands: anyone who runs Prazo reads it."""
    commands = re.compile(r"\bprazo [a-z]+|\bPRAZO_[A-Z_]+")
    found = [
        f"{where}: {message}"
        for message, where in messages()
        if not where.startswith("pipeline/")
        and "/first_steps.py" not in where
        and commands.search(str(message))
    ]
    assert not found, "name the section of the guide that says how"


def test_a_section_of_the_guide_that_a_text_names_is_there() -> None:
    """As a heading of the page of that name, in both languages: the guide is in English."""
    named = re.compile(r"\*([^*]+)\* (?:in the guide|no guia) \*([^*]+)\*")
    pages = {
        page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "): page
        for page in (ROOT / "docs").glob("*.md")
    }
    said = [
        (section, page)
        for entry, translations in catalogue().items()
        for text in (entry, *translations)
        for section, page in named.findall(str(text))
    ]
    assert len(said) > 20
    for section, page in said:
        assert f"## {section}\n" in pages[page].read_text(encoding="utf-8"), (section, page)
