"""Draws the seller's screens: the same state gives the same bytes, so what was seen can be kept.

A screen that is answered names the digest of what was drawn, as
`pipeline/journey/entrance/sessions.py` has marked it. It is drawn again then; where the bytes are
the same, they are the evidence, and nothing had to be stored for a screen that was looked at.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import jinja2
from jinja2.utils import urlize
from markupsafe import Markup, escape

from pipeline.errors import SettingsError
from pipeline.journey import page_texts
from pipeline.journey.form import PATTERNS, STATES, FaultCode, Field, Kind, Question, ends_of
from pipeline.journey.links import shown_ref
from pipeline.journey.notifying import Help
from pipeline.journey.page_texts import Language
from pipeline.settings import Settings
from pipeline.submit.demand import TYPES

TEMPLATES: Final = Path(__file__).with_name("templates")
MAX_LOGO_BYTES: Final = 30_000
"""So that each screen with it is under 50 kB."""
PLACE: Final = "\x1fpage\x1f"
"""Stands in a drawn screen for the token that names it. No answer holds such characters; what was
refused for them stands behind the token."""

_FAULT_OF: Final[Mapping[Kind, FaultCode]] = {"postal_code": "postal_code", "band": "amount"}
"""What a browser says of an input that is not as its pattern wants it."""

_LOGOS: Final = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"<svg": "image/svg+xml",
    b"<?xml": "image/svg+xml",
}


class Logo(NamedTuple):
    """The marketplace's logo."""

    media_type: str
    content: bytes


class Drawn(NamedTuple):
    """A screen without its token."""

    html: str

    @property
    def digest(self) -> str:
        """Of everything that the seller sees on it."""
        return hashlib.sha256(self.html.encode()).hexdigest()[:32]

    def signed(self, token: str) -> bytes:
        """The bytes that are sent."""
        return self.html.replace(PLACE, token, 1).encode()


class Asking(NamedTuple):
    """A question as it is asked now."""

    question: Question
    asked: str
    """Tells it from any other, and from itself before another answer."""
    typed: Mapping[str, str]
    """What its inputs hold, of this journey alone."""
    position: int
    """Among the questions of the journey, from 1."""
    total: int
    back: str | None
    """The path of the question before; None for the first."""
    faults: Mapping[str, FaultCode]
    is_changed: bool
    """Whether it is asked again, since something changed while it was answered."""


class Line(NamedTuple):
    """An answer on the screen that is reviewed."""

    label: str
    value: str
    href: str


class Group(NamedTuple):
    """Answers about one person."""

    whose: str
    lines: Sequence[Line]


