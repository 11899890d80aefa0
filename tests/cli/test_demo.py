"""`prazo demo` before anything runs: its ports, and how `make` hands them on."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli import demo, ports
from pipeline.errors import OperatorError
from pipeline.notices import rules
from tests.support.machine import free_port

ROOT = Path(__file__).parents[2]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of this machine on which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("by_option", [True, False], ids=["by option", "by setting"])
def test_a_taken_port_ends_the_demo_before_it_prints_an_address(
    prazo, environment, taken, tmp_path, by_option
):
    """It says by what, and which option helps; what another demo wrote there stays."""
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / ".prazo-demo").touch()
    (folder / "inbox.db").write_text("of the demo that runs")
    environment |= {"PRAZO_RECEIVER_PORT": str(free_port())}
    options = ["--dashboard-port", str(taken)] if by_option else []
    if not by_option:
        environment |= {"PRAZO_DASHBOARD_PORT": str(taken)}

    done = prazo("demo", "--folder", str(folder), *options)
    assert done.returncode == 1
    assert "http" not in done.stdout
    assert f"port {taken}, for the dashboard, is taken by " in done.stderr
    assert "receiver" not in done.stderr
    assert "choose another with --dashboard-port " in done.stderr
    assert (folder / "inbox.db").exists()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this machine has no /proc")
def test_what_takes_a_port_is_named_with_its_process(taken):
    with pytest.raises(OperatorError) as refused:
        ports.check(ports.Wanted("receiver", "127.0.0.1", taken, "--port"))
    own = Path("/proc/self/comm").read_text().strip()
    assert f"is taken by {own} (process {Path('/proc/self').resolve().name})" in refused.value.why


def test_its_sellers_can_be_notified_by_mail_and_by_a_channel_of_its_own(tmp_path):
    known = {"endpoint": "http://127.0.0.1:1/"}
    read = rules.load(demo._notices_file(tmp_path / "notices.toml", known, tmp_path / "secret"))
    assert read.ways(has_mail=True) == ("email", "whatsapp")
    assert read.channels["whatsapp"].url == "http://127.0.0.1:1/notices"


def test_every_taken_port_is_named_and_free_ones_are_offered(taken):
    with socket.create_server(("127.0.0.1", 0)) as other:
        also_taken = other.getsockname()[1]
        with pytest.raises(OperatorError) as refused:
            ports.check(
                ports.Wanted("receiver", "127.0.0.1", taken, "--port"),
                ports.Wanted("dashboard", "127.0.0.1", also_taken, "--dashboard-port"),
            )
    assert f"port {taken}, for the receiver, " in refused.value.why
    assert f"port {also_taken}, for the dashboard, " in refused.value.why
    words = refused.value.remedy.replace(",", "").split()
    offered = [int(words[words.index(it) + 1]) for it in ("--port", "--dashboard-port")]
    assert len({*offered, taken, also_taken}) == 4
    ports.check(
        ports.Wanted("receiver", "127.0.0.1", offered[0], "--port"),
        ports.Wanted("dashboard", "127.0.0.1", offered[1], "--dashboard-port"),
    )


def test_no_port_is_offered_that_is_meant_for_another_part(taken):
    """Beside a receiver whose port is taken, the dashboard's was offered for it."""
    beside = range(taken + 1, taken + 20)
    with pytest.raises(OperatorError) as refused:
        ports.check(ports.Wanted("receiver", "127.0.0.1", taken, "--port"), besides=beside)
    assert int(refused.value.remedy.split()[4].rstrip(",")) not in beside


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("192.0.2.1", "this machine does not have the address 192.0.2.1"),
        ("nosuch.invalid", "no address is known for the name nosuch.invalid ("),
    ],
)
def test_an_address_of_another_machine_is_not_a_question_of_ports(host, why):
    """The search for a free port failed on it, and told of the disk's free space."""
    with pytest.raises(OperatorError) as refused:
        ports.check(ports.Wanted("receiver", host, free_port(), "--port"))
    assert why in refused.value.why
    assert refused.value.remedy == ("listen on an address that this machine has, such as 127.0.0.1")
    assert refused.value.exit_code == 2


def test_one_port_cannot_serve_both():
    port = free_port()
    with pytest.raises(OperatorError, match="is already meant for the receiver"):
        ports.check(
            ports.Wanted("receiver", "127.0.0.1", port, "--port"),
            ports.Wanted("dashboard", "127.0.0.1", port, "--dashboard-port"),
        )


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not on this machine")
def test_make_hands_the_ports_on():
    def would_run(*given: str) -> str:
        done = subprocess.run(
            ["make", "--no-print-directory", "-n", "demo", *given],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return " ".join(done.stdout.splitlines()[-1].split())

    assert would_run() == ".venv/bin/prazo demo"
    assert would_run("PORT=8410", "DASHBOARD_PORT=8511") == (
        ".venv/bin/prazo demo --port 8410 --dashboard-port 8511"
    )
