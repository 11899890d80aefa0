"""Records what a reader does, under their name; personal data is shown only once that is recorded.

Each act is an entry of the log, most with a reason. Nothing is shown or done before its entry is in
the log. The name is asked for once: the reader's browser remembers it, in a cookie.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import quote, unquote

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app_pages.door import access
from app_pages.language import formats
from app_pages.language.i18n import _
from app_pages.parts import elements, folds, sights, views
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.http.refusals import reason_of
from pipeline.log.actions import MAX_REASON_CHARACTERS, action
from pipeline.log.entries import Draft
from pipeline.log.kinds.unmask import UNMASK
from pipeline.serve import standing
from pipeline.serve.roles import Permission
from pipeline.texts import is_blank

RECORDED_BY: Final = "dashboard"
UNDO_SECONDS: Final = 10
"""For so long after an act the page says that it was done, and its entry can be taken back by one
click."""
WATCH_SECONDS: Final = 11
"""Between two looks at whether personal data is to be masked again. Not a multiple of the pauses of
other fragments, so that they do not run at the same moment."""
MAX_NAME_CHARACTERS: Final = 200
DOUBLE_CLICK_SECONDS: Final = 1.0
"""For so long after an act, a press of the same button counts as the second click of a double
click."""
MOMENT_SECONDS: Final = 1.0
"""For so long a page waits for its reader's act, and shows what came of it; from then on it says
that the act goes on. No page waits for an act that says how far it is."""
PATIENCE_SECONDS: Final = 10.0
"""For so long a press waits for an act before it; then it does nothing, and says so."""
LOOK_SECONDS: Final = 3
"""Between two looks at whether such an act has ended."""

_UNMASKED: Final = "unmasked until"
_MASKED: Final = "what was masked while the page was open"
_NAME: Final = "name of the reader"
_OWN: Final = "what only its maker may read"
_FEEDBACK: Final = "what became of presses"
_DONE: Final = "what was just done"
_PRESSES: Final = "presses"
_CAUGHT_UP: Final = "own entries were waited for"
_COOKIE: Final = "prazo_name"
NAME_SCRIPT: Final = f"""(() => {{
    const name = document.getElementById('prazo-name')?.dataset.name
    const kept = '; path=/; samesite=strict; max-age=' + (name ? 31536000 : 0)
    document.cookie = '{_COOKIE}=' + (name ?? '') + kept
}})()"""
"""The same script for everybody, so that the content security policy can name it by its digest."""


def reader_name() -> str | None:
    """The name of whoever is logged in. On a dashboard without login, the name that they gave at
    this visit or an earlier one; None until they have given one."""
    known = access.person()
    if known is not None and known.name is not None:
        return known.name
    if _NAME not in st.session_state:
        st.session_state[_NAME] = kept_name()
    given: str | None = st.session_state[_NAME]
    return given or None


def kept_name() -> str:
    """The name that the reader's browser remembers; empty where it knows none."""
    kept = unquote(st.context.cookies.get(_COOKIE) or "").strip()[:MAX_NAME_CHARACTERS]
    return kept if kept.isprintable() else ""


def name_of_reader(key: str) -> str:
    """The name of whoever acts. Where it is not known yet, an input asks for it; once something was
    recorded under a name, or it was given in the header, it is not asked for again."""
    known = reader_name()
    if known is not None:
        return known
    name = st.text_input(_("Your name"), key=key, max_chars=MAX_NAME_CHARACTERS)
    say_at(key)
    return name


def remember_name(name: str) -> None:
    """Takes the name that the reader gives; an empty one, so that it is asked for again. If it is
    another person's, what the former reader gave a reason to see is masked again, and what they
    made for themselves is forgotten."""
    if reader_name() not in (None, name.strip()):
        _unmasked().clear()
        sights.end()
        st.session_state.pop(_DONE, None)
        own().clear()
    st.session_state[_NAME] = name.strip() or None


def own() -> dict[str, str]:
    """Secrets that the reader has just made, by a name: nobody else may read them, and they are
    forgotten as soon as the reader is somebody else."""
    made: dict[str, str] = st.session_state.setdefault(_OWN, {})
    return made


