"""Reads `notices.toml`: by which channels and in which words sellers are notified, and when.

Each fault is named. What the file leaves out has a default, so that a log without the file sends by
e-mail, in our words.
"""

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from pipeline import settings_files
from pipeline.alert_rules.parts import Part, hours_of
from pipeline.alert_rules.recipients import WorkingHours
from pipeline.contract import review_types
from pipeline.errors import SettingsError
from pipeline.files.reread import RereadFile
from pipeline.journey.page_texts import LANGUAGES, Language
from pipeline.language.codes import SELLER_CHANNELS
from pipeline.log.kinds import notice_schedule
from pipeline.log.kinds.seller_notice import BY_HAND, PHONE
from pipeline.settings_files import PlainUrl

EMAIL: Final = "email"
FIRST: Final = "first"
REMINDER: Final = "reminder"
CORRECT: Final = "correct"
MOVED: Final = "moved"
OURS: Final[Mapping[str, int]] = {FIRST: 1, REMINDER: 1, CORRECT: 1, MOVED: 1}
"""Name and version of our own templates. Whoever changes their words raises the version."""
ACCEPTED: Final = "accepted"
"""The template of a message that asks for nothing: the platform has accepted the answers."""
ACCEPTED_VERSION: Final = 1
SENT: Final = tuple(it for it in SELLER_CHANNELS if it not in BY_HAND)
"""Channels by which we send, or have sent."""
ADDRESSED: Final[Mapping[str, Literal["email", "phone"]]] = {
    EMAIL: "email",
    "sms": "phone",
    "whatsapp": "phone",
}
"""Channel -> which address of a seller's record it leads to. Of another channel only the
marketplace knows where it leads."""
PLACES: Final = frozenset({"name", "deadline", "reviews", "code", "genuine", "contact"})
"""What may stand in braces in a template."""
MAX_TEXT_CHARACTERS: Final = 10_000
_WHAT: Final = "The seller notices' settings"
_PAGE: Final = "docs/notices.md"


class Webhook(Part):
    """A service that brings messages to sellers (docs/notices.md#channels)."""

    url: PlainUrl
    secret_file: Path
    address: bool = False
    """Whether it gets the seller's address; else the marketplace finds them by their id."""


class Bounces(Part):
    """The mailbox to which mail servers report what they could not deliver, by IMAP over TLS."""

    host: str = Field(pattern=r"^[A-Za-z0-9_.:-]+$")
    port: int = Field(993, ge=1, le=65_535)
    user: str = Field(pattern=r"^[!-~]+$")
    password_file: Path
    ca_file: Path | None = None
    folder: str = Field("INBOX", pattern=r"^[A-Za-z0-9 ._/&-]+$")


class Words(Part):
    """A message in one language, with `{places}` that are filled in."""

    subject: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=MAX_TEXT_CHARACTERS)

    @field_validator("subject", "text")
    @classmethod
    def _known_places(cls, text: str) -> str:
        try:
            parts = [*string.Formatter().parse(text)]
        except ValueError as error:
            raise ValueError(f"its braces do not match: {error}") from None
        for _, place, form, conversion in parts:
            if place is None:
                continue
            if place not in PLACES or form or conversion:
                known = ", ".join(f"{{{it}}}" for it in sorted(PLACES))
                raise ValueError(f"nothing fills in {{{place}}}: known are {known}")
        return text

    @model_validator(mode="after")
    def _with_reviews(self) -> "Words":
        if "{reviews}" not in self.text:
            raise ValueError("the text lacks {reviews}: what is asked, by when, and the links")
        if "\n" in self.subject or "{reviews}" in self.subject:
            raise ValueError("a subject is one line without {reviews}")
        return self


class Template(Part):
    """A message in the marketplace's own words. Whoever changes them raises the version: an entry
    names both."""

    model_config = ConfigDict(populate_by_name=True)

    version: int = Field(1, ge=1, le=9999)
    pt_br: Words | None = Field(None, alias="pt-BR")
    en: Words | None = None

    @model_validator(mode="after")
    def _in_some_language(self) -> "Template":
        if self.pt_br is None and self.en is None:
            raise ValueError("it has no words: write them under pt-BR or en")
        return self

    def words(self, language: Language) -> Words | None:
        """Its words in a language, if it has any."""
        return self.pt_br if language == "pt-BR" else self.en


def _span(text: object) -> object:
    """Hours; `0d` is the instant itself."""
    return 0 if text == "0d" else hours_of(text)


Span = Annotated[int, BeforeValidator(_span)]
"""A span such as `7d` or `12h`, or `0d`; in hours."""


class Rung(Part):
    """A message of the schedule: so long after a review was opened, or before or after its
    deadline."""

    after: Span | None = None
    before: Span | None = None
    late: Span | None = None
    channel: str = EMAIL
    """`phone`: a person is to call."""
    template: str | None = None
    if_silent: bool = False
    """It counts only while nothing shows that the seller got a message."""

    @model_validator(mode="after")
    def _at_one_time(self) -> "Rung":
        if sum(it is not None for it in (self.after, self.before, self.late)) != 1:
            raise ValueError("a rung has one of after, before and late")
        return self

    @property
    def name(self) -> str:
        """Its name in entries."""
        known = {"after": self.after, "before": self.before, "late": self.late}
        word, hours = next((word, it) for word, it in known.items() if it is not None)
        return f"{word}_{hours // 24}d" if hours % 24 == 0 else f"{word}_{hours}h"


