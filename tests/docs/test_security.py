"""What SECURITY.md promises is tried by tests that exist, on versions that are fixed."""

import re

from tests.docs.pages import ROOT, text

TESTS = re.compile(r"^(?:    )?(?:async )?def (test_\w+)", re.MULTILINE)
LOCK = (ROOT / "requirements.lock").read_text(encoding="ascii")


def rows() -> list[list[str]]:
    """The cells of each threat."""
    section = text(ROOT / "SECURITY.md").partition("## Threats")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_every_threat_names_a_test_that_exists() -> None:
    known = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in TESTS.findall(file.read_text(encoding="utf-8"))
    }
    assert len(rows()) > 20
    for cells in rows():
        assert len(cells) == 4, f"give this row four cells: {cells}"
        named = re.findall(r"`(\w+)`", cells[3])
        assert named, f"name in the last cell the test that tries it: {cells}"
        unknown = [it for it in named if it not in known]
        assert unknown == [], "there are no such tests: name those that try it"


def test_the_lock_fixes_versions_and_digests_and_names_no_host() -> None:
    assert not re.search(r"https?:|index-url|^-", LOCK, re.MULTILINE)
    packages = re.split(r"\n(?=\S)", re.sub(r"^# \w+\n", "", LOCK, flags=re.MULTILINE).strip())
    for package in packages:
        assert re.match(r"[A-Za-z0-9._-]+(\[[a-z0-9,-]+\])?==\S+ (; .+ )?\\\n", package), package
        assert "--hash=sha256:" in package


def names(group: str) -> set[str]:
    """The packages of one group of the lock."""
    section = LOCK.partition(f"# {group}\n")[2].partition("\n# ")[0]
    return set(re.findall(r"^([A-Za-z0-9._-]+)==", section, re.MULTILINE))


def test_the_products_lock_holds_no_tool_of_its_development() -> None:
    tools = {"pytest", "mypy", "ruff", "uv", "playwright", "hypothesis", "pip-audit"}
    assert tools <= names("dev")
    assert "duckdb" in names("product")
    assert not tools & names("product")
