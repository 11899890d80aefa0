"""Denials and retries: why sellers were denied, and how those who came back fared."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any

import streamlit as st

from app_pages.charts.denials import (
    PROMISED,
    analysis_days,
    field_name,
    reason_bars,
    reason_changes,
    reason_periods,
    reason_returns,
    record_fields,
    return_weeks,
)
from app_pages.desk import saved
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, moments, sellers
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import address, contents, elements, explained, folds, links, lists, views
from pipeline import periods
from pipeline.language import codes

PAGE = Page(
    title=N_("Denials and retries"),
    icon="block",
    section=Section.DAILY,
    place=80,
    for_analysts=True,
)

REASONS_DRAWN = 12
ANALYSIS_DAYS = 60
MOST_CHANGED = 3  # reasons that the sentence about months names
DENIALS, RETURNED = "denials", "returned"
YES_NO = {"yes": True, "no": False}


def listed() -> lists.Listed:
    """What the list shows of each row."""
    retries = {True: _("can be corrected"), False: _("no chance"), None: _("not said")}

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "reasons": [sellers.reason(pair) for pair in row["reasons"] or ()],
            "seller_type": code_texts.word(codes.SELLER_TYPES, row["seller_type"]),
            "retry": [retries[row["retry"]]],
        }

    return lists.Listed(
        cells,
        {
            "denied_at": lists.instant(_("When")),
            lists.SELLER: lists.text(_("Seller"), 120),
            "seller_id": lists.subject_id(_("Id")),
            "seller_type": lists.text(_("Type"), 104),
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
    if denial["seller_type"] is not None:
        kind = formats.plain(code_texts.word(codes.SELLER_TYPES, denial["seller_type"]))
        st.markdown(f"{_('Type of seller')}: {kind}")
    for pair in denial["reasons"] or ():
        st.markdown(f"- {formats.plain(sellers.reason(pair))}")
    st.markdown(f"**{_(sellers.RETRIES[denial['retry']])}**")
    links.to_seller(denial["seller_id"])


def counted(total: int) -> str:
    return ngettext("{n} denial", "{n} denials", total, n=formats.number(total))


def returned_listed() -> lists.Listed:
    """What the list of those who came back shows of each."""

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "is_cured": [_("cured") if row["is_cured"] else _("not yet")],
            "seconds_to_cure": None
            if row["seconds_to_cure"] is None
            else formats.seconds(row["seconds_to_cure"]),
            "was_in_vain": [_("no chance")] if row["was_in_vain"] else [],
        }

    return lists.Listed(
        cells,
        {
            "came_back_at": lists.instant(_("Came back")),
            lists.SELLER: lists.text(_("Seller"), 120),
            "seller_id": lists.subject_id(_("Id")),
            "successor_id": lists.subject_id(_("As")),
            "first_denied_at": lists.instant(_("First denied")),
            "is_cured": lists.chips(
                _("Since then"), {_("cured"): "green", _("not yet"): "gray"}, 130
            ),
            "seconds_to_cure": lists.text(_("Cured after"), 100),
            "was_in_vain": lists.chips(_("New attempt"), {_("no chance"): "orange"}, 110),
        },
        alt=_("Sellers who came back, the latest first"),
    )


def returned_card(seller: views.Row) -> None:
    """One seller that came back: as whom, and how that went."""
    st.markdown(elements.cell(seller, "seller_id"))
    st.markdown(
        formats.muted(
            _(
                "Denied {first}, came back {instant}",
                first=formats.second(seller["first_denied_at"]),
                instant=formats.second(seller["came_back_at"]),
            )
        )
    )
    st.markdown(
        ngettext(
            "**{n}** new seller with the same taxpayer",
            "**{n}** new sellers with the same taxpayer",
            seller["successors"],
            n=formats.number(seller["successors"]),
        )
    )
    if seller["is_cured"]:
        st.markdown(formats.badge(_("cured"), "green", ":material/check:"))
        elements.details(
            {
                _("Cured at"): formats.second(seller["cured_at"]),
                _("Cured after"): formats.seconds(seller["seconds_to_cure"]),
            },
            alt=_("How long the cure took"),
        )
    if seller["was_in_vain"]:
        st.markdown(_("Their last denial before that said that a new attempt had no chance."))
    links.to_seller(seller["seller_id"])
    st.markdown(formats.muted(_("Came back as")))
    links.to_seller(seller["successor_id"], is_named=True)


def returned_counted(total: int) -> str:
    return ngettext("{n} seller came back", "{n} sellers came back", total, n=formats.number(total))


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


def pareto_notes(reasons: Sequence[views.Row]) -> list[str]:
    """What the colours drawn say, and how many reasons are not drawn."""
    notes = []
    if not all(row["is_vital"] for row in reasons[:REASONS_DRAWN]):
        notes.append(_("Red: the few that account for most; grey: the others."))
    if len(reasons) > REASONS_DRAWN:
        notes.append(
            _(
                "Showing the {n} most frequent of {total}.",
                n=formats.number(REASONS_DRAWN),
                total=formats.number(len(reasons)),
            )
        )
    return notes


def week_title(figures: views.Row) -> str:
    """The last 7 days beside those before, as a title."""
    return ngettext(
        "{n} denial in the last 7 days, {before} in the 7 days before",
        "{n} denials in the last 7 days, {before} in the 7 days before",
        figures["denials_this_week"],
        n=formats.number(figures["denials_this_week"]),
        before=formats.number(figures["denials_week_before"]),
    )


def month_title(figures: views.Row) -> str:
    """This month beside the one before, as a title."""
    return ngettext(
        "{n} denial this month so far, {before} in the whole month before",
        "{n} denials this month so far, {before} in the whole month before",
        figures["denials_this_month"],
        n=formats.number(figures["denials_this_month"]),
        before=formats.number(figures["denials_month_before"]),
    )


def months_reading(figures: views.Row, rows: Sequence[views.Row]) -> str:
    """This month beside the one before, and the reasons whose denials differ most between them.
    `rows`: of `denial_months`."""
    *last, this = sorted({row["ends_on"] for row in rows})[
        -2:
    ]  # the calendar's first month is alone
    reasons: dict[tuple[str, str | None], dict[str, Any]] = {}
    for row in rows:
        if row["reason"] is not None and row["ends_on"] in (*last, this):
            no_denials = {**row, "denials_now": 0, "denials_before": 0}
            of_reason = reasons.setdefault((row["reason"], row["detail"]), no_denials)
            column = "denials_now" if row["ends_on"] == this else "denials_before"
            of_reason[column] = row["denials"]
    differing = [it for it in reasons.values() if it["denials_now"] != it["denials_before"]]
    if not differing:
        return f"{month_title(figures)}."
    changed = sorted(differing, key=lambda row: -abs(row["denials_now"] - row["denials_before"]))
    said = _(
        "Changed most, this month so far after the whole month before: {reasons}.",
        reasons=changes_said(changed[:MOST_CHANGED]),
    )
    return f"{month_title(figures)}. {said}"


def returns_title(came_back: int) -> str:
    """How many came back, in all weeks that are drawn."""
    return ngettext(
        "{n} denied seller came back in 12 weeks",
        "{n} denied sellers came back in 12 weeks",
        came_back,
        n=formats.number(came_back),
    )


def returns_reading(came_back: int, cured: int, seconds_to_cure: float | None) -> str:
    """The last 12 weeks of those who came back, in a sentence, and how long a cure takes."""
    returned = ngettext(
        "In the last 12 weeks **{n}** denied seller came back",
        "In the last 12 weeks **{n}** denied sellers came back",
        came_back,
        n=formats.number(came_back),
    )
    so_far = ngettext(
        "**{n}** cured so far", "**{n}** cured so far", cured, n=formats.number(cured)
    )
    if seconds_to_cure is None:
        return f"{returned}; {so_far}."
    took = _(
        "Of all who were ever cured, half took at most **{time}** from their first denial.",
        time=formats.seconds(seconds_to_cure),
    )
    return f"{returned}; {so_far}. {took}"


def changes_reading(changes: Sequence[views.Row]) -> str:
    """What changed by more than chance, and how much else may be chance, in a sentence each."""
    beyond = [row for row in changes if row["is_more_than_chance"]]
    more = [row for row in beyond if row["denials_now"] > row["denials_before"]]
    fewer = [row for row in beyond if row["denials_now"] < row["denials_before"]]
    said = []
    if more:
        said.append(
            _(
                "Clearly more often than in the 30 days before: {reasons}.",
                reasons=changes_said(more),
            )
        )
    if fewer:
        said.append(
            _(
                "Clearly less often than in the 30 days before: {reasons}.",
                reasons=changes_said(fewer),
            )
        )
    rest = len(changes) - len(beyond)
    if not beyond:
        said.append(_("No reason changed by so much that it could not be chance."))
    elif rest:
        said.append(
            ngettext(
                "What changed of the other reason may be chance.",
                "What changed of the other {n} reasons may be chance.",
                rest,
                n=formats.number(rest),
            )
        )
    return " ".join(said)


def changes_said(changes: Sequence[views.Row]) -> str:
    """Each reason with its denials of a time and of the time before."""
    return "; ".join(
        _(
            "“{reason}”, **{n}** after {before}",
            reason=formats.plain(sellers.reason(row)),
            n=formats.number(row["denials_now"]),
            before=formats.number(row["denials_before"]),
        )
        for row in changes
    )


def changes_title(changes: Sequence[views.Row]) -> str:
    """How many reasons changed by more than chance."""
    beyond = sum(row["is_more_than_chance"] for row in changes)
    if not beyond:
        return _("No clear change in the last 30 days")
    return ngettext(
        "{n} reason clearly changed in the last 30 days",
        "{n} reasons clearly changed in the last 30 days",
        beyond,
        n=formats.number(beyond),
    )


def month_returns_title(first: views.Row) -> str:
    """What became of the sellers of one reason and month."""
    return _(
        "“{reason}”: {back} of {n} came back within 60 days, {cured} cured",
        reason=formats.plain(sellers.reason(first)),
        back=formats.number(first["reonboarded"]),
        n=formats.number(first["followed"]),
        cured=formats.number(first["cured"]),
    )


def month_returns_reading(first: views.Row) -> str:
    """The same in a sentence, with the month and the time that it took."""
    returned = _(
        "Of **{n}** denied in {month} for “{reason}” **{back}** came back within 60 days, and"
        " **{cured}** of these were cured.",
        n=formats.number(first["followed"]),
        month=formats.month(first["month"]),
        reason=formats.plain(sellers.reason(first)),
        back=formats.number(first["reonboarded"]),
        cured=formats.number(first["cured"]),
    )
    if first["median_seconds_to_cure"] is None:
        return returned
    half = _(
        "Half of the cured took at most **{time}**.",
        time=formats.seconds(first["median_seconds_to_cure"]),
    )
    return f"{returned} {half}"


def draw_fields(reasons: Sequence[views.Row]) -> None:
    """Which fields differ between the denied record and the accepted one, of one reason: worked out
    when somebody asks."""
    opened = folds.expander(
        _("What differs in the accepted record?"), icon=":material/difference:", key="fields"
    )
    if opened is None:
        return
    with opened:
        found = views.read("denial_fields")
        known = {code_of(row) for row in found}
        names = {code_of(row): sellers.reason(row) for row in reasons if code_of(row) in known}
        if not names:
            st.markdown(formats.muted(_("Nobody who was denied has been cured so far.")))
            return
        chosen = address.one_of(
            _("Reason"), names, "cured_of", placeholder=next(iter(names.values()))
        ) or next(iter(names))
        rows = [row for row in found if code_of(row) == chosen]
        fields = [row for row in rows if row["field"] is not None]
        none = [row for row in rows if row["field"] is None]
        most = max(fields, key=lambda row: (row["differing"], row["share"]))
        explained.chart(
            _(
                "The accepted record differs in {differing} of {cured}: {field}",
                differing=formats.number(most["differing"]),
                cured=formats.number(most["cured"]),
                field=field_name(most),
            )
            if most["differing"]
            else _("No field of the record differs"),
            _(
                "Denied for “{reason}” and cured since: **{n}**. No field of the accepted record"
                " differs from the denied one: **{none}**.",
                n=formats.number(most["cured"]),
                reason=formats.plain(names[chosen]),
                none=formats.number(sum(row["differing"] for row in none)),
            ),
            record_fields([*(row for row in fields if row["differing"]), *none]),
            rests_on=("denial_fields",),
            where={"reason": most["reason"]},
            alt=_("Share of accepted records in which each field differs from the denied one"),
            note=_(
                "A field that one of the two records lacks differs, too; values are shown nowhere."
                " Documents go another way and are not in the log. What differed, not what led to"
                " the cure."
            ),
        )


def draw_analyses() -> None:
    """How long the platform took for its analyses, against the 180 s that it promises for 99 %."""
    rows = [*views.read("onboarding_analysis", order_by="day desc", limit=ANALYSIS_DAYS)][::-1]
    if not rows:
        return
    kept = sum(row["share"] >= PROMISED for row in rows)
    last = rows[-1]
    with st.container(border=True):
        explained.chart(
            ngettext(
                "The platform kept its 180 s on {kept} of {n} day",
                "The platform kept its 180 s on {kept} of {n} days",
                len(rows),
                kept=formats.number(kept),
                n=formats.number(len(rows)),
            ),
            _(
                "It promises to decide 99% of sellers within 180 s. On {day} it decided"
                " **{within}** of **{n}** in that time; 99% took at most **{time}**.",
                day=formats.day(last["day"]),
                within=formats.number(last["within_180_s"]),
                n=formats.number(last["analysed"]),
                time=formats.seconds(last["p99_seconds"]),
            ),
            analysis_days(rows),
            rests_on=("onboarding_analysis",),
            alt=_("Share of analyses that took up to 180 seconds, by day"),
            note=_("Days are UTC days; those without a decision are left out."),
            found_in=findings,
        )


def code_of(reason: views.Row) -> str:
    """A reason with its detail as the codes of a denial have it."""
    return "/".join(it for it in (reason["reason"], reason["detail"]) if it)


def ask_for(reason: views.Row) -> None:
    """Shows the denials for a reason whose bar was clicked."""
    show_denials(reason=code_of(reason))


def ask_for_cell(point: Mapping[str, Any]) -> None:
    """Shows the denials of a reason in the week or month of a cell that was clicked: all that the
    cell counts, whatever period was chosen."""
    end, row = by_period["data"][1]["meta"][point["point_index"]]
    show_denials(reason=code_of(drawn[row]), ends=end, period=[])


def show_denials(**asked: str | list[str]) -> None:
    """Shows the denials that pass these filters and those that are set already."""
    st.query_params.update(
        {"list": [], address.SORT: [], address.PAGE: [], address.CHOSEN: [], **asked}
    )


def ask_for_week(point: Mapping[str, Any]) -> None:
    """Shows those who came back in the week of a bar that was clicked."""
    week = returns[point["point_index"]]["ends_on"]
    address.take([("list", RETURNED), ("ends", str(week))])


def days_of(ends: date | None, *, of_month: bool) -> periods.Period:
    """The days of the bar or cell that led to the list, by the last of them."""
    if ends is None:
        return None, None
    return periods.utc_days(began_on(ends, of_month=of_month), ends)


def began_on(ends: date, *, of_month: bool) -> date:
    """The first day of the month or week that ends so."""
    return ends.replace(day=1) if of_month else ends - timedelta(days=6)


def say_days(ends: date, *, of_month: bool) -> None:
    """To which days a bar or a cell led, with the way back to all."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            _(
                "From **{first}** to **{last}**, UTC days.",
                first=formats.day(began_on(ends, of_month=of_month)),
                last=formats.day(ends),
            ),
            width="content",
        )
        st.button(
            _("All days"), icon=":material/close:", on_click=address.leave_out, args=("ends",)
        )


