"""Whole histories of episodes, and the same in another order or more often."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from tests.support.histories.episodes import EPISODES, USUAL_EPISODES
from tests.support.histories.moments import DAY, TICK, in_zulu


@st.composite
def histories(
    draw,
    episodes: tuple[str, ...] = USUAL_EPISODES,
    max_episodes: int = 8,
    live: bool = True,
) -> list[dict]:
    """A history of some episodes, in any order of recording, with some lines repeated.

    `episodes` narrows what happens (names of EPISODES); `live=False` leaves every line ingested.
    """
    any_episode = st.one_of([EPISODES[name]() for name in episodes])
    lines = [
        line for episode in draw(st.lists(any_episode, max_size=max_episodes)) for line in episode
    ]
    if live:
        lines = [draw(perhaps_live(line)) for line in lines]
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
    if lines and draw(st.booleans()):
        lines = draw(repeated(lines))
    return list(lines)


@st.composite
def perhaps_live(draw, line: dict) -> dict:
    """As it is, or live and recorded at once, just in time, or late."""
    if draw(st.booleans()):
        return line
    late = draw(
        st.sampled_from(
            [timedelta(0), timedelta(seconds=5), timedelta(seconds=5) + TICK, DAY, DAY + TICK]
        )
    )
    entry = {**line, "origin": "live", "recorded_at": in_zulu(instant_of(line) + late)}
    if line["kind"] == "submission_started":
        entry["via"] = draw(st.sampled_from(["cli", "api", "gateway"]))
    return entry


def instant_of(line: dict) -> datetime:
    """The instant of a line's own `occurred_at` (always spelled with an offset here)."""
    text = line["occurred_at"].replace("999Z", "Z") if nine_digits(line) else line["occurred_at"]
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def nine_digits(line: dict) -> bool:
    return len(line["occurred_at"].partition(".")[2]) == 10


def reordered(history: list[dict]) -> st.SearchStrategy[list[dict]]:
    """The same occurrences, recorded in another order."""
    return st.permutations(history).map(list)


MAY_COME_AGAIN = {
    *("webhook", "submission_started", "submission_finished"),
    *("seller_notice", "seller_notice_result", "retraction"),
}


@st.composite
def repeated(draw, history: list[dict]) -> list[dict]:
    """The same occurrences, some of them recorded more than once, the same or later.

    A repeated ingested line is the same line. A webhook may be delivered again, now or later,
    and a submission entry or what was said of a message be recorded again later: the earliest
    counts. A collection, an override or a replacement comes again only as it was, since its
    instant is part of it.
    """
    if not history:
        return []
    lines = list(history)
    for line in draw(st.lists(st.sampled_from(history), max_size=4)):
        again = dict(line)
        if line["kind"] in MAY_COME_AGAIN:
            later = draw(st.sampled_from([timedelta(0), TICK, DAY]))
            again["occurred_at"] = in_zulu(instant_of(line) + later)
            again.pop("recorded_at", None)
        if line["kind"] == "webhook" and draw(st.booleans()):
            again["origin"] = "live"
        lines.insert(draw(st.integers(0, len(lines))), again)
    return lines
