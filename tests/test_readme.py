"""The README is true: its settings are the settings, its commands are commands, its links lead."""

import re
from pathlib import Path

from pipeline.cli import main
from pipeline.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def settings_table() -> str:
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        lines.append(f"| `PRAZO_{name.upper()}` | {default} | {field.description} |")
    return "\n".join(lines)


def test_every_setting_is_listed_with_its_default_and_meaning():
    assert settings_table() in README


def test_every_command_that_is_named_exists():
    named = set(re.findall(r"prazo ([a-z]+)", README)) - {"is", "records"}
    assert named <= set(main.commands), named - set(main.commands)


def test_every_command_has_an_example_in_its_help():
    for name, command in main.commands.items():
        assert "Example" in (command.help or ""), name


def test_every_file_that_is_linked_or_shown_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target
