"""Sellers: each with an open review, one row however many there are, and how they were notified.

It opens on what can still be saved, the soonest deadline first; the most severe first is one click.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import streamlit as st

from app_pages.desk import asking, casework, holding, last_notice, people, saved
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, moments, next_actions
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, address, elements, links, lists, seller_names, views
from pipeline import periods
from pipeline.alert_rules import reports
from pipeline.language import codes
from pipeline.ledger.syntax.filters import Ranges
from pipeline.ledger.views.catalogue import public

PAGE = Page(
    title=N_("Sellers"),
    icon="storefront",
    section=Section.DAILY,
    place=25,
    for_analysts=False,
)

SAVABLE, SEVERE = "savable", "severe"
ALL = reports.ALL
FOLDED = ("by", "whose", "type", "period", "assignee", "seller")
BY_CHANCE = "sellers_by_chance"
BY_SAVABLE = "savable_sellers"
OPEN = ("EXPIRED", "OVERDUE", "PENDING")
MOST_REVIEWS = 20
REVIEWS_CHARACTERS, CONTACT_CHARACTERS = 22, 27  # in their columns; the card has the whole of both


def listed(found: views.Facets) -> lists.Listed:
    """What the list shows of each row, and what can be done with all that were found."""
    asked = {name: it for name, it in found.asked._asdict().items() if it}
    order_by = address.order(public()[found.view].columns)

    def sellers(most: int) -> list[str]:
        rows = views.read(found.view, **asked, order_by=order_by, limit=most)
        return [row["seller_id"] for row in rows]

    open_states = {code: codes.STATES[code] for code in OPEN}
    states = code_texts.by_code(open_states)

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "worst_state": [states[row["worst_state"]]],
            "time_left": formats.time_left(row["seconds_to_deadline"]),
            "reviews": lists.cut(reviews(row), REVIEWS_CHARACTERS),
            "last_contact": lists.cut(contact(row, formats.local_day), CONTACT_CHARACTERS),
            "current_balance": ""
            if row["current_balance"] is None
            else formats.money(row["current_balance"]),
            "assignees": ", ".join(row["assignees"]),
            **({"lowest_chance": formats.share(row["lowest_chance"])} if has_chances else {}),
        }

    has_chances = found.view == BY_CHANCE
    chances = {"lowest_chance": lists.text(_("Chance"), 72)} if has_chances else {}
    return lists.Listed(
        cells,
        {
            lists.SELLER: lists.text(_("Seller"), 110),
            **chances,
            "time_left": lists.text(_("Time left"), 118),
            "worst_state": lists.coded(_("State"), open_states, code_texts.STATE_COLOURS, 140),
            "reviews": lists.text(_("Open reviews"), 152),
            "next_savable_deadline_at": lists.instant(_("Next deadline ahead"), 134),
            "last_contact": lists.text(_("Last contact"), 178),
            "current_balance": lists.text(_("Balance"), 100),
            "balance_at": lists.instant(_("Balance as of"), 134),
            "expiry_disabled_at": lists.instant(_("Disabled after a deadline"), 134),
            "assignees": lists.text(_("Assigned to"), 88),
            "seller_id": lists.subject_id(_("Seller id")),
        },
        alt=_("Sellers with an open review"),
        sorts={
            "time_left": "next_deadline_at",
            "reviews": "expired",
            "last_contact": "last_contact_at",
        },
        act=partial(asking.sellers, total=found.rows(), listed=sellers)
        if casework.is_open()
        else None,
    )


def reviews(row: views.Row) -> str:
    """How many open reviews a seller has; of each state, where they do not all stand in the one
    beside it."""
    counted = {code: row[code.lower()] for code in OPEN if row[code.lower()]}
    if len(counted) == 1:
        return formats.number(sum(counted.values()))
    return ", ".join(f"{formats.number(n)} {code}" for code, n in counted.items())


def contact(row: views.Row, when: Callable[[datetime], str]) -> str:
    """When a seller was last contacted, as `when` writes it, by what and by whom."""
    if row["last_contact_at"] is None:
        return _("never")
    said = (
        when(row["last_contact_at"]),
        code_texts.word(codes.SELLER_CHANNELS, row["last_contact_channel"]),
        row["last_contact_by"],
    )
    return " · ".join(it for it in said if it)


def nobody_open() -> None:
    elements.empty_of_processes(
        _("No seller has an open review"),
        _("A seller appears here with the first review that the platform asks for."),
    )


def card(row: views.Row) -> None:
    """A seller's open reviews, each with what to do next, and what was last said to them."""
    st.markdown(elements.cell(row, "seller_id"))
    seller_names.say(row)
    last = formats.plain(contact(row, formats.minute))
    st.markdown(_("Last contact: {contact}", contact=last))
    holding.say(row["seller_id"])
    last_notice.show({"seller_id": row["seller_id"]})
    asking.seller(row["seller_id"])
    this = {"seller_id": row["seller_id"]}
    # As the sellers are: what lets one stand first is first on the card, too.
    first = "deadline_at" if order == SEVERE else None
    found = views.read("open_processes", where=this, order_by=first, limit=MOST_REVIEWS)
    st.header(
        ngettext("{n} open review", "{n} open reviews", len(found), n=formats.number(len(found))),
        anchor=False,
    )
    for process in found:
        with st.container(border=True):
            chip = code_texts.state_chip(process["state"], process["seconds_to_deadline"])
            kind = code_texts.type_chip(process["review_type"])
            st.markdown(f"{chip} {kind}")
            st.markdown(_(next_actions.of(process).name))
            links.to_process(process["process_id"], is_named=True)
            casework.remind(process)
    elements.say_if_cut("open_processes", found, MOST_REVIEWS, where=this)
    links.to_seller(row["seller_id"])


