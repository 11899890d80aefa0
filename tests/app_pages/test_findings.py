"""Findings are listed the gravest first, each with what it may cost and what to do."""

import pytest

from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, review
from tests.app_pages.support.reading import page_text, plain

# One expired and never started, and one sent without evidence: each a breach.
HISTORY = [
    review("prc_late", before(days=40)),
    review("prc_sent", before(days=5), seller="sel_bia"),
    *attempt("prc_sent", before(days=4), status=200, seller="sel_bia"),
]


def test_the_gravest_come_first_with_what_they_may_cost(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("findings")
    grid = app.dataframe[0].value
    assert list(grid) == [  # a browser gets no column that it does not show
        *("severity", "rule", "process_id", "seller_name", "detail", "found_at"),
    ]
    assert [list(cell) for cell in grid["severity"]][:2] == [["Breach"], ["Breach"]]
    assert list(grid["rule"])[:2] == ["Field sent without evidence", "Expired, unfinished"]
    assert "penalties" in page_text(app)


def test_a_finding_names_the_entry_that_proves_it(open_log: OpenLog, visit: Visit) -> None:
    """The attempt of prc_sent begins with entry 3, after the two review events."""
    with open_log(HISTORY) as service:
        [entry] = service.reader.read("timeline", where={"seq": 3}).to_pylist()
        shown = page_text(visit("findings", rule="field_without_evidence"))
    assert "The entry that shows it" in shown
    assert f"Submission sent 28 May 2026, 09:00:00 · entry 3 · {entry['leaf_hash'][:8]}" in shown


def test_findings_are_filtered_by_severity_rule_and_process(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        by_rule = visit("findings", rule="field_without_evidence").dataframe[0].value
        by_severity = visit("findings", severity="breach").dataframe[0].value
        by_process = visit("findings", of="sent").dataframe[0].value
        nothing = page_text(visit("findings", of="nobody"))
    assert list(by_rule["process_id"]) == ["prc_sent"]
    assert list(by_rule["detail"]) == ["Revenue"]  # it was `revenue`
    assert set(by_severity["process_id"]) == {"prc_late", "prc_sent"}
    assert set(by_process["process_id"]) == {"prc_sent"}
    assert "No finding matches these filters" in nothing


@pytest.mark.long
def test_a_number_beside_a_filter_counts_what_the_other_filters_leave(
    open_log: OpenLog, visit: Visit
) -> None:
    """Anyone who had chosen risks, or typed a process, read "Breach (2)" and "Expired, unfinished
    (1)" as before. prc_idle is OVERDUE, and nobody has begun on it."""
    with open_log([*HISTORY, review("prc_idle", before(days=28))]):
        pages = [
            visit("findings", **asked)
            for asked in ({}, {"severity": "risk"}, {"of": "sent"}, {"rule": "expired_unfinished"})
        ]

    def left(options: list[str]) -> list[str]:
        return [plain(it) for it in options if "(0)" not in it]

    assert [left(it.pills(key="severity").options) for it in pages] == [
        ["Breach (2)", "Risk (1)"],
        ["Breach (2)", "Risk (1)"],
        ["Breach (1)"],
        ["Breach (1)"],
    ]
    expired, idle, unproven = [
        "Expired, unfinished (1)",
        "OVERDUE, journey not started (1)",
        "Field sent without evidence (1)",
    ]
    assert [set(left(it.multiselect(key="rule").options)) for it in pages] == [
        {expired, idle, unproven},
        {idle},
        {unproven},
        {expired, idle, unproven},
    ]


def test_the_table_by_rule_stays_whole(open_log: OpenLog, visit: Visit) -> None:
    """Whatever is filtered above it: a shorter one would say again what is behind each rule's
    name."""
    with open_log(HISTORY):
        app = visit("findings", of="sent", severity="risk")
    assert "No finding matches these filters" in page_text(app)
    assert list(app.table[0].value["Rule"]) == [
        "Expired, unfinished",
        "Field sent without evidence",
    ]


def test_without_a_broken_rule_the_page_says_so(open_log: OpenLog, visit: Visit) -> None:
    with open_log([review("prc_new", before(days=20), kind="ACP")]):
        assert "No rule is broken" in page_text(visit("findings"))
