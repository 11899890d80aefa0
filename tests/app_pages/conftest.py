"""Pages over a real ledger: NDJSON through the real inbox, then Streamlit's own test runner."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from app_pages.door import browsers
from app_pages.parts import acting, folds, frame, views
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.inbox import open_inbox
from pipeline.receive import ingest
from tests.app_pages.support.answers import shared
from tests.app_pages.support.occurrences import AS_OF, Occurrence
from tests.support.dashboard import chromium, dashboard
from tests.support.machine import free_port, wait_until
from tests.support.stores import in_use, settings_in

ROOT = Path(__file__).parents[2]

Visit = Callable[..., AppTest]
OpenLog = Callable[..., AbstractContextManager[LedgerService]]
Messages = list[ForwardMsg]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of one module."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An inbox that holds the module's `HISTORY`, for one server."""
    made = tmp_path_factory.mktemp("dashboard")
    fill(made, request.module.HISTORY)
    return made


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """Of a server over `folder`, with the module's `SETTINGS` if it has any."""
    with dashboard(folder, **getattr(request.module, "SETTINGS", {})) as running:
        yield running


@pytest.fixture
def open_log(tmp_path: Path) -> OpenLog:
    """`with open_log(history) as service:` the process's ledger, following such an inbox; with
    further settings by name."""
    return partial(_log_in, tmp_path)


@contextmanager
def _log_in(folder: Path, history: Sequence[Occurrence], **more: Any) -> Iterator[LedgerService]:
    # At the usual port a receiver of another run may answer.
    usual = {"time_zone": "America/Sao_Paulo", "receiver_port": free_port()}
    settings = settings_in(folder, **usual | more)
    wanted = json.dumps(history)
    known = f"{wanted} {more}"
    if settings.ledger.exists():
        fill(folder, history)
        known += str(folder)  # nobody else's: there is more in it
    else:
        shutil.copytree(_followed(wanted), folder, dirs_exist_ok=True)
        in_use(folder / "inbox.db")
    with ledger_service(settings) as service:
        follow(service)
        with shared(known, service.ledger.size):
            yield service


@cache
def _followed(history: str) -> Path:
    """A folder of stores that hold a history: many tests ask for the same one."""
    folder = Path(tempfile.mkdtemp(prefix="prazo-pages-"))
    atexit.register(shutil.rmtree, folder)
    occurrences = json.loads(history)
    if occurrences:
        shutil.copytree(_followed("[]"), folder, dirs_exist_ok=True)  # stores are dear to make
    fill(folder, occurrences)
    with ledger_service(settings_in(folder)) as service:
        follow(service)
        service.ledger.settle()  # once, and not by each test that takes a copy
    return folder


def follow(service: LedgerService) -> None:
    """Waits for the follower: the pages show what it has appended."""

    def has_followed() -> bool:
        status = service.status()
        return status.last_seq >= status.inbox_seq

    wait_until(has_followed)


def fill(folder: Path, history: Sequence[Occurrence]) -> None:
    lines = folder / "history.ndjson"
    lines.write_text("".join(json.dumps(line) + "\n" for line in history), encoding="utf-8")
    inbox = open_inbox(str(folder / "inbox.db"))
    try:
        outcomes = ingest.ingest(lines, inbox, lambda _: None)
        assert not outcomes.bad
    finally:
        inbox.close()


@pytest.fixture(scope="session", autouse=True)
def _components_are_looked_for_once() -> Iterator[None]:
    """Streamlit's test runner reads every installed package's metadata before each page: 0.4 s."""
    with pytest.MonkeyPatch.context() as patch:
        once = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _pages_are_compiled_once_and_waited_for_asleep() -> Iterator[None]:
    """Streamlit's test runner compiles the app for each visit, and looks a thousand times a second
    whether the page is done."""
    compiled = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: compiled)
        patch.setattr(local_script_runner, "require_widgets_deltas", _wait_for)
        yield


def _wait_for(runner: LocalScriptRunner, timeout: float) -> None:
    thread = runner._script_thread
    assert thread is not None
    thread.join(timeout)
    if thread.is_alive():
        runner.request_stop()
        runner.join()
        raise AssertionError(f"the page was not done after {timeout} seconds")


@pytest.fixture(scope="session", autouse=True)
def _streamlit_counts_no_calls() -> Iterator[None]:
    """Nor does it for the product, by `.streamlit/config.toml`: it would take a tenth of a page."""
    option = "browser.gatherUsageStats"
    usual = config.get_option(option)
    config.set_option(option, False)
    yield
    config.set_option(option, usual)


@pytest.fixture(scope="session", autouse=True)
def _the_browser_remembers_nothing() -> Iterator[None]:
    """Streamlit's test runner has cookies of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acting, "kept_name", lambda: "")
        patch.setattr(browsers, "kept_number", lambda: "")
        yield


@pytest.fixture(scope="session", autouse=True)
def _a_press_is_an_act_however_fast() -> Iterator[None]:
    """A person takes more than a second to write the next view; a test does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acting, "DOUBLE_CLICK_SECONDS", 0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _now_stands_still_for_minutes() -> Iterator[None]:
    """What was answered about now is asked again every few seconds, and a test takes longer where
    others keep the machine busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "TICK_SECONDS", 600)
        yield


@pytest.fixture
def bell() -> None:
    """With the bell, which a quarter of the time of a test's first page goes into."""


@pytest.fixture(autouse=True)
def _without_bell(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "bell" not in request.fixturenames:
        monkeypatch.setattr(frame, "bell", lambda names: None)


@pytest.fixture
def folded() -> None:
    """With popovers that draw nothing until the test opens them, as in a browser."""


@pytest.fixture(autouse=True)
def _unfolded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests are about what a popover holds, and not about its being opened."""
    if "folded" not in request.fixturenames:
        monkeypatch.setattr(folds, "is_last", lambda key: True)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Messages]:
    """What each run of a page has sent."""
    of_runs: list[Messages] = []
    run = LocalScriptRunner.run

    def noted(runner: LocalScriptRunner, *asked: Any, **named: Any) -> Any:
        drawn = run(runner, *asked, **named)
        of_runs.append(runner.forward_msgs())
        return drawn

    monkeypatch.setattr(LocalScriptRunner, "run", noted)
    return of_runs


@pytest.fixture
def visit() -> Visit:
    """`visit("watchlist", state="EXPIRED")`: the page as it stands at `AS_OF`, in English."""
    return _visited


def _visited(
    name: str = "overview", *, as_of: str | None = AS_OF, **query: str | list[str]
) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    if as_of is not None:
        app.query_params["as_of"] = as_of
    if name != "overview":
        app.switch_page(f"app_pages/pages/{name}.py")
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception
    failed = [it.value for it in app.error if "This page failed" in it.value]
    assert not failed, failed
    return app


@pytest.fixture(scope="module")
def drawn(request: pytest.FixtureRequest) -> Visit:
    """`drawn("watchlist")`: what `visit` shows of the module's `HISTORY`, drawn once for all tests
    that do nothing but look at it."""
    pages: dict[str, AppTest] = {}

    def page(name: str = "overview", **query: str) -> AppTest:
        asked = json.dumps([name, query])
        if asked not in pages:
            with (
                tempfile.TemporaryDirectory() as folder,
                _log_in(Path(folder), request.module.HISTORY),
            ):
                pages[asked] = _visited(name, **query)
        return pages[asked]

    return page
