"""What forms about processes share: their inputs, and the entries that they make under a name."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

import streamlit as st

from app_pages.desk import people
from app_pages.language import code_texts, formats, occurrences
from app_pages.language.i18n import _
from app_pages.parts import acting, elements, views
from pipeline.alert.acting import acknowledge
from pipeline.alert.acting import take_back as take_back_step
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.inbox import Outcome, Receipt
from pipeline.language import codes
from pipeline.log.actions import ASSIGNED, UNDONE, By, action
from pipeline.log.entries import Draft
from pipeline.log.kinds.assignment import ASSIGNMENT
from pipeline.log.kinds.note import new_note_id, note
from pipeline.log.kinds.retraction import retraction
from pipeline.log.kinds.seller_notice import BY_HAND, PHONE, REACHED, by_hand, new_message_id
from pipeline.log.kinds.ticket import ticket
from pipeline.serve.roles import Permission
from pipeline.texts import is_blank

MOST_TIMES: Final = 5
"""How often recording is tried, where other entries of the process come in each time."""


def assignment(row: views.Row, assignee: str | None, why: str, actor: str) -> Draft:
    """`assignee`: None gives the process back to nobody."""
    return action(
        ASSIGNMENT,
        reason=why.strip() or ASSIGNED,
        assignee=assignee,
        **signed(row, actor),
    )


def write_notes(processes: Sequence[views.Row], text_key: str, actor_key: str) -> acting.Feedback:
    """Records a note on each of these processes; for a moment they can be taken back."""
    if (lacking := acting.missing(text_key, actor_key)) is not None:
        return lacking
    text, actor = acting.typed(text_key), acting.actor_of(actor_key)
    ids = {row["process_id"]: new_note_id() for row in processes}

    def drafts(by: By, *, is_taken_back: bool = False) -> list[Draft]:
        return [
            note(
                ids[row["process_id"]],
                by,
                process_id=row["process_id"],
                seller_id=row["seller_id"],
                is_taken_back=is_taken_back,
            )
            for row in processes
        ]

    def undo() -> acting.Feedback:
        by = By(UNDONE, actor, acting.RECORDED_BY)
        return acting.record(lambda: drafts(by, is_taken_back=True), actor, acting.taken_back())

    by = By(text.strip(), actor.strip(), acting.RECORDED_BY)
    return record(processes, lambda: drafts(by), actor, text)._replace(undo=undo)


def signed(row: views.Row, actor: str) -> dict[str, Any]:
    return {
        "actor": actor.strip(),
        "recorded_by": acting.RECORDED_BY,
        "process_id": row["process_id"],
        "seller_id": row["seller_id"],
    }


def record(
    processes: Sequence[views.Row], drafts: Callable[[], Sequence[Draft]], actor: str, kept: str
) -> acting.Feedback:
    """As `acting.record`, for entries about these processes, which the text names."""
    return acting.record(drafts, actor, recorded(processes), kept=kept)


def recorded(processes: Sequence[views.Row], what: str = "") -> acting.Feedback:
    """`what` was recorded, as Markdown, where the form that is gone had a choice."""
    names = elements.paths([key_of(it) for it in processes])
    said = (
        _("Recorded for {processes}: {what}.", processes=names, what=what)
        if what
        else _("Recorded for {processes}.", processes=names)
    )
    return acting.Feedback(said, is_done=True)


def key_of(process: views.Row) -> str:
    """A process's id as pages show it. The browser gets the keys of elements, so they are masked,
    too."""
    return views.shown("process_id", process["process_id"])


# --- their inputs --------------------------------------------------------------------------------


def submit(
    key: str, label: str, press: acting.Press, *, about: object = "", actor: str | None = None
) -> None:
    acting.submit(key, label, press, about=about, may=Permission.ANNOTATE, actor=actor)


def ask_whom(key: str) -> None:
    """Asks who takes care of something, by a name to choose or to type. Empty means the reader,
    whose name is known or asked for once."""
    st.selectbox(
        _("Who will take care of it? Empty: you"),
        [_("Unassigned"), *people.known()],
        index=None,
        accept_new_options=True,
        placeholder=_("Choose or type a name"),
        key=f"assignee {key}",
    )


def assignee_of(key: str, actor: str) -> str | None:
    """The name that was chosen or typed; the actor's where none was; None for nobody."""
    named = acting.typed(f"assignee {key}")[: acting.MAX_NAME_CHARACTERS]
    return None if named == _("Unassigned") else named or actor