def of_mine(others: views.Filters, names: Sequence[str]) -> views.Filters:
    """The filters, with the sellers of those reviews alone that are assigned to one of the names:
    a seller's row has the names of all its reviews."""
    found = views.groups("open_processes", ["seller_id"], where={"assignee": names})
    asked = others.where.get("seller_id")
    sellers = [row["seller_id"] for row in found if row["seller_id"] is not None]
    both = sellers if asked is None else [seller for seller in sellers if seller in asked]
    return others._replace(where={**others.where, "seller_id": both})


with lists.filters():
    with st.container(width="content"):
        saved.show("sellers")
    with st.container(width="content"):
        order = address.choice(
            _("Order"),
            {SAVABLE: _("Can still be saved first"), SEVERE: _("Most severe first")},
            "first",
        )
    by_state = st.container(width="content")
    with st.container(width="content"), lists.more_filters(FOLDED):
        by_chance = bool(
            address.choices(
                _("Order"), {reports.CHANCE: _("Least likely to be in time first")}, "by"
            )
        )
        whose = people.ask_whose()
        kind = address.choice(
            _("Type"), {ALL: _("All"), **{it: it for it in codes.REVIEW_TYPES}}, "type"
        )
        period = address.one_of(
            _("Next deadline ahead"),
            {code: _(name) for code, name in moments.PERIODS.items() if code != "all"},
            "period",
            placeholder=_("Any time"),
        )
        assignee = address.text(
            _("Assignee"), "assignee", placeholder=_("Part of the name"), width="stretch"
        )
        seller = address.text(
            _("Seller"), "seller", placeholder=_("Part of the id"), width="stretch"
        )

ranges: Ranges = {
    "next_savable_deadline_at": periods.period(period or "all", views.moment(), formats.zone()),
    **({"unassigned": (1, None)} if whose == people.UNASSIGNED else {}),
}
others = views.filtered(
    contains={
        "seller_id": seller,
        "assignees": assignee,
        "review_types": "" if kind == ALL else kind,
    },
    between=ranges,
)
if whose == people.MINE:
    if not (names := people.mine()):
        acting.ask_for_name("list")
        elements.end_page()
    others = of_mine(others, names)
facets = views.Facets("seller_watchlist", {"worst_state": []}, others)
with by_state:
    worst = address.choices(
        _("Worst state"),
        facets.numbered(
            "worst_state", {code: code_texts.word(codes.STATES, code) for code in OPEN}
        ),
        "state",
    )
found = facets.choosing(worst_state=worst)
if by_chance or order == SAVABLE:
    found = found.listed_by(BY_CHANCE if by_chance else BY_SAVABLE)
with st.container(key="wishes"):  # always there, as the next
    holding.say_wishes()
with st.container(key="asking"):  # always there, so that what comes below it stays what it is
    asking.watch()
lists.with_card(
    found,
    listed(found),
    card,
    counted=lambda n: ngettext("{n} seller", "{n} sellers", n, n=formats.number(n)),
    nothing_matches=_("No seller matches these filters"),
    when_empty=nobody_open,
)
lists.about(
    _("Each seller with an open review, and when they were last contacted about any of them."),
    is_ticked=casework.is_open(),
)
