"""Denials and retries: why sellers were denied, and how those who came back fared."""

from collections.abc import Sequence

import streamlit as st

from app_pages.charts.denials import reason_bars, reason_weeks
from app_pages.language import formats, sellers
from app_pages.language.i18n import _, ngettext
from app_pages.parts import address, elements, explained, links, lists, views

REASONS_DRAWN = 12


def listed() -> lists.Listed:
    """What the list shows of each row."""
    retries = {True: _("can be corrected"), False: _("no chance"), None: _("not said")}

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "reasons": [sellers.reason(pair) for pair in row["reasons"] or ()],
            "retry": [retries[row["retry"]]],
        }

    return lists.Listed(
        cells,
        {
            "denied_at": lists.instant(_("When")),
            lists.SELLER: lists.text(_("Seller"), 120),
            "seller_id": lists.text(_("Id"), 150),
            "retry": lists.chips(
                _("New attempt"),
                dict(zip(retries.values(), ("green", "red", "gray"), strict=True)),
                140,
            ),
            "reasons": st.column_config.ListColumn(_("Reasons")),
        },
        alt=_("Denials, newest first"),
        sorts={"reasons": ""},
    )


def card(denial: views.Row) -> None:
    """One denial: its reasons, and whether another attempt makes sense."""
    st.markdown(elements.cell(denial, "seller_id"))
    st.markdown(formats.muted(formats.second(denial["denied_at"])))
    for pair in denial["reasons"] or ():
        st.markdown(f"- {formats.plain(sellers.reason(pair))}")
    st.markdown(f"**{_(sellers.RETRIES[denial['retry']])}**")
    links.to_seller(denial["seller_id"])


def counted(total: int) -> str:
    return ngettext("{n} denial", "{n} denials", total, n=formats.number(total))


def pareto_reading(figures: views.Row, reasons: Sequence[views.Row]) -> str:
    """How few reasons explain most denials, and which comes first; nothing where none was given."""
    if not reasons:
        return ""
    few = ngettext(
        "**{n} reason accounts for {share}** of all reasons given.",
        "**{n} reasons account for {share}** of all reasons given.",
        figures["vital_reasons"],
        n=formats.number(figures["vital_reasons"]),
        share=formats.share(figures["vital_share"]),
    )
    largest = _(
        "The most frequent is “{reason}” ({n}).",
        reason=formats.plain(sellers.reason(reasons[0])),
        n=formats.number(reasons[0]["denials"]),
    )
    return f"{few} {largest}"


figures = views.read_one("denial_headline")
assert figures is not None  # the view is one row, always
if not figures["denials"]:
    elements.empty(
        _("No seller has been denied"),
        _(
            "Denials appear here as the platform reports them, with reasons and whether a new"
            " attempt makes sense."
        ),
    )
    st.stop()

reasons = views.read("denial_pareto")
drawn = reasons[:REASONS_DRAWN]
with st.grid(4, min_column_width=170):
    elements.fact(
        _("Denied sellers"),
        formats.number(figures["denied_sellers"]),
        ngettext(
            "{n} denial", "{n} denials", figures["denials"], n=formats.number(figures["denials"])
        ),
        "red",
    )
    elements.fact(
        _("Can be corrected"), formats.share(figures["retryable_share"]), _("of denials say so")
    )
    elements.fact(
        _("Came back"),
        formats.share(figures["reonboarding_rate"]),
        _("{n} as a new seller", n=formats.number(figures["reonboarded"])),
        "blue",
    )
    wasted = figures["wasted_retries"]
    elements.fact(
        _("Cured"),
        formats.share(figures["cure_rate"]),
        ngettext("{n} came back in vain", "{n} came back in vain", wasted, n=formats.number(wasted))
        if wasted
        else _("of those who came back"),
        "orange" if wasted else "gray",
    )
if figures["wasted_retries"]:
    st.markdown(
        formats.muted(
            _(
                "In vain: the platform had said that a new attempt had no chance. Tell these"
                " sellers before they repeat the whole process."
            )
        )
    )

left, right = st.columns([3, 4], gap="small")
with left.container(border=True, height="stretch"):
    explained.chart(
        _("Reasons, most frequent first"),
        pareto_reading(figures, reasons),
        reason_bars(drawn),
        rests_on=("denial_pareto",),
        alt=_("Reasons of denials, the vital few in red"),
        note=_(
            "Showing the {n} most frequent of {total}.",
            n=formats.number(len(drawn)),
            total=formats.number(len(reasons)),
        )
        if len(drawn) < len(reasons)
        else "",
    )
with right.container(border=True, height="stretch"):
    explained.chart(
        _("Reason by week"),
        ngettext(
            "**{n}** denial in the last 7 days, **{before}** in the 7 days before.",
            "**{n}** denials in the last 7 days, **{before}** in the 7 days before.",
            figures["denials_this_week"],
            n=formats.number(figures["denials_this_week"]),
            before=formats.number(figures["denials_week_before"]),
        ),
        reason_weeks(views.read("denial_weeks"), drawn),
        rests_on=("denial_weeks",),
        alt=_("Denials per reason and week, over 12 weeks"),
        note=_("Weeks end on the day named, a UTC day."),
    )

st.header(_("Latest denials"), anchor=False)
with lists.filters():
    with st.container(width="content"):
        retry = address.choices(
            _("New attempt"), {"yes": _("can be corrected"), "no": _("no chance")}, "retry"
        )
    with st.container(width=220):
        seller = address.text(_("Seller"), "of", placeholder=_("Part of the id"), width="stretch")
lists.with_card(
    "denials",
    listed(),
    card,
    counted=counted,
    where={"retry": [code == "yes" for code in retry]},
    contains={"seller_id": seller},
    nothing_matches=_("No denial matches these filters"),
)
