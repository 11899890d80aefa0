"""Puts alerts into words, in their recipient's language: ids, state, time left, what to do, links.

No message holds personal data: channels keep copies, and forward them.
"""

import contextlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from html import escape
from types import MappingProxyType
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from pipeline import conditions, findings, instants
from pipeline.alert.decision import lists_info
from pipeline.alert.entries import DIGEST, REPORT, Due, Item
from pipeline.alert.messages.links import Links
from pipeline.alert.summaries.digest import Part, Process
from pipeline.alert.summaries.reports import Paged, Said
from pipeline.alert_rules.channels import Text
from pipeline.alert_rules.recipients import Recipient
from pipeline.language import codes, figures, next_actions, states
from pipeline.language.catalogue import N_, NC_, Language, counted_in, said_in
from pipeline.language.next_actions import ACTIONS
from pipeline.texts import printable

_AHEAD: Final = re.compile(r"before_(?P<number>\d+)(?P<unit>[dh])")
"""A rung before the deadline."""
MAX_ID_CHARACTERS: Final = 100
MAX_FILES: Final = 10
"""Named in one message."""
Summary = list[Part] | Said | Paged | Exception
Lists = Mapping[str, Summary]
"""A digest or a report -> what it says, or why that could not be made."""

_RUNGS: Final[Mapping[str, str]] = {
    "opened": N_("Process opened"),
    "overdue": codes.STATES["OVERDUE"],
    "expired": N_("EXPIRED · deadline passed"),
}
_REPORTED_EXPIRED: Final = N_("EXPIRED by the platform's report, before the deadline")
_LISTS: Final[Mapping[str, str]] = {
    "digest": N_("Summary of the day"),
    "report": N_("Scheduled report"),
    "test": N_("Test message"),
}
_CONDITIONS: Final = {**conditions.of_log(), **conditions.BESIDE_THE_LOG}
_ASKED: Final = N_("Make sure that the seller was asked, and wait for the answer")
_LOST: Final = N_(
    "the list could not be made: its saved view is gone, or names a seller by a tax id or an e-mail"
    " address"
)
_PARTS: Final[Mapping[str, str]] = {
    "late": codes.STATES["EXPIRED"],
    "this_week": N_("Due in 7 days"),
    "new": N_("New since the last working day"),
    "untaken": N_("Alerts that nobody has taken"),
}
_LABELS: Final[Mapping[str, str]] = {
    "process": N_("Process"),
    "seller": N_("Seller"),
    "deadline": N_("Deadline"),
    "next": N_("Next action"),
    "open": N_("Open in Prazo"),
    "acknowledge": N_("Confirm that somebody sees to it"),
    "since": N_("Since"),
    "for_seller": N_("Link to send to the seller"),
    "stands_still": N_("The ledger stands still"),
    "files": N_("In the file of PRAZO_ALERTS_FILE"),
}
_STANDS_STILL: Final = N_("its newest entry is of {at}; what came after that may be missing here")


class Block(NamedTuple):
    """What is said of one alert."""

    lines: list[tuple[str, str]]  # label, or "" of a heading, and value
    html: str | None = None  # where that is not these lines


class Link(str):
    """A value that is our own link; whatever else looks like one came from outside."""

    __slots__ = ()


def _id(text: str) -> str:
    """An id in one line, cut where it is long, and none that a mail program makes a link of."""
    shown = printable(text)
    if len(shown) > MAX_ID_CHARACTERS:
        shown = shown[:MAX_ID_CHARACTERS] + "…"
    return shown.replace(".", "[.]") if "/" in shown or "www" in shown.lower() else shown


def title(kind: str, language: Language) -> str:
    """An alert's kind in a few words; a broken rule's name is the one of packages and pages."""
    for named in (_RUNGS, _LISTS):
        if kind in named:
            return said_in(language, named[kind])
    if kind in _CONDITIONS:
        return said_in(language, _CONDITIONS[kind].name)
    if kind in findings.rules():
        return said_in(language, findings.rules()[kind].name)
    if (ahead := _AHEAD.fullmatch(kind)) is None:
        return kind  # of another release: what it means would be a guess
    # Who was not told at once is told the same later: it has to be true then, too.
    n = int(ahead["number"])
    if ahead["unit"] == "d":
        return counted_in(language, "Less than {n} day left", "Less than {n} days left", n, n=n)
    return counted_in(language, "Less than {n} hour left", "Less than {n} hours left", n, n=n)


def _heading(due: Due, language: Language, now: int) -> str:
    """An alert's kind as it is now: the platform may report EXPIRED before the deadline."""
    if due.kind == "expired" and due.deadline_at is not None and due.deadline_at > now:
        return said_in(language, _REPORTED_EXPIRED)
    return title(due.kind, language)


def state(code: str, language: Language) -> str:
    """A process's state, and what it means."""
    return states.standing(code, None, language)


