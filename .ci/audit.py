"""Looks whether versions in our lock have known vulnerabilities, by pip-audit.

Exit codes: 0 none is known, 1 some are, 3 it could not be decided, because the data could not be
had. pip-audit itself ends with 0 where it had no data for any package.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
NONE_KNOWN, KNOWN, UNDECIDED = 0, 1, 3
SECONDS = 120
"""For one try; a network that swallows what is asked must not hold a check up."""


def main() -> int:
    """Audits the lock; its first package alone says whether there is any data here."""
    lines = LOCK.read_text(encoding="ascii").splitlines()
    first = next(line.split(" ")[0] for line in lines if "==" in line)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as one:
        one.write(f"{first}\n")
        one.flush()
        found = audit(Path(one.name))
    if found is None or any("skip_reason" in it for it in found):
        say(f"UNDECIDED: no data about vulnerabilities can be had from here (asked for {first})")
        return UNDECIDED
    verdict = NONE_KNOWN
    for it in audit(LOCK) or [{"name": LOCK.name, "skip_reason": "pip-audit failed"}]:
        if it.get("skip_reason"):
            say(f"UNDECIDED: {it['name']}: {it['skip_reason']}")
            verdict = verdict or UNDECIDED
        for fault in it.get("vulns", ()):
            fixed_in = ", ".join(fault["fix_versions"]) or "no version yet"
            say(f"KNOWN: {it['name']} {it['version']}: {fault['id']}, fixed in {fixed_in}")
            verdict = KNOWN
    if verdict == NONE_KNOWN:
        say("no vulnerability of a version in the lock is known")
    return verdict


def audit(requirements: Path) -> "list[dict] | None":
    """What pip-audit says of each package; None where it says nothing."""
    command = [
        *(ROOT / ".venv" / "bin" / "pip-audit", "--requirement", requirements, "--no-deps"),
        *("--disable-pip", "--format", "json", "--progress-spinner", "off"),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        return json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None


def say(line: str) -> None:
    """One line for whoever runs it."""
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
