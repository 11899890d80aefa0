"""Tells a package's tables to people: one HTML file a language, which needs no other file.

Made from the cells of the CSV files, parameters.json and contents.json alone, so that whoever
verifies can make it again and compare byte by byte. Instants are UTC.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pipeline import contract, instants
from pipeline.report_words import WORDS, Words

Language = Literal["en", "pt"]
FILES: Final[Mapping[Language, str]] = {"en": "report.html", "pt": "report.pt.html"}
MAX_STORIES: Final = 300
MAX_FINDINGS: Final = 1000
"""Told at length; all of them are in the tables, and the report says so."""

Row = Mapping[str, str]
_TONES: Final = {
    **{"EXPIRED": "bad", "OVERDUE": "warn", "PENDING": "plain", "FINISHED": "good"},
    **{"breach": "bad", "risk": "warn", "notice": "plain"},
}
_STYLE: Final = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
_REVIEW: Final = contract.REVIEW_REQUIRED


class Step(NamedTuple):
    """One of the four instants that a process's story hangs on."""

    name: str
    at: int | None
    note: str


def render(
    tables: Mapping[str, Sequence[Row]],
    parameters: Mapping[str, Any],
    contents: Mapping[str, Any],
    language: Language,
) -> str:
    """The whole report as HTML."""
    words = WORDS[language]
    body = "".join(
        (
            _head(parameters, tables, words, language),
            _figures(parameters, words),
            _left_out(parameters, contents, tables["entries.csv"], words),
            _findings(tables["findings.csv"], words),
            _stories(tables, words),
            _others(tables["entries.csv"], words),
            _how_to_verify(parameters, words),
        )
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{words.tag}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        f"<title>{escape(words['title'])}: {_scope(parameters, words)}</title>\n"
        f"<style>\n{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


# --- the frame -------------------------------------------------------------------------------


def _head(
    parameters: Mapping[str, Any],
    tables: Mapping[str, Sequence[Row]],
    words: Words,
    language: Language,
) -> str:
    other: Language = "pt" if language == "en" else "en"
    facts = [
        ("as_of", _instant(parameters["as_of"])),
        ("actor", escape(parameters["actor"])),
        ("reason", escape(parameters["reason"])),
        ("profile", escape(words[f"profile_{parameters['profile']}"])),
        ("log", f"<code>{escape(parameters['log'])}</code>"),
        ("entries", _number(len(tables["entries.csv"]), words)),
    ]
    return (
        f'<header><p class="brand">Prazo<span>{escape(words["package"])}</span>'
        f'<a href="{FILES[other]}" lang="{WORDS[other].tag}">{escape(WORDS[other].language)}</a>'
        f"</p>\n<h1>{escape(words['title'])}</h1>\n"
        f'<p class="scope">{_scope(parameters, words)}</p>\n<dl class="facts">'
        + "".join(f"<div><dt>{escape(words[it])}</dt><dd>{value}</dd></div>" for it, value in facts)
        + f'</dl>\n<p class="quiet">{escape(words["utc"])}</p></header>\n'
    )


def _scope(parameters: Mapping[str, Any], words: Words) -> str:
    scope = parameters["scope"]
    if "from" in scope:
        return f"{_instant(scope['from'])} – {_instant(scope['to'])}"
    kind = next(iter(scope))
    return f"{escape(words[kind])} <code>{escape(scope[kind])}</code>"


def _figures(parameters: Mapping[str, Any], words: Words) -> str:
    totals = parameters["totals"]
    figures = [
        *((it, totals["processes"].get(it, 0)) for it in ("EXPIRED", "OVERDUE", "PENDING")),
        ("FINISHED", totals["processes"].get("FINISHED", 0)),
        *((it, totals["findings"].get(it, 0)) for it in ("breach", "risk", "notice")),
    ]
    tiles = (
        f'<div class="tile {_TONES[it] if count else ""}"><b>{_number(count, words)}</b>'
        f"<span>{escape(words[it])}</span></div>"
        for it, count in figures
    )
    return f'<section class="tiles">{"".join(tiles)}</section>\n'


def _left_out(
    parameters: Mapping[str, Any], contents: Mapping[str, Any], entries: Sequence[Row], words: Words
) -> str:
    lines = []
    withheld = contents["withheld"]
    kinds = {it["seq"]: it["kind"] for it in entries}
    whys = Counter((it["why"], kinds.get(seq, "")) for seq, it in withheld.items())
    for (why, kind), count in sorted(whys.items()):
        lines.append(
            f"{_number(count, words)} × {escape(words.get(kind))}: {escape(words['body_withheld'])}"
            f" ({escape(words.get(why))})"
        )
    for why, count in sorted(Counter(contents["withheld_artifacts"].values()).items()):
        lines.append(
            f"{_number(count, words)} × {escape(words['artifact'])} ({escape(words.get(why))})"
        )
    if parameters["profile"] == "masked":
        lines.append(escape(words["masked_columns"]))
    outside = sum(parameters["not_of_log"].values())
    if outside:
        lines.append(f"{_number(outside, words)} {escape(words['outside'])}")
    shown = "".join(f"<li>{it}</li>" for it in lines)
    content = (
        f"<ul>{shown}</ul><p>{escape(words['nothing_else'])}</p>"
        if lines
        else f"<p>{escape(words['nothing_left_out'])}</p>"
    )
    return f"<section><h2>{escape(words['left_out'])}</h2>{content}</section>\n"


def _findings(findings: Sequence[Row], words: Words) -> str:
    if not findings:
        return (
            f"<section><h2>{escape(words['findings'])}</h2>"
            f"<p>{escape(words['no_findings'])}</p></section>\n"
        )
    order = ("breach", "risk", "notice")
    ranked = sorted(findings, key=lambda it: order.index(it["severity"]))
    rows = [
        (
            _pill(it["severity"], words),
            f"{escape(words.get(it['rule']))}"
            + (f"<br><small>{escape(_plain(it['detail']))}</small>" if it["detail"] else ""),
            _anchor(it["process_id"]) if it["process_id"] else escape(_plain(it["seller_id"])),
            _instant(it["found_at"]),
            _entry(it["seq"]) + ("" if it["basis"] == "package" else " *"),
        )
        for it in ranked[:MAX_FINDINGS]
    ]
    notes = []
    if len(ranked) > len(rows):
        notes.append(f"{len(rows)} / {len(ranked)}. {words['rest_in_tables']}")
    if any(it["basis"] != "package" for it in ranked[:MAX_FINDINGS]):
        notes.append(f"* {words['basis_log']}")
    heads = ("severity", "rule", "subject", "found_at", "entry")
    return (
        f"<section><h2>{escape(words['findings'])}</h2>{_table(heads, rows, words)}"
        + "".join(f'<p class="quiet">{escape(it)}</p>' for it in notes)
        + "</section>\n"
    )


def _how_to_verify(parameters: Mapping[str, Any], words: Words) -> str:
    return (
        f'<section class="verify"><h2>{escape(words["verify"])}</h2>'
        f"<p>{escape(words['verify_text'])}</p>"
        f"<pre>python3 verify.py PACKAGE.zip --key '{escape(parameters['key'])}'</pre>"
        f"<p>{escape(words['key_text'])}</p></section>\n"
    )


# --- stories ---------------------------------------------------------------------------------


def _stories(tables: Mapping[str, Sequence[Row]], words: Words) -> str:
    entries: dict[str, list[Row]] = {}
    for entry in tables["entries.csv"]:
        entries.setdefault(entry["process_id"], []).append(entry)
    coverage = {
        process_id: list(rows)
        for process_id, rows in groupby(tables["coverage.csv"], lambda it: it["process_id"])
    }
    processes = tables["processes.csv"]
    told = "".join(
        _story(it, entries.get(it["process_id"], []), coverage.get(it["process_id"], []), words)
        for it in processes[:MAX_STORIES]
    )
    rest = (
        f'<p class="quiet">{MAX_STORIES} / {len(processes)}. {escape(words["rest_in_tables"])}</p>'
        if len(processes) > MAX_STORIES
        else ""
    )
    return f"<section><h2>{escape(words['processes'])}</h2>{told}{rest}</section>\n" if told else ""


def _story(process: Row, entries: Sequence[Row], coverage: Sequence[Row], words: Words) -> str:
    facts = [
        ("seller", f"<code>{escape(_plain(process['seller_id']))}</code>"),
        ("opened_at", _instant(process["opened_at"])),
        ("deadline_at", _instant(process["deadline_at"])),
        ("finished_at", _instant(process["finished_at"])),
        ("attempts", escape(process["attempts"])),
    ]
    late = (
        f' <span class="pill bad">{escape(words["late"])}</span>'
        if process["finished_late"] == "True"
        else ""
    )
    return (
        f'<article id="{escape(process["process_id"])}"><h3><code>'
        f"{escape(_plain(process['process_id']))}</code> {_pill(process['state'], words)}{late}"
        f"<small>{escape(words.get(process['review_type']))}</small></h3>"
        '<dl class="facts">'
        + "".join(
            f"<div><dt>{escape(words[name])}</dt><dd>{value}</dd></div>"
            for name, value in facts
            if value
        )
        + f"</dl>{_path(entries, words)}{_timeline(entries, words)}{_coverage(coverage, words)}"
        "</article>\n"
    )


def _path(entries: Sequence[Row], words: Words) -> str:
    """Requested -> collected -> submitted -> answered, and the time between each."""
    steps = _steps(entries, words)
    parts: list[str] = []
    before: int | None = None
    for step in steps:
        if parts:
            gap = "" if step.at is None or before is None else _span(step.at - before, words)
            parts.append(f'<li class="gap" aria-label="{escape(words["after"])}">{gap}</li>')
        when = escape(words["missing"]) if step.at is None else _instant(instants.readable(step.at))
        tone = "step" if step.at is not None else "step none"
        parts.append(
            f'<li class="{tone}"><b>{escape(step.name)}</b>{when}<small>{step.note}</small></li>'
        )
        before = step.at if step.at is not None else before
    return f'<ol class="path">{"".join(parts)}</ol>'


def _steps(entries: Sequence[Row], words: Words) -> list[Step]:
    ordered = sorted(entries, key=lambda it: (_at(it), int(it["seq"])))
    requests = [it for it in ordered if it["event_type"] == _REVIEW]
    starts = {it["attempt_id"]: it for it in ordered if it["kind"] == "submission_started"}
    ends = [it for it in ordered if it["kind"] == "submission_finished"]
    end = next((it for it in ends if it["status"] == "200"), ends[-1] if ends else None)
    last_start = next(reversed(starts.values()), None)
    start = starts.get(end["attempt_id"]) if end else last_start
    by = _at(start) if start else None
    answered = [
        it
        for it in ordered
        if it["kind"] == "collection" and it["step"] == "answered" and (by is None or _at(it) <= by)
    ]
    collected = answered[-1] if answered else None
    asked = requests[0] if requests else None
    return [
        Step(words["requested"], _maybe_at(asked), _fields(asked, "requested_fields")),
        Step(
            words["collected"],
            _maybe_at(collected),
            " · ".join(escape(words.get(collected[it])) for it in ("channel", "source"))
            if collected
            else "",
        ),
        Step(words["submitted"], _maybe_at(start), _fields(start, "fields")),
        Step(words["answered"], _maybe_at(end), _outcome(end, words) if end else ""),
    ]


def _timeline(entries: Sequence[Row], words: Words) -> str:
    rows = []
    before: int | None = None
    for entry in sorted(entries, key=lambda it: (_at(it), int(it["seq"]))):
        at = _at(entry)
        rows.append(
            (
                _instant(entry["occurred_at"]),
                "" if before is None else _span(at - before, words),
                _sentence(entry, words),
                f'{_entry(entry["seq"])}<br><small class="hash">{entry["leaf_hash"][:12]}</small>',
            )
        )
        before = at
    return _table(("when", "after", "what", "entry"), rows, words)


def _sentence(entry: Row, words: Words) -> str:
    """One entry in words."""
    head = f"<b>{escape(words.get(entry['kind']))}</b>"
    parts: list[str] = []
    match entry["kind"]:
        case "webhook":
            head = f"<b>{escape(words.get(entry['event_type']))}</b>"
            if entry["reported_status"]:
                parts.append(_pill(entry["reported_status"], words))
            if entry["deadline_at"]:
                parts.append(f"{escape(words['deadline_at'])} {_instant(entry['deadline_at'])}")
            parts.append(_fields(entry, "requested_fields"))
        case "collection":
            head = f"<b>{escape(words.get(entry['step'] or 'collection'))}</b>"
            parts += [escape(words.get(entry[it])) for it in ("channel", "source") if entry[it]]
            parts += [escape(_plain(entry["actor"])), _fields(entry, "fields")]
            if entry["artifacts"]:
                parts.append(f"{escape(entry['artifacts'])} × {escape(words['artifact'])}")
        case "submission_started":
            parts += [f"<code>{escape(_plain(entry['attempt_id']))}</code>", escape(entry["via"])]
            parts.append(_fields(entry, "fields"))
        case "submission_finished":
            parts += [_outcome(entry, words), f"<code>{escape(_plain(entry['attempt_id']))}</code>"]
        case _:
            parts += [escape(_plain(entry["actor"])), escape(_plain(entry["reason"]))]
    if entry["body"] == "withheld":
        parts.append(f'<span class="pill">{escape(words["withheld"])}</span>')
    return head + "".join(f" · {it}" for it in parts if it)


def _outcome(entry: Row, words: Words) -> str:
    if entry["status"]:
        tone = "good" if entry["status"] == "200" else "bad"
        return f'<span class="pill {tone}">HTTP {escape(entry["status"])}</span>'
    return f'<span class="pill warn">{escape(words.get(entry["error"] or "withheld"))}</span>'


def _coverage(coverage: Sequence[Row], words: Words) -> str:
    if not coverage:
        return ""
    rows = [
        (
            f"<code>{escape(_plain(it['path']))}</code>",
            escape(words["yes" if it["requested"] == "True" else "no"]),
            _instant(it["answered_at"]),
            escape(words.get(it["answer_source"])),
            _instant(it["sent_at"]),
            _covered(it["covered"], words),
        )
        for it in coverage
    ]
    heads = ("path", "was_requested", "answered_at", "source", "sent_at", "covered")
    return f"<h4>{escape(words['coverage'])}</h4>{_table(heads, rows, words)}"


def _covered(value: str, words: Words) -> str:
    if value == "True":
        return f'<span class="pill good">{escape(words["yes"])}</span>'
    return f'<span class="pill bad">{escape(words["no"])}</span>' if value else ""


def _others(entries: Sequence[Row], words: Words) -> str:
    """Entries of no process, by kind."""
    counts = Counter(
        it["event_type"] if it["kind"] == "webhook" and it["event_type"] else it["kind"]
        for it in entries
        if not it["process_id"]
    )
    if not counts:
        return ""
    rows = [(escape(words.get(it)), _number(count, words)) for it, count in sorted(counts.items())]
    return (
        f"<section><h2>{escape(words['others'])}</h2>{_table(('what', 'entries'), rows, words)}"
        "</section>\n"
    )


# --- pieces ----------------------------------------------------------------------------------


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], words: Words) -> str:
    head = "".join(f'<th scope="col">{escape(words[it])}</th>' for it in heads)
    body = "".join(f"<tr>{''.join(f'<td>{it}</td>' for it in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _pill(code: str, words: Words) -> str:
    return f'<span class="pill {_TONES.get(code, "")}">{escape(words.get(code))}</span>'


def _fields(entry: Row | None, column: str) -> str:
    paths = json.loads(entry[column]) if entry and entry[column] else []
    return ", ".join(f"<code>{escape(it)}</code>" for it in paths)


def _anchor(process_id: str) -> str:
    return f'<a href="#{escape(process_id)}"><code>{escape(_plain(process_id))}</code></a>'


def _entry(seq: str) -> str:
    return f"#{escape(seq)}" if seq else ""


def _instant(text: str) -> str:
    """`2026-03-01 09:00:00`; the cell's own text is in its title."""
    if not text:
        return ""
    shown = text.replace("T", " ").removesuffix("Z").partition(".")[0]
    return f'<time datetime="{escape(text)}">{escape(shown)}</time>'


def _number(count: int, words: Words) -> str:
    return f"{count:,}".replace(",", words.thousands)


def _at(entry: Row) -> int:
    return instants.parse(entry["occurred_at"]) or 0


def _maybe_at(entry: Row | None) -> int | None:
    return None if entry is None else _at(entry)


def _span(microseconds: int, words: Words) -> str:
    """A time between two instants in its two largest units."""
    sizes = (("d", instants.DAY), ("h", instants.HOUR), ("min", instants.MINUTE))
    rest = abs(microseconds)
    parts = []
    for unit, size in (*sizes, ("s", instants.SECOND)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    sign = "-" if microseconds < 0 else "+"
    return f"{sign}{' '.join(parts[:2]) or words['under_a_second']}"


def _plain(cell: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from running it."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@", "\t") else cell
