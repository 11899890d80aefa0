"""What the seller's page says.

The version of the wording stands in every entry of a journey; it changes with any of these texts.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final, Literal

from babel import Locale, dates

from pipeline.journey.form import Field, Question
from pipeline.language import catalogue, fields, figures
from pipeline.language.catalogue import N_, NC_

Language = Literal["pt-BR", "en"]
LANGUAGES: Final[tuple[Language, ...]] = ("pt-BR", "en")
_SPOKEN: Final[Mapping[Language, catalogue.Language]] = {"pt-BR": "pt", "en": "en"}
_MINUTE: Final[Mapping[Language, str]] = {"pt-BR": "dd/MM/y HH'h'mm", "en": "d MMM y, HH:mm"}
"""As on the dashboard: in English, 03/02 is another day for every other reader."""

TEXTS: Final[Mapping[str, str]] = {
    "this_language": NC_("the name of this language", "English"),
    "landing_title": N_("Confirm your registration data"),
    "landing_why": N_(
        "The payment platform that processes your sales has asked for a review of your"
        " registration. {name} is collecting the answers."
    ),
    "landing_asked": N_("Asked for: {fields}. Please answer by {when}."),
    "landing_first": N_(
        "Asked for: {fields}. Please answer by {until}: then this link ends, and you need a new"
        " one. The payment platform waits until {when}."
    ),
    "landing_late": N_(
        "Asked for: {fields}. The time for it ended on {when}. You can still answer: do so today."
    ),
    "landing_asked_now": N_("Asked for: {fields}. Please answer now."),
    "asked_other": N_("the details that the form asks for"),
    "asked_confirmation": N_("your confirmation of the answers"),
    "asked_and": N_("{first} and {last}"),
    "landing_otherwise": N_("What happens without an answer"),
    "cost": N_(
        "Without an answer from you, the platform can block money that comes into your account or"
        " leaves it."
    ),
    "landing_genuine": N_("How to tell that this is genuine"),
    "landing_answers": N_(
        "{name} sends your answers to the payment platform, and keeps the screens, the answers and"
        " the times as proof."
    ),
    "landing_check": N_("Is this genuine? Check without this page: how"),
    "genuine_elsewhere": N_(
        "A false page can say the same. So check by another way: open the website or the app of"
        " {name} by yourself, or call the number that you know."
    ),
    "genuine": N_(
        "The address of this page begins with {host}, and nobody asks you for a password, a card or"
        " a payment."
    ),
    "look_up": N_("You can check it here: {genuine}"),
    "contact": N_("Questions? {contact}"),
    "ask_us": N_("Questions? Ask {name} in the way that you know."),
    "contact_link": N_("To get a new link: {contact}"),
    "ask_us_link": N_("To get a new link, ask {name} in the way that you know."),
    "landing_count": N_("There are {n} short questions. Each answer is saved at once."),
    "landing_count_one": N_("There is one short question. The answer is saved at once."),
    "landing_count_range": N_(
        "There are {n} short questions, or {most} for a business. Each answer is saved at once."
    ),
    "landing_empty": N_(
        "The fields are always empty: the rules require that you give the data yourself, now."
    ),
    "landing_until": N_("This link works until {until}."),
    "landing_open": N_("This link works until you confirm, or get a newer one."),
    "landing_correct": N_(
        "The platform refused part of the answers. All that is left is to correct what it named."
    ),
    "start": N_("Start"),
    "go_on": N_("Continue"),
    "back": N_("Back"),
    "progress": N_("Question {n} of {total}"),
    "of_owner": N_("Legal representative"),
    "of_business": N_("Your business"),
    "optional": N_("(optional)"),
    "choose": N_("Choose an option"),
    "faults_title": N_("Something needs correcting"),
    "error": N_("Error:"),
    "changed": N_("This page changed while you were answering. Please check it and continue."),
    "offline": N_(
        "No connection. What you typed is still here: try again when you are back online."
    ),
    "review_title": N_("Check your answers"),
    "change": NC_("the seller's page", "Change"),
    "left_empty": N_("(left empty)"),
    "declaration": N_(
        "I declare that I have given these data myself, now, and that they are true. I authorise"
        " {name} to send them to the payment platform."
    ),
    "declaration_missing": N_("Tick the declaration to confirm."),
    "confirm": N_("Confirm"),
    "receipt_title": N_("We have received your answers"),
    "receipt_number": N_("Receipt number"),
    "receipt_at": N_("Confirmed on"),
    "receipt_save": N_("Save the receipt"),
    "receipt_here": N_(
        "This page says what became of your answers: reload it later, in this browser."
    ),
    "receipt_keep": N_(
        "Keep this number: {name} finds your answers by it. It does not prove who you are, so"
        " {name} asks for more before saying what became of them."
    ),
    "receipt_again": N_(
        "The link that you got shows it again until {until}: it asks for a code first."
    ),
    "receipt_until": N_("What became of it until {when}"),
    "receipt_named": N_("Give the number of the receipt when you ask {name}."),
    "receipt_page": N_("Page"),
    "receipt_waiting": N_(
        "{name} will send them to the payment platform. There is nothing more for you to do."
    ),
    "receipt_sent": N_("The payment platform has accepted the answers. The review is complete."),
    "receipt_finished": N_(
        "The payment platform has finished the review. There is nothing more for you to do."
    ),
    "receipt_refused": N_(
        "The payment platform refused: {fields}. Correct it now to complete the review."
    ),
    "receipt_moved": N_("Since then, the platform has set another deadline: {when}."),
    "correct": N_("Correct it now"),
    "leave": N_("Sign out"),
    "leave_why": N_(
        "If other people use this device, sign out so that they do not see your answers."
    ),
    "return": N_("Back to {name}"),
    "invalid_title": N_("This link does not work"),
    "invalid": N_(
        "One of these is the reason. The page does not say which, so that no stranger learns it:"
    ),
    "invalid_confirmed": N_(
        "If you have confirmed, we have received your answers. To learn what became of them, ask"
        " {name}, and give the number of your receipt."
    ),
    "invalid_other": N_(
        "It was opened on another device: go on there, or ask {name} for a new link."
    ),
    "invalid_over": N_(
        "Its time is over, or it was ended: use the newest that you got, or ask {name} for a new"
        " link."
    ),
    "invalid_cut": N_("A part of the address is missing: open it from the message itself."),
    "overtaken_title": N_("Nothing was sent by this link"),
    "overtaken": N_(
        "This review was answered by another link, or the payment platform has finished it. What"
        " you answered by this link is saved, but was neither confirmed nor sent. If it was not you"
        " who answered by the other link, tell {name}."
    ),
    "number_is": N_("Your number: {number}. Give it when you ask {name}."),
    "subject": N_("Registration review, number {number}"),
    "subject_link": N_("Registration review: my link does not work"),
    "subject_code": N_("Registration review: I need help with the code"),
    "renew": N_("Send me a new link"),
    "renew_where": N_("It goes to where this link came from, and to nobody else."),
    "renewed_title": N_("We have noted your request"),
    "renewed": N_(
        "If there is something left to answer, a new link comes within a few minutes, in the same"
        " way as this one. If nothing comes, ask {name}."
    ),
    "stop": N_("This is not me, or I want no more messages"),
    "stop_title": N_("No more messages?"),
    "stop_writing": N_("Stop writing to me"),
    "stop_writing_why": N_(
        "If you want no more messages: none is sent by itself any more. The deadline stays, and"
        " this link still works. Somebody at {name} may contact you."
    ),
    "not_me": N_("This is not me"),
    "not_me_why": N_(
        "If you are not who sells at {name}: no more messages are sent, the links that we sent"
        " end, and somebody at {name} looks at it."
    ),
    "stopped_title": N_("We have noted it"),
    "stopped": N_("No more messages are sent by themselves. Somebody at {name} looks at it."),
    "ended_title": N_("The session has ended"),
    "ended": N_(
        "For your safety it ends after some time. What you answered is saved. If you have not yet"
        " confirmed, open the link from {name} again; if it does not open, ask for a new one. If"
        " you have confirmed, {name} says what became of your answers: give the number of your"
        " receipt."
    ),
    "left_title": N_("You have signed out"),
    "left": N_(
        "We have received your answers. On this device, nobody sees them on this page any more."
    ),
    "limited_title": N_("Too many attempts"),
    "limited": N_("Wait a few minutes and try again."),
    "busy_title": N_("We cannot save right now"),
    "busy": N_("What you have answered already is saved. Wait a moment and try again."),
    "confirmed_title": N_("Your confirmation is saved"),
    "confirmed": N_(
        "We have received your answers. Only the receipt cannot be shown now: wait a moment and try"
        " again."
    ),
    "again": N_("Try again"),
    "code_title": N_("Confirm that it is you"),
    "code_why": N_(
        "This link was opened on another device or some time ago. To continue, you need a code,"
        " which comes to you by another way."
    ),
    "code_why_same": N_(
        "This link was opened on another device or some time ago. To continue, you need a code,"
        " which comes to the address to which the link came."
    ),
    "code_mail": N_("It goes to the e-mail address {address}."),
    "code_other": N_(
        "{name} sends it to the telephone, app or address that it knows of you, and never shows it"
        " on this page."
    ),
    "code_send": N_("Send the code"),
    "code_send_again": N_("Send another code"),
    "code_sent": N_("We have sent a code. It works for 10 minutes."),
    "code_label": N_("6-digit code"),
    "code_wrong": N_("The code is not right or has expired. Check it or ask for another."),
    "code_unsent": N_("We could not send the code now. Try again in a few minutes."),
    "code_used_up": N_("We send no more codes for this link. Ask {name} for a new link."),
    "code_check": N_("Continue"),
    "mail_subject": N_("Your code: {code}"),
    "mail": N_(
        "{code} is your code to continue at {name}. It works for 10 minutes. Give it to nobody."
    ),
}

_QUESTIONS: Final[Mapping[str, str]] = {
    "type": N_("How do you sell?"),
    "revenue": N_("What is your revenue band?"),
    "owner.revenue": N_("What is the income band of the legal representative?"),
    "postal_code": N_("What is the postal code of your address?"),
    "owner.postal_code": N_("What is the postal code of the legal representative?"),
    "line1": N_("What is your address?"),
    "owner.line1": N_("What is the address of the legal representative?"),
    "line2": N_("What is the second line of the address?"),
    "line3": N_("In which neighbourhood is it?"),
    "city": N_("In which city and state?"),
    "city alone": N_("In which city?"),
    "state": N_("In which state?"),
    "country_code": N_("In which country?"),
    "other": N_("The payment platform asks for one more thing"),
}
_HINTS: Final[Mapping[str, str]] = {
    "revenue": N_("Choose the band, not the exact value."),
    "band": N_("The lowest and the highest value of the band, without cents: for example, 5000."),
    "postal_code": N_("8 digits, for example 01310-100"),
    "line1": N_("For example: Rua das Flores, 123. If there is no number, write s/n."),
    "other": N_("The platform calls it: {path}"),
}
CHOICES: Final[Mapping[str, str]] = {
    "individual": N_("As an individual (CPF)"),
    "business": N_("As a business (CNPJ)"),
    "from": N_("From R$"),
    "to": N_("to R$"),
    "band": N_("From R$ {lower} to R$ {upper}"),
}
_FAULTS: Final[Mapping[str, str]] = {
    "missing": N_("Fill in: {label}."),
    "missing_choice": N_("Choose an option: {label}."),
    "postal_code": N_("A postal code has 8 digits, for example 01310-100."),
    "long": N_("{label}: use at most 200 characters."),
    "characters": N_("{label}: it has a character that cannot be sent."),
    "amount": N_("{label}: write the amount alone, without cents. For example, 5000."),
    "order": N_("{label}: the first value must be lower than the second."),
    "choice": N_("Choose one of the options: {label}."),
}
_GROUPS: Final[Mapping[str, str]] = {
    "revenue": N_("your revenue"),
    "address": N_("your address"),
    "owner.revenue": N_("the owner's revenue"),
    "owner.address": N_("the owner's address"),
}
"""What fields are parts of, as sellers know it."""
FEW: Final = 2
"""Fields of a group that a message names one by one."""
_CHOSEN: Final = frozenset({"type", "bands", "state", "country"})


def text(code: str, language: Language, /, **values: str) -> str:
    """One text of the page."""
    return _said(TEXTS[code], language, **values)


def in_words(paths: Sequence[str], language: Language) -> str:
    """Fields as a seller knows them, each group once; where there are none, the confirmation."""
    if not paths:
        return text("asked_confirmation", language)
    groups = {_group(path) for path in paths}
    names = [_group_in_words(it, paths, language) for it in _GROUPS if it in groups]
    if not names or not groups <= set(_GROUPS):
        names.append(text("asked_other", language))
    *first, last = names
    return text("asked_and", language, first=", ".join(first), last=last) if first else last


def _group_in_words(group: str, paths: Sequence[str], language: Language) -> str:
    """A group as a seller knows it, with its fields where few of them are meant."""
    name = _said(_GROUPS[group], language)
    of_group = [path for path in paths if path.startswith(f"{group}.")]
    labels = [fields.label(path, _SPOKEN[language]) for path in of_group]
    if not 0 < len(labels) <= FEW or {*labels} & {*of_group}:
        return name
    return f"{name} ({', '.join(labels)})"


def _group(path: str) -> str:
    """What a path is a part of: `owner.address.city` is of the owner's address."""
    parts = path.split(".")
    return ".".join(parts[:2] if parts[0] == "owner" else parts[:1])


