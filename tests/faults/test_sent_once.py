"""Resumers with clocks that differ, stopped at random: no review is sent twice at once, or early.

A race depends on scheduling, so its seed repeats who is stopped for how long, not the whole of it.
"""

import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from tests import depth
from tests.faults.once.race import race
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="there is no /proc to see a stopped process by"
)

# Not to be repeated on failure, nor made smaller: each takes many seconds.
RACES = settings(
    max_examples=max(1, settings.default.max_examples // 200),
    phases=[Phase.generate],
    report_multiple_bugs=False,
)
SEEDS = st.integers(1, 2**32)
REVIEWS = depth.rounds(2, 12)


def assert_sent_once(location: str, folder: Path, seed: int, *, is_clock_shared: bool) -> None:
    result = race(location, folder, seed=seed, reviews=REVIEWS)
    logs = "\n".join(path.read_text()[-2000:] for path in sorted(folder.glob("resumer-*.log")))
    said = f"seed {seed}: {result}\n{logs}"
    note(said)
    assert result.overlaps == 0, said
    assert result.early_by_log == 0, said
    assert result.early == 0 or not is_clock_shared, said
    assert result.unfinished == 0, said
    assert result.puts >= 2 * REVIEWS, said


@pytest.mark.long
@RACES
@given(SEEDS)
def test_on_one_machine_no_review_is_sent_twice_at_once(seed: int) -> None:
    """Its resumers read different wall clocks here, which stands for a clock that is set."""
    with tempfile.TemporaryDirectory(prefix="prazo-race-") as folder:
        location = str(Path(folder) / "inbox.db")
        assert_sent_once(location, Path(folder), seed, is_clock_shared=False)


@RACES
@given(SEEDS)
def test_on_several_machines_no_review_is_sent_twice_at_once_or_before_it_is_due(
    postgres: PostgresServer, seed: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="prazo-race-") as folder:
        location = postgres.new_database(f"race_{seed}_{Path(folder).name[-8:].lower()}")
        assert_sent_once(location, Path(folder), seed, is_clock_shared=True)
