"""Renders a package's tables for people, as one self-contained HTML file for each language.

It uses only what is in the package, so that a verifier can render it again and compare byte by
byte. Instants are UTC. The layout is in `templates/`, the words are in `report_texts.py`; this
module works out what to show.
"""

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import jinja2

from pipeline import instants
from pipeline.audit.package.report_texts import STATES, WORDS
from pipeline.audit.package.screens import Screen
from pipeline.contract import review_types
from pipeline.contract.event_types import REVIEW_REQUIRED
from pipeline.language import codes, fields
from pipeline.language.catalogue import Language
from pipeline.log.kinds.collection import COLLECTION, shown_as
from pipeline.log.kinds.retraction import RETRACTION
from pipeline.log.kinds.seller_notice import LETTER, SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.texts import printable

FILES: Final[Mapping[Language, str]] = {"en": "report.html", "pt": "report.pt.html"}
START: Final = "START-HERE.html"
"""The first file of a package: what it is, how to check it, and whom to ask."""
MAX_STORIES: Final = 300
MAX_FINDINGS: Final = 1000
"""The most that a report shows; the tables hold all of them, and the report says so."""

Row = Mapping[str, str]
"""One row of a table's CSV file: column -> cell."""

_TONES: Final = {
    **{"EXPIRED": "bad", "OVERDUE": "warn", "PENDING": "plain", "FINISHED": "good"},
    **{"breach": "bad", "risk": "warn", "notice": "plain"},
}

_MAKES_LINKS: Final = "journey"
"""What records that our own page made a link."""
_REACHING: Final = frozenset({"accepted", "delivered", "opened"})
_UNDOING: Final = frozenset({"bounced", "failed"})
_OWN_STEPS: Final = frozenset({"opened", "answered", "confirmed"})

GLOSSARY: Final = (
    ("word", "process"),
    *(("review type", it) for it in review_types.NAMES),
    *(("state", it) for it in ("PENDING", "OVERDUE", "EXPIRED")),
    *(("severity", it) for it in codes.SEVERITIES),
    *(("word", it) for it in ("covered", "entry", "withheld", "log")),
)
"""What the report explains, by the tables of `report_texts.py` and the names in them."""


class Counted:
    """Rows that are read once, and how many they were."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._read, self.rows = rows, 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._read:
            self.rows += 1
            yield row


def urgency(process: Row) -> tuple[int, str, str]:
    """The order of a report: what is worst first, of the same state what came due first."""
    state = process["state"]
    rank = STATES.index(state) if state in STATES else len(STATES)
    if state == "FINISHED" and process["finished_late"] != "True":
        rank += 1
    return rank, process["deadline_at"] or "9", process["process_id"]


class Step(NamedTuple):
    """One of the four main steps of a process's story."""

    name: str
    entry: Row | None  # None: not in the log
    after: int | None  # microseconds since the last step that is in the log
    fields: str = ""  # the column with the fields that the entry asks for or sends

    @property
    def at(self) -> str:
        """The step's instant as the tables show it; empty if it is not in the log."""
        return "" if self.entry is None else self.entry["occurred_at"]


class Line(NamedTuple):
    """An entry in a process's timeline."""

    entry: Row
    after: int | None  # microseconds since the line before
    earlier: Row | None  # of what the platform says of the review: what it said of it before


class Asked(NamedTuple):
    """The first entry that shows that a process's seller was asked, and how long before its
    deadline that was."""

    entry: Row
    channel: str
    ahead: int | None  # microseconds, negative after the deadline; None where no deadline is known


class Story(NamedTuple):
    """What the report shows about one process."""

    process: Row
    asked: Asked | None
    steps: Sequence[Step]
    timeline: Sequence[Line]
    coverage: Sequence[Row]

    @property
    def uncovered(self) -> list[str]:
        """The fields that were sent without evidence."""
        return [row["path"] for row in self.coverage if row["covered"] == "False"]


