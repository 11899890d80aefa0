"""Pages over a real ledger: NDJSON through the real inbox, then Streamlit's own test runner."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from pipeline import ingest
from pipeline.inbox import open_inbox
from pipeline.service import LedgerService, ledger_service
from pipeline.settings import Settings
from tests.dashboard.occurrences import AS_OF, Occurrence

ROOT = Path(__file__).parents[2]

Visit = Callable[..., AppTest]
OpenLog = Callable[[Sequence[Occurrence]], AbstractContextManager[LedgerService]]


@pytest.fixture
def open_log(tmp_path: Path) -> OpenLog:
    """`with open_log(history) as service:` the process's ledger, following such an inbox."""

    @contextmanager
    def opened(history: Sequence[Occurrence]) -> Iterator[LedgerService]:
        settings = settings_in(tmp_path)
        fill(tmp_path, history)
        with ledger_service(settings) as service:
            follow(service)
            yield service

    return opened


def follow(service: LedgerService) -> None:
    """Waits for the follower: the pages show what it has appended."""
    give_up_at = time.monotonic() + 20
    while (status := service.status()).last_seq < status.inbox_seq:
        assert time.monotonic() < give_up_at, status
        time.sleep(0.02)


def settings_in(folder: Path) -> Settings:
    return Settings(
        inbox=str(folder / "inbox.db"),
        ledger=folder / "ledger.duckdb",
        artifacts=folder / "artifacts",
        signing_key_file=folder / "keys" / "signing.key",
        taxpayer_key_file=folder / "keys" / "taxpayer.key",
        time_zone="America/Sao_Paulo",
    )


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


@pytest.fixture
def visit() -> Visit:
    """`visit("watchlist", state="EXPIRED")`: the page as it stands at `AS_OF`, in English."""

    def page(
        name: str = "overview", *, as_of: str | None = AS_OF, **query: str | list[str]
    ) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
        if as_of is not None:
            app.query_params["as_of"] = as_of
        for key, value in query.items():
            app.query_params[key] = value
        app.run()
        if name != "overview":
            for key, value in query.items():
                app.query_params[key] = value
            app.switch_page(f"app_pages/{name}.py").run()
        assert not app.exception, app.exception
        failed = [it.value for it in app.error if "This page failed" in it.value]
        assert not failed, failed
        return app

    return page
