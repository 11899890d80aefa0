"""What every test shares: how deep a run looks, and that no test touches a developer's own files.

A run tries the same examples of each property each time; `make test-long` alone tries new ones.
"""

import gc
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from pipeline.memory import look_for_cycles_less_often, start_no_blas_threads
from tests import depth, fork_server
from tests.support.machine import memory

# What their fixtures start is then one for all folders: a fixture that a module imports is its own.
pytest_plugins = ("tests.support.postgres", "tests.support.marketplace", "tests.faults.shim")
ROOT = Path(__file__).parents[1]
GUARDED = (ROOT / "data", ROOT / ".hypothesis")
"""Folders of the checkout in which a test might leave something."""
MEMORY_BYTES = 4 * 2**30
"""With so much room in memory, tests write there: they sync tens of thousands of times, and would
wait for a disk each time."""
UNCOMMITTED = "UNCOMMITTED_FILES"
"""The variable by which all workers of a run know the same files: what is saved while they collect
would give them another order."""


# Roughly the seconds of files whose tests start browsers, mostly wait, or do neither and are long.
# Of four workers about one is with each of the first two groups, and two with all other files: then
# two cores are busy, and not crowded.
BROWSING: Final = {
    "app_pages/desk/test_jobs.py": 70,
    "app_pages/test_browser.py": 65,
    "app_pages/door/test_login.py": 50,
    "app_pages/parts/test_freshness.py": 35,
    "app_pages/desk/test_focus.py": 30,
    "app_pages/desk/test_checking.py": 25,
    "app_pages/door/test_served.py": 25,
    "journey/test_browser.py": 25,
    "acceptance/test_deliveries.py": 10,
}
WAITING: Final = {
    "faults/test_waiting.py": 60,
    "forward/test_passing_on.py": 40,
    "forward/test_operating.py": 25,
    "alert/away/test_processes.py": 20,
    "cli/test_signals.py": 20,
    "submit/gateway/test_gateway.py": 20,
    "submit/test_kill.py": 20,
    "submit/test_outcomes.py": 20,
    "alert/test_channels.py": 15,
    "continuity/stores/test_vault.py": 15,
    "forward/test_crashes.py": 15,
    "receive/test_connections.py": 15,
    "sandbox/test_live.py": 15,
    "sandbox/test_server.py": 15,
    "submit/test_resumer.py": 15,
    "submit/test_sent_once.py": 15,
    "clearance/test_override.py": 10,
    "faults/test_backup_killed.py": 10,
    "faults/test_clock.py": 10,
    "faults/test_disk.py": 10,
    "fixtures/test_migrations.py": 10,
    "forward/test_not_for_it.py": 10,
    "http/test_limits.py": 10,
    "journey/test_submitting.py": 10,
    "notices/test_killed_schedule.py": 10,
    "receive/test_credentials.py": 10,
    "receive/test_guard.py": 10,
    "submit/test_never_lost.py": 10,
    "acceptance/test_copies.py": 5,
    "alert/away/test_standing_still.py": 5,
    "alert/away/test_without_the_ledger.py": 5,
    "cli/test_supervisor.py": 5,
    "inbox/test_wal.py": 5,
    "journey/test_killed.py": 5,
    "ledger/test_closing.py": 5,
    "notices/test_bounces.py": 5,
    "receive/test_disk.py": 5,
    "sandbox/test_onboarding.py": 5,
    "sandbox/test_webhooks.py": 5,
    "serve/test_intake.py": 5,
    "serve/test_patience.py": 5,
    "submit/gateway/test_strange_answers.py": 5,
    "submit/test_clock.py": 5,
}
WORKING: Final = {
    "app_pages/test_process.py": 30,
    "erasure/test_what_stays.py": 30,
    "alert/away/test_last_said.py": 20,
    "app_pages/desk/test_calls.py": 20,
    "app_pages/test_sellers.py": 20,
    "docs/test_numbers.py": 20,
    "ledger/test_earlier_instants.py": 20,
    "queries/alerts/test_ladder.py": 20,
    "queries/test_headers.py": 20,
    "app_pages/desk/test_clearances.py": 15,
    "app_pages/desk/test_journeys.py": 15,
    "app_pages/desk/test_many.py": 15,
    "app_pages/parts/test_earlier_answers.py": 15,
    "app_pages/parts/test_seller_names.py": 15,
    "app_pages/test_alerts.py": 15,
    "app_pages/test_ledger.py": 15,
    "audit/packages/test_packages.py": 15,
    "continuity/following/test_forks.py": 15,
    "continuity/stores/test_stores.py": 15,
    "docs/test_examples.py": 15,
    "erasure/test_at_rest.py": 15,
    "erasure/test_elsewhere.py": 15,
    "erasure/test_forgetting.py": 15,
    "erasure/test_made_again.py": 15,
    "ledger/test_materialized.py": 15,
    "ledger/test_settling.py": 15,
    "submit/test_decisions.py": 15,
    "alert/test_dispatcher.py": 10,
    "alert/test_waiting.py": 10,
    "app_pages/desk/test_alert_settings.py": 10,
    "app_pages/desk/test_casework.py": 10,
    "app_pages/desk/test_saved.py": 10,
    "app_pages/parts/test_filters.py": 10,
    "app_pages/parts/test_frame.py": 10,
    "app_pages/test_denials.py": 10,
    "app_pages/test_seller.py": 10,
    "app_pages/test_watchlist.py": 10,
    "audit/packages/test_changed_packages.py": 10,
    "audit/packages/test_messages.py": 10,
    "audit/test_recordable.py": 10,
    "cli/test_ingest_and_show.py": 10,
    "cli/test_starting.py": 10,
    "continuity/following/test_surviving.py": 10,
    "continuity/stores/test_backup.py": 10,
    "continuity/stores/test_people.py": 10,
    "continuity/stores/test_set_aside.py": 10,
    "docs/test_house.py": 10,
    "docs/test_typed_commands.py": 10,
    "erasure/test_typed.py": 10,
    "faults/test_restore_killed.py": 10,
    "faults/test_sent_once.py": 10,
    "journey/test_links.py": 10,
    "ledger/test_narrowing.py": 10,
    "ledger/test_reopening.py": 10,
    "notices/test_dispatcher.py": 10,
    "notices/test_kept.py": 10,
    "notices/test_sending.py": 10,
    "queries/alerts/test_alerts_sent.py": 10,
    "queries/notices/test_queues.py": 10,
    "queries/submissions/test_attempts.py": 10,
    "queries/test_later_entries.py": 10,
    "queries/test_parts_of_a_view.py": 10,
    "queries/test_views_match_the_oracle.py": 10,
    "queries/trends/test_forecast.py": 10,
    "queries/trends/test_on_time.py": 10,
    "queries/trends/test_phases.py": 10,
    "receive/test_ways.py": 10,
    "serve/test_api.py": 10,
    "serve/test_calendar.py": 10,
    "serve/test_showing.py": 10,
    "test_traces.py": 10,
}
SECONDS_OF_OTHERS: Final = 3


