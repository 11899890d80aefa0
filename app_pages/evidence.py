"""Collection and audit export: what sellers did in their journeys, and packages for an auditor."""

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Final

import streamlit as st

from app_pages import access, acting, address, formats, frame, links, lists, words
from app_pages.i18n import N_, _, ngettext
from pipeline import instants, service
from pipeline.errors import CallerError, PrazoError
from pipeline.evidence import Exported, export
from pipeline.export_request import Request, Scope
from pipeline.roles import Act

SCOPES: Final = {
    "process": N_("One process"),
    "seller": N_("One seller"),
    "period": N_("A period"),
}
PROFILES: Final = {
    "masked": N_("Masked: for whoever need not see personal data"),
    "full": N_("Full: with every body and artifact, for the platform's auditor"),
}
STAGES: Final = {
    "reading the log": N_("Reading the log …"),
    "working out the tables": N_("Working out the tables …"),
    "proving entries": N_("Proving entries …"),
}
LONGEST_DAYS: Final = 366
MADE: Final = "package made"


class Made:
    """A package of this session, and what was asked for; when the session forgets it, its folder
    goes."""

    def __init__(self, exported: Exported, request: Request) -> None:
        self.exported = exported
        self.request = request

    @property
    def acts(self) -> set[Act]:
        """What somebody must be allowed to do who takes it."""
        return {Act.EXPORT, Act.UNMASK} if self.request.profile == "full" else {Act.EXPORT}


def instant_of(day: date) -> int:
    """The first microsecond of a day: a UTC day, like those of every view and of the preview."""
    return instants.from_datetime(datetime.combine(day, time(), UTC))


def contents(scope: str, subject: str, days: tuple[date, ...]) -> Sequence[frame.Row]:
    """What a package of this scope would hold, kind by kind."""
    if scope == "process":
        return frame.read("process_contents", where={"process_id": subject})
    if scope == "seller":
        return frame.read("seller_contents", where={"seller_id": subject})
    first, last = days
    every = [first + timedelta(n) for n in range((last - first).days + 1)]
    return frame.read("day_contents", where={"day": every})


def span(first: datetime, last: datetime) -> str:
    """From when to when; once where that is one and the same minute."""
    ends = dict.fromkeys((formats.minute(first), formats.minute(last)))
    return " – ".join(ends)


def preview(rows: Sequence[frame.Row]) -> None:
    """The contents as a table, or that there is nothing."""
    if not rows:
        st.markdown(_("No entry of the log is in this scope."))
        return
    st.table(
        {
            _("Kind"): [formats.plain(words.word(words.KINDS, row["kind"])) for row in rows],
            _("Entries"): [formats.number(row["entries"]) for row in rows],
            _("When"): [
                formats.day(row["day"]) if "day" in row else span(row["first_at"], row["last_at"])
                for row in rows
            ],
        },
        hide_index=True,
        border="horizontal",
        height=min(46 * (len(rows) + 1), 320),
        alt=_("What goes into the package"),
    )


def make(request: Request) -> None:
    """Makes the package, in a folder that goes with the session."""
    folder = Path(tempfile.mkdtemp(prefix="prazo-export-"))
    bar = st.progress(0.0, _("Making the package …"))

    def show(what: str, done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), formats.plain(words.word(STAGES, what)))

    try:
        try:
            exported = export(service.current(), request, folder / "audit-package.zip", show)
        finally:
            frame.forget_answers()  # an export is an entry, even one that came to nothing
    except BaseException as error:  # a click elsewhere ends the run, too: nothing stays behind
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, PrazoError):
            raise
        bar.empty()
        frame.say(error)
        return
    bar.empty()
    made = Made(exported, request)
    weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    st.session_state[MADE] = made


def may_take_all() -> bool:
    """Whether this reader may take personal data out: a role says so, or nobody needs a token."""
    whoever = access.person()
    is_known = whoever is not None and whoever.name is not None
    return access.may(Act.UNMASK) and (is_known or not service.current().tokens.are_required)


