"""Process: one review from the platform's request to its answer, with the evidence in between."""

import streamlit as st

from app_pages import address, charts, formats, frame, words
from app_pages.i18n import _, ngettext

asked = address.text(_("Process"), "process", placeholder="prc_…", width=360)
if not asked:
    frame.empty(
        _("Which process?"),
        _("Type the id of a review process, or choose one on the watchlist."),
    )
    st.page_link("app_pages/watchlist.py", label=_("Open the watchlist"), icon=":material/alarm:")
    st.stop()

process = frame.read_one("process_state", where={"process_id": asked})
if process is None:
    frame.empty(
        _("No entry of the log names {process}", process=formats.code(asked)),
        _(
            "The id must be exactly as the platform wrote it. If the platform did send it, ask for"
            " the delivery again, or ingest it."
        ),
        "prazo ingest deliveries.ndjson",
    )
    st.stop()

state = process["state"]
fields = process["requested_fields"] or ()
next_up = frame.read_one("next_actions", where={"process_id": asked})
journey = frame.read_one("process_journeys", where={"process_id": asked})
phases = frame.read("process_phases", where={"process_id": asked})
story = frame.story(process_id=asked)

# --- where it stands -----------------------------------------------------------------------------

with st.container(border=True):
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.header(formats.plain(asked), anchor=False, width="content")
        st.badge(
            words.word(words.STATES, state),
            icon=words.STATE_ICONS[state],
            color=words.STATE_COLOURS[state],
        )
        st.badge(
            formats.plain(words.word(words.REVIEW_TYPES, process["review_type"])), color="gray"
        )
        if process["finished_late"]:
            st.badge(_("Finished late"), icon=":material/schedule:", color="violet")
    cost, remedy = st.columns(2, gap="medium")
    cost.markdown(_(words.COSTS[state]))
    if next_up is not None:
        action = words.ACTIONS[next_up["next_action"]]
        remedy.markdown(f"{action.icon} **{_(action.name)}**  \n{_(action.how)}")

with st.grid(4, min_column_width=170):
    if process["finished_at"] is None:
        frame.fact(
            _("Deadline"),
            formats.days_left(process["days_to_deadline"]),
            formats.minute(process["deadline_at"]),
            words.STATE_COLOURS[state],
        )
    else:
        by = words.word(words.FINISHERS, process["finished_by"])
        frame.fact(
            _("Finished"),
            formats.local_day(process["finished_at"]),
            f"{formats.clock_time(process['finished_at'])} · {by}",
            "violet" if process["finished_late"] else "green",
        )
    frame.fact(
        _("Requested"),
        formats.local_day(process["opened_at"]),
        ngettext("{n} field", "{n} fields", len(fields), n=formats.number(len(fields))),
    )
    if journey is None:
        frame.fact(_("Seller's answer"), "–", _("not asked yet"))
    elif journey["answered_at"] is None:
        frame.fact(_("Seller's answer"), "–", _("asked, no answer yet"), "orange")
    else:
        frame.fact(
            _("Seller's answer"),
            formats.local_day(journey["answered_at"]),
            formats.clock_time(journey["answered_at"]),
        )
    if process["last_outcome"] is None:
        frame.fact(_("Attempts"), formats.number(0), _("nothing sent yet"))
    else:
        frame.fact(
            _("Attempts"),
            formats.number(process["attempts"]),
            words.word(words.OUTCOMES, process["last_outcome"]),
            words.OUTCOME_COLOURS.get(process["last_outcome"], "orange"),
        )

# --- its course and its trail --------------------------------------------------------------------

left, right = st.columns([3, 2], gap="small")
with left:
    with st.container(border=True):
        st.header(_("Course"), anchor=False)
        if phases:
            charts.show(
                charts.process_clock(phases, story.entries, frame.moment()),
                alt=_("The process's clock, with deliveries, collection steps and submissions"),
                key="clock",
            )
        else:
            st.markdown(_("Without a review event there is no clock to draw."))
    with st.container(border=True):
        st.header(_("Fields asked for"), anchor=False)
        if fields:
            st.markdown(" ".join(formats.code(path) for path in fields))
        else:
            st.markdown(_("None is listed."))
        if process["seller_id"]:
            st.page_link(
                "app_pages/seller.py",
                label=_("Open the seller"),
                icon=":material/storefront:",
                query_params={"seller_id": process["seller_id"]},
            )
with right.container(border=True):
    frame.trail(story)