def ask_contact(key: str) -> None:
    """Asks whether the seller was called or written a letter, and what came of a call."""
    st.segmented_control(
        _("How was the seller contacted?"),
        BY_HAND,
        default=PHONE,
        required=True,
        format_func=lambda code: code_texts.word(codes.SELLER_CHANNELS, code),
        key=f"contact_channel {key}",
    )
    # Once one is chosen, nothing is said to lack any more (`static/page.css`).
    with st.container(gap="small", key=f"call_outcome {key}"):
        # Side by side: the calendar, which opens above where a form ends, lay over other answers.
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            st.segmented_control(
                _("What came of the call?"),
                list(codes.CALL_OUTCOMES),
                format_func=lambda code: code_texts.word(codes.CALL_OUTCOMES, code),
                key=f"contact_outcome {key}",
                width="stretch",
            )
            st.date_input(
                _("If reached: promised for when?"),
                value=None,
                format="DD/MM/YYYY",
                key=f"contact_promise {key}",
                width=200,
            )
        acting.say_at(f"contact_outcome {key}")
    acting.say_at(f"contact_promise {key}")
    st.text_area(
        _("What was said"),
        key=f"contact_note {key}",
        height="content",
    )
    acting.say_at(f"contact_note {key}")


def record_contact(key: str, processes: Sequence[views.Row], actor: str) -> acting.Feedback:
    """Records the call or letter that was typed into a form, about each of these processes: one for
    all processes of a seller. For a moment it can be taken back."""
    wrong = [*_wrong_of_call(key)] if _is_call(key) else []
    if (too_long := acting.too_long(acting.typed(f"contact_note {key}"))) is not None:
        wrong.append((f"contact_note {key}", too_long))
    if not is_blank(actor) and wrong:
        return acting.Feedback("", at=tuple(wrong))
    by_seller = {_seller_of(row): new_message_id() for row in processes}
    ids = {row["process_id"]: by_seller[_seller_of(row)] for row in processes}
    done = record(
        processes,
        lambda: [_contact(ids[row["process_id"]], key, row, actor) for row in processes],
        actor,
        acting.typed(f"contact_note {key}"),
    )

    def undo() -> acting.Feedback:
        contacts = [{**row, "message_id": ids[row["process_id"]]} for row in processes]
        return retract(contacts, UNDONE, actor)

    if done.is_done:
        done = recorded(processes, formats.plain(_said_of_contact(key, processes)))
    return done._replace(undo=undo, empties=(f"contact_note {key}",))


def _said_of_contact(key: str, processes: Sequence[views.Row]) -> str:
    """What was chosen of a call or letter, in words."""
    said = [code_texts.word(codes.SELLER_CHANNELS, acting.typed(f"contact_channel {key}") or PHONE)]
    if _is_call(key):
        said.append(code_texts.word(codes.CALL_OUTCOMES, acting.typed(f"contact_outcome {key}")))
        if promised := st.session_state.get(f"contact_promise {key}"):
            deadlines = [it["deadline_at"] for it in processes if it["deadline_at"] is not None]
            said.append(occurrences.promised(promised.isoformat(), min(deadlines, default=None)))
    return " · ".join(said)


def retract(contacts: Sequence[views.Row], why: str, actor: str, kept: str = "") -> acting.Feedback:
    """Records that these calls and letters, each about one process, were recorded by mistake, of
    those of which nobody has done so already: a retraction is final (docs/rules.md#seller-notices).
    `kept`: what was typed."""
    by = By(why, actor, acting.RECORDED_BY)
    acting.catch_up()
    retracted = {(it["message_id"], it["process_id"]) for it in _retracted(contacts)}
    standing = [it for it in contacts if (it["message_id"], it["process_id"]) not in retracted]
    return _record_unless(
        _retracted_already,
        standing or contacts,
        lambda row: retraction(
            row["message_id"], by, process_id=row["process_id"], seller_id=row["seller_id"]
        ),
        actor,
        kept,
        _taken_back,
    )


def _retracted_already(contacts: Sequence[views.Row]) -> str | None:
    """Why nothing is taken back: one of these calls and letters was. None where none was."""
    for now in _retracted(contacts):
        return _("It was undone already, {at}.", at=formats.minute(now["retracted_at"]))
    return None


