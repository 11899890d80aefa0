"""What code cites is there: each document that a comment or a docstring names, and its section."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.submit import rules
from tests.docs import pages
from tests.docs.pages import ROOT

FOLDERS = ("app_pages", "pipeline", "queries", "sandbox", "tests")
BESIDE = ("app.py", "pyproject.toml", "Makefile", ".importlinter", ".ci/run")
SUFFIXES = {".py", ".sql", ".toml", ".html", ".css", ".po"}

CITATION = re.compile(r"\bdocs/[\w/-]+\.(?:md|svg|png)(?:#[\w-]+)?")
BARE = re.compile(r"(?<![\w/-])[\w-]+\.md\b|\bDECISIONS\b")
NUMBERED = re.compile(r"(?<!RFC \d{4} )(?<!RFC \d{4}, )\bsections? [0-9]")
LETTERS = ("docs/", ".md", "DECI", "section")
"""Whatever one of these patterns finds has some of these letters."""
AT_THE_ROOT = {"CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"}


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (it for it in (ROOT / folder).rglob("*") if it.suffix in SUFFIXES)
    yield from (ROOT / it for it in BESIDE)


TEXTS = {str(it.relative_to(ROOT)): it.read_text(encoding="utf-8") for it in sources()}


def faults(text: str) -> list[str]:
    """The citations of a text that lead nowhere."""
    # Most lines have none, and looking for letters takes less time than for a pattern.
    text = "\n".join(line for line in text.splitlines() if any(it in line for it in LETTERS))
    found = []
    for citation in CITATION.findall(text):
        name, _, section = citation.partition("#")
        page = ROOT / name
        if not page.is_file() or (section and section not in pages.anchors(page)):
            found.append(citation)
    rest = CITATION.sub("", text)
    found += [it for it in BARE.findall(rest) if it not in AT_THE_ROOT]
    return found + NUMBERED.findall(rest)


def test_each_citation_in_the_code_leads_to_a_document_and_a_section_that_exist():
    found = {name: wrong for name, text in TEXTS.items() if (wrong := faults(text))}
    assert found == {}, "name a page as docs/<page>.md, and a heading of it behind a #"


def test_citations_are_found():
    cited = {it for text in TEXTS.values() for it in CITATION.findall(text)}
    assert "docs/rules.md" + "#findings" in cited


@pytest.mark.parametrize(
    "text",
    [
        "as in {rules}.md",
        "as in {rules}.md section {six}",
        "as in docs/{rules}.md#no-such-section",
        "as in docs/no-such-{rules}.md",
        "as section {six} says",
    ],
)
def test_a_citation_that_leads_nowhere_is_named(text):
    assert faults(text.format(rules="rules", six=6))


@pytest.mark.parametrize(
    "text", ["as in docs/{rules}.md#findings", "as in README.md", "RFC 9162, section 2.1.1"]
)
def test_a_citation_that_leads_somewhere_is_not(text):
    assert faults(text.format(rules="rules", six=6)) == []


def test_refusals_name_sections_of_the_contract():
    """A violation says which clause it breaks, and `docs/contract.md` has them all."""
    named = {
        value
        for name, value in vars(rules).items()
        if re.fullmatch(r"_[A-Z]\w*[A-Z]", name) and isinstance(value, str)
    }
    titles = set(pages.headings(ROOT / "docs/contract.md"))
    assert {it.partition(", ")[0] for it in named} <= titles
    assert "Submission body fields" in named
