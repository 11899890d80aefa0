"""Seller: one seller's status, its review processes side by side, its denials and its trail."""

from collections.abc import Sequence

import streamlit as st

from app_pages.desk import asking, calls, casework, holding
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, sellers
from app_pages.language.i18n import N_, _
from app_pages.parts import address, elements, links, records, seller_names, timeline, views
from pipeline.alert_rules import reports
from pipeline.language import codes

PAGE = Page(
    title=N_("Seller"),
    icon="storefront",
    section=Section.INVESTIGATE,
    place=20,
    for_analysts=False,
)

OPEN_LISTED = 30  # the worst come first
LISTED = 100


def open_process(process: views.Row) -> None:
    """One open process among its siblings: how urgent, what is asked, what to do."""
    state, fields = process["state"], process["requested_fields"] or ()
    chip = code_texts.state_chip(state, process["seconds_to_deadline"])
    st.markdown(f"{chip} {code_texts.type_chip(process['review_type'])}")
    st.markdown(_("Deadline: **{instant}**", instant=formats.minute(process["deadline_at"])))
    st.markdown(elements.fields(fields))
    st.markdown(formats.muted(_(code_texts.COSTS[state])))
    elements.say_deleted(process)
    st.markdown(elements.next_step(process))
    calls.say_latest(process, calls.notices(this))
    links.to_process(process["process_id"], is_named=True)


def say_what_is_late(processes: Sequence[views.Row]) -> None:
    """How many of the open processes are EXPIRED or OVERDUE: an enabled seller can be about
    to be blocked."""
    for state in ("EXPIRED", "OVERDUE"):
        count = sum(it["state"] == state for it in processes)
        if count:
            label = code_texts.word(codes.STATES, state)
            st.badge(
                f"{label}: {formats.number(count)}",
                icon=code_texts.STATE_ICONS[state],
                color=code_texts.STATE_COLOURS[state],
            )


asked = address.text(_("Seller"), "seller_id", placeholder="sel_…", width=360)
if not asked:
    links.go_on_to_package()
    elements.empty(
        _("Which seller?"),
        _("Type the id of a seller, or open one from a process of the watchlist."),
    )
    links.to_watchlist()
    elements.end_page()

seller = views.read_one("seller_state", where={"seller_id": asked})
if seller is None:
    elements.empty(
        _("No entry of the log names {seller}", seller=formats.code(asked)),
        _("The id must be exactly as the platform wrote it (`customer_id` of a review event)."),
    )
    elements.end_page()

this = {"seller_id": asked}
processes = views.read("process_state", where=this, order_by="opened_at desc", limit=LISTED)
are_all = len(processes) < LISTED
in_total = len(processes) if are_all else views.count("process_state", where=this)
open_ones: Sequence[views.Row] = ()
if not are_all or any(it["finished_at"] is None for it in processes):
    open_ones = views.read("open_processes", where=this, order_by="deadline_at", limit=OPEN_LISTED)
denials = views.read("denials", where=this, limit=LISTED)
accounts = views.read("bank_accounts", where=this, limit=LISTED)
newest = timeline.newest_of_seller(asked)

# --- who it is -----------------------------------------------------------------------------------

with st.container(border=True):
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        # Behind a reason, for whoever gave one: the record below is, too.
        st.header(formats.plain(records.title(asked)), anchor=False, width="content")
        say_what_is_late(open_ones)
        st.badge(
            formats.plain(code_texts.word(codes.SELLER_STATES, seller["status"])),
            color=sellers.SELLER_STATE_COLOURS.get(seller["status"], "gray"),
        )
        links.to_package(scope="seller", subject=asked)
        links.to_privacy(asked)
        if not records.is_shown(asked):
            seller_names.control([seller], _("Show the name"))
    standing = sellers.STANDINGS.get(seller["status"], sellers.STANDINGS["unknown"])
    if seller["status"] == "enabled" and any(it["state"] == "EXPIRED" for it in open_ones):
        standing = sellers.EXPIRED
    meaning, remedy = st.columns(2, gap="medium")
    meaning.markdown(_(standing.meaning))
    remedy.markdown(f":material/arrow_forward: **{_(standing.remedy)}**")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if open_ones and casework.is_open():
            asking.seller(asked)
            calls.to_seller(asked, open_ones)
        holding.show(asked)
    calls.standing(this, may_act=casework.is_open())

