"""Findings: every broken rule, the gravest first, with what it may cost and what to do."""

from collections.abc import Sequence

import streamlit as st

from app_pages.desk import saved
from app_pages.door import access
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, rulebook
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import address, elements, links, lists, timeline, views
from pipeline.language import codes, fields

PAGE = Page(
    title=N_("Findings"),
    icon="gavel",
    section=Section.DAILY,
    place=50,
    for_analysts=True,
)

RULES_SHOWN, RULES_HEIGHT = 6, 270  # others are scrolled to


def listed() -> lists.Listed:
    """What the list shows of each row."""
    severities = code_texts.by_code(codes.SEVERITIES)

    def cells(row: views.Row) -> dict[str, object]:
        listed = fields.listed_in(row["detail"])
        return {
            "severity": [severities[row["severity"]]],
            "rule": rulebook.name(row["rule"]),
            "detail": ", ".join(map(code_texts.field_name, listed)) or row["detail"],
        }

    return lists.Listed(
        cells,
        {
            "severity": lists.coded(_("Severity"), codes.SEVERITIES, rulebook.SEVERITY_COLOURS, 86),
            "rule": lists.text(_("Rule"), 214),
            "process_id": lists.subject_id(_("Process")),
            lists.SELLER: lists.text(_("Seller"), 104),
            "detail": lists.text(_("Detail"), 184),
            "found_at": lists.instant(_("True since")),
        },
        alt=_("Findings, most severe first"),
    )


def card(row: views.Row) -> None:
    """What a finding means, what it may cost, and what to do next."""
    rule = row["rule"]
    st.markdown(rulebook.chip(row["severity"]))
    st.header(formats.plain(rulebook.name(rule)), anchor=False)
    if row["detail"]:
        st.markdown(elements.detail(row))
    since = _("True since {instant}", instant=formats.second(row["found_at"]))
    entry = _("entry {seq}", seq=formats.number(row["seq"]))
    st.markdown(formats.muted(f"{since} · {entry}"))
    if rule in rulebook.RULES:
        st.markdown(_(rulebook.RULES[rule].meaning))
        st.markdown(f":material/arrow_forward: **{_(rulebook.RULES[rule].remedy)}**")
    is_open = access.may_read("timeline")  # it says who did what, and why
    shown_by = views.read_one("timeline", where={"seq": row["seq"]}) if is_open else None
    if shown_by is not None:
        st.markdown(f"**{_('The entry that shows it')}**")
        timeline.show_entry(shown_by)
    links.to_process(row["process_id"])
    links.to_seller(row["seller_id"])


def counted(total: int) -> str:
    return ngettext("{n} finding", "{n} findings", total, n=formats.number(total))


rules = views.read("finding_counts")
if not rules:
    elements.empty_of_processes(
        _("No rule is broken"),
        _("Findings appear here by themselves as deliveries, collections and attempts come in."),
    )
    elements.end_page()

with lists.filters():
    with st.container(width="content"):
        saved.show("findings")
    by_severity, by_rule = st.container(width="content"), st.container(width=330)
    with st.container(width=210):
        process = address.text(
            _("Process"), "of", placeholder=lists.sought_process(), width="stretch"
        )

where: dict[str, Sequence[object]] = {
    "severity": address.asked_for("severity", codes.SEVERITIES),
    "rule": address.asked_for("rule", rulebook.RULES),
}
facets = views.Facets("findings", where, views.filtered(contains={"process_id": process}))
# Only now is it known among which findings each of these counts.
with by_severity:
    address.choices(
        _("Severity"),
        facets.numbered(
            "severity",
            {
                code: f"{rulebook.SEVERITY_ICONS[code]} {name}"
                for code, name in code_texts.by_code(codes.SEVERITIES).items()
            },
        ),
        "severity",
    )
with by_rule:
    address.choices(
        _("Rule"),
        facets.numbered("rule", {code: rulebook.name(code) for code in rulebook.RULES}),
        "rule",
        placeholder=_("Rule"),
    )
lists.with_card(
    facets,
    listed(),
    card,
    counted=counted,
    nothing_matches=_("No finding matches these filters"),
)
lists.about(_("Every rule of the contract that is broken, overridden attempts included."))
st.container(key="rules").table(
    {
        _("Severity"): [rulebook.chip(row["severity"]) for row in rules],
        _("Rule"): [formats.plain(rulebook.name(row["rule"])) for row in rules],
        _("Findings"): [formats.number(row["findings"]) for row in rules],
        _("Processes"): [formats.number(row["processes"]) for row in rules],
        _("Newest"): [formats.minute(row["latest_at"]) for row in rules],
    },
    hide_index=True,
    height=RULES_HEIGHT if len(rules) > RULES_SHOWN else "content",
    alt=_("Findings by rule, most severe first"),
)