class Screens:
    """Draws for one marketplace; raises `SettingsError` where its logo cannot be used."""

    def __init__(
        self,
        settings: Settings,
        bands: Sequence[str] | None = None,
        help_now: Callable[[], Help] = Help,
    ) -> None:
        """`bands`: the platform's, of which a seller chooses one; None: nobody knows them.
        `help_now`: where sellers turn."""
        self.bands = bands
        self._help = help_now
        page = urlsplit(settings.journey_url or "")
        self._host = f"{page.scheme}://{page.netloc}"
        self.logo = (
            None if settings.journey_logo_file is None else _logo(settings.journey_logo_file)
        )
        self._name = settings.journey_name
        self.style = _style(settings.journey_colour)
        self.script = (TEMPLATES / "journey.js").read_bytes()
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.wording = _wording()

    def draw(
        self,
        template: str,
        language: Language,
        *,
        ref: str | None = None,
        about: str | None = None,
        **shown: Any,
    ) -> Drawn:
        """One screen. `ref`: the journey's number, where the seller is in one. `about`: the number
        that a mail to us names, where the seller is in none."""
        other: Language = "en" if language == "pt-BR" else "pt-BR"
        turn_to = self._help()
        said = self._templates.get_template(f"{template}.html").render(
            language=language,
            other_language=other,
            text=lambda code, **values: page_texts.text(code, language, **values),
            other_text=lambda code: page_texts.text(code, other),
            name=self._name,
            host=self._host,
            genuine=turn_to.genuine,
            contact=linked(
                page_texts.contact(
                    turn_to.contact,
                    self._name,
                    language,
                    is_for_link=shown.get("code") == "invalid",
                ),
                _subject(about or ref, template, language),
            ),
            has_logo=self.logo is not None,
            style=self.style,
            number=None if ref is None else shown_ref(ref),
            **shown,
        )
        return Drawn(said)

    def help_in_words(self, language: Language) -> list[str]:
        """Whom sellers ask, and the page's own address: for a file that they keep."""
        return [
            page_texts.contact(self._help().contact, self._name, language),
            page_texts.text("receipt_named", language, name=self._name),
            f"{page_texts.text('receipt_page', language)}: {self._host}",
        ]

    def question(
        self,
        language: Language,
        ref: str,
        asking: Asking,
        *,
        is_business: bool,
    ) -> Drawn:
        """One question."""
        question = asking.question
        fields = [
            _input(name, each, language, asking, self.bands) for name, each in question.inputs
        ]
        return self.draw(
            "question",
            language,
            ref=ref,
            heading=page_texts.heading(question, language),
            whose=_whose(question, language, is_business=is_business),
            fields=fields,
            faults=[it for it in fields if it["fault"]],
            is_changed=asking.is_changed,
            position=asking.position,
            total=asking.total,
            back=asking.back,
            action=f"/r/{ref}/{question.slug}",
            asked=asking.asked,
            page=PLACE,
        )

    def review(
        self,
        language: Language,
        ref: str,
        questions: Sequence[Question],
        answers: Mapping[str, Any],
        *,
        is_business: bool,
        faults: bool = False,
        is_changed: bool = False,
    ) -> Drawn:
        """All answers, to be checked and declared true."""
        return self.draw(
            "review",
            language,
            ref=ref,
            groups=self.groups(language, ref, questions, answers, is_business=is_business),
            faults=faults,
            is_changed=is_changed,
            back=f"/r/{ref}/{questions[-1].slug}",
            action=f"/r/{ref}/review",
            page=PLACE,
        )

    def groups(
        self,
        language: Language,
        ref: str,
        questions: Sequence[Question],
        answers: Mapping[str, Any],
        *,
        is_business: bool,
    ) -> list[Group]:
        """All answers in words, by the person whom they are about."""
        found: dict[str, list[Line]] = {}
        for question in questions:
            lines = found.setdefault(_whose(question, language, is_business=is_business), [])
            lines += [
                Line(
                    page_texts.label(each, language),
                    page_texts.value(each, answers.get(each.path, ""), language),
                    f"/r/{ref}/{question.slug}",
                )
                for each in question.fields
            ]
        return [Group(whose, lines) for whose, lines in found.items()]


_TELEPHONE: Final = re.compile(r"(?<![\w/.@+-])(\+?\(?\d(?:[ ().-]{0,2}\d){7,14})(?![\w/@-])")
"""8 to 15 digits as people write them, and no part of a word or an address."""


def linked(text: str, subject: str) -> Markup:
    """A text in which a tap on an address writes to it, with a subject, and on a number calls it.
    Only what is safe in HTML."""
    parts = _TELEPHONE.split(text)
    said = ""
    for at, part in enumerate(parts):
        if at % 2:
            number = re.sub(r"[^\d+]", "", part)
            said += f'<a href="tel:{number}">{escape(part)}</a>'
        else:
            said += urlize(part)
    return Markup(re.sub(r'(href="mailto:[^"?]*)', rf"\g<1>?subject={quote(subject)}", said))


def _subject(ref: str | None, template: str, language: Language) -> str:
    """What stands above a mail of a seller, so that whoever reads the mail finds the journey; of a
    screen without the journey's number, what it is about."""
    if ref is None:
        code = "subject_code" if template == "code" else "subject_link"
        return page_texts.text(code, language)
    return page_texts.text("subject", language, number=shown_ref(ref))