def list_denials(
    by_answer: Any, by_type: Any, period: periods.Period, reason: str | None, seller: str
) -> None:
    """The denials under their filters, of which those with numbers stand in `by_answer` and
    `by_type`."""
    where: dict[str, Sequence[object]] = {
        "retry": [YES_NO[it] for it in address.asked_for("retry", YES_NO)],
        "seller_type": address.asked_for("type", codes.SELLER_TYPES),
    }
    contains = {"seller_id": seller, "codes": f"|{reason}|" if reason else ""}
    others = views.filtered(contains=contains, between={"denied_at": period})
    facets = views.Facets("denials", where, others)
    with by_answer:
        names = {"yes": _("can be corrected"), "no": _("no chance")}
        address.choices(_("New attempt"), facets.numbered("retry", names, YES_NO), "retry")
    with by_type:
        names = code_texts.by_code(codes.SELLER_TYPES)
        address.choices(_("Type of seller"), facets.numbered("seller_type", names), "type")
    lists.with_card(
        facets,
        listed(),
        card,
        counted=counted,
        nothing_matches=_("No denial matches these filters"),
    )


def list_returned(by_answer: Any, period: periods.Period, seller: str) -> None:
    """Who came back, under their filters, of which those with numbers stand in `by_answer`."""
    where = {
        "is_cured": [YES_NO[it] for it in address.asked_for("cured", YES_NO)],
        "was_in_vain": [True] * len(address.asked_for("vain", ("yes",))),
    }
    others = views.filtered(contains={"seller_id": seller}, between={"came_back_at": period})
    facets = views.Facets("returned_sellers", where, others)
    with by_answer:
        names = {"yes": _("cured"), "no": _("not yet")}
        address.choices(_("Since then"), facets.numbered("is_cured", names, YES_NO), "cured")
        names = {"yes": _("no chance")}
        address.choices(_("New attempt"), facets.numbered("was_in_vain", names, YES_NO), "vain")
    lists.with_card(
        facets,
        returned_listed(),
        returned_card,
        counted=returned_counted,
        nothing_matches=_("No seller matches these filters"),
    )


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
    elements.end_page()