def contact(whom: str | None, name: str, language: Language, *, is_for_link: bool = False) -> str:
    """Whom sellers ask. `whom`: in the marketplace's words, if it has any. `is_for_link`: for a new
    link, where theirs is dead."""
    about = "_link" if is_for_link else ""
    if whom is None:
        return text(f"ask_us{about}", language, name=name)
    return text(f"contact{about}", language, contact=whom)


def heading(question: Question, language: Language) -> str:
    """A screen's question."""
    first = question.fields[0]
    if first.kind == "other" or first.name not in _QUESTIONS:
        return _said(_QUESTIONS["other"], language)
    if first.name == "city" and len(question.fields) == 1:
        return _said(_QUESTIONS["city alone"], language)
    of_owner = f"owner.{first.name}"
    is_own = first.is_about_owner and of_owner in _QUESTIONS
    return _said(_QUESTIONS[of_owner if is_own else first.name], language)


def label(field: Field, language: Language) -> str:
    """An input's label; a path that the contract does not show alone stands for itself."""
    return field.path if field.kind == "other" else fields.label(field.path, _SPOKEN[language])


def full_label(field: Field, language: Language) -> str:
    """An input's label where nothing around it says whose it is."""
    return fields.name(field.path, _SPOKEN[language])


def hint(field: Field, language: Language) -> str:
    """A line beside an input; empty where it needs none."""
    code = {"other": "other", "band": "band", "bands": "revenue"}.get(field.kind, field.name)
    return _said(_HINTS[code], language, path=field.path) if code in _HINTS else ""


