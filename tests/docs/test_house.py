"""The style that `CONTRIBUTING.md` asks for, as far as a program can tell."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.docs.pages import PAGES, ROOT

FOLDERS = ("app_pages", "pipeline", "queries", "sandbox", "tests")

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def code(suffix: str) -> dict[str, str]:
    """The text of each file of code with this suffix, by its path in the checkout."""
    files = [ROOT / "app.py", *(file for name in FOLDERS for file in (ROOT / name).rglob("*"))]
    return {
        file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
        for file in files
        if file.suffix == suffix
    }


PYTHON, SQL = code(".py"), code(".sql")


@cache
def trees() -> dict[str, ast.AST]:
    """The files of Python parsed, by the only worker that asks."""
    return {path: ast.parse(text) for path, text in PYTHON.items()}


def names_in(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.arg):
            yield inner.arg


def wrong_its(tree: ast.AST) -> list[int]:
    """The lines where `it` is bound, or used, outside a comprehension on one line."""
    found: list[int] = []

    def look(node: ast.AST, *, is_named: bool) -> None:
        if isinstance(node, Comprehension) and node.lineno == node.end_lineno:
            is_named = is_named or any("it" in names_in(part.target) for part in node.generators)
        name = node.id if isinstance(node, ast.Name) else getattr(node, "arg", None)
        if name == "it" and not (is_named and isinstance(node, ast.Name)):
            found.append(node.lineno)  # type: ignore[attr-defined]
        for inner in ast.iter_child_nodes(node):
            look(inner, is_named=is_named)

    look(tree, is_named=False)
    return found


def undocumented(tree: ast.AST, within: str = "") -> Iterator[str]:
    """Public classes, functions and methods without a docstring, by their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("_"):
            if ast.get_docstring(node) is None:
                yield within + node.name
            if isinstance(node, ast.ClassDef):
                yield from undocumented(node, f"{within}{node.name}.")


def test_all_that_is_public_in_the_pipeline_has_a_docstring():
    pipeline = {path: tree for path, tree in trees().items() if path.startswith("pipeline/")}
    modules = [path for path, tree in pipeline.items() if ast.get_docstring(tree) is None]
    assert modules == [], "begin each with a docstring that says what it alone does"
    found = {path: names for path, tree in pipeline.items() if (names := [*undocumented(tree)])}
    assert found == {}, "say in a docstring what each does, or begin its name with a _"


def test_what_has_no_docstring_is_named():
    lines = [
        "class Inbox:",
        "    def read(self): ...",
        "    def _seek(self): ...",
        "def _open(): ...",
    ]
    assert [*undocumented(ast.parse("\n".join(lines)))] == ["Inbox", "Inbox.read"]


def test_it_is_a_name_in_comprehensions_on_one_line_alone():
    found = {path: lines for path, tree in trees().items() if (lines := wrong_its(tree))}
    assert found == {}, "write a name there that says what it is"


AVOIDED = (
    ("anew", r"\banew\b|_anew_", "again"),
    ("none", r"\bthat is none\b", "say what it is"),
    (
        " no ",
        r"(?<!here )\b(is|are|was|were) no (?!longer|more|matter|such|\w+er\b)\w",
        "is not a",
    ),
    ("old", r"\b[Tt]old (again|twice)\b|_told_|\btold_|_told\b", "say, record, show"),
    ("end", r"\b[mM]end(s|ed|ing)?\b|\bmend_", "correct"),
    ("_A", r"\b_?[A-Z_]+_AN?_(BATCH|COMMIT|READ|MINUTE|SECOND|GROUP|PART|ROUND)\b", "_PER_"),
)
"""Words and turns that a reader stumbles over, each as three texts: letters that all of its forms
have (a line without them needs no slow search), the pattern, and what to write in its place."""


def avoided(text: str) -> list[str]:
    """The lines in which a text uses one of them, and what to write. The name of a test is read as
    a sentence, too."""
    found = []
    for line in text.splitlines():
        read = f"{line} {line.replace('_', ' ')}" if "def test_" in line else line
        found += [
            f"{line.strip()} -> {better}"
            for letters, pattern, better in AVOIDED
            if letters in read and re.search(pattern, read)
        ]
    return found


def test_nothing_is_said_in_words_that_readers_stumble_over():
    pages = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    own = "tests/docs/test_house.py"
    found = {
        path: lines
        for path, text in {**PYTHON, **SQL, **pages}.items()
        if path != own and (lines := avoided(text))
    }
    said = [f"{path}: {line}" for path, lines in found.items() for line in lines]
    assert not said, "\n".join(said)


@pytest.mark.parametrize(
    "text",
    [
        "the ledger is made anew",
        "def test_a_file_is_written_anew_after_a_crash():",
        "what a package that is none makes it raise",
        "a date alone is no instant",
        "def test_a_date_alone_is_no_instant():",
        "def test_a_kind_that_is_none_is_refused():",
        "Told twice, it counts once",
        "def _told_plainly():",
        "then 'mend_payload'",
        "LINES_A_COMMIT = 500",
    ],
)
def test_such_words_are_found(text):
    assert avoided(text) != []


@pytest.mark.parametrize(
    "text", ["there is no inbox", "it is no longer there", "nobody was told to act", "amended"]
)
def test_ordinary_words_are_not(text):
    assert avoided(text) == []


@pytest.mark.parametrize(
    "code",
    [
        "for it in rows: pass",
        "with opened() as it: pass",
        "it = 1",
        "sorted(rows, key=lambda it: it.seq)",
        "[\n    it\n    for it in rows\n]",
        "[one for one in rows if (it := one)]",
        "def count(it): pass",
    ],
)
def test_any_other_it_is_found(code):
    assert wrong_its(ast.parse(code)) != []


def test_a_comprehension_on_one_line_may_say_it():
    assert wrong_its(ast.parse("[it.seq for it in rows if it.seq in {it for it in seqs}]")) == []


def test_no_file_is_opened_by_a_second_sqlite() -> None:
    """Python's own and that of `apsw` in one process end each other's locks on a file. The
    benchmarks' contestants and the peers have files of their own."""
    second = {
        path
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(name.name == "sqlite3" for name in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "sqlite3")
    }
    assert second == {"tests/benchmarks/contestants.py", "tests/benchmarks/peers.py"}


def test_one_module_of_the_product_opens_files_of_sqlite() -> None:
    opening = {
        path
        for path, text in PYTHON.items()
        if path.startswith("pipeline/") and "apsw.Connection(" in text
    }
    assert opening == {"pipeline/inbox/sqlite/connection.py"}