def _whose(question: Question, language: Language, *, is_business: bool) -> str:
    if question.is_about_owner:
        return page_texts.text("of_owner", language)
    is_of_business = is_business and question.fields[0].kind not in ("type", "other")
    return page_texts.text("of_business", language) if is_of_business else ""


def _input(
    name: str,
    each: Field,
    language: Language,
    asking: Asking,
    bands: Sequence[str] | None,
) -> dict[str, Any]:
    """What the template shows of one field."""
    typed, fault = asking.typed, asking.faults.get(each.path)
    shown: dict[str, Any] = {
        "name": name,
        "at": ends_of(name)[0] if each.kind == "band" else name,
        "kind": each.kind,
        "label": page_texts.label(each, language),
        "hint": page_texts.hint(each, language),
        "fault": None if fault is None else page_texts.fault(fault, each, language),
        "typed": typed.get(name, ""),
        "is_required": each.is_required,
        "pattern": PATTERNS.get(each.kind) if each.is_required else None,
        "title": page_texts.fault(_FAULT_OF.get(each.kind, "missing"), each, language),
    }
    match each.kind:
        case "band":
            shown["ends"] = [
                (end, page_texts.choice(code, language), typed.get(end, ""))
                for code, end in zip(("from", "to"), ends_of(name), strict=True)
            ]
        case "bands":
            shown["choices"] = [(it, page_texts.band(it, language)) for it in bands or ()]
        case "type":
            shown["choices"] = [(it, page_texts.choice(it, language)) for it in TYPES]
        case "state":
            shown["choices"] = [(code, f"{state} ({code})") for code, state in STATES.items()]
        case "country":
            shown["choices"] = list(page_texts.countries(language).items())
    return shown


def _style(colour: str) -> str:
    bars = "".join(f".bar .p{tenth}{{width:{tenth * 10}%}}" for tenth in range(11))
    text = (TEMPLATES / "journey.css").read_text(encoding="utf-8")
    return text.replace("COLOUR", colour).replace("BARS", bars)


def _logo(path: Path) -> Logo:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_LOGO_BYTES + 1)
    except OSError as error:
        raise SettingsError("The logo cannot be read", f"{path}: {error.strerror}") from None
    kind = next((it for start, it in _LOGOS.items() if content.startswith(start)), None)
    if kind is None or len(content) > MAX_LOGO_BYTES:
        raise SettingsError(
            "The logo cannot be used",
            f"{path} is not a PNG, JPEG or SVG of at most {MAX_LOGO_BYTES} bytes",
            "correct PRAZO_JOURNEY_LOGO_FILE",
        )
    return Logo(kind, content)


def _wording() -> str:
    """The version of what the page says and how it looks: a digest of all of it."""
    digest = hashlib.sha256(json.dumps(page_texts.all_texts(), sort_keys=True).encode())
    for path in sorted(TEMPLATES.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# --- a screen as text ------------------------------------------------------------------------


_BLOCKS: Final = frozenset(
    {"p", "h1", "h2", "li", "div", "dt", "dd", "label", "legend", "option", "button", "title"}
)
_UNSEEN: Final = frozenset({"style", "script"})


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self._unseen += tag in _UNSEEN
        if tag in _BLOCKS:
            self.lines.append("")
        if tag == "input" and known.get("type") not in ("hidden", "radio", "checkbox"):
            self.lines.append(f"[{known.get('value') or ''}]")
        elif tag == "input" and known.get("type") != "hidden":
            self.lines[-1] += "(x) " if "checked" in known else "( ) "
        elif tag == "option":
            self.lines[-1] += "(x) " if "selected" in known else "( ) "

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN
        if tag in _BLOCKS:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.lines[-1] += data


def text_of(html: bytes) -> bytes:
    """What a screen says, line by line: for readers of evidence without a browser."""
    reader = _Text()
    reader.feed(html.decode())
    lines = (" ".join(line.split()) for line in reader.lines)
    return ("\n".join(line for line in lines if line) + "\n").encode()
