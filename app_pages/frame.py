"""What stands around every page: language, time zone, instant, freshness, and the ledger itself."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import streamlit as st

from app_pages import access, formats, words
from app_pages.answers import Answers
from app_pages.i18n import LANGUAGES, _, ngettext, preferred
from pipeline import instants, service
from pipeline.errors import CallerError, PrazoError
from pipeline.follower import Status

ZONES: Final = (
    "America/Sao_Paulo",
    "America/Manaus",
    "America/Rio_Branco",
    "America/Noronha",
    "Europe/Lisbon",
    "UTC",
)
FRESHNESS_SECONDS: Final = 5
TICK_SECONDS: Final = 5  # from then on an answer about now is made anew
BEHIND_SECONDS: Final = 5  # from here on the lag is worth a colour
FAR_BEHIND_SECONDS: Final = 60
TRAIL: Final = 40  # entries of a story that are told
PATHS: Final = 30  # a whole ACP has half as many

Row = dict[str, Any]


# --- the ledger ----------------------------------------------------------------------------------


_ROWS: Final[Answers[tuple[Row, ...]]] = Answers()
_COUNTS: Final[Answers[int]] = Answers()


def read(view: str, **asked: Any) -> Sequence[Row]:
    """Rows of a view at the page's instant; `asked` as for `pipeline.views.Reader.read`.

    Readers who look at one page at once share the rows, so no page may change one. Raises
    `CallerError` where the view is not open to whoever looks: no page has to think of it.
    """
    _check_open(view)
    held, at = service.current(), as_of()

    def rows() -> tuple[Row, ...]:
        return tuple(held.reader.read(view, as_of=at, **asked).to_pylist())

    return _ROWS.answer((held.inbox.log, at, view, _frozen(asked)), _basis(held, at), rows)


def _check_open(view: str) -> None:
    if not access.may_read(view):
        raise CallerError(f"The rows of {view} are not open to your role")


def read_one(view: str, **asked: Any) -> Row | None:
    """The first row of a view, if there is any."""
    rows = read(view, limit=1, **asked)
    return rows[0] if rows else None


def count(
    view: str,
    *,
    where: Mapping[str, object] | None = None,
    contains: Mapping[str, str] | None = None,
) -> int:
    """How many rows `read` would give without a limit. Raises as it does."""
    _check_open(view)
    held, at = service.current(), as_of()
    asked = {"where": where, "contains": contains}

    def rows() -> int:
        return held.reader.count(view, as_of=at, where=where, contains=contains)

    return _COUNTS.answer((held.inbox.log, at, view, _frozen(asked)), _basis(held, at), rows)


def forget_answers() -> None:
    """What is read from here on tells of everything that the ledger holds now."""
    _ROWS.forget()
    _COUNTS.forget()


def _basis(held: service.LedgerService, at: int | None) -> Hashable:
    """What an answer rests on beside the question: the newest entry and, of an instant that does
    not stand still, a clock that ticks every few seconds."""
    tick = 0 if at is not None else instants.now() // (TICK_SECONDS * instants.SECOND)
    return held.ledger.size, tick


def _frozen(asked: Mapping[str, Any]) -> Hashable:
    """A question as something that can be looked up again."""

    def still(value: Any) -> Any:
        if isinstance(value, Mapping):
            return tuple((name, still(it)) for name, it in value.items())
        return tuple(value) if isinstance(value, list) else value

    return tuple((name, still(value)) for name, value in asked.items())


# --- the reader's choices ------------------------------------------------------------------------


def as_of() -> int | None:
    """The instant that the page looks at, in microseconds; None for now."""
    at = instants.parse(st.session_state.get("as_of", st.query_params.get("as_of")))
    # Days before and after it are drawn, and it is told in the reader's zone.
    return at if at is not None and 1900 < instants.of(at).year < 9000 else None


def moment() -> datetime:
    """The page's instant as the views write instants: naive UTC."""
    at = as_of()
    return instants.of(instants.now() if at is None else at).replace(tzinfo=None)


def choose_view() -> None:
    """Instant, time zone and language: each stands in the URL and stays from page to page.

    They are always in sight, and not in a popover, because Streamlit carries a bound input to the
    next page only while the browser shows it.
    """
    st.text_input(
        _("As of (UTC)"),
        key="as_of",
        bind="query-params",
        icon=":material/history:",
        placeholder=_("now, or 2026-03-01T09:00Z"),
        label_visibility="collapsed",
        width=232,
    )
    with st.popover(_("Earlier"), icon=":material/calendar_month:"):
        _pick_instant()
    st.selectbox(
        _("Time zone"),
        _zones(),
        key="tz",
        bind="query-params",
        label_visibility="collapsed",
        width=190,
    )
    st.segmented_control(
        "Language · Idioma",
        list(LANGUAGES),
        default=preferred(st.context.locale),
        required=True,
        key="lang",
        bind="query-params",
        label_visibility="collapsed",
    )


