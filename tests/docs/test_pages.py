"""The documents are true: settings are settings, commands are commands, links lead somewhere."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import pytest
from pydantic import BaseModel

from app_pages.door import pages as navigation
from pipeline.alert_rules import AlertRules
from pipeline.cli import main
from pipeline.forward.endpoints import Endpoint
from pipeline.settings import Settings
from tests.docs import pages
from tests.docs.pages import PAGES, ROOT

FOLDERS = ("app_pages", "data/samples", "docs", "pipeline", "queries", "sandbox", "tests")


def settings_list() -> str:
    """Each variable, its default behind it where it has one, and what it means."""
    lines = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, "") else f" (`{field.default}`)"
        lines.append(f"- `PRAZO_{name.upper()}`{default}: {field.description}")
    return "\n".join(lines)


def by_path(page: Path) -> str:
    return str(page.relative_to(ROOT))


each_page = pytest.mark.parametrize("page", PAGES, ids=by_path)


def test_every_setting_is_listed_with_its_default_and_meaning():
    page = pages.text(ROOT / "docs/operations.md")
    missing = [line for line in settings_list().splitlines() if line not in page.splitlines()]
    assert missing == [], "put these lines into the list of docs/operations.md#settings"
    assert settings_list() in page, (
        "put its lines in the order of pipeline/settings.py, and take out all others"
    )


def models_in(kind: object) -> Iterator[type[BaseModel]]:
    """The tables of a file of settings, each within others: what the types of its keys name."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
        for field in kind.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(kind):
        yield from models_in(part)


@pytest.mark.parametrize(
    ("page", "file"), [("docs/alerts.md", AlertRules), ("docs/forwarding.md", Endpoint)]
)
def test_every_setting_of_a_file_stands_on_its_page(page, file):
    """The authority of a mail server could be named, and no page said how."""
    written = pages.text(ROOT / page)
    names = {name for part in models_in(file) for name in part.model_fields}
    assert names & {"ca_file"}
    assert names & {"seller_links", "give_up_hours"}
    shown = r"(?:\b{0} *=|`{0}`|\[{0}[].])"
    unsaid = [it for it in sorted(names) if not re.search(shown.format(it), written)]
    assert unsaid == [], f"say on {page} what each of them means"


@each_page
def test_every_command_that_is_named_exists(page):
    named = set(re.findall(r"prazo ([a-z]+(?:-[a-z]+)*)", pages.text(page))) - {"is", "records"}
    assert named <= set(main.commands), f"no such commands: {named - set(main.commands)}"


@each_page
def test_every_command_that_is_shown_has_its_options(page):
    for line in pages.commands(page):
        words = shlex.split(line)[1:]
        if not words:
            continue
        command = main.commands[words[0]]
        if isinstance(command, click.Group) and len(words) > 1:
            command = command.commands[words[1]]
        options = {it for param in command.params for it in param.opts}
        shown = {it.partition("=")[0] for it in words if it.startswith("--")}
        assert shown <= options, f"{line}: the command has no option {shown - options}"


def test_every_command_has_an_example_in_its_help():
    for name, command in main.commands.items():
        for each in command.commands.values() if isinstance(command, click.Group) else [command]:
            assert "Example" in (each.help or ""), f"end the docstring of {name} {each.name} by one"


def test_every_command_stands_on_a_page():
    """A command that only its own help names is found by nobody."""
    said = " ".join(pages.text(page) for page in PAGES)
    unsaid = [it for it in main.commands if not re.search(rf"(?:prazo|make) {it}\b", said)]
    assert unsaid == [], "say on the page of its users what it does"


@each_page
def test_every_link_leads_to_a_page_and_a_section_that_exist(page):
    for link in pages.links(page):
        if link.startswith(("http://", "https://")):
            continue
        target, _, section = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.is_relative_to(ROOT), f"{link} leads out of the checkout"
        assert file.is_file(), f"{link} leads to no file"
        if section:
            assert section in pages.anchors(file), f"{link} leads to no heading of that page"


@each_page
def test_every_file_that_is_named_exists(page):
    for name in re.findall(r"`([\w./-]+/[\w./-]*)`", pages.text(page)):
        if name.startswith(FOLDERS):
            assert (ROOT / name).exists(), f"there is no file {name}"


@each_page
def test_a_pages_headings_are_distinct(page):
    """An anchor names one section. Versions of the changelog have the same ones, by its form."""
    headings = pages.headings(page)
    if page.name == "CHANGELOG.md":
        headings = [it for it in headings if it not in ("Added", "Changed", "Removed", "Fixed")]
    counted = Counter(map(pages.anchor, headings))
    repeated = [it for it, count in counted.items() if count > 1]
    assert repeated == [], "give each heading other words"


def test_every_page_can_be_reached_from_the_readme():
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        current = waiting.pop()
        reached.add(current)
        for link in pages.links(current):
            target = (current.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_file() and target not in reached:
                waiting.append(target)
    unreached = {by_path(page) for page in {*PAGES} - reached}
    assert unreached == set(), "link to each from a page that the README leads to"


def test_every_page_of_the_dashboard_is_said_to_answer_something():
    written = pages.text(ROOT / "docs/officers.md") + pages.text(ROOT / "docs/analysts.md")
    titles = [page.title for page in navigation.pages().values()]
    assert "Watchlist" in titles
    unsaid = [title for title in titles if f"**{title}**" not in written]
    assert unsaid == [], "say what they answer in docs/officers.md, or in docs/analysts.md"


def test_the_readme_has_no_more_than_150_lines():
    lines = pages.text(ROOT / "README.md").splitlines()
    assert len(lines) <= 150, "it leads to the pages of docs/: put what is longer there"
