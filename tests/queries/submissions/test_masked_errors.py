"""What another system wrote of an attempt's end may name a person: only what failed is shown."""

import duckdb
import pytest

from pipeline.ledger.views.catalogue import macros
from tests.support.ledgers import ledger_of
from tests.support.lines import acp, finished, started

WRITTEN = "connection refused for Mariana Quintela, Rua das Flores 12, +55 11 98765-4321"
HISTORY = [
    acp(),
    started("a1", "2026-03-02T00:00:00Z"),
    finished("a1", None, "2026-03-02T00:00:01Z", error=WRITTEN),
    started("a2", "2026-03-03T00:00:00Z"),
    finished("a2", None, "2026-03-03T00:00:01Z", error="tls_refused"),
]


def masked(*errors: str | None) -> list[str | None]:
    with duckdb.connect() as connection:
        connection.execute(macros())
        return [
            row[0]
            for error in errors
            for row in connection.execute("select mask_error(?)", [error]).fetchall()
        ]


@pytest.mark.parametrize(
    "error",
    [
        *(None, "", "timeout", "tls_refused", "network_error", "refused"),
        *("Connection reset by peer", "ConnectionResetError", "read timed out (http)."),
        *("java.net.SocketTimeoutException: connect timed out", "ECONNREFUSED", "***"),
    ],
)
def test_codes_and_words_that_say_what_failed_stay(error: str | None) -> None:
    assert masked(error) == [error]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (WRITTEN, "connection refused ***"),
        ("timeout: Mariana", "timeout: ***"),
        ("timeout\nMariana", "***"),
        ("timeout\u00a0Mariana", "***"),
        ("timeoutMariana", "***"),
        ("HTTP 503 529 982 247 25", "HTTP ***"),
        ("timeout5511987654321", "***"),
        ("1990-01-02", "***"),
        ("TWFyaWFuYQ==", "***"),
        ('{"Mariana":"timeout"}', "***"),
        ("Mariana timeout Quintela", "*** timeout ***"),
    ],
)
def test_any_other_word_and_each_number_is_masked_and_once_is_enough(
    error: str, shown: str
) -> None:
    assert masked(error, shown) == [shown, shown]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (" ".join(["refused"] * 500), " ".join(["refused"] * 500)),
        (" ".join(["refused"] * 501), " ".join(["refused"] * 500) + " ***"),
        ("a-" * 49 + "in refused", "a-" * 49 + "in refused"),  # a word of 100 characters
        ("a-" * 49 + "out refused", "*** refused"),
        ("refused " + "x" * 50_992 + " refused", "refused ***"),
        ("refused to" + " " * 50_990 + " ***", "refused to" + " " * 498 + " ***"),
        ("x" * 51_001, "***"),
        ("a x " * 1_000_000, " ".join(["a ***"] * 250)),
    ],
)
def test_of_a_long_one_the_beginning_is_shown_and_once_is_enough(error: str, shown: str) -> None:
    """Each word of a text of any length was looked at: of 4 MB, as much as a line may have, it took
    minutes, on pages, in an export, and in a verifier that was given seconds."""
    assert masked(error, shown) == [shown, shown]


@pytest.mark.parametrize("view", ["submission_attempts", "log_entries", "timeline"])
def test_it_was_shown_whole_to_whoever_may_see_no_person(view: str) -> None:
    """Analysts read it on the page of submissions, over the API and in files. The timeline, whose
    rows are kept, has it masked for everybody."""
    with ledger_of(HISTORY) as reader:
        shown = reader.read(view).to_pylist()
        whole = reader.read(view, unmask=True).to_pylist()
    errors = {it["error"] for it in shown} - {None}
    assert errors == {"connection refused ***", "tls_refused"}
    assert ({it["error"] for it in whole} - {None} == {WRITTEN, "tls_refused"}) is (
        view != "timeline"
    )


def test_what_became_of_the_attempt_is_as_it_was() -> None:
    with ledger_of(HISTORY) as reader:
        rows = reader.read("submission_attempts").to_pylist()
    assert [(it["attempt_id"], it["outcome"]) for it in rows] == [
        ("a2", "tls_refused"),
        ("a1", "unknown"),
    ]
