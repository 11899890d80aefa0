"""Puts the entries of the log into words: what happened, by whom, and in which way."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from app_pages.language import formats, rulebook
from app_pages.language.code_texts import masked, word
from app_pages.language.i18n import N_, _, language, said_in
from pipeline.alert.messages import alert_texts as messages
from pipeline.contract.event_types import REVIEW_REQUIRED
from pipeline.language import codes
from pipeline.language.catalogue import Language
from pipeline.log.actions import WRITTEN
from pipeline.log.entries import LIVE
from pipeline.log.kinds import Kind, collection, kinds, webhook
from pipeline.log.kinds.alert import ALERT
from pipeline.log.kinds.assignment import RULES_WORDS
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.seller_notice import BY_HAND, SELLER_NOTICE
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.names import BY_RULE, OURS, RESUMER
from pipeline.notices.sellers import REFUSALS

KINDS: Final[Mapping[str, str]] = {code: kind.name for code, kind in kinds().items()}
ACCESSES: Final[Mapping[str, str]] = {
    "record": N_("Personal data shown"),
    "names": N_("Name shown on a list or in a file"),
    "rows": N_("Many rows shown, perhaps with theirs"),
    "search": N_("Found by a search"),
    "package": N_("Full package"),
    "masked_package": N_("Masked package"),
}
"""How somebody saw a person's data, as `personal_accesses` says it."""


# Why a delivery could not be read, as `pipeline/contract/` says it and the receiver records it.
UNREADABLE: Final = (
    N_("not UTF-8: {why} at byte {n}"),
    N_("not JSON: it starts with a byte order mark"),
    N_("not JSON: {why} (line {line}, column {column})"),
    N_("nested deeper than {n} levels"),
    N_("the key {name} stands twice in one object"),
    N_("a key stands twice in one object"),
    N_("a whole number beyond 64 bits"),
    N_("a number beyond the range of a double"),
    N_("{name} is not a JSON number"),
    N_("a lone surrogate (half a character) in a string"),
    N_("not a JSON object"),
    N_("no event type: `type` must be a non-empty string"),
    N_("a review event without an object at payload.object"),
    N_("a review event without a readable {names}"),
)
# What Python finds in the place of JSON or of UTF-8. It speaks only English.
NO_JSON: Final = (
    N_("Unterminated string starting at"),
    N_("Expecting value"),
    N_("Expecting property name enclosed in double quotes"),
    N_("Expecting ',' delimiter"),
    N_("Expecting ':' delimiter"),
    N_("Illegal trailing comma before end of object"),
    N_("Illegal trailing comma before end of array"),
    N_("Extra data"),
    N_("Invalid control character at"),
    N_("Invalid \\escape"),
    N_("Invalid \\uXXXX escape"),
    N_("invalid start byte"),
    N_("invalid continuation byte"),
    N_("unexpected end of data"),
)
_UNREADABLE: Final = [
    (text, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)), re.DOTALL))
    for text in UNREADABLE
]


def unreadable(reason: str, into: Language | None = None) -> str:
    """Why a delivery is in quarantine, in the reader's language or another; one not listed as it
    is."""
    into = into or language()
    for text, pattern in _UNREADABLE:
        if found := pattern.fullmatch(reason):
            named = found.groupdict()
            if named.get("why") in NO_JSON:
                named["why"] = said_in(into, named["why"])
            return said_in(into, text, **named)
    return reason


def alert_name(kind: str, into: Language | None = None) -> str:
    """What an alert is about, as the messages say it; a broken rule by its name on the pages. In
    the reader's language, or in another."""
    into = into or language()
    if kind in rulebook.RULES:
        return said_in(into, rulebook.RULES[kind].name)
    return messages.title(kind, into)


class EntryInWords(NamedTuple):
    """What happened, by an icon, a few words and, where there is more to say, a detail."""

    icon: str
    title: str
    detail: str