def next_action(code: str, language: Language, queue: str | None = None) -> str:
    """A next action in a few words. `queue`: where the process stands; None where that is not
    known: then a wait and what stands in for it are both named."""
    if code not in ACTIONS:
        return code
    if queue is not None:
        return said_in(language, next_actions.of(code, queue).name)
    return " / ".join(said_in(language, name) for name in next_actions.names(code))


def message(
    items: tuple[Item, ...],
    name: str,
    recipient: Recipient,
    links: Links,
    zone: str,
    now: int,
    lists: Lists = MappingProxyType({}),
) -> Text:
    """What one recipient is told about some alerts. `zone`: of the marketplace, where the recipient
    has none. `lists`: what those of them that are digests and reports say."""
    language = recipient.language
    here = ZoneInfo(recipient.zone or zone)
    gathered = [it.due for it in items if it.due.is_rung and it.due.severity == codes.INFO]
    if len(gathered) == 1 or not lists_info(recipient):
        gathered = []
    known = {due.alert for due in gathered}
    parts = [
        _listing(lists[due.alert], language, links, here)
        if due.kind in (DIGEST, REPORT)
        else Block(_lines(due, name, language, links, here, now))
        for due, *_ in items
        if due.alert not in known
    ]
    if gathered:
        parts.append(Block(_gathered(gathered, language, links, here)))
    first = items[0].due
    heading = _heading(first, language, now)
    if isinstance(report := lists.get(first.alert), Said):
        heading += f": {_id(report.name)} ({'?' if report.is_lost else report.total})"
    elif isinstance(report, Paged):
        heading += f": {_id(report.name)}"
    about = first.process_id or first.seller_id
    subject = f"[Prazo] {heading}" + (f" – {_id(about)}" if about else "")
    if len(items) > 1:
        more = len(items) - 1
        subject += " " + counted_in(
            language, NC_("alerts", "and {n} more"), NC_("alerts", "and {n} more"), more, n=more
        )
    plain = "\n\n".join("\n".join(_plain(*line) for line in part.lines) for part in parts)
    html = "<hr>".join(_marked_lines(it.lines) if it.html is None else it.html for it in parts)
    page = _page(first, lists, links) if len(items) == 1 else links.alerts()
    html = f'<html lang="{language}">{html}</html>'
    return Text(" ".join(subject.split()), plain + "\n", html, page)


def _page(due: Due, lists: Lists, links: Links) -> str | None:
    """The page of what one alert is about."""
    if due.kind == REPORT and isinstance(report := lists[due.alert], Said):
        return links.watchlist(report.query)
    if due.kind == REPORT and isinstance(lists[due.alert], Paged):
        return links.trends()
    return links.overview() if due.kind == DIGEST else links.page(due)


def _listing(of: Summary, language: Language, links: Links, here: ZoneInfo) -> Block:
    if isinstance(of, Exception):
        raise of
    if isinstance(of, Said):
        return Block(_report(of, language, here, links))
    if isinstance(of, Paged):
        return _paged(of, language, here, links)
    return Block(_summary(of, language, here, links))


def _paged(of: Paged, language: Language, here: ZoneInfo, links: Links) -> Block:
    """The page for the boss; its tables are the HTML's alone."""
    from pipeline.trends import printed

    begun = [("", f"{title('report', language)}: {_id(of.name)}")]
    page = links.trends()
    ended = [] if page is None else [(said_in(language, _LABELS["open"]), Link(page))]
    html = printed.part(of.page, here, language)
    return Block(
        [*begun, *printed.lines(of.page, here, language), *ended],
        f"{_marked_lines(begun)}{html}{_marked_lines(ended)}",
    )


def _summary(
    parts: list[Part], language: Language, here: ZoneInfo, links: Links
) -> list[tuple[str, str]]:
    lines = [("", title("digest", language)), *_listed(parts, language, here)]
    if (page := links.overview()) is not None:
        lines.append((said_in(language, _LABELS["open"]), Link(page)))
    return lines


def _report(of: Said, language: Language, here: ZoneInfo, links: Links) -> list[tuple[str, str]]:
    # None are many here, in Portuguese too: `0 processos`.
    total = counted_in(language, "{n} process", "{n} processes", of.total or 2, n=of.total)
    if of.is_lost:
        total = said_in(language, _LOST)
    lines = [("", f"{title('report', language)}: {_id(of.name)} – {total}")]
    lines += _listed(of.parts, language, here)
    if (page := links.watchlist(of.query)) is not None:
        lines.append((said_in(language, _LABELS["open"]), Link(page)))
    return lines


def _listed(parts: list[Part], language: Language, here: ZoneInfo) -> list[tuple[str, str]]:
    lines = []
    for part in parts:
        named = _PARTS.get(part.name)
        heading = state(part.name, language) if named is None else said_in(language, named)
        lines.append(("", f"{heading}: {part.total}"))
        lines += [_line(process, language, here) for process in part.listed]
        if part.total > len(part.listed):
            more = part.total - len(part.listed)
            lines.append(("…", said_in(language, N_("and {n} more"), n=more)))
    return lines


