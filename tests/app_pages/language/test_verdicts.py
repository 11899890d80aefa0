"""What the verifier leaves open is said in plain words, too."""

import ast
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app_pages.language import formats, verdicts
from pipeline import verify
from pipeline.audit import reproduce
from tests.app_pages.support.reading import plain

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


def test_the_number_of_a_sample_is_named() -> None:
    """Who gave it found it in the report alone."""
    line = 'whether "4711" is an auditor\'s own, and was given only after they had the checkpoint'
    [said] = map(plain, verdicts.plain([line]))
    assert said.startswith('Whether an auditor gave the number of the sample, "4711", and only')


def test_the_scope_is_said_by_labels_and_what_a_package_calls_itself_cannot_end_its_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line is one of `prazo verify`; its reason tries to say who made the package."""
    line = (
        "a sample of 10, from 2026-09-01T00:00:00Z, to 2026-12-01T00:00:00Z; as of"
        ' "2026-11-30T14:45:49Z"; "masked" profile; 63 entries of the first 2723 of "prazo/b8c1";'
        ' exported by "Rui", because of "a \\", because of \\"b", entry 2726 of'
        ' 2026-11-30T14:45:51.410233Z, with "prazo 0.9.0 (50c4)"'
    )
    monkeypatch.setattr(formats, "zone", lambda: ZoneInfo("America/Sao_Paulo"))
    found = verdicts.scope(line)
    assert found is not None
    assert [*found] == [
        *("Processes drawn", "From", "Until before", "Profile", "Entries"),
        *(
            "Chosen from the log up to entry",
            "Made by",
            "Reason",
            "Recorded as entry",
            "Recorded at",
            "Made with",
        ),
    ]
    said = {label: plain(text) for label, text in found.items()}
    assert said["Processes drawn"] == "10"
    assert (said["From"], said["Until before"]) == ("1 Sep 2026 (UTC)", "1 Dec 2026 (UTC)")
    assert said["Recorded at"] == "30 Nov 2026, 11:45:51"  # in São Paulo
    assert said["Chosen from the log up to entry"] == "2,723"
    assert said["Made by"] == '"Rui"'
    assert said["Reason"].startswith('"a ')
    assert said["Reason"].endswith('b"')
    of_process = verdicts.scope(line.replace(line[: line.index(";")], 'process "prc_1"'))
    assert of_process is not None
    assert plain(of_process["Process"]) == '"prc_1"'
    assert verdicts.scope("of another release") is None