def keep_name() -> None:
    """Lets the reader's browser remember the name that they gave, or forget it once they are
    somebody else; nothing where people log in."""
    name = reader_name()
    if is_name_asked() and (name is not None or st.session_state[_NAME] is None):
        st.html(
            f'<i id="prazo-name" data-name="{quote(name or "", safe="")}"></i>'
            f"<script>{NAME_SCRIPT}</script>",
            unsafe_allow_javascript=True,
        )


def ask_for_name(key: str, label: str = "") -> None:
    """The form by which a reader says who they are; whatever depends on it is drawn then."""

    def remember() -> None:
        remember_name(typed(f"name {key}"))

    with st.form(f"name form {key}", border=False):
        label = label or _("Your name")
        st.text_input(label, key=f"name {key}", max_chars=MAX_NAME_CHARACTERS)
        icon = ":material/account_circle:"
        st.form_submit_button(_("That is me"), icon=icon, on_click=remember)


def name_or_question() -> str:
    """The reader's name as Markdown, or what asks for it."""
    name = reader_name()
    return formats.plain(name) if name else _("Who are you?")


def name_yourself() -> None:
    """Under which name the reader acts, in the header; nothing where people log in."""
    if not is_name_asked():
        return
    if reader_name() is None:
        ask_for_name("header", _("Who are you?"))  # another one may be asked for on the page
    else:
        st.markdown(_("What you record goes into the log under this name."))
        st.button(_("I am somebody else"), on_click=remember_name, args=("",), width="stretch")


def is_name_asked() -> bool:
    """Whether nobody logs in here, so that people are asked who they are."""
    known = access.person()
    return known is not None and known.name is None


def missing(text_key: str, actor_key: str) -> "Feedback | None":
    """What to say at the input of a text that is missing or too long, and at that of a missing
    name; None where both are right."""
    text, wrong = typed(text_key), []
    if is_blank(text):
        wrong.append((text_key, _("Fill this in: it goes into the log.")))
    elif (said := too_long(text)) is not None:
        wrong.append((text_key, said))
    if is_blank(actor_of(actor_key)):
        wrong.append((actor_key, _("A name is needed: it goes into the log.")))
    return Feedback("", kept=text, at=tuple(wrong)) if wrong else None


def too_long(text: str) -> str | None:
    """What to say of a text that is too long for the log; None where it is not. Said here, since an
    input with a limit of its own takes nothing of a text that is pasted and too long."""
    if len(text) <= MAX_REASON_CHARACTERS:
        return None
    return _(
        "At most {n} characters go into the log: this text has {total}.",
        n=formats.number(MAX_REASON_CHARACTERS),
        total=formats.number(len(text)),
    )


Act = Callable[[], object]
"""Records something in the inbox; raises `PrazoError` where it cannot."""


def tried(act: Act, actor: str | None = None) -> PrazoError | None:
    """Does an act, and waits until the pages see its entries. Returns the error with which it
    failed; None where it did not, and then the actor's name is remembered."""
    try:
        act()
    except PrazoError as error:
        if reason_of(error) == "store":
            standing.note(service.current(), "pages", error)
        return error
    catch_up()
    if actor is not None:
        remember_name(actor)
    return None


def catch_up() -> None:
    """Waits until the pages see all that stands in the log now."""
    held = service.current()
    with contextlib.suppress(PrazoError):  # the entries are safe; every page says how far it lags
        held.reach(held.inbox.last()[0])
    views.forget_answers()
    st.session_state[_CAUGHT_UP] = caught_up() + 1


def caught_up() -> int:
    """How often the session has waited for its own entries: what was read before lacks some."""
    times: int = st.session_state.get(_CAUGHT_UP, 0)
    return times


# --- a press -------------------------------------------------------------------------------------