class News(Rung):
    """A message outside of the rungs, since something came about a review."""

    about: str = ""

    @classmethod
    def of(cls, name: str, channel: str, template: str) -> "News":
        """News by its name in entries, with the channel and the template of its message."""
        return cls.model_construct(about=name, channel=channel, template=template)

    @property
    def name(self) -> str:
        """Its name in entries."""
        return self.about


RUNGS: Final = tuple(
    Rung.model_validate({word: f"{days}d" for word, days in each.items()})
    for each in notice_schedule.RUNGS
)
"""Of each type of review that the file does not name."""
MAX_RUNGS: Final = 20


class Schedule(Part):
    """When the sellers of one type of review are notified by themselves."""

    rungs: tuple[Rung, ...] = RUNGS

    @field_validator("rungs")
    @classmethod
    def _each_once(cls, rungs: tuple[Rung, ...]) -> tuple[Rung, ...]:
        if len({it.name for it in rungs}) < len(rungs):
            raise ValueError("names one time twice")
        if len(rungs) > MAX_RUNGS:
            raise ValueError(f"names more than {MAX_RUNGS} rungs")
        return rungs


class NoticeRules(Part):
    """All of `notices.toml` (docs/notices.md#settings)."""

    language: Language = LANGUAGES[0]
    contact: str | None = Field(None, min_length=1, max_length=300)
    """Whom sellers ask, and by what: in the message's words."""
    genuine: str | None = Field(None, min_length=1, max_length=300)
    """Where sellers can look up that a message is genuine, or whom they can call."""
    channels: dict[str, Webhook] = Field(default_factory=dict)
    templates: dict[str, Template] = Field(default_factory=dict)
    schedule: dict[review_types.Name, Schedule] = Field(default_factory=dict)
    hours: WorkingHours = WorkingHours()
    """When the schedule may write."""
    bounces: Bounces | None = None

    @model_validator(mode="after")
    def _with_known_rungs(self) -> "NoticeRules":
        for kind, schedule in self.schedule.items():
            for rung in schedule.rungs:
                if rung.channel not in (EMAIL, PHONE, *self.channels):
                    raise ValueError(f"schedule.{kind}: there is no channel {rung.channel!r}")
                if rung.template not in (None, *OURS, *self.templates):
                    raise ValueError(f"schedule.{kind}: there is no template {rung.template!r}")
        for name, template in self.templates.items():
            if name not in OURS and template.words(self.language) is None:
                raise ValueError(f"templates.{name}: write its words in {self.language}, too")
        return self

    def words(self, template: str, language: Language) -> Words | None:
        """The marketplace's own words of a template in a language; None where it has none."""
        own = self.templates.get(template)
        return None if own is None else own.words(language)

    def version(self, template: str, language: Language) -> int:
        """The version of the words that a message has: its own, else ours. KeyError for a template
        that there is not, and in this language."""
        has_own = self.words(template, language) is not None
        if has_own:
            return self.templates[template].version
        return ACCEPTED_VERSION if template == ACCEPTED else OURS[template]

    @field_validator("channels")
    @classmethod
    def _known_channels(cls, channels: dict[str, Webhook]) -> dict[str, Webhook]:
        for name, channel in channels.items():
            if name not in SENT:
                raise ValueError(f"{name!r} is not one of {', '.join(SENT)}")
            if channel.address and name not in ADDRESSED:
                raise ValueError(f"{name}: no record has an address for it, so leave address out")
        return channels

    @field_validator("templates")
    @classmethod
    def _named_templates(cls, templates: dict[str, Template]) -> dict[str, Template]:
        for name in templates:
            if not (name.isascii() and name.isidentifier() and len(name) <= 64):
                raise ValueError(f"{name!r}: letters, digits and _ make a template's name")
        return templates

    def ways(self, *, has_mail: bool) -> tuple[str, ...]:
        """The channels by which something can be sent. `has_mail`: the alerts' settings name a
        mail server."""
        named = {*self.channels, *([EMAIL] if has_mail else [])}
        return tuple(it for it in SENT if it in named)

    def secret_files(self) -> list[Path]:
        """The files that whoever sends has to read, and nobody else may."""
        secrets = [it.secret_file for it in self.channels.values()]
        secrets += [] if self.bounces is None else [self.bounces.password_file]
        return list(dict.fromkeys(secrets))


def load(path: Path | None) -> NoticeRules:
    """The rules of a file, or the defaults without one. Raises `SettingsError`, which names every
    fault."""
    if path is None:
        return NoticeRules.model_validate({})
    return settings_files.read(path, NoticeRules, what=_WHAT, page=_PAGE)


class NoticesFile:
    """The rules of a file, which is read again when it changes. A file with a fault leaves those in
    force that were read before."""

    def __init__(self, path: Path | None) -> None:
        """Raises `SettingsError`, which names every fault."""

        def parsed(text: str) -> NoticeRules:
            assert path is not None
            return settings_files.parsed(text, path, NoticeRules, what=_WHAT, page=_PAGE)

        self._defaults = load(None)
        self._file = None if path is None else RereadFile(path, parsed)

    def get(self) -> NoticeRules:
        """The rules in force."""
        return self._defaults if self._file is None else self._file.get()

    def fault(self) -> SettingsError | None:
        """Why the file as it stands now is not in force; None where it is."""
        return None if self._file is None else self._file.fault()
