"""Builds the image, and runs parts in containers of it.

It is built over a base that debootstrap makes, since no registry of images need be reached. The
containers share the network of this machine.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.release.installed import ROOT
from tests.support.machine import wait_until

BASE, IMAGE = "localhost/prazo-try-base", "localhost/prazo-try"
PODMAN = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs")
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
GIVEN = ("/etc/pip.conf", "/etc/ssl/certs")
"""How this machine's pip reaches its index, for the build alone."""


def done(*command: object, **given: object) -> str:
    """What a command prints; it has to end well."""
    ended = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, **given
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return ended.stdout


@pytest.fixture(scope="session")
def image() -> str:
    """The name of the image, as `make image` builds it."""
    missing = [it for it in ("podman", "runc", "debootstrap") if not shutil.which(it)]
    if missing or os.getuid() != 0:
        pytest.skip(f"no image can be built here: {', '.join(missing) or 'only root can'}")
    folder = Path(done("mktemp", "-d", "-p", "/var/tmp").strip())
    turns = (Path(tempfile.gettempdir()) / "prazo-try-image.lock").open("w")
    fcntl.flock(turns, fcntl.LOCK_EX)  # another worker finds what this one has built
    try:
        _make_base(folder)
        volumes = [f"--volume={it}:{it}:ro" for it in GIVEN if Path(it).exists()]
        options = ("--isolation chroot --layers --ulimit nofile=1024:1024", *volumes)
        build = f"IMAGE_OPTIONS={' '.join(options)} --build-arg BASE={BASE}"
        done("make", "-C", ROOT, "image", f"IMAGE={IMAGE}", build)
    finally:
        turns.close()
        shutil.rmtree(folder)
    return IMAGE


def _make_base(folder: Path) -> None:
    """Debian with a Python: an image of the same contents has the same name for the build."""
    if subprocess.run(["podman", "image", "exists", BASE], check=False).returncode == 0:
        return
    packages = "--include=python3,python3-venv,ca-certificates"
    done("debootstrap", "--variant=minbase", packages, "bookworm", folder / "root")
    for cached in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man"):
        shutil.rmtree(folder / "root" / cached)
    done("tar", "-C", folder / "root", "-cf", folder / "root.tar", ".")
    done("podman", "import", "--quiet", folder / "root.tar", BASE)


@contextlib.contextmanager
def running(*options: str, part: list[str]) -> Iterator[str]:
    """The name of a container that runs a part, over a root that nobody can write to. It is removed
    at the end; that it wrote no traceback is asserted."""
    name = f"prazo-try-{os.urandom(4).hex()}"
    host = ("--network", "host", "--read-only", *LIMITS)
    done(*PODMAN, "run", "--detach", "--name", name, *host, *options, IMAGE, *part)
    try:
        yield name
    finally:
        log = subprocess.run(["podman", "logs", name], capture_output=True, text=True, check=False)
        done(*PODMAN, "rm", "--force", name)
        said = log.stderr + log.stdout
        assert "Traceback" not in said, said


def is_healthy(name: str) -> bool:
    """What the image's own check says of a container now."""
    check = [*PODMAN, "healthcheck", "run", name]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def wait_until_healthy(name: str) -> None:
    """Asserts that it becomes healthy; else what it said is shown."""
    try:
        wait_until(lambda: is_healthy(name), seconds=120, pause=1)
    except AssertionError as error:
        raise AssertionError(done("sh", "-c", f"podman logs {name} 2>&1")) from error
