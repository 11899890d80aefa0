"""What the verifier leaves open is said in plain words, too."""

import ast
from pathlib import Path

from app_pages.language import verdicts
from pipeline import verify
from pipeline.audit import reproduce

LEFT_OPEN = ("unchecked", "undecided")


def said_by_the_verifier() -> list[str]:
    """The fixed words of each line that one of the verifier's modules adds to what it leaves
    open."""
    found = []
    for module in (verify, reproduce):
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="append", value=ast.Attribute(attr=place)), args=[text]
                ) if place in LEFT_OPEN:
                    found.append(text)
    return ["".join(map(_fixed, ast.walk(text))) for text in found]


def _fixed(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(words)):
            return words
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in ("DERIVED", "MASKED"):
            words = getattr(verify, name)
            assert isinstance(words, str)
            return words
    return ""


def test_each_line_that_the_verifier_leaves_open_has_plain_words_of_its_own() -> None:
    lines = said_by_the_verifier()
    assert len(lines) > 30
    parts = [part for part, _means in verdicts.OPEN]
    without = [line for line in lines if not any(it in line for it in parts)]
    assert without == []
    assert [it for it in parts if not any(it in line for line in lines)] == []


def test_what_several_lines_mean_is_said_once_and_a_foreign_line_stands_as_it_is() -> None:
    withheld = "the content of {} withheld ({}): it is bound by commitments, and what is said of it"
    lines = [
        withheld.format("3 bodies that are", "personal data"),
        withheld.format("1 body that is", "erased"),
        "whether *this* was foreseen",
    ]
    assert verdicts.plain(lines) == [
        "What stands in contents that are left out, such as personal data: that they were not"
        " changed is proved, but not what is said of them.",
        r"whether \*this\* was foreseen",
    ]
