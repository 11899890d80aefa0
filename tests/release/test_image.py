"""The image: small enough, the same for every part, not run by root, over what is read-only."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.release.containers import PODMAN, done, is_healthy, running, wait_until_healthy
from tests.release.installed import ROOT, UV
from tests.support.machine import free_port

MAX_BYTES = 400_000_000


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_everything_that_it_stands_on_has_a_wheel(machine: str, tmp_path: Path) -> None:
    """By the names of files alone: no image is built for another machine here."""
    text = (ROOT / "requirements.lock").read_text(encoding="ascii")
    lock = tmp_path / "product.lock"
    lock.write_text(text.split("# otel\n")[0], encoding="ascii")
    for version in ("3.11", "3.13"):
        done(
            *(UV, "pip", "install", "--dry-run", "--quiet", "--only-binary", ":all:"),
            *("--python-platform", f"{machine}-manylinux_2_28", "--python-version", version),
            *("--target", tmp_path / "nothing", "--require-hashes", "-r", lock),
        )


@pytest.mark.timeout(1500)
def test_it_is_under_400_megabytes_compressed(image: str, tmp_path: Path) -> None:
    done("podman", "push", "--quiet", image, f"oci:{tmp_path / 'image'}")
    assert sum(it.stat().st_size for it in tmp_path.rglob("*") if it.is_file()) < MAX_BYTES


def test_it_runs_without_root_and_says_how_it_is_stopped_and_asked(image: str) -> None:
    [said] = json.loads(done("podman", "inspect", image))
    assert said["Config"]["User"] == "1000:1000"
    assert said["Config"]["StopSignal"] == "SIGTERM"
    assert list(said["Config"]["Volumes"]) == ["/var/lib/prazo"]
    assert said["Healthcheck"]["Test"] == ["CMD", "prazo", "alive"]


def settings(volume: Path) -> list[str]:
    """Ports of its own, and a volume that the image's user may write to."""
    volume.mkdir()
    os.chown(volume, 1000, 1000)
    ports = [f"--env=PRAZO_{it}_PORT={free_port()}" for it in ("RECEIVER", "DASHBOARD", "JOURNEY")]
    return [*ports, f"--volume={volume}:/var/lib/prazo"]


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("part", ["serve", "receive", "dashboard", "follow"])
def test_each_part_is_healthy_and_ends_by_term(part: str, tmp_path: Path) -> None:
    with running(*settings(tmp_path / "volume"), part=[part]) as name:
        wait_until_healthy(name)
        done(*PODMAN, "stop", "--time", "60", name)
        [state] = json.loads(done("podman", "inspect", "--format", "[{{json .State}}]", name))
        # A dashboard is Streamlit's own program, which ends by the signal.
        assert state["ExitCode"] in ({0, 128 + signal.SIGTERM} if part == "dashboard" else {0})
    assert list((tmp_path / "volume").iterdir()) != []


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("image")
def test_a_part_that_does_not_answer_is_unhealthy(tmp_path: Path) -> None:
    command = ["receive", "--port", str(free_port())]
    with running(*settings(tmp_path / "volume"), part=command) as name:
        assert not is_healthy(name)