class Feedback(NamedTuple):
    """What became of a press, to be said where its button stands."""

    text: str
    is_done: bool = False
    """True: what was asked for is done. While its button is there, the page shows that by itself,
    so that the text is only read aloud; it is shown where the button is gone."""
    error: PrazoError | None = None
    kept: str = ""
    """What was typed, or what was made; shown where the form is gone."""
    is_shown: bool = True
    """Whether the page itself shows what was done; if not, the text is shown at the button, too."""
    empties: tuple[str, ...] = ()
    """Keys of inputs to empty once their content is recorded. What was refused stays in them, to be
    corrected."""
    undo: "Press | None" = None
    """What takes it back, of what is only an entry of ours."""
    half: "Feedback | None" = None
    """What was done, where not all that was asked for is."""
    is_question: bool = False
    """Says what would follow: the next press does it, but not the second click of a double click,
    which nobody makes for what they have read."""
    at: tuple[tuple[str, str], ...] = ()
    """What is wrong with single inputs, each by its key: `say_at` says it under the input."""


class _Pressed(NamedTuple):
    """What a session has done, or was asked, by presses of one key."""

    acts: int = 0
    ended_at: float = -math.inf  # of the last one, `time.monotonic`
    feedback: Feedback | None = None


class _Presses:
    """The presses of a session. `turn` lets one act at a time: Streamlit answers a click that comes
    during another one's act on a thread of its own."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.made = 0  # of all keys, also those that were refused
        self.progress: tuple[int, int] | None = None  # of the act that goes on: done, of how many
        self._by_key: dict[str, _Pressed] = {}

    def of(self, key: str) -> _Pressed:
        return self._by_key.get(key, _Pressed())

    def note(self, key: str, feedback: Feedback) -> None:
        acts = self.of(key).acts + 1
        self._by_key[key] = _Pressed(acts, time.monotonic(), feedback)


def record(
    drafts: Callable[[], Sequence[Draft]], actor: str, done: Feedback, *, kept: str = ""
) -> Feedback:
    """Appends the entries in the actor's name. Returns `done`, or what is wrong where they were
    refused, with `kept`, which was typed."""
    if is_blank(actor):
        return Feedback(_("A name is needed: it goes into the log."), kept=kept)
    error = tried(lambda: service.current().inbox.append(drafts()), actor)
    return done if error is None else Feedback("", error=error, kept=kept)


Press = Callable[[], Feedback]
"""What a press does for what was on the page when it was pressed."""


def button(
    key: str,
    label: str,
    press: Press,
    *,
    icon: str | None = None,
    may: Permission,
    in_past: bool = False,
    disabled: bool = False,
) -> None:
    """A button that acts before the page is drawn again, so that it acts on what the reader saw.
    `may`: the permission that it needs. `in_past`: whether it also acts while the page looks at an
    instant that is over."""
    args = _asked(key, press, may, in_past)
    st.button(label, icon=icon, key=key, on_click=_press, args=args, disabled=disabled)
    _tell(key)


def submit(
    key: str,
    label: str,
    press: Press,
    *,
    about: object = "",
    icon: str | None = None,
    may: Permission,
    in_past: bool = False,
    actor: str | None = None,
) -> None:
    """As `button`, for the form that is being drawn. `about`: what the form is about, where that
    can change under the same key: the button of the form before must not act on something else.
    `actor`: the key of the name of whoever presses, for which the form has no input of its own: it
    is asked for beside the button, where it is in sight with what is said of it."""
    more: dict[str, Any] = {"key": f"{key} {about}"} if about else {}
    asked = _asked(key, press, may, in_past)
    with st.container(key=f"press {key}"):  # in what a button opens it stays in sight
        if actor is not None:
            name_of_reader(actor)
        _tell(key)
        st.form_submit_button(label, icon=icon, on_click=_press, args=asked, **more)


def typed(key: str) -> str:
    """What was typed into an input, even one that is no longer drawn."""
    return (st.session_state.get(key) or "").strip()


def actor_of(key: str) -> str:
    """The name of whoever pressed: the known one, or what was typed into `name_of_reader`."""
    return reader_name() or typed(key)


def say_at(key: str) -> None:
    """Says under the input that was just drawn what a press found wrong with it."""
    told: dict[str, Feedback] = st.session_state.get(_FEEDBACK, {})
    for pressed_key, feedback in told.items():
        for text in [text for input_key, text in feedback.at if input_key == key]:
            st.warning(text)
        left = tuple(it for it in feedback.at if it[0] != key)
        told[pressed_key] = feedback._replace(at=left)


def say_rest() -> None:
    """Says why presses failed whose buttons are no longer on the page, and what they have made.
    What was done is said by `say_done`."""
    told: dict[str, Feedback] = st.session_state.get(_FEEDBACK, {})
    for key in [key for key, it in told.items() if it.kept or not it.is_done]:
        feedback = told.pop(key)
        _say(feedback)
        if feedback.kept:
            st.code(feedback.kept, language=None, wrap_lines=True)


def pressed() -> int:
    """How often the session has acted: what any page shows may have changed since."""
    presses: _Presses | None = st.session_state.get(_PRESSES)
    return 0 if presses is None else presses.made


def wait_for_acts() -> None:
    """Waits until no act of the session goes on, but not for one that takes longer than a moment:
    `say_what_goes_on` says it, and draws the page again after it. Streamlit draws a page at once
    for whatever is clicked or left meanwhile, and breaks off the one that would have shown what was
    done."""
    presses: _Presses | None = st.session_state.get(_PRESSES)
    if presses is None or presses.progress is not None:
        return
    if presses.turn.acquire(timeout=MOMENT_SECONDS):
        presses.turn.release()


def progressing(total: int) -> Callable[[], None]:
    """For an act of many steps, such as sending many submissions: what it calls after each step.
    Until it ends, the reader's other pages are drawn at once, and say how far it is."""
    presses: _Presses = st.session_state[_PRESSES]
    presses.progress = 0, total

    def step() -> None:
        done, _total = presses.progress or (0, total)
        presses.progress = done + 1, total

    return step


