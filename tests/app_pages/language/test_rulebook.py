"""Pages of the guide list every kind of entry and every code of the contract."""

import re

import duckdb

from pipeline.ledger.views.catalogue import catalogue
from pipeline.log.kinds import kinds
from tests.docs import pages


def listed_kinds() -> set[str]:
    """The kinds of entries that docs/rules.md lists."""
    page = pages.text(pages.ROOT / "docs/rules.md")
    table = page.partition("| kind | happens when |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\|(.*?)\|", table, re.MULTILINE)
    return {kind for cell in cells for kind in re.findall("`(.*?)`", cell)}


def test_the_rules_list_every_kind_of_entry_and_nothing_else() -> None:
    """Of one that was recorded alone, nobody read what it means."""
    assert {"webhook", "reminded", "key_rotation", "note"} < kinds().keys()
    assert kinds().keys() == listed_kinds(), "list them in docs/rules.md#occurrences"


def test_the_page_lists_every_kind_that_files_may_have() -> None:
    page = pages.text(pages.ROOT / "docs/operations.md")
    table = page.partition("| kind | besides |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\|(.*?)\|", table, re.MULTILINE)
    listed = {kind for cell in cells for kind in re.findall("`(.*?)`", cell)}
    assert listed == {code for code, kind in kinds().items() if kind.is_in_files}


def test_every_code_of_the_contract_is_on_its_page() -> None:
    """Nothing held the list that decides what is a `new_code` to what people read of it."""
    sql = f"select kind, code from ({catalogue()['contract_codes'].sql})"
    rows = duckdb.connect(":memory:").execute(sql).fetchall()
    page = pages.text(pages.ROOT / "docs/contract.md")
    # A path stands there by its last name, one of an owner's address too.
    names = {it: it.rpartition(".")[2] if kind == "requested path" else it for kind, it in rows}
    unsaid = [code for code, name in names.items() if f"`{name}`" not in page]
    assert unsaid == [], "write them into docs/contract.md"
