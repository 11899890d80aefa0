"""Writes the messages by which sellers are notified, in Portuguese and in English. Pure.

A message speaks of all open reviews of a seller, and says nothing personal: it may be read by
whoever holds the telephone, or has the mailbox by now.
"""

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final, NamedTuple

from babel import Locale, dates

from pipeline import instants
from pipeline.hosts import parts_of_url
from pipeline.journey import page_texts
from pipeline.journey.page_texts import Language
from pipeline.language import catalogue, figures
from pipeline.language.catalogue import N_
from pipeline.language.codes import REVIEWS_TO_SELLERS
from pipeline.notices.rules import (
    ACCEPTED,
    CORRECT,
    FIRST,
    MOVED,
    OURS,
    REMINDER,
    NoticeRules,
    Words,
)

LINK: Final = "[link]"
"""Stands where a message has the address of the seller's page, wherever the message is shown."""

_LOCALES: Final = {"pt-BR": Locale("pt", "BR"), "en": Locale("en", "GB")}
_SUBJECTS: Final = {
    FIRST: N_("{name}: confirm your registration data by {deadline}"),
    REMINDER: N_("{name}: we still need your registration data, by {deadline}"),
    CORRECT: N_("{name}: one thing to correct in your registration data"),
    MOVED: N_("{name}: another deadline for your registration data: {deadline}"),
}
_LATE_SUBJECT: Final = N_("{name}: your registration data are late, and you can still answer")
_PARTLY_LATE_SUBJECT: Final = N_(
    "{name}: part of your registration data is late, and part is due by {deadline}"
)
_ACCEPTED_SUBJECT: Final = N_("{name}: your registration data were accepted")
_ACCEPTED: Final = N_(
    "the payment platform has accepted your answers. The review is complete, and there is nothing"
    " more for you to do."
)
_HELLO: Final = N_("Hello,")
_OPENINGS: Final = {
    FIRST: N_(
        "the payment platform that processes your sales has asked for a review of your"
        " registration. {name} collects the answers."
    ),
    REMINDER: N_("we have asked you for registration data before, and some are still missing."),
    CORRECT: N_(
        "the payment platform has not accepted part of your answers. All that is left is to correct"
        " what is named here."
    ),
    MOVED: N_("the payment platform has set another deadline than the one that we wrote to you."),
}
_IN_TIME: Final = N_(
    "the payment platform asks you to bring your registration up to date by {when}. We still need:"
    " {fields}."
)
_LATE: Final = N_(
    "the payment platform asked you to bring your registration up to date by {when}, and that"
    " time has passed. You can still answer, and should do so today. We still need: {fields}."
)
_PARTLY: Final = N_("Part of your answers has arrived.")
_LEFT: Final = N_("Left: {left} of {needed}.")
_NEWS: Final = {
    CORRECT: N_("The platform has not accepted part of these answers: correct what is named here."),
    MOVED: N_("The platform has set another deadline for this review since our last message."),
}
"""Said of a review where a message speaks of others, too, of which it is not true."""
_WHERE: Final = N_("It takes a few minutes: {link}")
_CODE: Final = N_(
    "If the page asks you for a code, it comes to this same address. Give the code to nobody."
)
_GENUINE: Final = N_(
    "How to tell that this message is genuine: the link begins with {host}, and nobody asks you for"
    " a password, a card or a payment."
)
_THANKS: Final = N_("Thank you.")
_OTHER_REVIEW: Final = N_("Review of your registration")
_NO_DEADLINE: Final = N_("now")
_FIRST_DAY: Final = re.compile(r"^1 de ")  # the first of a month in Portuguese, as Babel writes it


class Asked(NamedTuple):
    """An open review, as a message speaks of it."""

    review_type: str | None
    deadline_at: int | None  # in microseconds
    is_late: bool
    missing: Sequence[str]
    """Paths of the fields that nobody has answered; none: only the confirmation is missing."""
    is_begun: bool = False
    """Some of its fields are answered."""
    link: str = LINK
    needed: int = 0
    """How many fields are asked for."""
    news: str | None = None
    """The template of the news that the seller is to have of it."""


class Message(NamedTuple):
    """A message in words, without where it goes."""

    subject: str
    text: str


class Sender(NamedTuple):
    """Who writes, and where sellers find out that it is true."""

    name: str
    page: str
    """The address at which the seller's page begins."""
    rules: NoticeRules
    zone: tzinfo


def templates(rules: NoticeRules) -> dict[str, int]:
    """The names of all templates, with their versions: ours, and the marketplace's, which may
    replace ours."""
    return {**OURS, **{name: it.version for name, it in rules.templates.items()}}


def written(
    template: str,
    reviews: Sequence[Asked],
    language: Language,
    sender: Sender,
    *,
    code_comes_along: bool = False,
) -> Message:
    """The message about a seller's open reviews, the most urgent first. `code_comes_along`: a code
    would come by the channel by which the message comes. KeyError for a template that there is
    not, and in this language."""
    words = sender.rules.words(template, language)
    concerned = next((it for it in reviews if it.news == template), None)
    if all(it.news == template for it in reviews):  # the message says it of all
        reviews = [it._replace(news=None) for it in reviews]
    places = _places(reviews, language, sender, code_comes_along=code_comes_along)
    if concerned is not None:
        places["deadline"] = clock(concerned.deadline_at, language, sender.zone)
    if words is not None:
        text = _joined(words, places)
        if "{code}" not in words.text and places["code"]:  # it is to be said in any words
            text += "\n\n" + places["code"]
        return Message(_line(words.subject.format(**places)), text)
    if template not in OURS:
        raise KeyError(template)
    is_of_some = template in _NEWS and any(it.news for it in reviews)
    subject = _said(_subject(template, reviews), language, **places)
    paragraphs = (
        _said(_HELLO, language),
        _said(_OPENINGS[REMINDER if is_of_some else template], language, **places),
        places["reviews"],
        page_texts.text("cost", language),
        places["code"],
        places["genuine"],
        places["contact"],
        _said(_THANKS, language),
        sender.name,
    )
    return Message(_line(subject), "\n\n".join(it for it in paragraphs if it))