def _pick_instant() -> None:
    """A calendar for those who do not write ISO 8601, and the way back."""
    st.datetime_input(
        _("Look at an earlier instant"),
        value=None,
        key="picked",
        format="DD/MM/YYYY",
        on_change=_take_picked,
        help=_("Everything is shown as it stood then. Pick it in the time zone that you chose."),
    )
    st.button(
        _("Back to now"),
        on_click=_back_to_now,
        disabled=not st.session_state["as_of"],
        width="stretch",
    )


def _zones() -> list[str]:
    """The one of the settings first, since it is the default, and the browser's own."""
    known = [service.current().settings.time_zone, *ZONES, st.context.timezone]
    return list(dict.fromkeys(zone for zone in known if zone))


def _take_picked() -> None:
    picked: datetime | None = st.session_state["picked"]
    st.session_state["as_of"] = (
        ""
        if picked is None
        else instants.readable(
            instants.from_datetime(picked.replace(tzinfo=formats.zone()).astimezone(UTC))
        )
    )


def _back_to_now() -> None:
    st.session_state["as_of"] = ""
    st.session_state["picked"] = None


# --- what every page says ------------------------------------------------------------------------


def time_travel_banner() -> None:
    """Says that the page shows another instant than now; nothing when it shows now."""
    if as_of() is not None:
        st.warning(
            _("What happened later is left out, and every clock is read at that instant."),
            title=_("You are looking at {instant}, not at now", instant=formats.second(moment())),
            icon=":material/history:",
        )
    elif st.session_state["as_of"]:
        st.warning(
            _("Write an instant as in 2026-03-01T12:00:00Z; without an offset it is UTC."),
            title=_("That is no instant, so the page shows now"),
            icon=":material/event_busy:",
        )


def freshness() -> None:
    """As of when, up to which entry, how far behind, and whether the ledger is verified; live."""
    _freshness(moment(), service.current().status().last_seq, time.monotonic())


@st.fragment(run_every=FRESHNESS_SECONDS)
def _freshness(drawn_at: datetime, drawn_seq: int, drew: float) -> None:
    """Under the figures of an open page the log goes on: it says by how much, and offers them anew.

    By itself it draws nothing anew: under whoever reads or writes there, nothing may move.
    """
    status = service.current().status()
    parts = [
        _("As of {instant}", instant=formats.second(drawn_at)),
        formats.plain(str(formats.zone())),
        _("up to entry {seq}", seq=formats.number(drawn_seq)),
    ]
    badges = [_verified_badge(status), _lag_badge(status.lag_seconds)]
    if service.current().settings.webhook_auth == "none":
        open_door = _("Deliveries are not authenticated")
        badges.append(formats.badge(open_door, "orange", ":material/no_encryption:"))
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            st.markdown(formats.muted(" · ".join(parts)), width="content")
            _offer_anew(status.last_seq - drawn_seq, time.monotonic() - drew)
        st.markdown(" ".join(badges), width="content")
    if status.problem:
        st.error(
            in_its_words(status.problem),
            title=_("The ledger does not follow its inbox: these pages may miss what came last"),
            icon=":material/error:",
        )


def _offer_anew(new_entries: int, seconds: float) -> None:
    """How old the figures are, and the way to newer ones; those of an instant that is over stay."""
    if as_of() is not None:
        return
    if new_entries > 0:
        label = ngettext(
            "{n} new entry", "{n} new entries", new_entries, n=formats.number(new_entries)
        )
    else:
        label = _("drawn {time} ago", time=formats.seconds(round(seconds)))
    if st.button(label, icon=":material/refresh:", type="tertiary", key="anew"):
        forget_answers()
        st.rerun()


def _verified_badge(status: Status) -> str:
    if status.is_verified:
        return formats.badge(_("Ledger verified"), "green", ":material/verified:")
    if status.problem is None and status.inbox_seq == 0:
        return formats.badge(_("Nothing to verify yet"), "gray", ":material/verified:")
    return formats.badge(_("Ledger not verified"), "red", ":material/gpp_maybe:")


def _lag_badge(lag_seconds: float) -> str:
    colour = "blue"
    if lag_seconds >= BEHIND_SECONDS:
        colour = "orange" if lag_seconds < FAR_BEHIND_SECONDS else "red"
    text = _("{duration} behind", duration=formats.seconds(lag_seconds))
    return formats.badge(text, colour, ":material/sync:")


