"""Both languages are complete: no text without its Portuguese, none that nothing shows."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.pofile import read_po

from pipeline import conditions, findings
from pipeline.language.catalogue import CATALOGUE, NC_, counted_in, said_in
from tests.docs.pages import ROOT

Message = str | tuple[str, str]


TRANSLATE = {"app_pages/language/i18n.py", "pipeline/language/catalogue.py"}
"""They translate what others mark."""


def sources() -> dict[str, Path]:
    """All that may mark a text, by its path in the checkout."""
    folders = (ROOT / "app_pages", ROOT / "pipeline")
    files = [ROOT / "app.py", *(file for it in folders for file in sorted(it.rglob("*.py")))]
    named = {file.relative_to(ROOT).as_posix(): file for file in files}
    return {name: file for name, file in named.items() if name not in TRANSLATE}


def literal(node: ast.expr) -> str | None:
    """A text that stands in a call, as the catalogue keeps it."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Call(func=ast.Name(id="NC_"), args=[ast.Constant(), ast.Constant()] as args):
            return NC_(*(str(it.value) for it in args if isinstance(it, ast.Constant)))
        case _:
            return None


def messages() -> Iterator[tuple[Message, str]]:
    """Every text that the source marks, as the catalogue keeps it, and where it stands."""
    for name, path in sources().items():
        text = path.read_text(encoding="utf-8")
        if "pipeline.language" not in text and "app_pages.language" not in text:
            continue
        within: list[ast.AST] = []  # calls that a marked text stands in, which come before it
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call in within:
                continue
            where = f"{name}:{call.lineno}"
            said = call.args[1:] if call.func.id in ("said_in", "counted_in") else call.args
            literals = [it for it in map(literal, said) if it is not None]
            match call.func.id:
                case "_" | "N_" | "said_in" if literals:
                    yield literals[0], where
                case "NC_":
                    yield str(literal(call)), where
                case "ngettext" | "counted_in":
                    within += call.args
                    assert len(literals) == 2, f"{where}: both forms must be literals"
                    yield (literals[0], literals[1]), where
    for code, rule in findings.rules().items():
        yield from ((text, code) for text in (rule.name, rule.meaning, rule.remedy))
    for code, condition in conditions.of_log().items():
        where = f"pipeline/conditions.py: {code}"
        yield from ((text, where) for text in (condition.name, condition.advice) if text)


def catalogue() -> dict[Message, tuple[str, ...]]:
    """Each text, after its context if it has one -> its Portuguese, in each form."""
    with CATALOGUE.open("rb") as file:
        read = read_po(file, locale="pt_BR")

    def kept(entry: Any) -> Message:
        forms = entry.id if isinstance(entry.id, tuple) else (entry.id,)
        first, *more = [NC_(entry.context, it) if entry.context else it for it in forms]
        return (first, *more) if more else first

    return {
        kept(entry): (entry.string,) if isinstance(entry.string, str) else tuple(entry.string)
        for entry in read
        if entry.id
    }


def test_every_text_has_its_portuguese() -> None:
    translated = catalogue()
    missing = [
        f"{where}: {message!r}"
        for message, where in messages()
        if not all(translated.get(message, ("",)))
    ]
    assert not missing, f"write them into {CATALOGUE.name}"


def test_the_catalogue_holds_nothing_that_is_not_used() -> None:
    unused = catalogue().keys() - {message for message, _ in messages()}
    assert not unused, f"take them out of {CATALOGUE.name}"


def test_each_text_stands_once() -> None:
    """Of two, programs that read the file take one or the other."""
    text = CATALOGUE.read_text(encoding="utf-8")
    entries = re.findall(r'^((?:msgctxt ".*"\n)?msgid (?:".*"\n)+)', text, re.MULTILINE)
    assert len(entries) > 1000
    assert [it for it, times in Counter(entries).items() if times > 1] == []


def test_a_translation_fills_in_the_same_names() -> None:
    def names(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    for message, translations in catalogue().items():
        english = message if isinstance(message, str) else message[1]
        for translation in translations:
            assert names(translation) <= names(english), translation
        assert names(translations[-1]) == names(english), message


def test_no_fuzzy_guess_passes_for_a_translation() -> None:
    with CATALOGUE.open("rb") as file:
        fuzzy = [entry.id for entry in read_po(file) if entry.id and entry.fuzzy]
    assert fuzzy == [], "correct each guess, and take away its mark `fuzzy`"


def test_a_text_is_said_in_either_language() -> None:
    assert said_in("pt", "to {name}", name="Ana") == "para Ana"
    assert said_in("en", "to {name}", name="Ana") == "to Ana"
    assert said_in("pt", NC_("of nobody", "Not listed")) == "Not listed"
    one, many = "{n} delivery", "{n} deliveries"
    assert [counted_in("en", one, many, it, n=it) for it in (0, 1)] == [
        "0 deliveries",
        "1 delivery",
    ]
    assert [counted_in("pt", one, many, it, n=it) for it in (1, 2)] == ["1 entrega", "2 entregas"]


def test_one_thing_has_one_word_in_portuguese() -> None:
    """A calendar had two, as had a note, a role, a payload and what the platform reports."""
    words = " ".join(form for forms in catalogue().values() for form in forms)
    for other in ("Agenda", "Nota", "Função", "do payload", "alarmante", "levantado"):
        assert not re.search(rf"\b{other}\b", words), other


def test_portuguese_stands_in_the_catalogue_alone() -> None:
    """It stood in four places, where eight texts had drifted apart."""
    portuguese = re.compile(r"ção\b|ções\b|\b(?:não|você|está|até|já)\b", re.IGNORECASE)
    templates = [
        file for folder in ("app_pages", "pipeline") for file in (ROOT / folder).rglob("*.html")
    ]
    files = [*sources().values(), *templates]
    found = [file for file in files if portuguese.search(file.read_text(encoding="utf-8"))]
    assert found == [], f"write English there, and its Portuguese into {CATALOGUE.name}"