def _retracted(contacts: Sequence[views.Row]) -> list[views.Row]:
    """Those of these calls and letters that were taken back, as `seller_notices` has them now."""
    messages = sorted({it["message_id"] for it in contacts})
    processes = {it["process_id"] for it in contacts}
    found = views.read("seller_notices", where={"message_id": messages})
    retracted = (it for it in found if it["retracted_at"] is not None)
    return [it for it in retracted if it["process_id"] in processes]


def _wrong_of_call(key: str) -> tuple[tuple[str, str], ...]:
    """What is wrong with what was chosen of a call, at its input; nothing where it is right."""
    outcome, promise = f"contact_outcome {key}", f"contact_promise {key}"
    promised = st.session_state.get(promise)
    if not acting.typed(outcome):
        return ((outcome, _("What came of the call is still missing.")),)
    if promised and acting.typed(outcome) != REACHED:
        return ((promise, _("Only who was reached can have promised a day: leave it empty.")),)
    if promised and promised < formats.local(views.moment()).date():
        over = _("{day} is over: choose the day that they promised.", day=formats.day(promised))
        return ((promise, over),)
    return ()


def _seller_of(row: views.Row) -> tuple[str, str]:
    """Who is called about a process: where its seller is not known, somebody else for each."""
    seller = row["seller_id"]
    return ("process", row["process_id"]) if seller is None else ("seller", seller)


def _is_call(key: str) -> bool:
    return (acting.typed(f"contact_channel {key}") or PHONE) == PHONE


def _contact(message_id: str, key: str, row: views.Row, actor: str) -> Draft:
    channel = acting.typed(f"contact_channel {key}") or PHONE
    promised = st.session_state.get(f"contact_promise {key}")
    is_call = _is_call(key)
    return by_hand(
        message_id,
        channel,
        outcome=acting.typed(f"contact_outcome {key}") if is_call else None,
        promised_for=promised.isoformat() if is_call and promised else None,
        note=acting.typed(f"contact_note {key}") or None,
        **signed(row, actor),
    )


def ask_number(key: str) -> None:
    label = _("Number of the ticket")
    st.text_input(label, max_chars=acting.MAX_NAME_CHARACTERS, key=number_key(key))


def number_key(key: str) -> str:
    return f"ticket_number {key}"


def open_tickets(processes: Sequence[views.Row], number: str, actor: str) -> acting.Feedback:
    """Records a ticket as opened for each of these processes, unless one of them has one. For a
    moment it can be taken back."""
    closes = partial(ticket, "closed", reason=UNDONE)
    undo = partial(_undo_ticket, step="opened", number=number, draft=closes, actor=actor)
    return _record_unless(
        _ticket_in_the_way,
        processes,
        lambda row: ticket("opened", number=number, **signed(row, actor)),
        actor,
        number,
        lambda rows: recorded(rows)._replace(undo=partial(undo, rows)),
    )


def close_ticket(process: views.Row, drawn: views.Row, actor: str) -> acting.Feedback:
    """Records the ticket that was drawn, a row of `tickets`, as closed, unless somebody else has
    closed it since. For a moment it can be taken back."""
    opens = partial(ticket, "opened", number=drawn["number"] or "–", reason=UNDONE)
    undo = partial(_undo_ticket, [process], "closed", drawn["number"], opens, actor)
    return _record_unless(
        lambda rows: _another_ticket(rows, "opened", drawn["number"]),
        [process],
        lambda row: ticket("closed", **signed(row, actor)),
        actor,
        "",
        lambda rows: recorded(rows)._replace(undo=undo),
    )


def _undo_ticket(
    processes: Sequence[views.Row],
    step: str,
    number: str | None,
    draft: Callable[..., Draft],
    actor: str,
) -> acting.Feedback:
    """Takes back the step of a ticket by another, whose draft this gives, where it is still the
    latest word of each of these processes."""
    return _record_unless(
        lambda rows: _another_ticket(rows, step, number),
        processes,
        lambda row: draft(**signed(row, actor)),
        actor,
        "",
        _taken_back,
    )


def _taken_back(_processes: Sequence[views.Row]) -> acting.Feedback:
    return acting.taken_back()


def _another_ticket(processes: Sequence[views.Row], step: str, number: str | None) -> str | None:
    """Why nothing is recorded of a ticket: it is not the latest word of one of the processes that
    it was opened, or closed. None where it is."""
    ids = [it["process_id"] for it in processes]
    found = views.read("tickets", where={"process_id": ids})
    latest = [it for it in found if (it["step"], it["number"]) == (step, number)]
    if len(latest) == len(ids):
        return None
    shown = formats.plain(views.shown("number", number or "–"))
    if step == "opened":
        return _("Ticket {number} is not open any more.", number=shown)
    return _("It was changed meanwhile.")


