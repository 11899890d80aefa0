"""Lists the pages by the files of `app_pages/pages/`. No I/O but reading them, once.

A page's file is a script that Streamlit runs to draw it. Its constant `PAGE` says what the
navigation and the door have to know; it is read here without running anything else of the file.
"""

import ast
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from app_pages.language.i18n import N_
from pipeline.errors import OperatorError

FOLDER: Final = Path(__file__).resolve().parents[1] / "pages"


class Section(Enum):
    """What pages stand under in the navigation, in its order."""

    DAILY = ""
    INVESTIGATE = N_("Investigate")
    PROOF = N_("Proof")


class Page(NamedTuple):
    """What the navigation and the door know of a page; its address is the stem of its file."""

    title: str  # marked by `N_`
    icon: str  # the name of a Material symbol
    section: Section
    place: int  # in its section; the first of all is shown where no page is asked for
    for_analysts: bool  # every other role opens every page


@cache
def pages() -> Mapping[str, Page]:
    """Every page by its name, in the order of the navigation. Raises `OperatorError` where a file
    does not say all of it."""
    found = {path.stem: _read(path) for path in FOLDER.glob("[a-z]*.py")}
    sections = list(Section)

    def stands(named: tuple[str, Page]) -> tuple[int, int, str]:
        name, page = named
        return sections.index(page.section), page.place, name

    return dict(sorted(found.items(), key=stands))


def path_of(name: str) -> Path:
    """The file of a page."""
    return FOLDER / f"{name}.py"


def _read(path: Path) -> Page:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PAGE":
            names = {"Page": Page, "Section": Section, "N_": N_}
            try:
                page: Page = eval(compile(ast.Expression(statement.value), path, "eval"), names)
            except (TypeError, NameError, AttributeError) as error:
                raise _unsaid(path, str(error)) from None
            return page
    raise _unsaid(path, "it has no constant PAGE")


def _unsaid(path: Path, why: str) -> OperatorError:
    remedy = "let PAGE say what `Page` in app_pages/door/pages.py has"
    return OperatorError(f"The page {path} cannot be offered", why, remedy)
