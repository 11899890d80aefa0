"""Asks what an audit package is to be about, shows what goes into it, makes it and hands it out."""

import weakref
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Final, NamedTuple

import streamlit as st

from app_pages.door import access, handed
from app_pages.language import code_texts, formats, occurrences
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, address, elements, links, views
from pipeline import instants
from pipeline.audit import drawing
from pipeline.audit.export import ON_ITS_WAY, Exported, export
from pipeline.audit.request import MOST_DRAWN, Request, Sample, Scope
from pipeline.clearance.clearances import Awaited
from pipeline.continuity import service
from pipeline.files.temporary import OwnFolder
from pipeline.log.kinds.seller_notice import SELLER_NOTICE
from pipeline.serve.roles import Permission

_SCOPES: Final = {
    "process": N_("One process"),
    "seller": N_("One seller"),
    "period": N_("A period"),
}
_SAMPLE: Final = "sample"
"""Stands in the place of a code of `_SCOPES`."""
_PROFILES: Final = {
    "masked": N_("Masked: for anyone who does not need personal data"),
    "full": N_("Full: with every body and artifact, for the platform's auditor"),
}
_STAGES: Final = {
    "reading the log": N_("Reading the log …"),
    "working out the tables": N_("Working out the tables …"),
    "proving entries": N_("Proving entries …"),
}
_MAX_DAYS: Final = 366
_QUARTERS: Final = 4
_ALWAYS: Final = "always"
_USUAL_SIZE: Final = 10
_DRAWN_BEFORE: Final = 20
_FEW_DRAWN: Final = 6
_CHECKPOINT: Final = "checkpoint"
_DRAWN: Final = "drawn"
"""In the address: the entry of a sample that was drawn."""
_MADE: Final = "package made"
_WAITS: Final = "package waits"
_ICON: Final = ":material/inventory_2:"


class _Subject(NamedTuple):
    """What a package is to be about, as far as the reader has said."""

    kind: str  # a code of `_SCOPES`, or `_SAMPLE`
    id: str = ""  # of the process or seller
    days: tuple[date, ...] = ()
    """First and last of a period, once both are chosen; of a seller, those of a quarter."""
    sample: Sample | None = None
    earlier: Scope | None = None
    """Of a sample that was drawn before: its package is made again, of the same processes."""

    @property
    def is_period(self) -> bool:
        return len(self.days) == 2

    @property
    def is_too_long(self) -> bool:
        return self.is_period and (self.days[1] - self.days[0]).days >= _MAX_DAYS

    @property
    def is_complete(self) -> bool:
        if self.earlier is not None:
            return True
        is_said = self.is_period if self.kind in ("period", _SAMPLE) else bool(self.id)
        is_right = self.sample is None or self.sample.is_numbered_rightly
        return is_said and is_right and not self.is_too_long

    def scope(self) -> Scope:
        """For a complete subject: what the export takes."""
        if self.earlier is not None:
            return self.earlier
        return Scope(
            process_id=self.id if self.kind == "process" else None,
            seller_id=self.id if self.kind == "seller" else None,
            since=_start_of(self.days[0]) if self.is_period else None,
            until=_start_of(self.days[1] + timedelta(1)) if self.is_period else None,
            sample=self.sample,
        )


class _Package:
    """A package of this session, and what was asked for; when the session forgets it, its folder
    goes."""

    def __init__(self, exported: Exported, request: Request) -> None:
        self.exported = exported
        self.request = request

    @property
    def permissions(self) -> set[Permission]:
        """What somebody must be allowed to do who takes it away."""
        is_full = self.request.profile == "full"
        return {Permission.EXPORT, Permission.UNMASK} if is_full else {Permission.EXPORT}


