"""Ledger: how fresh and how sound the log is, what is in quarantine, and the proof to hand out."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app_pages.desk import outgoing
from app_pages.door import access, audience, handed
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, occurrences
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import address, contents, elements, links, lists, views
from pipeline import instants
from pipeline.continuity import service, stores
from pipeline.http.machine import FREE_BYTES
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.serve import standing

PAGE = Page(
    title=N_("Ledger"),
    icon="verified",
    section=Section.PROOF,
    place=20,
    for_analysts=True,
)


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
            elements.in_its_words(code_texts.masked(fault)),
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
            elements.in_its_words(code_texts.masked(note)),
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


def say_how_it_stands(
    place: DeltaGenerator, health: views.Row, faults: service.Faults | None
) -> None:
    """How long the log is, and when all of it was last read again. `faults`: those that an earlier
    verification found."""
    verified_at = heartbeats(held.inbox).get(Part.VERIFICATION)
    with place:
        st.table(
            {
                _("Leaves"): formats.number(health["tree_size"]),
                _("Newest entry recorded"): formats.second(health["last_recorded_at"]),
                # It said nothing of when, so that damage since then stood beside "verified".
                _("All entries last read again, without a fault"): _(
                    "not yet; new ones are verified as they come"
                )
                if verified_at is None
                else formats.second(instants.of(verified_at)),
            },
            border="horizontal",
            alt=_("The tree of the log"),
        )
        if faults is not None:
            st.error(
                ngettext(
                    "A verification found {n} fault at {instant}. *Verify now* names it.",
                    "A verification found {n} faults at {instant}. *Verify now* names them.",
                    faults.number,
                    n=formats.number(faults.number),
                    instant=formats.second(instants.of(faults.found_at)),
                ),
                icon=":material/gpp_maybe:",
            )


def in_short(
    health: views.Row, is_late: bool | None, has_no_backup: bool, is_nearly_full: bool | None
) -> str:
    """Whether anything is lost, late or full, in a line, and what else needs somebody. `is_late`,
    `is_nearly_full`: None where that is not known, as of an instant that is over."""
    missing, quarantined = (formats.number(health[it]) for it in ("missing", "quarantined"))
    said = [
        (_("missing entries: {n}", n=missing), _("no entry missing"), health["missing"]),
        (
            _("something late to go out"),
            _("nothing late to go out, of what is looked at"),
            is_late,
        ),
        (_("a disk nearly full"), _("no disk nearly full"), is_nearly_full),
        (_("in quarantine: {n}", n=quarantined), "", health["quarantined"]),
        (_("no recent backup"), "", has_no_backup),
    ]
    bad, good = [], []
    for wrong, right, is_wrong in said:
        if is_wrong:
            bad.append(f"**{wrong}**")
        elif right and is_wrong is not None:
            good.append(right)
    return " · ".join([*bad, *good])


def quarantined(rows: Sequence[views.Row], key: str) -> None:
    lists.grid(
        [row | {"reason": occurrences.unreadable(row["reason"])} for row in rows],
        {
            "occurred_at": lists.instant(_("Received")),
            "reason": lists.text(_("Reason"), 420),
            "size_bytes": lists.number(_("Bytes"), 80),
            "seq": lists.number(_("Entry"), 110),
            "replayed_as": lists.number(_("Replayed as"), 100),
        },
        alt=_("Deliveries in quarantine, newest first"),
        key=key,
    )


def deliveries(rows: Sequence[views.Row], key: str) -> None:
    """Each delivery that could be read: what came when, and whether for the first time."""
    again = {True: _("delivered again"), False: _("for the first time")}
    lists.grid(
        [row | {"came": again[row["is_redelivery"]]} for row in rows],
        {
            "occurred_at": lists.instant(_("Received")),
            "event_type": lists.text(_("Event"), 260),
            "event_id": lists.text(_("Id of the event"), 240),
            "created_at": lists.instant(_("Created by the platform")),
            "came": lists.text(_("Came"), 130),
            "seq": lists.number(_("Entry"), 110),
        },
        alt=_("Deliveries, newest first"),
        key=key,
    )


def entries(rows: Sequence[views.Row], key: str) -> None:
    """Each entry: what happened, about whom, and its leaf."""
    lists.grid(
        [row | {"kind": code_texts.word(occurrences.KINDS, row["kind"])} for row in rows],
        {
            "seq": lists.number(_("Entry"), 110),
            "occurred_at": lists.instant(_("When")),
            "kind": lists.text(_("Kind"), 180),
            "process_id": lists.subject_id(_("Process")),
            "seller_id": lists.subject_id(_("Seller")),
            "recorded_by": lists.text(_("Recorded by"), 150),
            "leaf_hash": lists.text(_("Leaf"), 260),
        },
        alt=_("Entries, newest first"),
        key=key,
    )


def show_rows(asked: str) -> None:
    """The rows that a figure counts, in the place of the page."""
    view, where, title, draw, count = LISTS[asked]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        back = _("Back to the ledger")
        st.button(back, icon=":material/arrow_back:", on_click=address.leave_out, args=("list",))
        st.header(_(title), anchor=False, width="content")
    lists.paged(view, draw, counted=count, where=where, order_by="seq desc")


def count_deliveries(total: int) -> str:
    return ngettext("{n} delivery", "{n} deliveries", total, n=formats.number(total))


def count_entries(total: int) -> str:
    return ngettext("{n} entry", "{n} entries", total, n=formats.number(total))


def may_list(asked: str) -> bool:
    """Whether the reader may see the rows of a figure."""
    return access.may_read(LISTS[asked].view)


def what_to_do(waiting: views.Row | None) -> None:
    """The commands that read a delivery in quarantine again, for whoever runs Prazo. `waiting`: the
    newest that was not read since."""
    if waiting is None:
        st.markdown(_("All of them could be read since, as the entries in the last column."))
        return
    st.markdown(
        _("Once the cause is corrected, whoever runs Prazo has these deliveries read again:")
    )
    st.code("prazo quarantine --replay", language=None)
    st.markdown(
        _(
            "Where a part is missing that somebody knows for certain, it is supplied for one entry,"
            " under a name and a reason:"
        )
    )
    by_hand = '--reason "..." --actor "..."'
    supply = f"prazo quarantine --supply {waiting['seq']} PATH=VALUE {by_hand}"
    st.code(supply, language=None, wrap_lines=True)
    st.markdown(
        _(
            "Where the bytes are in another encoding than UTF-8, somebody says in which"
            " (latin-1, windows-1252 or utf-16), likewise:"
        )
    )
    encoding = f"prazo quarantine --encoding latin-1 {waiting['seq']} {by_hand}"
    st.code(encoding, language=None, wrap_lines=True)
    st.markdown(formats.muted(_("See *Files of occurrences* in the guide *Operations*.")))


class Counted(NamedTuple):
    """Rows that a figure of this page counts."""

    view: str
    where: Mapping[str, object] | None
    title: str
    draw: Callable[[Sequence[views.Row], str], None]
    counted: Callable[[int], str]


LISTS = {
    "deliveries": Counted(
        "deliveries", {"kind": "webhook"}, N_("Deliveries"), deliveries, count_deliveries
    ),
    "entries": Counted("timeline", None, N_("Entries"), entries, count_entries),
}

asked = st.query_params.get("list", "")
if asked in LISTS and may_list(asked):
    show_rows(asked)
    elements.end_page()
held = service.current()
status = held.status()
health = views.read_one("ledger_health")
assert health is not None  # the view is one row, always

room = standing.machine(held).least_room()
is_nearly_full = room is not None and room.free < FREE_BYTES
is_late, has_no_backup = None, False
short = st.container(key="in_short")  # before the figures, by which it is known
with elements.facts(7, least=150):
    elements.fact(
        _("Entries"),
        formats.number(health["entries"]),
        _("none missing")
        if not health["missing"]
        else _("{n} missing", n=formats.number(health["missing"])),
        "red" if health["missing"] else "green",
        lead=elements.lead_if(
            health["entries"] and may_list("entries"),
            links.to_rows,
            _("View the entries"),
            list="entries",
        ),
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
        lead=elements.lead_if(
            health["deliveries"] and may_list("deliveries"),
            links.to_rows,
            _("View the deliveries"),
            list="deliveries",
        ),
    )
    elements.fact(
        _("In quarantine"),
        formats.number(health["quarantined"]),
        _("one may hide a review") if health["quarantined"] else _("none"),
        "orange" if health["quarantined"] else "green",
        lead=elements.lead_if(
            health["quarantined"],
            contents.link,
            _("View the quarantine"),
            "quarantine",
        ),
    )
    elements.fact(
        _("Slowest recording"),
        "–"
        if health["slowest_record_seconds"] is None
        else formats.seconds(health["slowest_record_seconds"]),
        _("the platform waits 30 s"),
    )
    if views.as_of() is None:  # neither endpoints nor backups are known as of another instant
        is_late = outgoing.oldest()
        has_no_backup = outgoing.backup()
    elements.fact(
        _("Fullest disk"),
        "–" if room is None else _("{n} GB free", n=formats.number(round(room.free / 1e9, 1))),
        "–"
        if room is None
        else _("{share} of it free: nearly full", share=formats.share(room.free / room.size))
        if is_nearly_full
        else _("{share} of it free", share=formats.share(room.free / room.size)),
        "red" if is_nearly_full else "green",
    )
with short:
    is_known = room is not None and views.as_of() is None
    st.markdown(in_short(health, is_late, has_no_backup, is_nearly_full if is_known else None))
if room is not None and is_nearly_full:
    st.error(
        _(
            "{n} MB are free on the fullest disk of inbox, ledger, artifacts and temporary files."
            " Once nothing is, deliveries are answered 503 and nothing is recorded: ask whoever"
            " runs Prazo to make room.",
            n=formats.number(room.free // 1_000_000),
        ),
        title=_("A disk is nearly full"),
        icon=":material/hard_drive:",
    )
if status.recovered:
    st.info(elements.in_its_words(status.recovered), icon=":material/healing:")

if health["rejected"]:
    turned_away = ngettext(
        "{n} request to the receiver was turned away unread, or was sent to a wrong address. This"
        " says why, and names such an address:",
        "{n} requests to the receiver were turned away unread, or were sent to a wrong address."
        " This says why, and names such an address:",
        health["rejected"],
        n=formats.number(health["rejected"]),
    )
    st.info(
        f"{turned_away} `prazo show log_entries --where kind=rejection`", icon=":material/block:"
    )

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
    how_it_stands = st.container(key="leaves")
    is_asked = st.button(_("Verify now"), icon=":material/verified:")
    if is_asked:
        verify()
    say_how_it_stands(how_it_stands, health, None if is_asked else held.faults_found)
    st.markdown(
        formats.muted(
            _(
                "At the foot of each page, *verified* says that new entries lead to the root that"
                " is kept elsewhere. Only a verification reads again what came before."
            )
        )
    )
    st.markdown(_("Root of the tree:"))
    st.container(key="root").code(health["root"] or "–", language=None, wrap_lines=True)
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
        handed.button(
            _("Download the checkpoint"),
            signed.note.encode,
            file_name=f"checkpoint-{signed.size}.note",
            mime="text/plain",
            may=lambda whoever: audience.may_open(whoever, "ledger"),
        )
    if held.signer is not None:
        st.markdown(_("The key that verifies it:"))
        st.code(str(held.signer.key), language=None, wrap_lines=True)

st.header(_("Deliveries in quarantine"), anchor="quarantine")
page = lists.paged(
    "quarantine",
    quarantined,
    counted=count_deliveries,
)
if not page.total:
    st.markdown(_("None: every delivery could be read."))
else:
    what_to_do(views.read_one("quarantine", where={"replayed_as": None}))