def assign(
    processes: Sequence[views.Row], assignee: str | None, why: str, actor: str
) -> acting.Feedback:
    """Assigns each of these processes, or gives it back to nobody, unless one of them was assigned
    to somebody else since the page was drawn: that person would not know that it is no longer
    theirs. For a moment it can be taken back."""
    assignee = (assignee or "").strip() or None
    before = {row["process_id"]: row["assignee"] for row in processes}

    def undo(given: Sequence[views.Row]) -> acting.Feedback:
        return _record_unless(
            lambda rows: _assigned_since(rows, assignee),
            [{**row, "assignee": assignee} for row in given],
            lambda row: assignment(row, before[row["process_id"]], UNDONE, actor),
            actor,
            "",
            _taken_back,
        )

    def done(given: Sequence[views.Row]) -> acting.Feedback:
        what = _("unassigned") if assignee is None else _("assigned to {name}", name=assignee)
        return recorded(given, formats.plain(what))._replace(undo=partial(undo, given))

    return _record_unless(
        lambda rows: _assigned_since(rows, assignee),
        processes,
        lambda row: assignment(row, assignee, why, actor),
        actor,
        f"{assignee or ''} {why}".strip(),
        done,
    )


InTheWay = Callable[[Sequence[views.Row]], str | None]
"""Says why nothing is to be recorded about these processes, by what the pages see now."""


def _record_unless(
    in_the_way: InTheWay,
    processes: Sequence[views.Row],
    draft: Callable[[views.Row], Draft],
    actor: str,
    kept: str,
    done: Callable[[Sequence[views.Row]], acting.Feedback],
) -> acting.Feedback:
    """Appends an entry about each of these processes, unless `in_the_way` objects. Nothing else is
    recorded about a process between that look and its entry: of two people who act in the same
    moment, the second is refused. `done`: what to say of those about which it was recorded."""
    if is_blank(actor):
        return acting.Feedback(_("A name is needed: it goes into the log."), kept=kept)
    left = list(processes)
    for _time in range(MOST_TIMES):
        found = _record_once(in_the_way, left, draft, actor)
        if isinstance(found, (str, PrazoError)):
            return _not_of(left, processes, found, kept, done)
        if not found:
            return done(processes)
        left = found
    busy = _("Something else about it was recorded at the same moment: press again.")
    return _not_of(left, processes, busy, kept, done)


def _not_of(
    left: Sequence[views.Row],
    processes: Sequence[views.Row],
    why: str | PrazoError,
    kept: str,
    done: Callable[[Sequence[views.Row]], acting.Feedback],
) -> acting.Feedback:
    """Why nothing was recorded about those that are left of these processes, behind what was
    recorded about the others: somebody acted at the same moment, and was seen at a second look."""
    half = [it for it in processes if it not in left]
    if half:
        lead = _(
            "Recorded for {processes}, and not for {others}.",
            processes=elements.paths([key_of(it) for it in half]),
            others=elements.paths([key_of(it) for it in left]),
        )
    else:
        lead = _("Nothing was recorded.")
    said = acting.Feedback("", kept=kept, half=done(half) if half else None)
    if isinstance(why, PrazoError):
        return said._replace(text=lead if half else "", error=why)
    return said._replace(text=f"{lead} {why}")


def _record_once(
    in_the_way: InTheWay,
    processes: Sequence[views.Row],
    draft: Callable[[views.Row], Draft],
    actor: str,
) -> list[views.Row] | str | PrazoError:
    """Tries once. The processes about which something else was recorded meanwhile, so that they
    have to be tried again; or why nothing was recorded."""
    lengths: dict[str, int] = {}
    receipts: list[Receipt] = []

    def append() -> None:
        drafts = [draft(it) for it in processes]
        expected = [it._replace(expected_process_n=lengths[it.process_id or ""]) for it in drafts]
        receipts.extend(service.current().inbox.append(expected))

    error = acting.tried(lambda: lengths.update(_lengths(processes)))
    if error is None and (standing := in_the_way(processes)) is not None:
        return standing
    error = error or acting.tried(append, actor)
    if error is not None:
        return error
    pairs = zip(processes, receipts, strict=True)
    return [row for row, receipt in pairs if receipt.outcome is Outcome.CONFLICT]


