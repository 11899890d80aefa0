"""Process: one review from the platform's request to its answer, with the evidence in between."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from app_pages.charts.course import process_clock
from app_pages.desk import (
    answered,
    asking,
    calls,
    casework,
    differences,
    holding,
    journeys,
    last_notice,
    processes,
    refused,
)
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, rulebook
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import (
    acting,
    address,
    elements,
    exchanges,
    explained,
    folds,
    links,
    lists,
    seller_names,
    timeline,
    views,
)
from pipeline.contract.body import JsonValue
from pipeline.language import codes

PAGE = Page(
    title=N_("Process"),
    icon="timeline",
    section=Section.INVESTIGATE,
    place=10,
    for_analysts=False,
)

ATTEMPTS = 30  # a try is given up after as many
ATTEMPTS_SHOWN = 10
ATTEMPTS_HEIGHT = 400  # of as many rows; the others are scrolled to
FINDINGS = 30
FIELDS = 60


def evidence(
    coverage: Sequence[views.Row], answers: Mapping[str, JsonValue] | None
) -> dict[str, list[str]]:
    """Per field: asked for, answered when and by whom, sent when, and whether that is covered; and
    what the answer was, once it may be seen."""
    verdicts = {
        True: formats.badge(_("covered"), "green", ":material/check:"),
        False: formats.badge(_("not covered"), "red", ":material/close:"),
        None: formats.badge(_("not sent"), "gray"),
    }
    return {
        _("Field"): [code_texts.field(row["path"]) for row in coverage],
        _("Evidence"): [verdicts[row["covered"]] for row in coverage],
        _("Requested"): [_("yes") if row["requested"] else _("no") for row in coverage],
        _("Answered"): [formats.minute(row["answered_at"]) for row in coverage],
        _("By"): [
            formats.plain(code_texts.word(codes.SOURCES, row["answer_source"])) for row in coverage
        ],
        _("Sent"): [formats.minute(row["sent_at"]) for row in coverage],
        **({} if answers is None else {_("Answer"): [said(row, answers) for row in coverage]}),
    }


def said(row: views.Row, answers: Mapping[str, JsonValue]) -> str:
    """What was answered to a field."""
    if row["answered_at"] is None:
        return "–"
    return (
        exchanges.in_clear(answers[row["path"]])
        if row["path"] in answers
        else _("erased or changed")
    )


def asked_for(listed: int, with_parts: int) -> str:
    """How many fields the platform listed, as lists have them; and how many that comes to where one
    of them, such as an address, has parts."""
    said = ngettext("{n} field", "{n} fields", listed, n=formats.number(listed))
    if with_parts == listed:
        return said
    return f"{said} · {_('{n} with all parts', n=formats.number(with_parts))}"


def course_reading(process: views.Row) -> str:
    """The clock in a sentence."""
    opened, deadline = formats.minute(process["opened_at"]), formats.minute(process["deadline_at"])
    if process["finished_at"] is None:
        return _(
            "Requested on **{opened}**, due on **{deadline}**: **{left}**.",
            opened=opened,
            deadline=deadline,
            left=formats.time_left(process["seconds_to_deadline"]),
        )
    return _(
        "Requested on **{opened}**, due on **{deadline}**, finished on **{finished}**.",
        opened=opened,
        deadline=deadline,
        finished=formats.minute(process["finished_at"]),
    )


def tried(attempts: Sequence[views.Row]) -> dict[str, list[str]]:
    """Per attempt: when, how it went, how long it took, how it came in, and what comes next."""
    return {
        _("Started"): [formats.second(row["started_at"]) for row in attempts],
        _("Outcome"): [code_texts.outcome_chip(row["outcome"]) for row in attempts],
        _("Status"): ["–" if row["status"] is None else str(row["status"]) for row in attempts],
        _("Duration"): [
            "–" if row["duration_ms"] is None else formats.seconds(row["duration_ms"] / 1000)
            for row in attempts
        ],
        _("Via"): [formats.plain(code_texts.word(codes.VIAS, row["via"])) for row in attempts],
        _("Retry due"): [formats.second(row["retry_due_at"]) for row in attempts],
    }


def show_exchanges(attempts: Sequence[views.Row], process_id: str) -> None:
    """Request and answer of one attempt at a time; masked until there is a reason."""
    sent = {row["attempt_id"]: row for row in attempts if row["outcome"] != "refused"}
    if not sent:
        return
    acting.ask_for_personal_data("submission_attempts", process_id, process_id=process_id)
    behind = folds.expander(_("Request and answer"), icon=":material/sync_alt:", key="exchange")
    if behind is None:
        return

    def named(attempt_id: str) -> str:
        row = sent[attempt_id]
        return _(
            "Attempt {n} · {instant}",
            n=row["attempt_number"],
            instant=formats.second(row["started_at"] or row["finished_at"]),
        )

    with behind:
        chosen = st.selectbox(_("Attempt"), list(sent), format_func=named, key="exchange_of")
        exchanges.show(
            sent[chosen],
            is_masked=not acting.may_see_personal_data("submission_attempts", process_id),
        )


def finding_line(finding: views.Row) -> str:
    """A finding in one line of Markdown: how grave, which rule, what exactly, and since when."""
    parts = [f"**{rulebook.name(finding['rule'])}**"]
    if finding["detail"]:
        parts.append(elements.detail(finding))
    parts.append(formats.muted(formats.minute(finding["found_at"])))
    return f"{rulebook.chip(finding['severity'])} {' · '.join(parts)}"


line = lists.filters()
with line, st.container(width=360 if "process" in st.query_params else 150):
    asked = address.text(_("Process"), "process", placeholder="prc_…", width="stretch")
if not asked:
    links.go_on_to_package()
    processes.show(line)
    lists.about(_("Type the id of a review process, or choose one of all that are known."))
    elements.end_page()

this = {"process_id": asked}
process = views.read_one("process_state", where=this)
if process is None:
    elements.empty(
        _("No entry of the log names {process}", process=formats.code(asked)),
        _(
            "The id must be exactly as the platform wrote it. If the platform did send it, ask it"
            " for the delivery again, or whoever runs Prazo to read it from a file: see *Files of"
            " occurrences* in the guide *Operations*."
        ),
    )
    elements.end_page()

state = process["state"]
is_finished = process["finished_at"] is not None
next_up = None if is_finished else views.read_one("next_actions", where=this)
is_invalid = next_up is not None and next_up["next_action"] == "correct_payload"
journey = views.read_one("process_journeys", where=this)
# As the chart's table asks for them: one question, one answer.
phases = views.read("process_phases", where=this, limit=explained.TABLE_ROWS)
entries = views.read("timeline", where=this, limit=explained.TABLE_ROWS)
coverage = views.read("evidence_coverage", where=this, order_by="path", limit=FIELDS)
fields = sum(row["requested"] for row in coverage)
newest = timeline.newest(asked, entries, explained.TABLE_ROWS)

# --- where it stands -----------------------------------------------------------------------------

with st.container(border=True):
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = seller_names.in_clear(process["seller_id"])
        title = " · ".join(filter(None, (name, views.shown("process_id", asked))))
        st.header(formats.plain(title), anchor=False, width="content")
        st.markdown(code_texts.state_chip(state, process["seconds_to_deadline"]), width="content")
        st.badge(
            formats.plain(code_texts.word(codes.REVIEW_TYPES, process["review_type"])),
            color="gray",
        )
        if process["finished_late"]:
            st.badge(_("Finished late"), icon=":material/schedule:", color="violet")
        links.to_seller(process["seller_id"], is_named=True)  # whose it is, where no name is known
        links.to_package(scope="process", subject=asked)
        seller_names.control([process], _("Show the name"))
    cost, remedy = st.columns(2, gap="medium")
    cost.markdown(_(code_texts.COSTS[state]))
    if next_up is not None:
        with remedy:
            if process["seller_id"] is not None:
                holding.say_first(process["seller_id"], next_up["next_action"])
            st.markdown(elements.next_step({**next_up, "review_type": process["review_type"]}))
            calls.say_latest({**process, **next_up}, calls.notices(this))
        if is_invalid:
            with remedy:
                refused.say(process)
                if process["seller_id"] is not None:
                    asking.seller(process["seller_id"])
    elements.say_deleted(process)
    if next_up is not None and next_up["next_action"] == "submit":
        journeys.say_if_held(process)

with elements.facts(4):
    if not is_finished:
        left = formats.time_left(process["seconds_to_deadline"])
        elements.fact(
            _("Deadline"),
            formats.local_day(process["deadline_at"]),
            f"{formats.clock_time(process['deadline_at'])} · {left}",
            code_texts.STATE_COLOURS[state],
        )
    else:
        by = code_texts.word(codes.FINISHERS, process["finished_by"])
        elements.fact(
            _("Finished"),
            formats.local_day(process["finished_at"]),
            f"{formats.clock_time(process['finished_at'])} · {by}",
            "violet" if process["finished_late"] else "green",
        )
    elements.fact(
        _("Requested"),
        formats.local_day(process["opened_at"]),
        asked_for(len(process["requested_fields"] or ()), fields),
    )
    if journey is None:
        elements.fact(_("Seller's answer"), "–", _("not asked yet"))
    elif journey["answered_at"] is None:
        elements.fact(_("Seller's answer"), "–", _("asked, no answer yet"), "orange")
    else:
        elements.fact(
            _("Seller's answer"),
            formats.local_day(journey["answered_at"]),
            formats.clock_time(journey["answered_at"]),
            lead=partial(links.to_named, "evidence", _("View its collections"), of=asked),
        )
    if process["last_outcome"] is None:
        elements.fact(_("Attempts"), formats.number(0), _("nothing sent yet"))
    else:
        elements.fact(
            _("Attempts"),
            formats.number(process["attempts"]),
            code_texts.word(codes.OUTCOMES, process["last_outcome"]),
            code_texts.outcome_colour(process["last_outcome"]),
            lead=partial(links.to_named, "submissions", _("View its attempts"), of=asked),
        )

# --- its course and its trail --------------------------------------------------------------------

course, trail = st.columns([3, 2], gap="small")
with course:
    with st.container(border=True):
        if phases:
            explained.chart(
                _("Course"),
                course_reading(process),
                process_clock(
                    phases,
                    timeline.with_requests(entries, have_first=True),
                    views.moment(),
                    is_finished=process["state"] == "FINISHED",
                ),
                rests_on=("process_phases", "timeline"),
                where=this,
                alt=_("The process's clock, with deliveries, collection steps and submissions"),
                note=""
                if newest.total <= len(entries)
                else _("Showing its first {n} entries.", n=formats.number(len(entries))),
            )
        else:
            st.header(_("Course"), anchor=False)
            st.markdown(_("Without a review event there is no clock to draw."))
    with st.container(border=True):
        st.header(_("Evidence, field by field"), anchor=False)
        if coverage:
            given = answered.in_clear(asked)
            st.table(evidence(coverage, given), hide_index=True, alt=_("Evidence, field by field"))
            elements.say_if_cut("evidence_coverage", coverage, FIELDS, where=this)
            if any(row["answered_at"] is not None for row in coverage):
                answered.ask(asked)
            if uncovered := [row["path"] for row in coverage if row["covered"] is False]:
                for path, how in differences.unseen(asked, uncovered):
                    st.markdown(
                        _(
                            "{field}: what was sent last and the seller's answer differ only in"
                            " {how}.",
                            field=code_texts.field(path),
                            how=how,
                        )
                    )
                st.markdown(
                    formats.muted(
                        _(
                            "Not covered: the field was sent, if only in a refused attempt,"
                            " before the seller had given that value for this request. The"
                            " findings name the attempt."
                        )
                    )
                )
        else:
            st.markdown(_("No field has been requested, answered or sent yet."))
    with st.container(border=True):
        st.header(_("Attempts"), anchor=False)
        attempts = views.read("submission_attempts", where=this, limit=ATTEMPTS)
        if attempts:
            st.table(
                tried(attempts),
                hide_index=True,
                height=ATTEMPTS_HEIGHT if len(attempts) > ATTEMPTS_SHOWN else "content",
                alt=_("Submission attempts, newest first"),
            )
            elements.say_if_cut("submission_attempts", attempts, ATTEMPTS, where=this)
            show_exchanges(attempts, asked)
        else:
            st.markdown(_("Nothing has been sent yet."))
with trail:
    if not is_finished:
        with st.container(border=True):
            casework.contacts(process)
            last_notice.show(this)
            if process["seller_id"] is not None:
                holding.say(process["seller_id"])
                if not is_invalid:  # else it stands where the page says what was refused
                    asking.seller(process["seller_id"])
    with st.container(border=True):
        if is_finished:
            last_notice.show(this)
        casework.notes(process)
    timeline.show(newest)

# --- what an auditor will ask about: the slowest question, so the last ---------------------------

found = views.read("findings", where=this, limit=FINDINGS)
with course.container(border=True):
    st.header(_("Findings"), anchor=False)
    if not found:
        st.markdown(_("No rule is broken."))
    for finding in found:
        st.markdown(finding_line(finding))
    elements.say_if_cut("findings", found, FINDINGS, where=this)