reasons = views.read("denial_pareto")
drawn = reasons[:REASONS_DRAWN]
onboarded = views.read("onboarding_weeks")
rate = onboarded[-1] if onboarded else None
with elements.facts(5, least=150):
    elements.fact(
        _("Denial rate"),
        formats.share(rate["denial_share"] if rate else None),
        _("of decisions in the last 7 days"),
        "red",
        lead=elements.lead_if(
            rate and rate["denied"],
            links.to_rows,
            _("View denials of the last 7 days"),
            ends=str(views.moment().date()),
        ),
    )
    elements.fact(
        _("Denied sellers"),
        formats.number(figures["denied_sellers"]),
        ngettext(
            "{n} denial", "{n} denials", figures["denials"], n=formats.number(figures["denials"])
        ),
        "red",
        lead=partial(links.to_rows, _("View all denials")),
    )
    elements.fact(
        _("Can be corrected"),
        formats.share(figures["retryable_share"]),
        _("of denials say so"),
        lead=elements.lead_if(
            figures["retryable_share"], links.to_rows, _("View what can be corrected"), retry="yes"
        ),
    )
    elements.fact(
        _("Came back"),
        formats.share(figures["reonboarding_rate"]),
        ngettext(
            "{n} as a new seller",
            "{n} as new sellers",
            figures["reonboarded"],
            n=formats.number(figures["reonboarded"]),
        ),
        "blue",
        lead=elements.lead_if(
            figures["reonboarded"], links.to_rows, _("View who came back"), list=RETURNED
        ),
    )
    elements.fact(
        _("Cured"),
        formats.share(figures["cure_rate"]),
        _("of those who came back"),
        lead=elements.lead_if(
            figures["cured"], links.to_rows, _("View the cured"), list=RETURNED, cured="yes"
        ),
    )