def _subject(template: str, reviews: Sequence[Asked]) -> str:
    """What stands above our own message. A deadline that is far ahead says nothing of a review that
    is late."""
    if template not in (FIRST, REMINDER) or not any(it.is_late for it in reviews):
        return _SUBJECTS[template]
    has_time = any(it.deadline_at is not None and not it.is_late for it in reviews)
    return _PARTLY_LATE_SUBJECT if has_time else _LATE_SUBJECT


def accepted(review_type: str | None, language: Language, sender: Sender) -> Message:
    """The message that says: the platform has accepted the answers about a review."""
    known = REVIEWS_TO_SELLERS.get(review_type or "", _OTHER_REVIEW)
    places = _places((), language, sender, code_comes_along=False)
    places |= {
        "deadline": "",
        "reviews": f"{_said(known, language)}: {_said(_ACCEPTED, language)}",
    }
    if (words := sender.rules.words(ACCEPTED, language)) is not None:
        return Message(_line(words.subject.format(**places)), _joined(words, places))
    subject = _said(_ACCEPTED_SUBJECT, language, name=sender.name)
    paragraphs = (
        _said(_HELLO, language),
        places["reviews"],
        places["contact"],
        _said(_THANKS, language),
        sender.name,
    )
    return Message(_line(subject), "\n\n".join(paragraphs))


def to_copy(asked: Asked, language: Language, zone: tzinfo) -> str:
    """A message about one review that a person copies, and sends in their own way."""
    paragraphs = (
        _said(_HELLO, language),
        _sentence(asked, language, zone),
        _said(_WHERE, language, link=asked.link),
        page_texts.text("cost", language),
        _said(_THANKS, language),
    )
    return "\n\n".join(paragraphs)


def _joined(words: Words, places: dict[str, str]) -> str:
    return words.text.format(**places).strip()


def _line(text: str) -> str:
    """A text on one line: a mail's subject takes no other."""
    return " ".join(text.split())


def _places(
    reviews: Sequence[Asked], language: Language, sender: Sender, *, code_comes_along: bool
) -> dict[str, str]:
    first = next((it.deadline_at for it in reviews if it.deadline_at is not None), None)
    rules, page = sender.rules, parts_of_url(sender.page)
    host = f"{page.scheme}://{page.netloc}" if page.netloc else sender.page
    genuine = _said(_GENUINE, language, host=host)
    if rules.genuine is not None:
        genuine += " " + page_texts.text("look_up", language, genuine=rules.genuine)
    return {
        "name": sender.name,
        "deadline": clock(first, language, sender.zone),
        "reviews": "\n\n".join(review(it, language, sender.zone) for it in reviews),
        "code": _said(_CODE, language) if code_comes_along else "",
        "genuine": genuine,
        "contact": page_texts.contact(rules.contact, sender.name, language),
    }


def review(asked: Asked, language: Language, zone: tzinfo) -> str:
    """What a message says of one review: what is asked, by when, and where to answer."""
    known = REVIEWS_TO_SELLERS.get(asked.review_type or "", _OTHER_REVIEW)
    lines = [f"{_said(known, language)}: {_sentence(asked, language, zone)}"]
    if asked.news is not None:
        lines.append(_said(_NEWS[asked.news], language))
    if asked.is_begun:
        partly = _said(_PARTLY, language)
        left, needed = str(len(asked.missing)), str(asked.needed)
        if asked.missing and asked.needed:
            partly += " " + _said(_LEFT, language, left=left, needed=needed)
        lines.append(partly)
    lines.append(_said(_WHERE, language, link=asked.link))
    return "\n".join(lines)


def _sentence(asked: Asked, language: Language, zone: tzinfo) -> str:
    return _said(
        _LATE if asked.is_late else _IN_TIME,
        language,
        when=clock(asked.deadline_at, language, zone),
        fields=page_texts.in_words(asked.missing, language),
    )


def clock(at: int | None, language: Language, zone: tzinfo) -> str:
    """Day, hour and whose clock: a day alone would promise a seller the hours after a deadline that
    ends in the morning, or in another zone. `at`: in microseconds."""
    if at is None:
        return _said(_NO_DEADLINE, language)
    locale = _LOCALES[language]
    local: datetime = instants.of(at).astimezone(zone)
    named = figures.clock(local, locale)
    time = f"{local:%Hh%M}" if language == "pt-BR" else f"{local:%H:%M}"
    day = _FIRST_DAY.sub("1º de ", dates.format_date(local.date(), "long", locale=locale))
    return f"{day}, {time} ({named})"


def _said(text: str, language: Language, /, **values: str) -> str:
    return catalogue.said_in("pt" if language == "pt-BR" else "en", text, **values)
