"""The evidence of fields follows from all entries of a process, the latest ones too
(docs/rules.md#collection-evidence): rows that are kept change with them, or go."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from pipeline.ledger import checks, refresh
from pipeline.ledger.views.reader import Reader
from tests import depth
from tests.support.ledgers import Step, ledger_of, renewed_in_large_batches, rows
from tests.support.lines import acp, answered, at, finished, started

BEFORE, AFTER = at("2026-03-03T00:00:00"), at("2026-03-09T00:00:00")
ANSWERED, SENT = at("2026-03-01T18:00:00"), at("2026-03-02T00:00:00")


def opened(
    process_id: str, created_at: str = "2026-03-01T12:00:00Z", **more: Any
) -> dict[str, Any]:
    return acp(
        f"e_{process_id}_{created_at}",
        created_at,
        **more,
        process_id=process_id,
        requested_fields=[],
    )


def answer(process_id: str, **more: Any) -> dict[str, Any]:
    return answered(process_id=process_id, **more)


def start(process_id: str, **more: Any) -> dict[str, Any]:
    return started(**{"attempt_id": f"a_{process_id}", "process_id": process_id, **more})


def finish(process_id: str, **more: Any) -> dict[str, Any]:
    return finished(**{"attempt_id": f"a_{process_id}", "process_id": process_id, **more})


BATCHES = [
    [start("only_sent"), finish("end_first")],  # beside no answer
    [opened("only_answered"), answer("only_answered")],  # beside no attempt
    [
        *(answer("end_first"), start("end_first")),
        *(opened("refused"), answer("refused"), start("refused"), finish("refused", status=500)),
        *(answer("left"), start("left")),
        *(opened("opened", "2026-03-01T20:00:00Z"), answer("opened"), start("opened")),
        *(opened("answered_again"), answer("answered_again"), start("answered_again")),
        finish("its_end", attempt_id="a_its_start"),
    ],
    [
        # Of two ends of an attempt, and of two starts, the earlier counts.
        finish("refused", status=None, error="refused", occurred_at="2026-03-02T00:00:00Z"),
        start("entered", attempt_id="a_left", occurred_at="2026-03-01T17:00:00Z"),
        opened("opened", occurred_at="2026-03-05T00:00:00Z"),
        answer("answered_again", occurred_at="2026-03-05T00:00:00Z", source="bureau"),
        start("its_start"),
    ],
]


@pytest.fixture(scope="module", params=depth.few([refresh.MANY, 0], 2))
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    steps = [Step(len(batch)) for batch in BATCHES]
    with (
        renewed_in_large_batches(request.param),
        ledger_of([line for batch in BATCHES for line in batch], steps) as opened,
    ):
        yield opened


SAID_BEFORE = {
    # answered_at, answer_source, sent_at, covered
    "only_sent": (None, None, SENT, False),
    "only_answered": (ANSWERED, "seller", None, None),
    "end_first": (ANSWERED, "seller", SENT, True),
    "refused": (ANSWERED, "seller", None, None),
    "left": (ANSWERED, "seller", None, None),
    "entered": (None, None, at("2026-03-01T17:00:00"), False),
    "opened": (ANSWERED, "seller", SENT, False),  # the answer is older than the request
    "answered_again": (ANSWERED, "seller", SENT, True),
    "its_start": (None, None, SENT, False),
}
SAID_AFTER = {
    **SAID_BEFORE,
    "opened": (ANSWERED, "seller", SENT, True),
    "answered_again": (at("2026-03-05T00:00:00"), "bureau", SENT, True),
}


@pytest.mark.parametrize(("as_of", "expected"), [(BEFORE, SAID_BEFORE), (AFTER, SAID_AFTER)])
def test_a_row_says_what_all_entries_say_by_then(
    reader: Reader, as_of: datetime, expected: dict[str, tuple[object, ...]]
) -> None:
    found = {
        row["process_id"]: (
            row["answered_at"],
            row["answer_source"],
            row["sent_at"],
            row["covered"],
        )
        for row in rows(reader, "evidence_coverage", as_of)
    }
    assert found == expected
    assert checks.run("materialized_field_evidence_disagree", reader._ledger) is None