def show(*, is_sample: bool = False) -> None:
    """The whole section: the form, the preview beside it, and the package once it is made.
    `is_sample`: whether the processes of a period are drawn."""
    if is_sample:
        st.header(_("A sample that nobody chooses"), anchor=False)
        st.markdown(
            _(
                "Processes of a period, drawn by a signed checkpoint of the log and a number of"
                " yours. Each drawing is an entry of the log, and the package proves that these"
                " are the ones that follow."
            )
        )
    else:
        st.header(_("Audit package"), anchor=False)
        st.markdown(
            _(
                "Requested, collected, submitted, answered: every entry with a proof that it"
                " stands in the signed log, and the bytes of each that the profile shows. Making"
                " one is an entry of the log itself."
            )
        )
    if views.as_of() is not None:
        st.info(_("A package always holds the log as it is now, not as it stood at that instant."))

    asking, beside = st.columns([1, 1], gap="medium")
    with asking, st.container(key="asked_for", gap="xsmall"):
        subject = _ask(_choose_sample() if is_sample else _choose_subject())
    made = _own()
    is_of_this = (
        made is not None and subject.is_complete and made.request.scope == _chosen(subject).scope()
    )
    with beside:
        if made is not None and is_of_this:
            _offer(made)  # where the reader looks who has just pressed the button
        else:
            with st.container(border=True, height="stretch"):
                st.header(_box_title(subject), anchor=False)
                _preview(subject)
    if st.session_state.pop(_WAITS, False):
        _say_that_it_waits()
    if made is not None and not is_of_this:
        _offer(made)


def _box_title(subject: _Subject) -> str:
    if subject.sample is None:
        return _("What goes in")
    return _("What the drawing rests on") if subject.earlier is None else _("What was drawn")


def _own() -> _Package | None:
    """The package that this reader has made and may take away."""
    made: _Package | None = st.session_state.get(_MADE)
    if made is not None and made.request.actor != acting.reader_name():
        del st.session_state[_MADE]  # whoever is next says why for themselves
        return None
    return made if made is not None and all(map(access.may, made.permissions)) else None


# --- what it is to be about ----------------------------------------------------------------------


def _choose_subject() -> _Subject:
    """The inputs for the scope but for an id; what they say stands in the URL."""
    kind = address.choice(_("Scope"), {code: _(text) for code, text in _SCOPES.items()}, "scope")
    if kind == "period":
        today = views.moment().date()
        chosen = address.days(_("From and to"), "days", (today - timedelta(30), today))
        return _Subject(kind, days=chosen)
    if kind == "process":
        return _Subject(kind)
    quarters = _quarters()
    names = {code: _quarter_name(first) for code, (first, _last) in quarters.items()}
    quarter = address.choice(_("When"), {_ALWAYS: _("All time"), **names}, "quarter")
    return _Subject(kind, days=quarters.get(quarter, ()))


def _ask_which(kind: str) -> str:
    """The id of the process or the seller, within the form, and the button that shows what goes in:
    as an input outside of it, the click that left it was lost now and then."""
    typed = address.text(
        _("Process") if kind == "process" else _("Seller"),
        "subject",
        placeholder="prc_…" if kind == "process" else "sel_…",
        width="stretch",
    )
    st.form_submit_button(_("Show what goes in"), icon=":material/visibility:", key="show_contents")
    return typed


def _choose_sample() -> _Subject:
    """The inputs for a sample. The checkpoint stays the one that was first shown: it has to be
    known before the number is."""
    if (before := _drawn_before()) is not None:
        st.button(_("Draw another sample"), icon=":material/casino:", on_click=leave_sample)
        return before
    today = views.moment().date()
    days = address.days(_("From and to"), "days", (today - timedelta(90), today))
    held, checkpoint = service.current(), address.whole(_CHECKPOINT)
    if checkpoint is None or not drawing.is_signed(held, checkpoint):
        checkpoint = drawing.newest(held).size
        address.keep(_CHECKPOINT, checkpoint)
    return _Subject(_SAMPLE, days=days, sample=_sample(checkpoint))