# --- pieces that several pages show --------------------------------------------------------------


def empty(what: str, how: str, command: str | None = None) -> None:
    """An empty state: what is missing, and what to do first."""
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.space("small")
        st.markdown(f"**{what}**", text_alignment="center")
        st.markdown(formats.muted(how), text_alignment="center", width=560)
        if command:
            st.code(command, language=None, width="content")
        st.space("small")


def say(error: PrazoError) -> None:
    """What failed, why, and what to do: in a few words of the reader's language, then in those of
    the error itself, by which whoever runs Prazo finds it in the log."""
    fault = next(it for kind, it in words.FAULTS.items() if isinstance(error, kind))
    told = ". ".join(it for it in (error.what, error.why, error.remedy) if it)
    st.error(
        f"{_(fault.remedy)}  \n{in_its_words(told)}",
        title=_(fault.name),
        icon=":material/error:",
    )


def in_its_words(message: str) -> str:
    """A message of the program, which speaks English alone, as its log has it."""
    return _("Prazo says: {message}", message=formats.plain(message))


def fact(label: str, value: str, note: str, colour: words.Colour = "gray") -> None:
    """A bordered figure with a note below it, as tall as its neighbours."""
    st.metric(
        label,
        value,
        note,
        delta_arrow="off",
        delta_color=colour,
        border=True,
        height="stretch",
    )


def action_row(code: str, badges: str, lead: Callable[[], None], *, key: str) -> None:
    """A next action with how it is done, what waits for it, and the way there."""
    action = words.ACTIONS[code]
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=key):
        with st.container(gap="xxsmall"):
            st.markdown(f"{action.icon} **{_(action.name)}**")
            st.markdown(formats.muted(_(action.how)))
        st.markdown(badges, width="content")
        lead()


def paths(fields: Sequence[str]) -> str:
    """Fields side by side, as names; of very many the first."""
    shown = " ".join(map(formats.code, fields[:PATHS])) or "–"
    rest = len(fields) - PATHS
    return shown if rest <= 0 else f"{shown} {_('and {n} more', n=formats.number(rest))}"


def tell_rest(view: str, shown: Sequence[Row], limit: int, *, where: Mapping[str, object]) -> None:
    """Says of how many rows these are, where the limit left any out."""
    if len(shown) < limit:
        return
    total = count(view, where=where)
    if total > len(shown):
        few = _(
            "Shown are {n} of {total}.", n=formats.number(len(shown)), total=formats.number(total)
        )
        st.markdown(formats.muted(few))


class Story(NamedTuple):
    """The newest entries of the log on one process or seller, and how many there are."""

    entries: Sequence[Row]
    total: int


def story(**of: str) -> Story:
    """`process_id=` or `seller_id=`: the newest entries on it."""
    entries = read("timeline", where=of, order_by="occurred_at desc", limit=TRAIL)
    return Story(entries, len(entries) if len(entries) < TRAIL else count("timeline", where=of))


def trail(of: Story) -> None:
    """The newest entries, each with its place and leaf in the log."""
    st.header(_("Audit trail"), anchor=False)
    for entry in of.entries:
        log_entry(entry)
    if of.total > len(of.entries):
        shown = ngettext(
            "The newest {n} of {total} entries",
            "The newest {n} of {total} entries",
            of.total,
            n=formats.number(len(of.entries)),
            total=formats.number(of.total),
        )
        st.markdown(formats.muted(shown))


def log_entry(entry: Row) -> None:
    """A row of the timeline: what happened, its place and leaf in the log, and the rest."""
    told = words.told(entry)
    title = f"**{told.title}** · {told.detail}" if told.detail else f"**{told.title}**"
    place = (
        formats.second(entry["occurred_at"]),
        _("entry {seq}", seq=formats.number(entry["seq"])),
        formats.code(entry["leaf_hash"][:8]),
    )
    label = f"{title}  \n{formats.muted(' · '.join(place))}"
    with st.expander(label, icon=told.icon, type="step"):
        st.table(_facts(entry), border="horizontal", width="content")


def _facts(entry: Row) -> dict[str, str]:
    """What else the log knows of an entry, by name; what it does not know is left out."""
    known = {
        _("Recorded"): formats.second(entry["recorded_at"]),
        _("By"): formats.plain(entry["recorded_by"]),
        _("Process"): entry["process_id"] and formats.code(entry["process_id"]),
        _("Event"): entry["event_id"] and formats.code(entry["event_id"]),
        _("Attempt"): entry["attempt_id"] and formats.code(entry["attempt_id"]),
        _("Leaf"): formats.code(entry["leaf_hash"]),
    }
    return {name: value for name, value in known.items() if value}