def fault(code: str, field: Field, language: Language) -> str:
    """What is wrong with an input, and what to do."""
    if code == "missing" and field.kind in _CHOSEN:
        code = "missing_choice"
    return _said(_FAULTS[code], language, label=label(field, language))


def value(field: Field, answered: object, language: Language) -> str:
    """An answer as the seller reads it."""
    known = str(answered)
    if not known:
        return text("left_empty", language)
    match field.kind:
        case "type":
            return _said(CHOICES[known], language)
        case "bands" | "band":
            return band(known, language)
        case "postal_code":
            return f"{known[:5]}-{known[5:]}"
        case "country":
            return countries(language).get(known, known)
        case _:
            return known


def band(known: str, language: Language) -> str:
    """A revenue band in words; one of another form stands for itself."""
    lower, separator, upper = known.partition("_to_")
    if not separator or not (lower.isdigit() and upper.isdigit()):
        return known
    ends = {
        "lower": _grouped(int(lower), language),
        "upper": _grouped(int(upper), language),
    }
    return _said(CHOICES["band"], language, **ends)


def choice(code: str, language: Language) -> str:
    """What stands beside a choice, or before one end of a band."""
    return _said(CHOICES[code], language)


def all_texts() -> list[Mapping[str, tuple[str, ...]]]:
    """Everything that is said, in each language, for its version."""
    return [
        {code: tuple(_said(it, language) for language in LANGUAGES) for code, it in texts.items()}
        for texts in (
            *(TEXTS, _QUESTIONS, fields.LABELS, {"field": fields.OF_OWNER}),
            *(_HINTS, CHOICES, _FAULTS, _GROUPS),
        )
    ]


@cache
def countries(language: Language) -> Mapping[str, str]:
    """Code -> name of each country that a review may hold, Brazil first, then by name."""
    import pycountry

    names = Locale.parse(language, sep="-").territories
    known = {it.alpha_2: names.get(it.alpha_2, it.name) for it in pycountry.countries}
    brazil = known.pop("BR")
    return {"BR": brazil, **dict(sorted(known.items(), key=lambda pair: _without_accents(pair[1])))}


def minute(there: datetime, language: Language) -> str:
    """An instant on the marketplace's clock, with whose clock that is."""
    pattern, locale = _MINUTE[language], Locale.parse(language, sep="-")
    said = dates.format_datetime(there, pattern, locale=locale)
    return f"{said} ({figures.clock(there, locale)})"


def _without_accents(name: str) -> str:
    """By which names are put in order: else Áustria stands behind Zimbábue."""
    return "".join(it for it in unicodedata.normalize("NFD", name) if not unicodedata.combining(it))


def _grouped(number: int, language: Language) -> str:
    grouped = f"{number:,}"
    return grouped.replace(",", ".") if language == "pt-BR" else grouped


def _said(text: str, language: Language, /, **values: str) -> str:
    return catalogue.said_in(_SPOKEN[language], text, **values)