if figures["wasted_retries"]:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            ngettext(
                "**{n}** came back although the platform had said that a new attempt has no chance:"
                " say so to such sellers before they repeat the whole process.",
                "**{n}** came back although the platform had said that a new attempt has no chance:"
                " say so to such sellers before they repeat the whole process.",
                figures["wasted_retries"],
                n=formats.number(figures["wasted_retries"]),
            ),
            width="content",
        )
        links.to_rows(_("View who had no chance"), list=RETURNED, vain="yes")

findings = contents.place()
left, right = st.columns(2, gap="small")
with left.container(border=True, height="stretch"):
    explained.chart(
        _("Most frequent: {reason}", reason=formats.plain(sellers.reason(reasons[0])))
        if reasons
        else _("Reasons, most frequent first"),
        pareto_reading(figures, reasons),
        reason_bars(drawn),
        rests_on=("denial_pareto",),
        take=lambda point: ask_for(drawn[point["point_index"]]),
        alt=_("Reasons of denials, the vital few in red"),
        note=" ".join(pareto_notes(reasons)),
        found_in=findings,
    )
changes = views.read("denial_changes", limit=REASONS_DRAWN)
if changes:
    by_30_days = changes_reading(changes)
    months = months_reading(figures, views.read("denial_months"))
    with right.container(border=True, height="stretch"):
        explained.chart(
            changes_title(changes),
            # Of a calendar month the same reason has other numbers: they stand apart.
            f"{by_30_days}\n\n{_('By calendar months, not by 30 days: {said}', said=months)}",
            reason_changes(changes),
            rests_on=("denial_changes", "denial_months"),
            alt=_("Denials by reason, of the 30 days before and of the last 30"),
            note=_(
                "Open circle: the 30 days before; full circle: the last 30. A thick line, red or"
                " green: chance alone brings so great a change in about 5 of 100 comparisons or"
                " fewer; a thin one, grey: more often."
            ),
            found_in=findings,
        )

