"""One machine, as docs/deployment.md has somebody type it: in a container of Debian."""

import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import text
from tests.release.containers import BASE, GIVEN, PODMAN, done
from tests.release.installed import ROOT

NO_SYSTEMD = "printf '#!/bin/sh\\n' >/usr/local/bin/systemctl; chmod +x /usr/local/bin/systemctl"
SERVE = """
settings=$(grep ^PRAZO_ /etc/prazo/prazo.env | tr '\\n' ' ')
run="setpriv --reuid=prazo --regid=prazo --clear-groups env $settings"
run="$run PRAZO_HOME=/var/lib/prazo PRAZO_RECEIVER_PORT=$1 PRAZO_DASHBOARD_PORT=$2"
$run /opt/prazo/bin/prazo serve & part=$!
for second in $(seq 90); do
    sleep 1
    $run /opt/prazo/bin/prazo alive receive && $run /opt/prazo/bin/prazo alive dashboard && break
done
kill $part; wait $part; echo "ended with $?"
"""


def typed(heading: str) -> list[str]:
    """The commands below a heading of the page."""
    section = text(ROOT / "docs/deployment.md").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [it.removeprefix("    ") for it in section.splitlines() if it.startswith("    ")]


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("image")
def test_one_machine_comes_up_by_what_the_page_says(wheel: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    done("git", "clone", "--quiet", "--no-local", ROOT, source)
    for name in ("deploy", "docs"):  # as they are now
        done("cp", "-rT", ROOT / name, source / name)
    (source / "dist").mkdir()
    done("cp", wheel, source / "dist")
    *commands, doctor = typed("One machine")
    assert commands[0].startswith("useradd")
    # systemd keeps a folder for it; nothing runs yet that doctor could ask.
    state = "install -d -o prazo -g prazo -m 0700 /var/lib/prazo"
    script = ["set -eu", NO_SYSTEMD, *commands, state, "set +e", doctor, SERVE]
    (source / "typed.sh").write_text("\n".join(script), encoding="utf-8")
    ports = ("18473", "18574")
    ran = subprocess.run(
        [
            *(*PODMAN, "run", "--rm", "--network", "host", "--ulimit", "nofile=1024:1024"),
            *("--ulimit", "nproc=4096:4096", f"--volume={source}:/source", "--workdir=/source"),
            *(f"--volume={it}:{it}:ro" for it in GIVEN if Path(it).exists()),
            *("--env=PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", BASE),
            *("sh", "typed.sh", *ports),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert "Traceback" not in said, said
    assert "The password of ana, on the dashboard: " in said, said
    assert "ended with 0" in said, said
    assert "ok       deliveries: " in said, said
    assert "can be read by others" not in said, said