def say_what_goes_on() -> None:
    """Says that an act goes on, and how far it is where that is known, and draws the page again
    once it has ended."""
    presses: _Presses | None = st.session_state.get(_PRESSES)
    if presses is not None and presses.turn.locked():
        _say_while_it_goes_on(presses)


@st.fragment(run_every=LOOK_SECONDS)
@elements.failures_said()
def _say_while_it_goes_on(presses: _Presses) -> None:
    if not presses.turn.locked():
        st.rerun()
    said = _("What you pressed is still going on. Once it has ended, this page is drawn again.")
    progress = presses.progress  # read once: the act ends on another thread
    if progress is not None:
        done, total = map(formats.number, progress)
        said = _("Done: {n} of {total}", n=done, total=total) + f". {said}"
    st.info(said, icon=":material/hourglass_top:")


def _asked(key: str, press: Press, may: Permission, in_past: bool) -> tuple[Any, ...]:
    presses: _Presses = st.session_state.setdefault(_PRESSES, _Presses())
    return key, press, may, in_past, presses, presses.of(key).acts


def _press(
    key: str, press: Press, may: Permission, in_past: bool, presses: _Presses, acts: int
) -> None:
    """Acts, unless this is the second click of a double click, which comes from a page that was
    drawn before the act, or right after it. The second click broke off the page that would have
    said what became of the first, so it says that itself."""
    with _unbroken(), _turn(presses) as is_free:
        if not is_free:
            said = _("Nothing was recorded: what you pressed before is still going on.")
            st.session_state.setdefault(_FEEDBACK, {})[key] = Feedback(said)
            return
        before, feedback = presses.of(key), _refused(may, in_past)
        is_second = acts != before.acts or time.monotonic() - before.ended_at < DOUBLE_CLICK_SECONDS
        if feedback is None and is_second:
            feedback = before.feedback
        elif feedback is None:
            feedback = press()
            presses.made += 1
            if feedback.is_done or feedback.is_question:
                presses.note(key, feedback)
        if feedback is None:
            return
        for emptied in feedback.empties if feedback.is_done else ():
            st.session_state[emptied] = ""
        if feedback.text or feedback.at or feedback.error is not None:
            st.session_state.setdefault(_FEEDBACK, {})[key] = feedback
        if feedback.is_done and not feedback.kept:
            folds.close()
        done = feedback if feedback.is_done else feedback.half
        if done is not None and not is_second:
            # Only the last act can be undone: an earlier one may be what that rests on.
            said = "" if done.undo is None else done.text
            st.session_state[_DONE] = _Done(done.undo, may, said)