# --- its open processes, side by side ------------------------------------------------------------

if open_ones:
    st.header(_("Open processes, side by side"), anchor=False)
    st.markdown(
        formats.muted(_("Each is independent, with a collection and a submission of its own."))
    )
    with st.grid(min(max(len(open_ones), 2), 3), min_column_width=260):
        for process in open_ones:
            with st.container(border=True, height="stretch", gap="xsmall"):
                open_process(process)
    elements.say_if_cut("open_processes", open_ones, OPEN_LISTED, where=this)

# --- its processes, denials and record -----------------------------------------------------------

left, right = st.columns([3, 2], gap="small")
with left:
    with st.container(border=True, gap="xsmall"):
        st.header(_("Review processes"), anchor=False)
        if not processes:
            st.markdown(_("The platform has not asked for a review of this seller."))
        for process in processes:
            link, state, when, kind = st.columns([5, 3, 3, 2], vertical_alignment="center")
            with link:
                links.to_process(process["process_id"], is_named=True)
            state.badge(
                code_texts.word(codes.STATES, process["state"]),
                icon=code_texts.STATE_ICONS[process["state"]],
                color=code_texts.STATE_COLOURS[process["state"]],
            )
            when.markdown(
                formats.time_left(process["seconds_to_deadline"])
                if process["finished_at"] is None
                else formats.local_day(process["finished_at"])
            )
            kind.markdown(formats.plain(process["review_type"] or "–"))
        elements.say_if_cut("process_state", processes, LISTED, where=this)
    with elements.facts(2):
        elements.fact(
            _("Open processes"),
            formats.number(seller["open_processes"]),
            _("{n} in total", n=formats.number(in_total)),
            "orange" if seller["open_processes"] else "gray",
            lead=elements.lead_if(
                seller["open_processes"],
                links.to_named,
                "watchlist",
                _("View its open processes"),
                queue=reports.ALL,
                seller=asked,
            ),
        )
        elements.fact(
            _("Denials"),
            formats.number(seller["denials"]),
            _("last on {day}", day=formats.local_day(denials[0]["denied_at"]))
            if denials
            else _("never denied"),
            "red" if denials else "gray",
            lead=elements.lead_if(
                denials, links.to_named, "denials", _("View its denials"), of=asked
            ),
        )
        elements.fact(
            _("Analysis took"),
            "–"
            if seller["analysis_seconds"] is None
            else formats.seconds(seller["analysis_seconds"]),
            _("promised: 3 min for 99%"),
        )
        elements.fact(
            _("Created"),
            formats.local_day(seller["created_at"]),
            formats.plain(code_texts.word(codes.SELLER_TYPES, seller["type"]))
            if seller["type"]
            else _("no record yet"),
        )
    with st.container(border=True, gap="xsmall"):
        st.header(_("Denials"), anchor=False)
        if not denials:
            st.markdown(_("This seller has never been denied."))
        for denial in denials:
            reasons = " ".join(
                formats.badge(formats.plain(sellers.reason(pair)), "gray")
                for pair in denial["reasons"] or ()
            )
            st.markdown(
                f"**{formats.minute(denial['denied_at'])}** {reasons}"
                f"  \n{_(sellers.RETRIES[denial['retry']])}"
            )
        elements.say_if_cut("denials", denials, LISTED, where=this)
    with st.container(border=True, gap="xsmall"):
        st.header(_("Bank accounts"), anchor=False)
        if not accounts:
            st.markdown(_("No bank account event names this seller."))
        for account in accounts:
            event = code_texts.word(codes.EVENT_TYPES, account["event_type"])
            number = account["bank_account_id"]
            st.markdown(
                f"**{formats.minute(account['created_at'])}** {formats.plain(event)}"
                + (f" {elements.cell(account, 'bank_account_id')}" if number else "")
            )
        elements.say_if_cut("bank_accounts", accounts, LISTED, where=this)
    with st.container(border=True, gap="xsmall"):
        st.header(_("Record"), anchor=False)
        records.show(seller)
with right:
    timeline.show(newest)
