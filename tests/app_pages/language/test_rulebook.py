"""Pages of the guide list every kind of entry and every code of the contract."""

import re

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
