"""The rules and kinds of entries that pages explain are those that the report names."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from app_pages.language import occurrences
from app_pages.language.rulebook import RULES
from pipeline.audit.package.report_texts import WORDS
from pipeline.language import codes
from pipeline.ledger.views.catalogue import catalogue
from tests.docs import pages


@pytest.mark.parametrize("language", WORDS)
def test_the_report_has_a_name_for_every_rule_and_every_kind_of_entry(language: str) -> None:
    """An assignment stood as `assignment` in it, in both languages: no test asked for its name."""
    codes = {*RULES, *occurrences.KINDS, *occurrences.CHANNELS, *occurrences.ERRORS}
    codes |= {f"alert_{step}" for step in occurrences.ALERT_STEPS}
    codes |= {f"ticket_{step}" for step in occurrences.TICKET_STEPS}
    codes |= {f"clearance_{step}" for step in occurrences.CLEARANCE_STEPS}
    unnamed = codes - WORDS[language].words.keys()
    assert unnamed == set(), "name them in pipeline/audit/package/report_texts.py"


def listed_kinds() -> set[str]:
    """The kinds of entries that docs/rules.md lists."""
    page = pages.text(pages.ROOT / "docs/rules.md")
    table = page.partition("| kind | happens when |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\|(.*?)\|", table, re.MULTILINE)
    return {kind for cell in cells for kind in re.findall("`(.*?)`", cell)}


def test_every_kind_of_entry_that_the_rules_list_has_a_name_on_pages() -> None:
    kinds = listed_kinds()
    assert {"webhook", "ticket"} < kinds
    assert kinds - occurrences.KINDS.keys() == set(), "name them in occurrences.py"


def kinds_in(path: Path) -> Iterator[str]:
    """The kinds of the drafts that a module makes, where it says them by a word or a constant."""
    if not re.search(r"\b(?:Draft|action|_signed)\(", text := path.read_text(encoding="utf-8")):
        return
    makers = {"Draft", "action", *(["_signed"] if path.stem == "actions" else [])}
    for call in ast.walk(ast.parse(text)):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in makers
        ):
            said = [it.value for it in call.keywords if it.arg == "kind"]
            for kind in [*said, *call.args][:1]:
                if isinstance(kind, ast.Constant):
                    yield str(kind.value)
                elif isinstance(kind, ast.Name) and kind.id.isupper():
                    name = ".".join(path.relative_to(pages.ROOT).with_suffix("").parts)
                    yield getattr(importlib.import_module(name), kind.id)


def test_every_kind_of_entry_that_is_recorded_is_listed_in_the_rules() -> None:
    """From there its names are asked for; of one that was recorded alone, nothing asked for any."""
    folders = [pages.ROOT / name for name in ("pipeline", "app_pages")]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    kinds = {kind for file in files for kind in kinds_in(file)}
    assert {"webhook", "reminded", "key_rotation", "note"} < kinds
    assert kinds - listed_kinds() == set(), "list them in docs/rules.md#occurrences"


def test_every_code_of_the_contract_is_on_its_page_and_has_a_name() -> None:
    """Nothing held the list that decides what is a `new_code` to what people read of it."""
    sql = f"select kind, code from ({catalogue()['contract_codes'].sql})"
    rows = duckdb.connect(":memory:").execute(sql).fetchall()
    page = pages.text(pages.ROOT / "docs/contract.md")
    # A path stands there by its last name, one of an owner's address too.
    names = {it: it.rpartition(".")[2] if kind == "requested path" else it for kind, it in rows}
    unsaid = [code for code, name in names.items() if f"`{name}`" not in page]
    assert unsaid == [], "write them into docs/contract.md"
    for kind, names in {
        "event type": occurrences.EVENTS,
        "review status": codes.STATES,
        "reason": codes.REASONS,
        "detail": codes.DETAILS,
    }.items():
        listed = {code for of, code in rows if of == kind}
        assert listed - names.keys() == set(), f"name each {kind} in app_pages/language/"