@contextlib.contextmanager
def _turn(presses: _Presses) -> Iterator[bool]:
    """The turn of a press, or false once it has waited for long: an act may take many minutes."""
    if not presses.turn.acquire(timeout=PATIENCE_SECONDS):
        yield False
        return
    try:
        yield True
    finally:
        presses.progress = None
        presses.turn.release()


class _Done(NamedTuple):
    """What was just done, for a moment."""

    undo: Press | None
    may: Permission
    text: str = ""  # nothing where the page says it where the button stands
    until: float | None = None  # on the monotonic clock; None: it was not said yet
    page: str | None = None  # on which it was said first


def taken_back() -> Feedback:
    """That an entry is taken back."""
    return Feedback(_("Undone."), is_done=True)


def say_done() -> None:
    """Says over the page, while its time runs, what was just done by a button that is no longer on
    it, as its form has closed; with the button that takes it back, which follows to other pages.
    Nothing moves."""
    told = "  \n".join(it.text for it in st.session_state.pop(_FEEDBACK, {}).values())
    done: _Done | None = st.session_state.get(_DONE)
    if done is None:
        return
    context = get_script_run_ctx()
    here = "" if context is None else context.page_script_hash
    page = done.page or here
    if done.undo is None and page != here:  # of another page's rows it would cover some
        del st.session_state[_DONE]
        return
    until = done.until or time.monotonic() + UNDO_SECONDS
    done = done._replace(text=told or done.text, until=until, page=page)
    st.session_state[_DONE] = done
    _say_for_a_moment()


@st.fragment(run_every=UNDO_SECONDS + 1)
@elements.failures_said()
def _say_for_a_moment() -> None:
    done: _Done | None = st.session_state.get(_DONE)
    if done is None or done.until is None or time.monotonic() >= done.until:
        st.session_state.pop(_DONE, None)
        return
    if not done.text and done.undo is None:
        return
    key = f"undo {done.until}"
    with st.container(horizontal=True, vertical_alignment="center", key="done"):
        if done.text:
            st.success(done.text, icon=":material/check:")
        if done.undo is None:
            return
        if st.button(_("Undo"), icon=":material/undo:", key=key):
            _press(*_asked(key, done.undo, done.may, False))
            st.rerun()


def _refused(may: Permission, in_past: bool) -> Feedback | None:
    """Why the reader may no longer do what the drawn page offered; None where they may."""
    if not access.may(may):
        return Feedback(_("Nothing was recorded: your role does not allow it any more."))
    if views.as_of() is not None and not in_past:
        return Feedback(_("Nothing was recorded: the page shows an instant that is over."))
    return None


@contextlib.contextmanager
def _unbroken() -> Iterator[None]:
    """For a block that another click must not break off. Streamlit ends a run, and a callback, at
    its next use of the session once another click has come: that could be between an entry and the
    note that it was made. The flag is the one that Streamlit sets itself for such blocks."""
    context = get_script_run_ctx()
    asks = None if context is None else context.session_state._yield_callback
    runner: Any = getattr(asks, "__self__", None)
    if runner is None:  # in a test of this module alone
        yield
        return
    runner._execing = False
    try:
        yield
    finally:
        runner._execing = True


def _tell(key: str) -> None:
    feedback: Feedback | None = st.session_state.get(_FEEDBACK, {}).pop(key, None)
    if feedback is None or (feedback.is_done and feedback.undo is not None):
        return  # what can be undone is said beside what undoes it
    if feedback.is_done and feedback.is_shown:
        with st.container(key=f"heard {key}"):
            _say(feedback)
    else:
        _say(feedback)


def _say(feedback: Feedback) -> None:
    if feedback.error is not None:
        elements.say(feedback.error)
    if feedback.text and feedback.is_done:
        st.success(feedback.text, icon=":material/check:")
    elif feedback.text:
        st.warning(feedback.text)
    for _key, text in feedback.at:  # of inputs that are gone
        st.warning(text)