def _ask_how_it_is_drawn() -> None:
    """Size and number of a sample, within the form: an input that stands outside of one is handed
    over as it is left, and the click that left it could be lost on the way."""
    size, number = st.columns(2)
    size.number_input(_("Processes"), 1, MOST_DRAWN, _USUAL_SIZE, key="sample_size")
    with number:
        st.text_input(
            _("A number of yours (optional)"),
            key="sample_number",
            placeholder=_("up to nine digits"),
            help=_(
                "Note the checkpoint beside this form first, then give a number that nobody could"
                " have known, such as one from dice: so neither was chosen for the other."
            ),
        )
        acting.say_at("sample_number")


def _drawn_before() -> _Subject | None:
    """The sample that the address names, whose processes are fixed; None where it names none."""
    seq = address.whole(_DRAWN)
    row = None if seq is None else views.read_one("samples", where={"seq": seq})
    if row is None:
        return None
    sample = Sample(row["size"], row["number"] or "", row["checkpoint"])
    since, until = (
        instants.from_datetime(end.replace(tzinfo=UTC)) for end in (row["since"], row["until"])
    )
    earlier = Scope(since=since, until=until, sample=sample)
    return _Subject(_SAMPLE, sample=sample, earlier=earlier)


def leave_sample() -> None:
    """Takes out of the address which sample was drawn, and by which checkpoint one would be."""
    for key in (_DRAWN, _CHECKPOINT):
        if address.whole(key) is not None:
            address.leave_out(key)


def _sample(checkpoint: int | None) -> Sample:
    size = st.session_state.get("sample_size") or _USUAL_SIZE
    return Sample(size, acting.typed("sample_number"), checkpoint)


