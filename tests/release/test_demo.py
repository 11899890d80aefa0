"""`make demo` comes up, shows every state at once, stays alive, and leaves nothing running."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from tests.acceptance.product import show, wait_for
from tests.journey.test_browser import answer_all
from tests.support.dashboard import DEMO_PAGES, Reader, chromium
from tests.support.machine import free_port, wait_until

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def running_demo(folder: Path, events_per_minute: int) -> Iterator[tuple[int, dict[str, str]]]:
    """The whole demo; its dashboard's port, and what commands need to know of it. That it ended
    well, and left nothing running, is asserted at the end."""
    receiver_port, dashboard_port = free_port(), free_port()
    environment = dict(os.environ)
    ports = {
        "PRAZO_RECEIVER_PORT": str(receiver_port),
        "PRAZO_DASHBOARD_PORT": str(dashboard_port),
    }
    with folder.with_suffix(".log").open("wb") as log:
        demo = subprocess.Popen(
            [
                *(sys.executable, "-m", "pipeline.cli", "demo", "--folder", str(folder)),
                *("--events-per-minute", str(events_per_minute)),
            ],
            env=environment | ports,
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(receiver_port, "/readyz")
        wait_for(dashboard_port, "/_stcore/health")
        yield (
            dashboard_port,
            environment
            | {
                "PRAZO_INBOX": str(folder / "inbox.db"),
                "PRAZO_LEDGER": str(folder / "ledger.duckdb"),
            },
        )
    finally:
        demo.send_signal(signal.SIGTERM)
        code = demo.wait(90)
    assert code == 0
    left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, check=False)
    assert left.stdout == b""


def banners_command(log: Path, elsewhere: Path) -> str:
    """What the banner's line prints for a new user: another folder, and nothing activated."""
    [line] = [it for it in log.read_text().splitlines() if it.startswith("  Commands")]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(elsewhere)}
    done = subprocess.run(
        ["sh", "-c", line.removeprefix("  Commands")],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def shows_what_was_sent(log: Path) -> bool:
    """Whether the page of the marketplace's systems shows alerts by e-mail and by webhook, a
    summary of the day, and deliveries that were passed on; of messages to sellers none, before
    somebody starts their schedule."""
    [line] = [it for it in log.read_text().splitlines() if it.startswith("  Sent ")]
    page = httpx.get(line.split()[1], trust_env=False).text
    return page.count("None yet") == 1 and "ana@market.example" in page and "RESUMO DO DIA" in page


@pytest.mark.timeout(400)
def test_the_demo_shows_every_state_and_goes_on_by_itself(tmp_path: Path):
    with running_demo(tmp_path / "demo", 120) as (_, environment):
        states = {row["state"] for row in show(environment, "process_state")}
        assert states == {"PENDING", "OVERDUE", "EXPIRED", "FINISHED"}
        statuses = {row["status"] for row in show(environment, "seller_state")}
        assert statuses >= {"enabled", "denied", "disabled", "deleted", "pending_analysis"}
        outcomes = {row["outcome"] for row in show(environment, "submission_attempts")}
        assert outcomes >= {"accepted", "platform_error", "invalid_payload", "timeout"}
        rules = {row["rule"] for row in show(environment, "findings")}
        assert "expired_unfinished" in rules
        assert "evidence_recorded_late" not in rules  # its past was recorded as it happened

        assert "watchlist" in banners_command(tmp_path / "demo.log", tmp_path)

        wait_until(lambda: shows_what_was_sent(tmp_path / "demo.log"), pause=0.5)

        [before] = show(environment, "ledger_health")
        wait_until(
            lambda: show(environment, "ledger_health")[0]["last_seq"] > before["last_seq"],
            pause=0.5,
        )
        [after] = show(environment, "ledger_health")
        assert after["missing"] == 0


@pytest.mark.timeout(400)
def test_a_seller_answers_on_the_page_of_the_demo(tmp_path: Path):
    """An officer makes a link for an open process, its seller answers, and it is FINISHED."""
    with running_demo(tmp_path / "demo", 60) as (port, environment), chromium() as browser:
        seller_answers(environment, port, browser)


@pytest.mark.timeout(500)
def test_the_demos_pages_are_quiet_and_open_to_everyone(tmp_path: Path):
    """Its ids are long, its processes many, and every outcome is there; by turns in Portuguese and
    in English, with what opens on a page open."""
    with running_demo(tmp_path / "demo", 1) as (port, environment), chromium() as browser:
        tried = Counter(row["process_id"] for row in show(environment, "submission_attempts"))
        [(process, _)] = tried.most_common(1)
        [state] = show(environment, "process_state", "--where", f"process_id={process}")
        faults = []
        for number, locale in enumerate(("pt-BR", "en-GB")):
            context = browser.new_context(locale=locale, viewport={"width": 1440, "height": 1400})
            tab = Reader(context.new_page(), f"http://127.0.0.1:{port}").open("/findings")
            for address, opened in list(DEMO_PAGES.items())[number::2]:
                path = address.format(process=process, seller=state["seller_id"])
                tab.go(path)
                if opened:
                    tab.page.get_by_text(opened[locale == "en-GB"]).first.click()
                    tab.settled()
                faults += [(locale, path, *found) for found in tab.found_by_axe()]
            assert tab.complaints == []
            assert tab.elsewhere == []
            context.close()
        assert faults == []


def seller_answers(environment: dict[str, str], port: int, browser: Browser) -> None:
    known = {
        row["seller_id"] for row in show(environment, "seller_state", "--where", "type=individual")
    }
    waiting = show(environment, "open_processes", "--where", "next_action=remind_seller")
    process = [row["process_id"] for row in waiting if row["seller_id"] in known][-1]
    desk = browser.new_context(locale="en-GB", viewport={"width": 1440, "height": 1400})
    officer = Reader(desk.new_page(), f"http://127.0.0.1:{port}")
    officer.open(f"/process?process={process}")
    officer.page.get_by_role("button", name="Make a link").click()
    form = officer.page.get_by_role("dialog").or_(
        officer.page.locator('[data-testid="stPopoverBody"]')
    )
    form.get_by_label("Your name").fill("Ana")
    form.get_by_role("button", name="Record the invitation and make the link").click()
    link = officer.page.locator("code", has_text="/j/").last
    link.wait_for()
    phone = browser.new_context(locale="pt-BR", viewport={"width": 390, "height": 844})
    seller = phone.new_page()
    seller.goto(link.inner_text().strip())
    seller.get_by_role("button", name="Começar").click()
    answer_all(seller)
    seller.get_by_role("checkbox").check()
    seller.get_by_role("button", name="Confirmar").click()
    seller.wait_for_url("**/receipt")
    wait_until(
        lambda: (
            show(environment, "process_state", "--where", f"process_id={process}")[0]["state"]
            == "FINISHED"
        ),
        pause=0.5,
    )
    officer.open(f"/process?process={process}")
    officer.page.get_by_text("FINISHED").first.wait_for()
    phone.close()
    desk.close()