by_months = [row for row in views.read("denials_by_month") if row["followed"]]
last_followed = max((row["month"] for row in by_months), default=None)
followed = sorted(
    (row for row in by_months if row["month"] == last_followed),
    key=lambda row: -row["followed"],
)[:REASONS_DRAWN]
left, right = st.columns(2, gap="small")
with left.container(border=True, height="stretch"):
    unit = address.choice(_("Reasons by"), {"week": _("Week"), "month": _("Month")}, "by")
    by_month = unit == "month"
    by_period = reason_periods(
        views.read("denial_months" if by_month else "denial_weeks"),
        drawn,
        named=formats.month if by_month else formats.short_day,
    )
    explained.chart(
        month_title(figures) if by_month else week_title(figures),
        _(
            "Each cell counts the denials for a reason in a month;"
            " the stronger the colour, the more. One with several reasons counts under each."
        )
        if by_month
        else _(
            "Each cell counts the denials for a reason in a week;"
            " the stronger the colour, the more. One with several reasons counts under each."
        ),
        by_period,
        take=ask_for_cell,
        rests_on=("denial_months" if by_month else "denial_weeks",),
        alt=_("Denials per reason and month, over 12 months")
        if by_month
        else _("Denials per reason and week, over 12 weeks"),
        note=_("Months are of UTC days.")
        if by_month
        else _("Weeks end on the day named, a UTC day."),
        found_in=findings,
    )
