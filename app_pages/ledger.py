"""Ledger: how fresh and how sound the log is, what is in quarantine, and the proof to hand out."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from app_pages.language import formats, occurrences
from app_pages.language.i18n import _, ngettext
from app_pages.parts import elements, links, lists, views
from pipeline.audit import stores
from pipeline.ledger import service


def verify() -> None:
    """The audit of `prazo verify`: every entry of both stores, the tree, what was signed, every
    check and every artifact. Of a long log the checks alone: a page does not read each entry."""
    is_long = held.ledger.size > stores.ENTRIES_PER_MINUTE
    bar = st.progress(0.0, _("Checking …"))

    def show(done: int, whole: int) -> None:
        bar.progress(min(done / max(whole, 1), 1.0), _("Checking …"))

    verdict = (stores.invariants if is_long else stores.audit)(held, on_progress=show)
    bar.empty()
    for fault in verdict.faults:
        st.error(
            elements.in_its_words(views.masked(fault)),
            title=_("Something is not as it was recorded"),
            icon=":material/gpp_maybe:",
        )
    if not verdict.faults:
        st.success(
            "  \n".join(map(elements.in_its_words, verdict.checked)),
            title=_("No fault was found in what was checked"),
            icon=":material/verified:",
        )
    for note in verdict.notes:
        st.warning(
            elements.in_its_words(views.masked(note)),
            title=_("Please note"),
            icon=":material/info:",
        )
    if is_long:
        st.markdown(
            _(
                "A log this long is verified entry by entry by whoever runs Prazo: see *Verifying"
                " the stores* in the guide *Evidence*."
            )
        )


def quarantined(rows: Sequence[views.Row], key: str) -> None:
    lists.grid(
        [row | {"reason": occurrences.unreadable(row["reason"])} for row in rows],
        {
            "occurred_at": lists.instant(_("Received")),
            "reason": lists.text(_("Reason"), 420),
            "size_bytes": lists.number(_("Bytes"), 80),
            "seq": lists.number(_("Entry"), 80),
            "replayed_as": lists.number(_("Replayed as"), 100),
        },
        alt=_("Deliveries in quarantine, newest first"),
        key=key,
    )


held = service.current()
status = held.status()
health = views.read_one("ledger_health")
assert health is not None  # the view is one row, always

with elements.facts(4):
    elements.fact(
        _("Entries"),
        formats.number(health["entries"]),
        _("none missing")
        if not health["missing"]
        else _("{n} missing", n=formats.number(health["missing"])),
        "red" if health["missing"] else "green",
        lead=partial(links.to_more, "dictionary", q="log_entries"),
    )
    elements.fact(
        _("Deliveries"),
        formats.number(health["deliveries"]),
        ngettext(
            "{n} delivered again",
            "{n} delivered again",
            health["redeliveries"],
            n=formats.number(health["redeliveries"]),
        ),
        lead=partial(links.to_more, "dictionary", q="deliveries"),
    )
    elements.fact(
        _("In quarantine"),
        formats.number(health["quarantined"]),
        _("one may hide a review") if health["quarantined"] else _("none"),
        "orange" if health["quarantined"] else "green",
    )
    elements.fact(
        _("Slowest recording"),
        "–"
        if health["slowest_record_seconds"] is None
        else formats.seconds(health["slowest_record_seconds"]),
        _("the platform waits 30 s"),
    )
if status.recovered:
    st.info(elements.in_its_words(status.recovered), icon=":material/healing:")

if views.as_of() is not None:
    st.info(
        _("Tree, checkpoint and verification are those of the whole log as it is now."),
        icon=":material/update:",
    )

left, right = st.columns(2, gap="small")
with left.container(border=True, height="stretch"):
    st.header(_("Is the log intact?"), anchor=False)
    st.markdown(
        _(
            "Every entry is a leaf of a Merkle tree. What is read out of it, its place in the"
            " streams of its process and seller, and the tree itself are checked against each"
            " other."
        )
    )
    st.container(key="leaves").table(
        {
            _("Leaves"): formats.number(health["tree_size"]),
            _("Newest entry recorded"): formats.second(health["last_recorded_at"]),
        },
        border="horizontal",
        alt=_("The tree of the log"),
    )
    st.markdown(_("Root of the tree:"))
    st.container(key="root").code(health["root"] or "–", language=None, wrap_lines=True)
    if st.button(_("Verify now"), icon=":material/verified:"):
        verify()
with right.container(border=True, height="stretch"):
    st.header(_("Checkpoint"), anchor=False)
    st.markdown(
        _(
            "Give one to somebody you trust: from then on, nobody can rewrite what came before"
            " it without being found out."
        )
    )
    signed = held.checkpoint()
    if signed is None:
        st.markdown(_("Nothing has been signed yet."))
    else:
        st.container(key="note").code(signed.note, language=None, wrap_lines=True)
        st.download_button(
            _("Download"),
            signed.note,
            file_name=f"checkpoint-{signed.size}.note",
            mime="text/plain",
            icon=":material/download:",
            on_click="ignore",
        )
    if held.signer is not None:
        st.markdown(_("The key that verifies it:"))
        st.code(str(held.signer.key), language=None, wrap_lines=True)

st.header(_("Deliveries in quarantine"), anchor=False)
page = lists.paged(
    "quarantine",
    quarantined,
    counted=lambda n: ngettext("{n} delivery", "{n} deliveries", n, n=formats.number(n)),
)
if not page.total:
    st.markdown(_("None: every delivery could be read."))
else:
    st.markdown(
        _(
            "Once the cause is corrected, whoever runs Prazo lets it read these deliveries again:"
            " see *Files of occurrences* in the guide *Operations*."
        )
    )