def _quarters() -> dict[str, tuple[date, date]]:
    """The first and the last day of this quarter and of the three before, the newest first."""
    this = views.moment().date()
    quarters: dict[str, tuple[date, date]] = {}
    for _back in range(_QUARTERS):
        first = date(this.year, 3 * ((this.month - 1) // 3) + 1, 1)
        beyond = (first + timedelta(92)).replace(day=1)
        quarters[f"{first:%Y-%m}"] = (first, beyond - timedelta(1))
        this = first - timedelta(1)
    return quarters


def _quarter_name(first: date) -> str:
    return _("Q{n} {year}", n=formats.number((first.month + 2) // 3), year=f"{first:%Y}")


def _chosen(shown: _Subject) -> _Subject:
    """What the inputs say now. `shown`: what they said when the page was drawn. Size and number of
    a sample are what was typed since, as the reason is: nothing of them had to be shown first."""
    if shown.earlier is not None:
        return shown
    kind = st.session_state.get("scope") or next(iter(_SCOPES))
    if kind == "period" or shown.sample is not None:
        picked = st.session_state.get("days") or ()
        days = tuple(picked) if isinstance(picked, tuple) else (picked,)
        if shown.sample is not None:
            return _Subject(_SAMPLE, days=days, sample=_sample(shown.sample.checkpoint))
        return _Subject(kind, days=days)
    quarter = st.session_state.get("quarter") if kind == "seller" else None
    return _Subject(kind, acting.typed("subject"), _quarters().get(quarter or _ALWAYS, ()))


def _ask(subject: _Subject) -> _Subject:
    """Profile, id, reason and name, and the button for the subject whose contents stand beside it,
    which is given back."""
    is_full_allowed = may_take_everything()
    if is_full_allowed:
        st.radio(
            _("Profile"),
            list(_PROFILES),
            format_func=lambda code: _(_PROFILES[code]),
            key="profile",
        )
    is_to_be_drawn = subject.sample is not None and subject.earlier is None
    label = _("Draw and make the package") if is_to_be_drawn else _("Make the package")
    if subject.earlier is not None:  # the package itself may stand beside it, ready
        seq = formats.number(address.whole(_DRAWN))
        label = _("Make the package of entry {n} again", n=seq)
    with st.form("package", border=False):
        if is_to_be_drawn:
            _ask_how_it_is_drawn()
        elif subject.kind in ("process", "seller"):
            subject = subject._replace(id=_ask_which(subject.kind))
        st.text_area(_("Why is it needed?"), key="reason", height=68)
        acting.say_at("reason")
        acting.submit(
            "package",
            label,
            partial(_order, subject),
            icon=":material/inventory_2:",
            may=Permission.EXPORT,
            in_past=True,
            actor="actor",
        )
    if not is_full_allowed:
        st.markdown(
            formats.muted(
                _(
                    "The package is masked. A full one holds personal data: without a login,"
                    " whoever runs Prazo makes it. See *Packages* in the guide *Evidence*."
                )
            )
        )
    return subject


def _order(subject: _Subject) -> acting.Feedback:
    """Makes the package that was asked for, or says what is missing."""
    reason, actor = acting.typed("reason"), acting.actor_of("actor")
    is_full = st.session_state.get("profile") == "full" and may_take_everything()
    st.session_state.pop(_MADE, None)
    chosen = _chosen(subject)
    # An id that was typed right before the press takes the place of no other one's contents.
    shown = subject._replace(id=subject.id.strip() or chosen.id)
    if chosen._replace(sample=subject.sample) != shown:
        unseen = _(
            "What goes in was not shown yet for what you chose: look at it, and press again."
        )
        return acting.Feedback(unseen, kept=reason)
    if chosen.sample is not None and not chosen.sample.is_numbered_rightly:
        wrong = _("Nothing was drawn: type digits only, nine at most, or leave this empty.")
        return acting.Feedback("", kept=reason, at=(("sample_number", wrong),))
    if not chosen.is_complete:
        return acting.Feedback(_("First say what the package is about."), kept=reason)
    if (lacking := acting.missing("reason", "actor")) is not None:
        return lacking
    return _make(
        Request(
            chosen.scope(),
            reason=reason,
            actor=actor,
            recorded_by=acting.RECORDED_BY,
            profile="full" if is_full else "masked",
        )
    )


def may_take_everything() -> bool:
    """Whether this reader may take personal data out: a role says so, or nobody needs a token."""
    whoever = access.person()
    is_known = whoever is not None and whoever.name is not None
    return access.may(Permission.UNMASK) and (is_known or not service.current().tokens.are_required)


# --- what goes in --------------------------------------------------------------------------------


def _preview(subject: _Subject) -> None:
    """What the package would hold, or what is still to be said first."""
    if subject.is_too_long:
        st.markdown(_("Choose a period of a year at most."))
    elif subject.earlier is not None:
        _say_what_was_drawn(address.whole(_DRAWN) or 0)
        st.markdown(formats.muted(_("Its package can be made again: it holds the same processes.")))
    elif subject.sample is not None:
        _rests_on(subject.sample)
    elif subject.is_complete:
        _contents_table(_contents(subject))
        if subject.is_period:
            st.markdown(
                formats.muted(
                    _(
                        "And whatever else the log holds of the processes of that time. Days are"
                        " UTC days."
                    )
                )
            )
    else:
        st.markdown(_("Enter a process or a seller to see what goes in."))


def _rests_on(sample: Sample) -> None:
    """What the drawing rests on, and which samples were drawn before."""
    root = drawing.root_at(service.current(), sample.checkpoint or 0).hex()
    elements.details(
        {
            _("Checkpoint"): ngettext(
                "{n} entry",
                "{n} entries",
                sample.checkpoint or 0,
                n=formats.number(sample.checkpoint),
            ),
            _("Root"): formats.code(root),
        },
        alt=_("What the drawing rests on"),
    )
    drawn = views.read("samples", limit=_DRAWN_BEFORE)
    if not drawn:
        st.markdown(_("No sample was drawn so far."))
        return
    st.markdown(f"**{_('Samples drawn so far')}**")
    with st.container(height="content" if len(drawn) <= _FEW_DRAWN else 320, gap="xsmall"):
        for row in drawn:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(_drawing_said(row))
                if row["is_repeated"]:
                    continue
                st.button(
                    _("Package of entry {n}", n=formats.number(row["seq"])),
                    icon=_ICON,
                    key=f"drawn {row['seq']}",
                    on_click=address.keep,
                    args=(_DRAWN, row["seq"]),
                )
    elements.say_if_cut("samples", drawn, _DRAWN_BEFORE, where={})


def _drawing_said(row: views.Row) -> str:
    """A sample that was drawn, in a line: when, of what, by which number, by whom."""
    said = [
        formats.minute(row["occurred_at"]),
        _days(row["since"], row["until"]),
        ngettext("{n} process", "{n} processes", row["size"], n=formats.number(row["size"])),
        _number_said(row["number"]),
        formats.plain(row["actor"] or "–"),
        *([_("the package of an earlier drawing, made again")] if row["is_repeated"] else []),
    ]
    return " · ".join(said)


def _number_said(number: str | None) -> str:
    """The number by which a sample was drawn."""
    if not number:
        return _("no number given")
    return _("number {number}", number=formats.plain(number))


def _contents(subject: _Subject) -> Sequence[views.Row]:
    """What a package of this subject would hold, kind by kind."""
    if subject.kind == "process":
        return views.read("process_contents", where={"process_id": subject.id})
    of_seller = {"seller_id": subject.id} if subject.kind == "seller" else {}
    if not subject.is_period:
        return views.read("seller_contents", where=of_seller)
    first, last = subject.days
    every = [first + timedelta(n) for n in range((last - first).days + 1)]
    view = "seller_day_contents" if of_seller else "day_contents"
    return _by_kind(views.read(view, where={**of_seller, "day": every}))


def _by_kind(rows: Sequence[views.Row]) -> list[views.Row]:
    """What a period holds, kind by kind: the views count it per day."""
    kinds: dict[str, list[views.Row]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row)
    return [
        {
            "kind": kind,
            "entries": sum(row["entries"] for row in of_kind),
            "days": (
                min(row["day"] for row in of_kind),
                max(row["day"] for row in of_kind),
            ),
        }
        for kind, of_kind in kinds.items()
    ]


def _contents_table(rows: Sequence[views.Row]) -> None:
    """The contents as a table, or that there is nothing."""
    if not rows:
        st.markdown(_("No entry of the log is in this scope."))
        return
    st.table(
        {
            _("Kind"): [formats.plain(_kind(row["kind"])) for row in rows],
            _("Entries"): [formats.number(row["entries"]) for row in rows],
            _("When"): [
                " – ".join(map(formats.day, dict.fromkeys(row["days"])))
                if "days" in row
                else formats.span(row["first_at"], row["last_at"])
                for row in rows
            ],
        },
        hide_index=True,
        border="horizontal",
        height=min(46 * (len(rows) + 1), 320),
        alt=_("What goes into the package"),
    )


def _kind(code: str) -> str:
    """A kind of entry in words, as entries of it are titled: calls and letters are notices, too."""
    if code == SELLER_NOTICE:
        return _("Seller notices, calls and letters")
    return code_texts.word(occurrences.KINDS, code)


def _start_of(day: date) -> int:
    """The first microsecond of a day: a UTC day, like those of every view and of the preview."""
    return instants.from_datetime(datetime.combine(day, time(), UTC))


# --- making it and handing it out ----------------------------------------------------------------


def _make(request: Request) -> acting.Feedback:
    """Makes the package, in a folder that goes with the session. Meanwhile nothing can be drawn on
    the page: how far it is stands in the corner."""
    folder = OwnFolder(ON_ITS_WAY)
    corner = st.toast(_("Making the package …"), icon=_ICON, duration="long")
    said = ""

    def show(what: str, done: int, total: int) -> None:
        nonlocal said
        stage = formats.plain(code_texts.word(_STAGES, what))
        text = f"{stage} {formats.plain(formats.share(min(done / max(total, 1), 1.0)))}"
        if text != said:
            said = text
            corner.toast(text, icon=_ICON, duration="long")

    # A reason that stays would be taken for one that is half written when the page is left.
    done = acting.Feedback("", is_done=True, empties=("reason",))
    made: list[Exported] = []
    path = folder.path / "audit-package.zip"
    try:
        error = acting.tried(
            lambda: made.append(export(service.current(), request, path, show)), request.actor
        )
    finally:
        ended = _("Package made") if made else _("The package was not made")
        corner.toast(ended, icon=_ICON)
        if not made:
            folder.remove()
    if error is None:
        package = _Package(made[0], request)
        weakref.finalize(package, folder.remove)
        st.session_state[_MADE] = package
        if request.scope.sample is not None:
            address.keep(_DRAWN, made[0].seq)  # a reload finds it again
        return done
    acting.catch_up()  # an export is an entry, even one that came to nothing, and so is a request
    if not isinstance(error, Awaited):
        return acting.Feedback("", error=error, kept=request.reason)
    acting.remember_name(request.actor)
    st.session_state[_WAITS] = True
    return done


def _say_that_it_waits() -> None:
    """Where a full package needs a second person: what happens next."""
    st.info(
        _(
            "It is asked for, and stands in the log. Somebody else approves or refuses it on the"
            " page Alerts; once they have approved it, ask here for the same package again."
        ),
        title=_("This package waits for a second person"),
        icon=":material/group:",
    )
    links.to_alerts(_("What waits for a second person"))


def _offer(made: _Package) -> None:
    """The package that was made: its digest, its entry, the key, and the file itself."""
    exported, permissions = made.exported, made.permissions
    with st.container(border=True):
        st.header(_("The package is ready"), anchor=False)
        handed.button(
            _("Download the package"),
            lambda: exported.path,
            file_name=exported.name,
            mime="application/zip",
            may=lambda whoever: all(map(whoever.may, permissions)),
        )
        elements.details(
            {
                _("Scope"): _scope_line(made.request.scope),
                _("Profile"): formats.plain(_(_PROFILES[made.request.profile])),
                "SHA-256": formats.code(exported.sha256),
                _("Entries"): _(
                    "{n}, and the export's own, which report and tables do not list",
                    n=formats.number(exported.entries - 1),
                ),
                _("Bodies left out"): formats.number(exported.withheld),
                _("Artifacts left out"): formats.number(exported.artifacts_left_out),
                _("Recorded as entry"): formats.number(exported.seq),
                _("Key to verify it with"): formats.code(exported.key),
            },
            alt=_("The package that was made"),
        )
        st.markdown(
            _(
                "Hand over the key separately from the package. Anyone who has both can check it:"
                " see *Verifying a package* in the guide *Evidence*."
            )
        )
        links.to_named("check", _("Check a package"))
        if made.request.scope.sample is not None:
            _say_what_was_drawn(exported.seq)


def _say_what_was_drawn(seq: int) -> None:
    """The processes of the sample, by its entry in the log, each with the way to its page."""
    sample = views.read_one("samples", where={"seq": seq})
    if sample is None:
        return
    processes = sample["processes"] or ()
    st.markdown(_drawing_said(sample))
    st.markdown(
        ngettext(
            "{n} of {total} process of the period was drawn:",
            "{n} of {total} processes of the period were drawn:",
            sample["population"],
            n=formats.number(len(processes)),
            total=formats.number(sample["population"]),
        )
    )
    with st.container(height="content" if len(processes) <= _USUAL_SIZE else 320, gap="xsmall"):
        for process in processes:
            links.to_process(process, is_named=True)


def _scope_line(scope: Scope) -> str:
    """What a package is about, in Markdown."""
    ids = {"process_id": scope.process_id, "seller_id": scope.seller_id}
    said = [formats.code(views.shown(column, it)) for column, it in ids.items() if it is not None]
    if scope.since is not None and scope.until is not None:
        said.append(_days(instants.of(scope.since), instants.of(scope.until)))
    if scope.sample is not None:
        said.append(_("a sample of {n}", n=formats.number(scope.sample.size)))
        said.append(_number_said(scope.sample.number))
    return ", ".join(said)


def _days(since: datetime, until: datetime) -> str:
    ends = (since, until - timedelta(microseconds=1))
    return " – ".join(formats.day(it.date()) for it in ends)