if followed:
    # Of the reason that was asked for, such as by a click on its bar; else of the most frequent.
    asked_for = st.query_params.get("reason")
    shown_of = next((row for row in followed if code_of(row) == asked_for), followed[0])
    with right.container(border=True, height="stretch"):
        explained.chart(
            month_returns_title(shown_of),
            month_returns_reading(shown_of),
            reason_returns(followed),
            rests_on=("denials_by_month",),
            where={"month": last_followed},
            alt=_("By reason, the share of sellers that came back, and of these that were cured"),
            note=_(
                "By reason. The latest month of which the 60 days are over for anyone: sellers with"
                " a tax id, each by their first denial in it."
            ),
            found_in=findings,
        )

returns = views.read("return_weeks")
with st.container(border=True):
    explained.chart(
        returns_title(sum(row["came_back"] for row in returns)),
        returns_reading(
            sum(row["came_back"] for row in returns),
            sum(row["cured"] for row in returns),
            figures["median_seconds_to_cure"],
        ),
        return_weeks(returns),
        take=ask_for_week,
        rests_on=("return_weeks",),
        alt=_("Denied sellers that came back per week, and how many of them were enabled"),
        note=_("Weeks end on the day named, a UTC day."),
        found_in=findings,
    )

with st.container(border=True):
    draw_fields(reasons)
draw_analyses()

contents.header(_("Row by row"), "rows", findings)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
    shown = address.choice(
        _("List"), {DENIALS: _("Denials"), RETURNED: _("Sellers who came back")}, "list"
    )
    st.markdown(
        formats.muted(
            _(
                "Figures and charts count every denial. The filters below apply to the list and its"
                " files."
            )
        )
    )
reason = None
with lists.filters():
    with st.container(width="content"):
        saved.show("denials")
    if shown == DENIALS:
        with st.container(width=190):
            names = {code_of(row): sellers.reason(row) for row in reasons}
            reason = address.one_of(_("Reason"), names, "reason", placeholder=_("Reason"))
    with st.container(width="content"):
        named = address.choice(
            _("Period"), {code: _(name) for code, name in moments.PERIODS.items()}, "period"
        )
    by_answer = st.container(
        width="content", horizontal=True, vertical_alignment="bottom", gap="small"
    )
    with lists.more_filters(("type", "of") if shown == DENIALS else ("of",)):
        by_type = st.container()
        seller = address.text(_("Seller"), "of", placeholder=lists.sought_id(), width="stretch")
ends, of_month = address.day("ends"), shown == DENIALS and by_month
period = periods.common(
    days_of(ends, of_month=of_month), periods.period(named, views.moment(), formats.zone())
)
if ends is not None:
    say_days(ends, of_month=of_month)
if shown == DENIALS:
    list_denials(by_answer, by_type, period, reason, seller)
else:
    list_returned(by_answer, period, seller)