def told(scope: Scope) -> str:
    """What a package is about."""
    if scope.process_id is not None:
        return formats.code(scope.process_id)
    if scope.seller_id is not None:
        return formats.code(scope.seller_id)
    return " – ".join(
        formats.day(instants.of(it).date()) for it in (scope.since, (scope.until or 0) - 1) if it
    )


def offer(made: Made) -> None:
    """The package that was made: its digest, its entry, the key, and the file itself."""
    exported, session = made.exported, access.session()

    def content() -> bytes:
        whoever = session()
        if whoever is None or not all(map(whoever.may, made.acts)):
            raise CallerError("The package is not handed out", "the session or the role is over")
        return exported.path.read_bytes()

    with st.container(border=True):
        st.header(_("The package is ready"), anchor=False)
        st.table(
            {
                _("Scope"): told(made.request.scope),
                _("Profile"): formats.plain(_(PROFILES[made.request.profile])),
                "SHA-256": formats.code(exported.sha256),
                _("Entries"): formats.number(exported.entries),
                _("Bodies left out"): formats.number(exported.withheld),
                _("Recorded as entry"): formats.number(exported.seq),
                _("Key to verify it with"): formats.code(exported.key),
            },
            border="horizontal",
            alt=_("The package that was made"),
        )
        st.markdown(
            _("Hand the key over by another way than the package. Whoever has both can check it:")
        )
        command = f"prazo verify prazo-audit-{exported.seq}.zip --key {exported.key}"
        st.code(command, language=None, wrap_lines=True)
        st.download_button(
            _("Download the package"),
            content,
            file_name=f"prazo-audit-{exported.seq}.zip",
            mime="application/zip",
            icon=":material/download:",
            on_click="ignore",
        )


def journeys(rows: Sequence[frame.Row], key: str) -> frame.Row:
    """The rows as a grid, of which one is always chosen; that one is returned."""
    chosen = lists.choosable_grid(
        [
            row
            | {
                "step": words.word(words.STEPS, row["step"]),
                "channel": words.word(words.CHANNELS, row["channel"]),
            }
            for row in rows
        ],
        {
            "occurred_at": lists.instant(_("When")),
            "step": lists.text(_("Step"), 140),
            "process_id": lists.text(_("Process"), 150),
            "channel": lists.text(_("Channel"), 110),
            "paths": st.column_config.ListColumn(_("Fields"), width=196),
            "artifacts": lists.number(_("Artifacts"), 78),
        },
        alt=_("Collections, newest first"),
        key=key,
    )
    return rows[chosen]


def card(collection: frame.Row) -> None:
    """One step of a journey: who did what, how, with which evidence, and the way to its process."""
    st.markdown(
        f"{formats.code(collection['process_id'])} {formats.code(collection['seller_id'] or '–')}"
    )
    st.markdown(f"**{formats.plain(words.word(words.STEPS, collection['step']))}**")
    source = formats.plain(words.word(words.SOURCES, collection["source"]))
    colour = "green" if collection["source"] == "seller" else "red"
    st.table(
        {
            _("When"): formats.second(collection["occurred_at"]),
            _("Channel"): formats.plain(words.word(words.CHANNELS, collection["channel"])),
            _("Source"): formats.badge(source, colour),
            _("By"): formats.plain(collection["actor"] or "–"),
            _("Fields"): frame.paths(collection["paths"] or ()),
            _("Artifacts"): formats.number(collection["artifacts"]),
            _("Journey"): formats.code(collection["journey_id"]),
            _("Entry"): formats.number(collection["seq"]),
        },
        border="horizontal",
        alt=_("The chosen collection"),
    )
    links.to_process(collection["process_id"])
    links.to_seller(collection["seller_id"])


def none_yet() -> None:
    frame.empty(
        _("No collection is in the log yet"),
        _(
            "Post what sellers do in their journeys to the receiver, or ingest it. Without it,"
            " nothing shows that the data came from the seller."
        ),
        "prazo collect collection.json",
    )