def entry(row: Mapping[str, Any]) -> EntryInWords:
    """A row of `timeline` in words; what came from outside is shown as plain text. Of a
    review event, `is_request`: whether it is its review's first."""
    kind, status, error = row["kind"], row["status"], row["error"]
    reason = row["reason"] and word(_reasons(row), row["reason"])
    if kind == WEBHOOK and row["event_type"] == REVIEW_REQUIRED:
        status = formats.plain(word(codes.STATES, row["reported_status"]))
        title = (
            _("Review requested: {status}", status=status)
            if row.get("is_request")
            else _("Review reported: {status}", status=status)
        )
        detail = _("deadline {deadline}", deadline=formats.minute(row["deadline_at"]))
        return EntryInWords(":material/campaign:", title, detail)
    if kind == WEBHOOK:
        title = formats.plain(word(codes.EVENT_TYPES, row["event_type"]))
        return EntryInWords(webhook.KIND.icon, title, "")
    if kind == COLLECTION:
        channel = formats.plain(word(codes.CHANNELS, row["channel"]))
        title = formats.plain(word(collection.STEPS, collection.shown_as(row)))
        if collection.is_suspect(row):
            source = word(codes.SOURCES, row["source"])
            return EntryInWords(
                ":material/warning:",
                title,
                _("{channel} · source: {source}", channel=channel, source=formats.plain(source)),
            )
        return EntryInWords(collection.KIND.icon, title, channel)
    if kind == SUBMISSION_FINISHED:
        if error is not None:
            return EntryInWords(
                ":material/cloud_off:", word(KINDS, kind), formats.plain(word(codes.ERRORS, error))
            )
        icon = ":material/task_alt:" if status == 200 else ":material/report:"
        return EntryInWords(icon, word(KINDS, kind), f"HTTP {status}")
    known = kinds().get(kind, Kind(kind, kind))
    title = formats.plain(word(KINDS, kind))
    if kind == QUARANTINE and reason is not None:
        return EntryInWords(known.icon, title, formats.plain(unreadable(reason)))
    said: list[str] = []
    if kind == SELLER_NOTICE and row["channel"] in BY_HAND:  # nobody was sent a notice
        title = _("Call or letter")
    if known.steps and row["step"] is not None:
        title = formats.plain(word(known.steps, row["step"]))
    if not known.steps or row["step"] is not None:
        said = [_shown(kind, it, row[it]) for it in known.shows if row[it]]
    if row["assignee"] is not None:
        said.append(_("to {name}", name=row["assignee"]))
    actor = row["actor"] and (
        word(RULES_WORDS, BY_RULE) if row["actor"] == BY_RULE else row["actor"]
    )
    if kind == SUBMISSION_STARTED and row["origin"] == LIVE:
        actor = _sender(row["recorded_by"])
    by = [it for it in (actor, reason, row["note"]) if it]
    detail = " · ".join(map(formats.plain, [*said, *by]))
    return EntryInWords(known.icon, title, detail)


def _sender(recorded_by: str) -> str:
    """Who sent an attempt of ours: a person, a token's name, or what sends again by itself. Empty
    where nobody has a name."""
    if recorded_by == RESUMER:
        return _("sent again by itself")
    if recorded_by in OURS:
        return ""
    return recorded_by.removeprefix("dashboard:").removeprefix("user:")


def _reasons(row: Mapping[str, Any]) -> Mapping[str, str]:
    """The words for reasons that nobody typed."""
    if row["actor"] == BY_RULE:
        return RULES_WORDS
    if row["kind"] == NOTICE_SCHEDULE and row["actor"] is None:
        return REFUSALS
    return WRITTEN


def promised(day: str, deadline_at: datetime | None = None) -> str:
    """For when a seller promised to answer, and whether that is after the deadline, naive UTC;
    another system may report any text as the day."""
    try:
        promised_for = date.fromisoformat(day)
    except ValueError:
        return _("promised for {day}", day=masked(day))
    said = formats.day(promised_for)
    if deadline_at is not None and promised_for > formats.local(deadline_at).date():
        return _("promised for {day}, after the deadline", day=said)
    return _("promised for {day}", day=said)


def _shown(kind: str, column: str, value: str) -> str:
    """A column of `timeline` that says more of an entry of a kind, in words."""
    if column == "channel":
        return word(codes.SELLER_CHANNELS, value)
    if column == "promised_for":
        return promised(value)
    if column == "about":
        if kind == ALERT:
            return alert_name(value)
        return word(codes.CALL_OUTCOMES if kind == SELLER_NOTICE else codes.ACTS, value)
    return value
