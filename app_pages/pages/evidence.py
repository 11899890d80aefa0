"""Collection and audit export: what sellers did in their journeys, and packages for an auditor."""

import streamlit as st

from app_pages.desk import packages, saved
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import address, elements, links, lists, views
from pipeline.language import codes
from pipeline.log.kinds import collection as kind

PAGE = Page(
    title=N_("Collection and audit export"),
    icon="inventory_2",
    section=Section.PROOF,
    place=10,
    for_analysts=False,
)

FIELDS_CHARACTERS = 25  # of their names, in their column; the card has them whole
COLLECTIONS, PACKAGE, SAMPLE = "collections", "package", "sample"


def listed() -> lists.Listed:
    """What the list shows of each row."""

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "step": code_texts.word(kind.STEPS, kind.shown_as(row)),
            "channel": code_texts.word(codes.CHANNELS, row["channel"]),
            "paths": lists.cut(
                ", ".join(map(code_texts.field_name, row["paths"] or ())), FIELDS_CHARACTERS
            ),
        }

    return lists.Listed(
        cells,
        {
            "occurred_at": lists.instant(_("When")),
            "step": lists.text(_("Step"), 126),
            "process_id": lists.subject_id(_("Process")),
            lists.SELLER: lists.text(_("Seller"), 104),
            "channel": lists.text(_("Channel"), 110),
            "paths": lists.text(_("Fields"), 176),
            "artifacts": lists.number(_("Artifacts"), 72),
        },
        alt=_("Collections, newest first"),
        sorts={"paths": ""},
    )


def card(collection: views.Row) -> None:
    """One step of a journey: who did what, how, with which evidence, and the way to its process."""
    st.markdown(
        f"{elements.cell(collection, 'process_id')} {elements.cell(collection, 'seller_id')}"
    )
    st.markdown(f"**{formats.plain(code_texts.word(kind.STEPS, kind.shown_as(collection)))}**")
    source = formats.plain(code_texts.word(codes.SOURCES, collection["source"]))
    colour = "red" if kind.is_suspect(collection) else "green"
    elements.details(
        {
            _("When"): formats.second(collection["occurred_at"]),
            _("Channel"): formats.plain(code_texts.word(codes.CHANNELS, collection["channel"])),
            _("Source"): formats.badge(source, colour),
            _("By"): formats.plain(collection["actor"] or "–"),
            _("Fields"): elements.fields(collection["paths"] or ()),
            _("Artifacts"): formats.number(collection["artifacts"]),
            _("Journey"): elements.cell(collection, "journey_id"),
            _("Entry"): formats.number(collection["seq"]),
        },
        alt=_("The chosen collection"),
    )
    links.to_process(collection["process_id"])
    links.to_seller(collection["seller_id"])


def none_yet() -> None:
    """How collections come into the log, where it holds none."""
    elements.empty(
        _("No collection is in the log yet"),
        _(
            "Send what sellers do in their journeys to the receiver: see *Collect* in the guide"
            " *For the marketplace's developers*. Without it, nothing shows"
            " that the data came from the seller."
        ),
    )


def counted(total: int) -> str:
    return ngettext("{n} collection", "{n} collections", total, n=formats.number(total))


# Whoever comes with a subject, as from a seller, comes for its package.
comes_for_package = not {"subject", "scope", "days"}.isdisjoint(st.query_params)
with lists.filters():
    with st.container(width="content"):
        shown = address.choice(
            _("List"),
            {COLLECTIONS: _("Collections"), PACKAGE: _("Audit package"), SAMPLE: _("Sample")},
            "list",
            default=PACKAGE if comes_for_package else COLLECTIONS,
        )
    if shown == COLLECTIONS:
        with st.container(width="content"):
            saved.show("evidence")
        by_step = st.container(width="content")
        with st.container(width=220):
            process = address.text(
                _("Process"), "of", placeholder=_("Process: part of the id"), width="stretch"
            )
if shown != SAMPLE:
    packages.leave_sample()
if shown != COLLECTIONS:
    packages.show(is_sample=shown == SAMPLE)
    elements.end_page()

where = {"step": address.asked_for("step", kind.KIND.steps)}
facets = views.Facets("collections", where, views.filtered(contains={"process_id": process}))
with by_step:
    address.choices(
        _("Step"),
        facets.numbered("step", code_texts.by_code(kind.KIND.steps)),
        "step",
    )
lists.with_card(
    facets,
    listed(),
    card,
    counted=counted,
    nothing_matches=_("No collection matches these filters"),
    when_empty=none_yet,
)