def content(
    tables: Mapping[str, Iterable[Row]],
    parameters: Mapping[str, Any],
    contents: Mapping[str, Any],
    screens: Mapping[int, Sequence[Screen]],
) -> dict[str, Any]:
    """What the report says, in no language yet.

    `tables`: the rows of each table by its file's name, each read once and, but for those that are
    shown, let go; `parameters`, `contents`: parameters.json and contents.json; `screens`: the
    artifacts that are named one by one, by entry.
    """
    counted = Counted(tables["processes.csv"])
    worst = heapq.nsmallest(MAX_STORIES, counted, key=urgency)
    processes: dict[str, Row] = {row["process_id"]: row for row in worst}
    coverage: dict[str, list[Row]] = {}
    uncovered = 0
    for row in tables["coverage.csv"]:
        uncovered += row["covered"] == "False"
        if row["process_id"] in processes:
            coverage.setdefault(row["process_id"], []).append(row)
    entries: dict[str, list[Row]] = {}
    others: Counter[tuple[str, str]] = Counter()
    of_messages: list[Row] = []
    all_entries = 0
    for row in tables["entries.csv"]:
        all_entries += 1
        if row["process_id"] in processes:
            entries.setdefault(row["process_id"], []).append(row)
        elif not row["process_id"] and row["message_id"]:
            of_messages.append(row)
        elif not row["process_id"]:
            others[_named(row)] += 1
    others.update(map(_named, _of_messages(entries, of_messages)))
    ranked: dict[str, list[Row]] = {it: [] for it in codes.SEVERITIES}
    all_findings = 0
    for row in tables["findings.csv"]:
        all_findings += 1
        if len(ranked[row["severity"]]) < MAX_FINDINGS:
            ranked[row["severity"]].append(row)
    return {
        "tones": _TONES,
        "screens": screens,
        "parameters": parameters,
        "entries": all_entries,
        "figures": _figures(parameters["totals"]),
        **_left_out(parameters, contents),
        "findings": [row for rows in ranked.values() for row in rows][:MAX_FINDINGS],
        "all_findings": all_findings,
        "stories": [
            _story(row, entries.get(name, []), coverage.get(name, []))
            for name, row in processes.items()
        ],
        "all_processes": counted.rows,
        "uncovered": uncovered,
        "glossary": GLOSSARY,
        "others": sorted(others.items()),
    }


def render(content: Mapping[str, Any], language: Language) -> str:
    """The whole report as HTML. The same content gives the same text, on any machine and any
    day."""
    other: Language = "pt" if language == "en" else "en"
    return _TEMPLATES.get_template("report.html").render(
        words=WORDS[language], other_words=WORDS[other], other_file=FILES[other], **content
    )


def start(parameters: Mapping[str, Any]) -> str:
    """A package's first page, in both languages: what was asked, what lies in it, how to check it,
    whom to ask. `parameters`: parameters.json."""
    return _TEMPLATES.get_template("start.html").render(
        languages=WORDS, reports=FILES, parameters=parameters
    )


def _of_messages(entries: Mapping[str, list[Row]], said: Iterable[Row]) -> Iterator[Row]:
    """Puts what is said of a message, without a process, into the story of each process of which
    the message speaks. Gives what is about none of them."""
    spoken: dict[str, list[str]] = {}
    for process_id, rows in entries.items():
        for message_id in {row["message_id"] for row in rows} - {""}:
            spoken.setdefault(message_id, []).append(process_id)
    for row in said:
        about = spoken.get(row["message_id"], [])
        for process_id in about:
            entries[process_id].append(row)
        if not about:
            yield row


def _named(row: Row) -> tuple[str, str]:
    """What an entry is called, and in which table of words that stands."""
    is_event = row["kind"] == "webhook" and row["event_type"]
    return (row["event_type"], "event type") if is_event else (row["kind"], "kind")


def _figures(totals: Mapping[str, Mapping[str, int]]) -> list[tuple[str, str, int]]:
    """How many processes there are in each state, and findings of each severity."""
    return [
        *(("state", it, totals["processes"].get(it, 0)) for it in STATES if it != "UNKNOWN"),
        *(("severity", it, totals["findings"].get(it, 0)) for it in codes.SEVERITIES),
    ]


def _left_out(parameters: Mapping[str, Any], contents: Mapping[str, Any]) -> dict[str, Any]:
    """What was masked or left out, counted by reason, for the template."""
    bodies = [
        ((why, kind), count)
        for kind, reasons in contents["withheld"].items()
        for why, count in reasons.items()
    ]
    artifacts = Counter(contents["withheld_artifacts"].values())
    outside = sum(parameters["not_of_log"].values())
    return {
        "withheld_bodies": sorted(bodies),
        "withheld_artifacts": sorted(artifacts.items()),
        "withheld_records": sorted(contents["withheld_records"].items()),
        "rows_not_of_log": outside,
        "is_anything_left_out": bool(
            bodies or artifacts or outside or parameters["profile"] == "masked"
        ),
    }


def _story(process: Row, entries: Sequence[Row], coverage: Sequence[Row]) -> Story:
    ordered = sorted(entries, key=lambda entry: (_at(entry), int(entry["seq"])))
    asked = _asked(process, ordered)
    return Story(process, asked, _steps(ordered), _timeline(ordered), coverage)