def _line(of: Process | Due, language: Language, here: ZoneInfo) -> tuple[str, str]:
    """A process in one line."""
    deadline = "–" if of.deadline_at is None else local(of.deadline_at, here, language)
    queue = of.queue if isinstance(of, Process) else None
    said_of = f"{deadline} · {next_action(of.next_action or '', language, queue)}"
    if of.seller_id:
        said_of += f" · {said_in(language, _LABELS['seller'])} {_id(of.seller_id)}"
    return _id(of.process_id or "–"), said_of


def _gathered(
    dues: list[Due], language: Language, links: Links, here: ZoneInfo
) -> list[tuple[str, str]]:
    """What was only to be known, by its kinds, the soonest deadline first."""
    severity = said_in(language, codes.SEVERITIES[codes.INFO]).lower()
    lines = []
    for kind in dict.fromkeys(due.kind for due in dues):
        of_kind = [due for due in dues if due.kind == kind]
        lines.append(("", f"{title(kind, language)} ({severity}): {len(of_kind)}"))
        lines += [_line(due, language, here) for due in of_kind]
    if (ledger_at := next((it.ledger_at for it in dues if it.ledger_at), None)) is not None:
        lines.append(_standing_still(ledger_at, language, here))
    if (page := links.alerts()) is not None:
        lines.append((said_in(language, _LABELS["open"]), Link(page)))
    return lines


def _standing_still(ledger_at: int, language: Language, here: ZoneInfo) -> tuple[str, str]:
    said = said_in(language, _STANDS_STILL, at=local(ledger_at, here, language))
    return said_in(language, _LABELS["stands_still"]), said


def _lines(
    due: Due, name: str, language: Language, links: Links, here: ZoneInfo, now: int
) -> list[tuple[str, str]]:
    def label(code: str) -> str:
        return said_in(language, _LABELS[code])

    severity = said_in(language, codes.SEVERITIES[due.severity]).lower()
    lines = [("", f"{_heading(due, language, now)} ({severity})")]
    if due.process_id:
        left = None if due.deadline_at is None else (due.deadline_at - now) // instants.SECOND
        stands = due.state and states.standing(due.state, left, language)
        known = (_id(due.process_id), due.review_type, stands)
        kinds = " · ".join(it for it in known if it)
        lines.append((label("process"), kinds))
    if due.seller_id:
        lines.append((label("seller"), _id(due.seller_id)))
    if due.deadline_at is not None:
        lines.append((label("deadline"), local(due.deadline_at, here, language)))
    else:
        lines.append((label("since"), local(due.since, here, language)))
    condition = _CONDITIONS.get(due.kind)
    if condition is not None and condition.advice is not None:
        lines.append((label("next"), said_in(language, condition.advice)))
    elif due.next_action == "await_seller":
        # It alarms because waiting is no longer safe, or because the link for the seller is in
        # somebody's mail and may be there alone.
        lines.append((label("next"), said_in(language, _ASKED)))
    elif due.next_action:
        lines.append((label("next"), next_action(due.next_action, language)))
    if due.files:
        named = [_id(it) for it in due.files[:MAX_FILES]]
        if (more := len(due.files) - MAX_FILES) > 0:
            named.append(said_in(language, N_("and {n} more"), n=more))
        lines.append((label("files"), ", ".join(named)))
    if due.ledger_at is not None:
        lines.append(_standing_still(due.ledger_at, language, here))
    if (page := links.page(due)) is not None:
        lines.append((label("open"), Link(page)))
    if (for_seller := links.for_seller(due)) is not None:
        lines.append((label("for_seller"), Link(for_seller)))
    if (acknowledging := links.acknowledging(due.alert, name, now)) is not None:
        lines.append((label("acknowledge"), Link(acknowledging)))
    return lines


def local(at: int, zone: ZoneInfo, language: Language) -> str:
    """An instant as pages write it, on a clock in a zone, with whose clock that is."""
    there = instants.of(at)
    # At the edges of the calendar a zone leads out of it: there it is said in UTC.
    with contextlib.suppress(OverflowError):
        there = there.astimezone(zone)
    here = ZoneInfo("UTC") if there.tzinfo is UTC else zone
    said = figures.instant(there, figures.MINUTE[language], here, language)
    return f"{said} ({figures.clock(there, figures.NUMBERS[language])})"


def _plain(label: str, value: str) -> str:
    return f"{label}: {value}" if label else value.upper()


def _marked_lines(lines: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<p>{_marked(label, value)}</p>" for label, value in lines)


def _marked(label: str, value: str) -> str:
    if not label:
        return f"<b>{escape(value)}</b>"
    if isinstance(value, Link):
        return f'<a href="{escape(value, quote=True)}">{escape(label)}</a>'
    return f"{escape(label)}: {escape(value)}"
