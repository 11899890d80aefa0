"""The report puts time and codes into words in both languages."""

import pytest

from app_pages.language import code_texts, occurrences
from pipeline.assign import assigner
from pipeline.audit.package import report
from pipeline.audit.package.report_texts import WORDS
from pipeline.names import BY_RULE


@pytest.mark.parametrize(
    ("state", "seconds", "english", "portuguese"),
    [
        ("OVERDUE", 29 * 86_400, "OVERDUE · in time, 29 days left", "no prazo, faltam 29 dias"),
        ("PENDING", 7620, "PENDING · in time, 2 h 07 left", "no prazo, faltam 2 h 07"),
        ("EXPIRED", 0, "EXPIRED · less than 1 min late", "menos de 1 min de atraso"),
        ("EXPIRED", -86_400, "EXPIRED · 1 day late", "1 dia de atraso"),
        ("EXPIRED", 86_400, "EXPIRED · by the platform's report, 1 day left", "falta 1 dia"),
        ("FINISHED", "", "FINISHED · done", "FINISHED · concluído"),
        ("UNKNOWN", None, "UNKNOWN · no event", "UNKNOWN · sem evento"),
    ],
)
def test_a_state_is_said_first_then_what_it_means_and_the_time_left(
    state: str, seconds: str | int | None, english: str, portuguese: str
) -> None:
    """OVERDUE read "in tolerance", which no platform says; and nobody saw that time was left."""
    assert WORDS["en"].standing(state, seconds) == english
    said = WORDS["pt"].standing(state, seconds)
    assert said.startswith(state)
    assert said.endswith(portuguese)


def test_a_report_begins_with_what_it_comes_to_worst_first() -> None:
    totals = {
        "processes": {"FINISHED": 1200, "EXPIRED": 1, "OVERDUE": 2},
        "findings": {"notice": 4, "breach": 3},
    }
    assert WORDS["en"].summary(totals, 1203, 2) == (
        "This package is about 1,203 processes: 1 × EXPIRED · late, 2 × OVERDUE · in time, 1,200 ×"
        " FINISHED · done."
        " Findings: 3 × breach, 4 × info. Fields sent without evidence: 2."
    )
    assert WORDS["pt"].summary({"processes": {"FINISHED": 1}, "findings": {}}, 1, 0) == (
        "Este pacote trata de 1 processo: 1 × FINISHED · concluído."
        " Nenhuma regra foi violada, e nenhum campo foi enviado sem evidência."
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


def test_what_the_rule_says_is_read_in_the_readers_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stood in Portuguese pages and reports in English. What a person wrote stays as it is."""
    monkeypatch.setattr(code_texts, "language", lambda: "pt")
    row = dict.fromkeys(("status", "error", "step", "assignee", "note"), None)
    row |= {"kind": "assignment", "channel": None, "about": None, "recipient": None}
    said = [
        occurrences.entry({**row, "actor": BY_RULE, "reason": reason}).detail
        for reason in assigner.REASONS.values()
    ]
    assert said == ["por regra · em rodízio", "por regra · menos revisões em aberto"]
    assert occurrences.entry({**row, "actor": "Ana", "reason": "in turn"}).detail == "Ana · in turn"
    assert WORDS["pt"].by_whom(BY_RULE, "in turn") == ("por regra", "em rodízio")
    assert WORDS["pt"].by_whom("Ana", "in turn") == ("Ana", "in turn")