def _in_guarded_folders() -> set[Path]:
    return {path for folder in GUARDED for path in folder.rglob("*")}


BEFORE = _in_guarded_folders()

# Among what pytest remembers: failing examples of `make test-long` are tried again by the next run.
set_hypothesis_home_dir(ROOT / ".pytest_cache" / "hypothesis")

for _profile in ("usual", "forms"):
    settings.register_profile(
        _profile,
        max_examples=depth.USUAL,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
settings.register_profile(
    "long",
    max_examples=depth.LONG,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("usual")

look_for_cycles_less_often()
gc.disable()  # while tests are collected: what that makes stays
start_no_blas_threads()  # nor does what tests start
fork_server.is_wanted = True
fork_server.leave_views_out()

if "TMPDIR" not in os.environ and (_folder := memory(MEMORY_BYTES)) is not None:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_folder)

for _name in [name for name in os.environ if name.startswith("PRAZO_") and "LAB" not in name]:
    del os.environ[_name]


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_written_outside_temporary_folders(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Runs tests in an empty folder without a `.env`, to which relative paths lead, and asks that
    it stays empty."""
    folder = tmp_path_factory.mktemp("working-directory")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield
    written = {*folder.rglob("*"), *_in_guarded_folders()} - BEFORE
    assert not written, f"a test wrote outside its temporary folder: {sorted(map(str, written))}"


@pytest.hookimpl(trylast=True)  # after -k, which may ask for one engine alone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out the tests that only long runs have, and orders the others."""
    if not depth.is_whole():
        left = depth.left_to_a_long_run(items)
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]
    _order(items)


def _order(items: list[pytest.Item]) -> None:
    """Mixes the files of the three groups, the longest first: workers take whole files, and a long
    file that came last would keep only one core busy."""
    named = {ROOT / "tests" / it for group in (BROWSING, WAITING, WORKING) for it in group}
    assert all(path.exists() for path in named), "a file that is named here was moved"
    files = {item.path for item in items}
    others = dict.fromkeys(files - named, SECONDS_OF_OTHERS)
    place: dict[Path, float] = {}
    # Short files that work come last: they end together. A worker takes a file before it has ended
    # the one that it is at, so that what waits could come a minute late.
    for group, unnamed, ends in ((BROWSING, {}, 0.85), (WAITING, {}, 0.7), (WORKING, others, 1)):
        seconds = {ROOT / "tests" / name: it for name, it in group.items()} | unnamed
        paths = sorted(files & seconds.keys(), key=lambda path: (-seconds[path], path))
        starts = list(itertools.accumulate((seconds[path] for path in paths), initial=0))
        for path, start in zip(paths, starts, strict=False):
            place[path] = ends * start / starts[-1]
    changed = _touched()
    key = {path: (not changed & {path, *path.parents}, place[path]) for path in files}
    items.sort(key=lambda item: key[item.path])


def pytest_configure() -> None:
    """Asks once, before there are workers, which files are not committed yet."""
    if "PYTEST_XDIST_WORKER" not in os.environ and shutil.which("git") is not None:
        git = ["git", "-C", str(ROOT), "status", "--porcelain", "--no-renames", "-uall"]
        said = subprocess.run(git, capture_output=True, text=True, check=False).stdout
        os.environ[UNCOMMITTED] = said


def _touched() -> set[Path]:
    """Test files that are not committed yet, and the folders of tests of rooms with such a file:
    what a change can break runs first."""
    said = os.environ.get(UNCOMMITTED, "")
    paths = [Path(line[3:].strip('"')).parts for line in said.splitlines()]
    rooms = [path[path[0] == "pipeline" :][:-1] for path in paths if path[0] != "tests"]
    folders = {ROOT / "tests" / room[0] for room in rooms if room}
    return folders | {ROOT.joinpath(*path) for path in paths if path[0] == "tests"}


def pytest_collection_finish() -> None:
    """Keeps Python from searching the collected tests for cycles: they live to the end anyway."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Lets go of what was collected, and of hypothesis's callback.

    Through either of them modules would outlive the interpreter; DuckDB's
    binding then finds its types alive and ends the run with a page of leaks.
    """
    gc.unfreeze()
    gc.callbacks[:] = [it for it in gc.callbacks if not it.__module__.startswith("hypothesis")]
