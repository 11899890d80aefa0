"""The units of systemd: sound, closed enough, and parts work with as little as they leave them."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.release.composed import Deployed
from tests.release.containers import done
from tests.release.installed import ROOT, Installed

UNITS = sorted(it.name for it in (ROOT / "deploy" / "systemd").glob("*.service"))
TIMERS = sorted(it.name for it in (ROOT / "deploy" / "systemd").glob("*.timer"))
USER = 1000
THRESHOLD = 40
"""Tenths of systemd's own figure of exposure, from 0 to 10."""
PROGRAM = "/opt/prazo/bin/prazo"


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the units, whose program is one that this machine has."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    folder = tmp_path_factory.mktemp("units") / "units"
    shutil.copytree(ROOT / "deploy" / "systemd", folder)
    for name in UNITS:
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(PROGRAM, "/bin/true"), encoding="utf-8")
    return folder


def faults_of(unit: str, units: Path) -> list[str]:
    """What systemd finds wrong with one of ours."""
    verified = subprocess.run(
        ["systemd-analyze", "verify", units / unit],
        env=os.environ | {"SYSTEMD_UNIT_PATH": f"{units}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    return [it for it in verified.stderr.splitlines() if "prazo" in it]


@pytest.mark.parametrize("name", TIMERS)
def test_a_timer_starts_a_job_that_ends_and_whose_failure_waits_for_the_next_time(
    name: str, units: Path
) -> None:
    """What all units share would start a backup that failed again after two seconds, for ever."""
    job = name.replace(".timer", ".service")
    assert faults_of(name, units) == []
    for unit, is_job in ((job, True), ("prazo-serve.service", False)):
        more = units / f"{unit}.d" / "more.conf"  # a second program, which a job alone may have
        more.parent.mkdir()
        more.write_text("[Service]\nExecStart=/bin/true\n", encoding="ascii")
        try:
            assert (faults_of(unit, units) == []) == is_job
        finally:
            shutil.rmtree(more.parent)
    assert "\nRestart=no\n" in (units / "prazo-job-.service.d" / "job.conf").read_text("utf-8")


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_sound_and_closed_enough(name: str, units: Path) -> None:
    alone = os.environ | {"SYSTEMD_UNIT_PATH": f"{units}:"}
    assert faults_of(name, units) == []
    options = ("--offline=yes", f"--threshold={THRESHOLD}", "--no-pager")
    done("systemd-analyze", "security", *options, name, env=alone)


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_starts_a_part_that_there_is(name: str, read_only: Installed) -> None:
    text = (ROOT / "deploy" / "systemd" / name).read_text(encoding="utf-8")
    [words] = re.findall(rf"^ExecStart={PROGRAM} (.*)$", text, re.MULTILINE)
    assert read_only.run(*words.split(), "--help").returncode == 0


@pytest.mark.timeout(400)
def test_all_parts_work_with_as_little_as_the_units_leave_them(
    read_only: Installed, place: Path, tmp_path: Path
) -> None:
    """As far as a shell can take it away: the file system is read-only but for their own folder,
    /tmp is their own, and there are no capabilities and no way to get one."""
    made = Deployed.make(place / "deploy").folder
    lines = (made / "prazo.env").read_text(encoding="utf-8").replace("/etc/prazo", f"{made}/prazo")
    environment = dict(it.split("=", 1) for it in lines.splitlines() if it.startswith("PRAZO_"))
    home = place / "state"
    home.mkdir()
    os.chown(home, USER, USER)
    confine = (
        'mount --bind "$PRAZO_HOME" "$PRAZO_HOME" && mount -t tmpfs -o mode=1777 tmpfs /tmp'
        " && mount -o remount,bind,ro / && mount -o remount,bind,ro /dev/shm"
        f" && exec setpriv --reuid={USER} --regid={USER} --clear-groups --bounding-set=-all"
        ' --no-new-privs "$@"'
    )
    confined = replace(
        read_only,
        environment=environment | {"PRAZO_HOME": str(home)},
        before=("unshare", "--mount", "sh", "-c", confine, "sh"),
    )
    confined.comes_up("serve", page=403)  # which people reach by the proxy alone
    assert (home / "data" / "inbox.db").exists()
