"""The report puts time and codes into words in both languages."""

import pytest

from pipeline.audit.package import report
from pipeline.audit.package.report_texts import WORDS


@pytest.mark.parametrize(
    ("seconds", "english", "portuguese"),
    [
        (3 * 86_400, "3 d left", "vence em 3 d"),
        (2 * 3600 + 7 * 60 + 5, "2 h 7 min left", "vence em 2 h 7 min"),
        (1, "1 s left", "vence em 1 s"),
        (0, "less than 1 s late", "menos de 1 s de atraso"),
        (-240, "4 min late", "4 min de atraso"),
        (-86_400, "1 d late", "1 d de atraso"),
    ],
)
def test_the_time_to_a_deadline_is_as_exact_as_it_is_near(
    seconds: int, english: str, portuguese: str
) -> None:
    assert WORDS["en"].time_left(seconds) == english
    assert WORDS["pt"].time_left(seconds) == portuguese


def test_a_report_begins_with_what_it_comes_to_worst_first() -> None:
    totals = {
        "processes": {"FINISHED": 1200, "EXPIRED": 1, "OVERDUE": 2},
        "findings": {"notice": 4, "breach": 3},
    }
    assert WORDS["en"].summary(totals, 1203, 2) == (
        "This package is about 1,203 processes: 1 × expired, 2 × in tolerance, 1,200 × finished."
        " Findings: 3 × breach, 4 × notice. Fields sent without evidence: 2."
    )
    assert WORDS["pt"].summary({"processes": {"FINISHED": 1}, "findings": {}}, 1, 0) == (
        "Este pacote trata de 1 processo: 1 × concluído."
        " Nenhuma regra foi violada, e todo campo enviado tem evidência."
    )
    assert (
        WORDS["en"]
        .summary({"processes": {}, "findings": {}}, 0, 0)
        .startswith("This package is about no process.")
    )


def test_the_worst_process_stands_first_and_of_equals_the_one_that_came_due_first() -> None:
    def process(name: str, state: str, deadline: str = "", late: str = "") -> dict[str, str]:
        return {
            "process_id": name,
            "state": state,
            "deadline_at": deadline,
            "finished_late": late,
        }

    processes = [
        process("in time", "FINISHED", "2026-01-01T00:00:00Z"),
        process("pending", "PENDING", "2026-01-01T00:00:00Z"),
        process("expired", "EXPIRED", "2026-03-02T00:00:00Z"),
        process("late", "FINISHED", "2026-01-01T00:00:00Z", "True"),
        process("expired before", "EXPIRED", "2026-03-01T00:00:00Z"),
        process("overdue", "OVERDUE", "2026-01-01T00:00:00Z"),
        process("unknown", "UNKNOWN"),
    ]
    assert [it["process_id"] for it in sorted(processes, key=report.urgency)] == [
        *("expired before", "expired", "overdue", "unknown", "pending", "late", "in time"),
    ]


def test_an_entry_says_its_step_and_channel_as_pages_do() -> None:
    """Whether a ticket was opened or closed, and how a seller was told, only pages said."""
    sentence = report._TEMPLATES.from_string(
        '{% import "pieces.html" as pieces with context %}'
        '{% from "processes.html" import sentence with context %}{{ sentence(entry) }}'
    )

    def said(language: str, kind: str, **entry: str) -> str:
        empty = dict.fromkeys(("step", "channel", "reason", "body"), "")
        row = {**empty, "kind": kind, "actor": "Ana", **entry}
        return sentence.render(words=WORDS[language], entry=row, stories=()).strip()

    assert said("en", "ticket", step="opened") == "<b>Support ticket opened</b> · Ana"
    assert said("pt", "ticket", step="closed") == "<b>Chamado encerrado</b> · Ana"
    told = said("pt", "seller_notice", channel="letter")
    assert told == "<b>Aviso ao vendedor</b> · carta · Ana"
    refused = said("en", "clearance", step="refused")
    assert refused == "<b>Refused by a second person</b> · Ana"
    assert said("pt", "assignment") == "<b>Atribuição</b> · Ana"
