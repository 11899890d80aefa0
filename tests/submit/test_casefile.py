"""A case file says of its process what the ledger says: the same SQL over fewer entries."""

import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import catalogue, whole_sql
from pipeline.submit import retries
from pipeline.submit.casefile import CaseFile, CaseFiles
from pipeline.submit.retries import GivenUp, Waiting
from tests.support.histories import histories_and_as_of
from tests.support.ledgers import KEYS, draft, ledger_of
from tests.support.ledgers import rows as rows_of
from tests.support.lines import acp, action, finished, invited, started
from tests.support.sqlite import opened


@settings(max_examples=settings.default.max_examples // 20)
@given(histories_and_as_of())
def test_a_case_file_is_the_ledgers_view_of_its_process(
    drawn: tuple[list[dict[str, Any]], datetime],
) -> None:
    history, as_of = drawn
    now = instants.from_datetime(as_of.replace(tzinfo=UTC))
    with tempfile.TemporaryDirectory(prefix="prazo-") as folder:
        inbox = open_inbox(Path(folder) / "inbox.db")
        ledger = Ledger(None, log=inbox.log, keys=KEYS, memory="512MB", threads=1)
        try:
            inbox.append([it for it in map(draft, history) if it is not None])
            if entries := inbox.read(0, 4096):
                ledger.append(ledger.batch(entries))
            cursor = ledger.cursor()
            for name in ("process_state", "attempts", "latest_answers", "clocked_attempts"):
                cursor.execute(f"create view {name} as {whole_sql(catalogue()[name])}")
            cursor.execute("set variable as_of = make_timestamp(?::bigint)", (now,))

            def rows(sql: str) -> list[tuple[Any, ...]]:
                return cursor.execute(sql).fetchall()

            casefiles = CaseFiles(inbox)
            cases = {
                process_id: casefiles.open(process_id, now)
                for (process_id,) in rows("select process_id from process_state")
            }
            assert process_states(cases) == rows(
                "select process_id, seller_id, review_type, state, epoch_us(opened_at),"
                " coalesce(requested_fields, []) from process_state order by process_id"
            )
            assert attempts(cases) == rows(
                "select process_id, attempt_id, outcome, epoch_us(ordered_at),"
                " epoch_us(outcome_at), payload_sha256 from attempts order by all"
            )
            assert answers(cases) == rows(
                "select process_id, path, seq, epoch_us(answered_at), source"
                " from latest_answers order by all"
            )
            assert standings(cases) == rows(
                "select process_id, is_given_up, is_held from clocked_attempts"
                " where is_last and (is_retry_pending or is_held or is_given_up)"
                " and process_id not in"
                " (select process_id from process_state where state = 'FINISHED')"
                " and process_id not in"
                " (select process_id from clocked_attempts where outcome = 'in_flight')"
                " order by all"
            )
            assert due_times(cases) == rows(
                "select process_id, epoch_us(retry_due_at) from clocked_attempts"
                " where is_retry_pending"
                " and process_id not in"
                " (select process_id from clocked_attempts where outcome = 'in_flight')"
                " order by all"
            )
        finally:
            ledger.close()
            inbox.close()


BYTES = '{"process_id": "p1", "type": "individual", "revenue": "1_to_2"}'


def refusal(attempt_id: str, **changes: Any) -> list[dict[str, Any]]:
    """Two lines: our rules refused it, an hour after the attempt that waits."""
    known = {
        "occurred_at": "2026-03-01T13:00:00Z",
        "attempt_id": attempt_id,
        "process_id": "p1",
        "seller_id": "s1",
    }
    return [
        {"kind": "submission_started", "body": BYTES, **known, **changes},
        {"kind": "submission_finished", "error": "refused", **known},
    ]


WAITING = [
    {
        "kind": "submission_started",
        "occurred_at": "2026-03-01T12:00:00Z",
        "attempt_id": "a1",
        "process_id": "p1",
        "seller_id": "s1",
        "body": BYTES,
    },
    {
        "kind": "submission_finished",
        "occurred_at": "2026-03-01T12:00:01Z",
        "attempt_id": "a1",
        "process_id": "p1",
        "status": 500,
    },
]


DUE = "2026-03-01T12:00:02.183398"
"""A pause of 1 s, longer by 0xf55ff16f / 2^31 - 1 of its fifth: sha256("a1") begins so."""


@pytest.mark.parametrize(
    ("then", "is_held", "due_at"),
    [
        ([], False, DUE),
        (refusal("a2"), True, None),
        (refusal("a2", body="{}"), False, DUE),
        (refusal("a2", seller_id="s9"), False, DUE),
    ],
)
def test_a_retry_that_our_rules_refuse_by_now_is_a_persons_and_no_longer_pending(
    then: list[dict[str, Any]], is_held: bool, due_at: str | None
) -> None:
    """It was once shown as waiting, with a due time long past, and nobody was told to act."""
    with ledger_of([*WAITING, *then]) as reader:
        at = datetime(2026, 3, 1, 14, tzinfo=UTC)
        [row] = [
            row
            for row in rows_of(reader, "submission_attempts", as_of=at)
            if row["attempt_id"] == "a1"
        ]
        [action] = rows_of(reader, "next_actions", as_of=at)
    assert (row["is_held"], row["is_retry_pending"]) == (is_held, not is_held)
    assert (row["retry_due_at"] and row["retry_due_at"].isoformat()) == due_at
    assert action["next_action"] == ("correct_refusal" if is_held else "send_again")


ANSWERED = {
    "kind": "collection",
    "occurred_at": "2026-03-01T11:00:00Z",
    "process_id": "p1",
    "seller_id": "s1",
    "journey_id": "j1",
    "step": "answered",
    "channel": "web_form",
    "source": "seller",
    "fields": {"revenue": "1_to_2"},
}


def test_a_process_is_known_by_any_one_entry_that_says_something_of_it(tmp_path: Path) -> None:
    """Views that no entry of a process can fill are left empty, also after another process."""
    at = instants.from_datetime(datetime(2026, 3, 1, 14, tzinfo=UTC))
    lines = [
        acp(process_id="asked", customer_id="s1"),
        invited(process_id="invited", seller_id="s2"),
        started("a1", "2026-03-01T13:59:30Z", process_id="sent", seller_id="s3"),
        finished("a2", 200, "2026-03-01T13:00:00Z", process_id="accepted"),
        action("replacement", "2026-03-01T13:00:00Z", process_id="replaced"),
    ]
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        inbox.append([it for it in map(draft, lines) if it is not None])
        named = ("asked", "invited", "sent", "accepted", "replaced", "unnamed")
        cases = {it: CaseFiles(inbox).open(it, at) for it in named}
    opened_at = at - 2 * 3_600_000_000
    assert process_states(cases) == [
        ("accepted", None, None, "FINISHED", None, []),
        ("asked", "s1", "ACP", "PENDING", opened_at, ["revenue"]),
        ("invited", "s2", None, "UNKNOWN", None, []),
        ("sent", "s3", None, "UNKNOWN", None, []),
    ]
    outcomes = {name: [it.outcome for it in case.attempts] for name, case in cases.items()}
    assert {name: it for name, it in outcomes.items() if it} == {
        "sent": ["in_flight"],
        "accepted": ["accepted"],
    }


@pytest.mark.parametrize("changed", [1, 2])
def test_nothing_is_sent_by_what_was_changed_in_the_inbox(changed: int, tmp_path: Path) -> None:
    """Who could write to the inbox put another value into an answer, and `prazo submit --ready`
    sent that one; or into a payload that waited for its retry."""
    at = instants.from_datetime(datetime(2026, 3, 1, 14, tzinfo=UTC))
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        inbox.append([it for it in map(draft, [ANSWERED, *WAITING]) if it is not None])
        case = CaseFiles(inbox).open("p1", at)
        assert case.answers["revenue"].value == "1_to_2"
        assert case.payloads == {2: BYTES.encode()}
        assert [it for it, _ in due_times({"p1": case})] == ["p1"]
        with closing(opened(tmp_path / "inbox.db")) as insider, insider:
            insider.execute("drop trigger entries_no_update")
            another = "replace(cast(body as text), '1_to_2', '7_to_9')"
            where = f"where seq = {changed}"
            insider.execute(f"update entries set body = cast({another} as blob) {where}")
        case = CaseFiles(inbox).open("p1", at)
    assert set(case.answers) == ({"revenue"} if changed == 2 else set())
    assert case.payloads == ({} if changed == 2 else {2: BYTES.encode()})
    assert [it for it, _ in due_times({"p1": case})] == ([] if changed == 2 else ["p1"])


def process_states(cases: dict[str, CaseFile]) -> list[tuple[Any, ...]]:
    found = [it.process for _, it in sorted(cases.items()) if it.process is not None]
    return [
        (
            process.process_id,
            process.seller_id,
            process.review_type,
            process.state,
            process.opened_at,
            list(process.requested_fields),
        )
        for process in found
    ]


def attempts(cases: dict[str, CaseFile]) -> list[tuple[Any, ...]]:
    return sorted(
        (
            process_id,
            attempt.attempt_id,
            attempt.outcome,
            attempt.ordered_at,
            attempt.outcome_at,
            attempt.payload_sha256,
        )
        for process_id, case in cases.items()
        for attempt in case.attempts
    )


def answers(cases: dict[str, CaseFile]) -> list[tuple[Any, ...]]:
    return sorted(
        (process_id, path, answer.seq, answer.answered_at, answer.source)
        for process_id, case in cases.items()
        for path, answer in case.answers.items()
    )


def due_times(cases: dict[str, CaseFile]) -> list[tuple[str, int | None]]:
    """When the sender sends again; the page shows the view's."""
    standings = {process_id: retries.standing(case.attempts) for process_id, case in cases.items()}
    return sorted(
        (process_id, standing.due_at)
        for process_id, standing in standings.items()
        if isinstance(standing, Waiting) and not standing.is_held
    )


def standings(cases: dict[str, CaseFile]) -> list[tuple[str, bool, bool]]:
    """Who waits for a retry or a person, or was given up, by the code; in SQL the view
    `clocked_attempts` says it.

    While another attempt is in flight the view still calls the one before it pending or not by
    that one's end; the code then waits for the attempt.
    """
    found = []
    for process_id, case in sorted(cases.items()):
        if case.is_finished:
            continue
        standing = retries.standing(case.attempts)
        if isinstance(standing, Waiting | GivenUp):
            is_held = isinstance(standing, Waiting) and standing.is_held
            found.append((process_id, isinstance(standing, GivenUp), is_held))
    return found