# --- personal data -------------------------------------------------------------------------------


def may_see_personal_data(view: str, subject: str) -> bool:
    """Whether this session has said why it needs the subject's personal data, not long ago."""
    until = _unmasked().get((view, subject), 0)
    return access.may(Permission.UNMASK) and time.monotonic() < until


def ask_for_personal_data(
    view: str,
    subject: str,
    *,
    process_id: str | None = None,
    seller_id: str | None = None,
    label: str | None = None,
) -> None:
    """The form that shows personal data once a reason and a name stand in the log. `label`: what
    it shows, where the page has two."""
    if not access.may(Permission.UNMASK):
        return
    if may_see_personal_data(view, subject):
        _say_that_it_is_shown(view, subject)
        return

    def unmask() -> Feedback:
        about = {"process_id": process_id, "seller_id": seller_id, "view": view}
        reason, actor = f"unmask_{view}_reason", f"unmask_{view}_actor"
        feedback = _record_unmasking(reason, actor, about)
        if feedback.is_done:
            until = time.monotonic() + service.current().settings.unmask_seconds
            _unmasked()[(view, subject)] = until
        return feedback._replace(empties=(f"unmask_{view}_reason",))

    opener = label or _("Show personal data")
    place = folds.popover(opener, icon=":material/visibility:", key=f"unmasking {view}")
    if place is None:
        return
    with place, st.form(f"unmask_{view}", border=False):
        shown_for = formats.seconds(service.current().settings.unmask_seconds)
        st.markdown(
            _(
                "The log will say who saw it and why. It is masked again after {time}.",
                time=shown_for,
            )
        )
        st.text_input(_("Why is it needed?"), key=f"unmask_{view}_reason")
        say_at(f"unmask_{view}_reason")
        pressed, of = _("Record the reason and show it"), elements.edition(view, [subject])
        submit(
            f"unmask_{view}",
            pressed,
            unmask,
            about=of,
            may=Permission.UNMASK,
            in_past=True,
            actor=f"unmask_{view}_actor",
        )


def _say_that_it_is_shown(view: str, subject: str) -> None:
    """Says so, with the button that masks it, and masks it once its time is over."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_("Personal data is shown; the log says to whom and why."))
        st.button(
            _("Mask it again"),
            icon=":material/visibility_off:",
            key=f"mask_{view}",
            on_click=_mask,
            args=(view, subject),
        )
    _mask_in_time(view, subject)


def _record_unmasking(reason_key: str, actor_key: str, about: Mapping[str, str | None]) -> Feedback:
    """Records why somebody is shown personal data. `about`: whose, and of which view."""
    if (lacking := missing(reason_key, actor_key)) is not None:
        return lacking
    reason, actor = typed(reason_key), actor_of(actor_key)
    return record(
        lambda: [action(UNMASK, reason=reason, actor=actor, recorded_by=RECORDED_BY, **about)],
        actor,
        Feedback("", is_done=True),
        kept=reason,
    )


def _mask(view: str, subject: str) -> None:
    _unmasked().pop((view, subject), None)


def _unmasked() -> dict[tuple[str, str], float]:
    """What this session may see -> until when, as `time.monotonic`."""
    until: dict[tuple[str, str], float] = st.session_state.setdefault(_UNMASKED, {})
    return until


@st.fragment(run_every=WATCH_SECONDS)
def _mask_in_time(view: str, subject: str) -> None:
    """Draws the page again once the time is over: personal data must not stay on an open page."""
    if not may_see_personal_data(view, subject):
        masked_in_time(_("Personal data is masked again: show it once more if you still need it."))


def masked_in_time(said: str) -> NoReturn:
    """Draws the page again without what was shown for a time that is over, and has it say so."""
    st.session_state[_MASKED] = said
    st.rerun()


def say_what_was_masked() -> None:
    """On every page: says once what left it because its time was over."""
    if (said := st.session_state.pop(_MASKED, None)) is not None:
        st.toast(said, icon=":material/visibility_off:")
