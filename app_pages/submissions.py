"""Submissions: how attempts ended, how often a retry mended a failure, and each attempt."""

from collections.abc import Sequence

import streamlit as st

from app_pages import address, charts, explained, formats, frame, lists, words
from app_pages.i18n import _, ngettext

DAYS = 30
WAITING = 20
OUTCOME_ROWS = DAYS * len(words.OUTCOMES)


def grid(rows: Sequence[frame.Row], key: str) -> None:
    outcomes = {code: words.word(words.OUTCOMES, code) for code in words.OUTCOMES}
    lists.grid(
        [
            row
            | {
                "outcome": [outcomes.get(row["outcome"], row["outcome"])],
                "via": words.word(words.VIAS, row["via"]),
            }
            for row in rows
        ],
        {
            "started_at": lists.instant(_("Started")),
            "outcome": lists.chips(
                _("Outcome"),
                {outcomes[it]: words.OUTCOME_COLOURS.get(it, "orange") for it in outcomes},
                160,
            ),
            "status": lists.number(_("Status"), 70),
            "duration_ms": lists.number(_("Took, ms"), 90),
            "attempt_number": lists.number(_("Attempt"), 80),
            "try_number": lists.number(_("Try"), 60),
            "via": lists.text(_("Via"), 100),
            "process_id": lists.text(_("Process"), 150),
            "seller_id": lists.text(_("Seller"), 150),
            "retry_due_at": lists.instant(_("Retry due")),
        },
        alt=_("Submission attempts, newest first"),
        key=key,
    )


def counted(total: int) -> str:
    return ngettext("{n} attempt", "{n} attempts", total, n=formats.number(total))


figures = frame.read_one("submission_figures")
assert figures is not None  # the view is one row, always
if not figures["attempts"] and not figures["refused"]:
    frame.empty(
        _("Nothing was submitted yet"),
        _(
            "Point your submissions at the gateway, or send one from the command line. Earlier"
            " ones can be ingested."
        ),
        "prazo submit PROCESS --payload payload.json",
    )
    st.stop()

# --- the four figures --------------------------------------------------------------------------

with st.grid(4, min_column_width=170):
    frame.fact(
        _("Accepted at once"),
        formats.share(figures["first_try_acceptance"]),
        _("of processes with an attempt"),
        "green",
    )
    frame.fact(
        _("Mended by a retry"),
        formats.share(figures["success_after_retry"]),
        _("of processes with a failure"),
        "blue",
    )
    frame.fact(
        _("Waiting for a retry"),
        formats.number(figures["retries_pending"]),
        _("the deadline keeps running"),
        "orange" if figures["retries_pending"] else "gray",
    )
    frame.fact(
        _("Given up"),
        formats.number(figures["given_up"]),
        _("open a support ticket") if figures["given_up"] else _("none"),
        "red" if figures["given_up"] else "gray",
    )

# --- how attempts ended --------------------------------------------------------------------------

left, right = st.columns(2, gap="small")
with left.container(border=True, height="stretch"):
    explained.chart(
        _("Outcome by place of the attempt"),
        _(
            "**{first}** of processes are accepted at the first attempt; of those with a failure,"
            " **{later}** after all.",
            first=formats.share(figures["first_try_acceptance"]),
            later=formats.share(figures["success_after_retry"]),
        ),
        charts.outcome_shares(frame.read("outcomes_by_attempt")),
        view="outcomes_by_attempt",
        alt=_("Share of each outcome among first, second and later attempts"),
    )
with right.container(border=True, height="stretch"):
    explained.chart(
        _("Attempts per day"),
        ngettext(
            "In the last 30 days **{n}** attempt was sent, **{accepted}** accepted.",
            "In the last 30 days **{n}** attempts were sent, **{accepted}** accepted.",
            figures["recent_attempts"],
            n=formats.number(figures["recent_attempts"]),
            accepted=formats.number(figures["recent_accepted"]),
        ),
        charts.outcome_days(
            frame.read("submission_outcomes", order_by="day desc", limit=OUTCOME_ROWS),
            frame.moment().date(),
            DAYS,
        ),
        view="submission_outcomes",
        alt=_("Attempts per day by outcome"),
        note=_("Days are UTC days."),
    )

# --- what needs a person -------------------------------------------------------------------------

waiting = frame.read("waiting_submissions", limit=WAITING)
if waiting:
    st.header(_("What waits, and for whom"), anchor=False)
    st.table(
        {
            _("Process"): [formats.code(row["process_id"]) for row in waiting],
            _("Last outcome"): [
                formats.badge(
                    formats.plain(words.word(words.OUTCOMES, row["last_outcome"])),
                    words.OUTCOME_COLOURS.get(row["last_outcome"], "orange"),
                )
                for row in waiting
            ],
            _("Next action"): [
                f"{words.ACTIONS[row['next_action']].icon} {words.action(row['next_action'])}"
                for row in waiting
            ],
            _("Why"): [_(words.ACTIONS[row["next_action"]].how) for row in waiting],
            _("Deadline"): [formats.days_left(row["days_to_deadline"]) for row in waiting],
        },
        hide_index=True,
        border="horizontal",
        alt=_("What waits, and for whom"),
    )
    if len(waiting) == WAITING:
        st.markdown(
            formats.muted(
                _("The {n} nearest to their deadline.", n=formats.number(WAITING)),
            )
        )

# --- each attempt --------------------------------------------------------------------------------

st.header(_("Each attempt"), anchor=False)
with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    with st.container(width=300):
        outcomes = address.choices(
            _("Outcome"),
            {code: words.word(words.OUTCOMES, code) for code in words.OUTCOMES},
            "outcome",
            placeholder=_("Any"),
        )
    with st.container(width="content"):
        vias = address.choices(
            _("Via"), {code: words.word(words.VIAS, code) for code in words.VIAS}, "via"
        )
    with st.container(width=220):
        process = address.text(_("Process"), "of", placeholder=_("Part of the id"), width="stretch")

filters = {"outcome": outcomes, "via": vias}
where = {column: chosen for column, chosen in filters.items() if chosen}
contains = {"process_id": process} if process else None
page = lists.paged(
    "submission_attempts",
    grid,
    counted=counted,
    where=where,
    contains=contains,
)
if not page.total:
    frame.empty(_("No attempt matches these filters"), _("Take a filter away to see more."))