def _lengths(processes: Sequence[views.Row]) -> Mapping[str, int]:
    """Process id -> how many entries of it the inbox holds."""
    count = "select coalesce(max(process_n), 0) from entries where process_id = $1"
    ids = [it["process_id"] for it in processes]
    return {name: service.current().inbox.query(count, name)[0][0] for name in ids}


def number_of(recorded: views.Row) -> str:
    """The number of a support ticket, as a row of `tickets` has it, in Markdown."""
    return formats.plain(views.shown("number", recorded["number"] or "–"))


def _ticket_in_the_way(processes: Sequence[views.Row]) -> str | None:
    """Why a ticket is not recorded: somebody has opened another one. None where none of the
    processes has an open ticket, by what the pages see."""
    ids = [it["process_id"] for it in processes]
    found = views.read("tickets", where={"process_id": ids, "step": "opened"}, limit=1)
    if not found:
        return None
    other = found[0]
    return _(
        "For {process}, ticket {other} has been open since {instant}, by {name}. Close that one"
        " first.",
        process=formats.plain(key_of(other)),
        other=number_of(other),
        instant=formats.minute(other["recorded_at"]),
        name=formats.plain(other["actor"] or "–"),
    )


def _assigned_since(processes: Sequence[views.Row], assignee: str | None) -> str | None:
    """Why nothing is assigned: one of the processes was assigned to somebody else since the page
    was drawn. None where none was."""
    drawn = {row["process_id"]: row["assignee"] for row in processes}
    for now in views.read("assignments", where={"process_id": list(drawn)}):
        if now["assignee"] not in (drawn[now["process_id"]], assignee):
            return _(
                "{process} has been assigned to {name} since {instant}. Press again to assign it"
                " all the same.",
                process=formats.plain(views.shown("process_id", now["process_id"])),
                name=formats.plain(now["assignee"] or _("Unassigned")),
                instant=formats.minute(now["assigned_at"]),
            )
    return None


# --- alerts --------------------------------------------------------------------------------------


def open_alerts(processes: Sequence[views.Row]) -> list[str]:
    """The alerts on these processes that somebody was told of and nobody has taken. All such alerts
    are asked for, which is one question for every row and every reader."""
    ids = {row["process_id"] for row in processes}
    columns = ["alert_id", "process_id", "raised_at"]
    found = views.groups("alerts", columns, where={"is_open": True}, is_shown=False)
    raised = (row for row in found if row["raised_at"] is not None)
    return [row["alert_id"] for row in raised if row["process_id"] in ids]


def take_alerts(alerts: Sequence[str], actor: str, done: acting.Feedback) -> acting.Feedback:
    """Records that the actor sees to these alerts, except for those that somebody else has taken
    since the page was drawn. `done`: what to say of those that are recorded."""
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    if not alerts:
        return acting.Feedback(_("Nobody was notified of an alert on these that is not taken yet."))
    acting.catch_up()
    found = views.read("alerts", where={"alert_id": list(alerts)})
    taken = [row for row in found if row["acknowledged_at"] is not None]
    left = [it for it in alerts if it not in {row["alert_id"] for row in taken}]
    inbox, taken_at = service.current().inbox, dict[str, int]()

    def take() -> None:
        for alert in left:
            taken_at[alert] = acknowledge(inbox, alert, actor=actor, recorded_by=acting.RECORDED_BY)

    error = acting.tried(take, actor)
    if error is not None:
        return acting.Feedback("", error=error)
    if left:
        return done._replace(undo=lambda: take_back("acknowledged", taken_at, actor))
    text = _(
        "Nothing was recorded: {name} has seen to it since {instant}.",
        name=formats.plain(taken[0]["acknowledged_by"] or "–"),
        instant=formats.minute(taken[0]["acknowledged_at"]),
    )
    return acting.Feedback(text)


def take_back(
    of: Literal["acknowledged", "snoozed"], taken_at: Mapping[str, int], actor: str
) -> acting.Feedback:
    """Takes back what the actor has just done about alerts. `taken_at`: each with when it was done;
    what others did about it stands."""
    inbox = service.current().inbox

    def act() -> None:
        for alert, at in taken_at.items():
            by = {"actor": actor, "recorded_by": acting.RECORDED_BY, "reason": UNDONE}
            take_back_step(inbox, alert, of, at, **by)

    error = acting.tried(act, actor)
    return acting.taken_back() if error is None else acting.Feedback("", error=error)