def _asked(process: Row, ordered: Sequence[Row]) -> Asked | None:
    """By the rows alone, so a little less than docs/rules.md#seller-notices: they do not say what
    came of a call. Making a link of our own page invites nobody."""
    notices = {it["message_id"]: it for it in ordered if it["kind"] == SELLER_NOTICE}
    results = [it for it in ordered if it["kind"] == SELLER_NOTICE_RESULT]
    undone = {it["message_id"] for it in results if it["step"] in _UNDOING}
    retracted = {it["message_id"] for it in ordered if it["kind"] == RETRACTION}
    for entry in ordered:
        kind, message, step = entry["kind"], entry["message_id"], entry["step"]
        is_theirs = entry["source"] == "seller" and step in _OWN_STEPS
        is_invited = step == "invited" and entry["recorded_by"] != _MAKES_LINKS
        if kind == COLLECTION and (is_theirs or is_invited):
            return _asked_by(entry, entry["channel"], process)
        if kind == SELLER_NOTICE and entry["channel"] == LETTER and message not in retracted:
            return _asked_by(entry, LETTER, process)
        is_reached = step in _REACHING and message in notices and message not in undone
        if kind == SELLER_NOTICE_RESULT and is_reached:
            return _asked_by(entry, notices[message]["channel"], process)
    return None


def _asked_by(entry: Row, channel: str, process: Row) -> Asked:
    deadline = instants.parse(process["deadline_at"]) if process["deadline_at"] else None
    return Asked(entry, channel, None if deadline is None else deadline - _at(entry))


def _steps(ordered: Sequence[Row]) -> list[Step]:
    """Requested, collected, submitted, answered: the entries that finished the process or, if it is
    not finished, the newest ones."""
    request = next((it for it in ordered if it["event_type"] == REVIEW_REQUIRED), None)
    starts = {it["attempt_id"]: it for it in ordered if it["kind"] == "submission_started"}
    ends = [it for it in ordered if it["kind"] == "submission_finished"]
    end = next((it for it in ends if it["status"] == "200"), ends[-1] if ends else None)
    start = starts.get(end["attempt_id"]) if end else next(reversed(starts.values()), None)
    answers = [
        entry
        for entry in ordered
        if entry["kind"] == "collection"
        and entry["step"] == "answered"
        and (start is None or _at(entry) <= _at(start))
    ]
    steps: list[Step] = []
    before: Row | None = None
    for name, entry, column in (
        ("requested", request, "requested_fields"),
        ("collected", answers[-1] if answers else None, ""),
        ("submitted", start, "fields"),
        ("answered", end, ""),
    ):
        is_timed = entry is not None and before is not None
        steps.append(Step(name, entry, _between(before, entry) if is_timed else None, column))
        before = entry or before
    return steps


def _timeline(ordered: Sequence[Row]) -> list[Line]:
    """The platform asks for a review once, and says how it stands by the same event again."""
    lines: list[Line] = []
    before: Row | None = None
    said: Row | None = None
    for entry in ordered:
        is_said = entry["event_type"] == REVIEW_REQUIRED
        lines.append(Line(entry, _between(before, entry), said if is_said else None))
        before, said = entry, entry if is_said else said
    return lines


def _at(entry: Row) -> int:
    return instants.parse(entry["occurred_at"]) or 0


def _between(before: Row | None, entry: Row | None) -> int | None:
    """Between instants as they are shown, to the second: a reader who subtracts finds the same."""
    if before is None or entry is None:
        return None
    seconds = _at(entry) // instants.SECOND - _at(before) // instants.SECOND
    return seconds * instants.SECOND


# --- what templates call ---------------------------------------------------------------------


def _readable(instant: str) -> str:
    """An instant as `2026-03-01 09:00:00`."""
    return instant.replace("T", " ").removesuffix("Z").partition(".")[0]


def _period(scope: Mapping[str, str]) -> str:
    """A period from its start to its end; of whole days, from the first to the last of them."""
    since, until = (instants.parse(scope[end]) or 0 for end in ("from", "to"))
    if since % instants.DAY == until % instants.DAY == 0:
        ends = (scope["from"], instants.readable(until - instants.DAY))
        return " – ".join(_readable(end)[: len("2026-03-01")] for end in ends)
    return " – ".join(_readable(scope[end]) for end in ("from", "to"))


def _plain(cell: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from running it."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@", "\t") else cell


def _paths(cell: str) -> list[str]:
    """The fields that a cell lists as JSON."""
    paths: list[str] = json.loads(cell) if cell else []
    return paths


def _shown(value: Any) -> Any:
    """A text without characters that reverse, hide or end others: names of files come from sellers,
    and an auditor opens what a name seems to say. Lines and tabs stay; so does markup of ours."""
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    lines = value.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)


_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    finalize=_shown,
)
_TEMPLATES.filters |= {
    "readable": _readable,
    "period": _period,
    "plain": _plain,
    "paths": _paths,
    "shown_as": shown_as,
    "listed": fields.listed_in,
}