def counted(total: int) -> str:
    return ngettext("{n} collection", "{n} collections", total, n=formats.number(total))


# --- the export ----------------------------------------------------------------------------------

st.header(_("Audit package"), anchor=False)
st.markdown(
    _(
        "Requested, collected, submitted, answered: every entry with its bytes and a proof that it"
        " stands in the signed log. Making one is an entry of the log itself."
    )
)
if frame.as_of() is not None:
    st.info(_("A package always holds the log as it is now, not as it stood at that instant."))

asking, holding = st.columns([1, 1], gap="medium")
with asking:
    scope = address.choice(_("Scope"), {code: _(text) for code, text in SCOPES.items()}, "scope")
    subject = ""
    days: tuple[date, ...] = ()
    if scope == "period":
        today = frame.moment().date()
        days = address.days(_("From and to"), "days", (today - timedelta(30), today))
    else:
        subject = address.text(
            _("Process") if scope == "process" else _("Seller"),
            "subject",
            placeholder="prc_…" if scope == "process" else "sel_…",
            width="stretch",
        )
    is_full_allowed = may_take_all()
    profile = st.radio(
        _("Profile"),
        list(PROFILES) if is_full_allowed else ["masked"],
        format_func=lambda code: _(PROFILES[code]),
        key="profile",
    )
    if not is_full_allowed:
        st.markdown(
            formats.muted(
                _(
                    "A full package holds personal data: without a login it is made on the command"
                    " line, by `prazo export`."
                )
            )
        )
    with st.form("package", border=False):
        reason = st.text_area(_("Why is it needed?"), key="reason", height=80)
        actor = acting.name_of_reader("actor")
        is_asked = st.form_submit_button(_("Make the package"), icon=":material/inventory_2:")

is_period = scope == "period" and len(days) == 2
is_long = is_period and (days[1] - days[0]).days >= LONGEST_DAYS
with holding, st.container(border=True, height="stretch"):
    st.header(_("What goes in"), anchor=False)
    if is_long:
        st.markdown(_("Choose a period of a year at most."))
    elif is_period or subject:
        preview(contents(scope, subject, days))
        if is_period:
            st.markdown(
                formats.muted(
                    _(
                        "And whatever else the log holds of the processes of that time. Days are"
                        " UTC days."
                    )
                )
            )
    else:
        st.markdown(_("Name a process or a seller to see it."))

if is_asked and access.may(Act.EXPORT):
    st.session_state.pop(MADE, None)
    if is_long or not (is_period or subject):
        st.warning(_("Say first what the package is about."))
    elif acting.is_told(reason, actor):
        make(
            Request(
                Scope(
                    process_id=subject if scope == "process" else None,
                    seller_id=subject if scope == "seller" else None,
                    since=instant_of(days[0]) if is_period else None,
                    until=instant_of(days[1] + timedelta(1)) if is_period else None,
                ),
                reason=reason.strip(),
                actor=actor.strip(),
                recorded_by="dashboard",
                profile="full" if profile == "full" and is_full_allowed else "masked",
            )
        )
if MADE in st.session_state and all(map(access.may, st.session_state[MADE].acts)):
    offer(st.session_state[MADE])

# --- the collections -----------------------------------------------------------------------------

st.header(_("Collections"), anchor=False)
with lists.filters():
    with st.container(width="content"):
        steps = address.choices(
            _("Step"), {code: words.word(words.STEPS, code) for code in words.STEPS}, "step"
        )
    with st.container(width=220):
        process = address.text(_("Process"), "of", placeholder=_("Part of the id"), width="stretch")
lists.with_card(
    "collections",
    journeys,
    card,
    counted=counted,
    where={"step": steps},
    contains={"process_id": process},
    nothing_matches=_("No collection matches these filters"),
    when_empty=none_yet,
)
