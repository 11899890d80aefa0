"""Says how a process stands: the contract's state first, then what it means, and the time left."""

from typing import Final

from pipeline.language import codes
from pipeline.language.catalogue import N_, Language, counted_in, said_in

_REPORTED: Final = N_("EXPIRED · by the platform's report")


def standing(state: str, seconds: int | None, into: Language) -> str:
    """As `OVERDUE · in time, 29 days left`. `seconds`: to the deadline; None where none is known,
    or the process is finished."""
    if state not in codes.STATES:
        return state  # of another release: what it means would be a guess
    if seconds is None or state == "FINISHED":
        return said_in(into, codes.STATES[state])
    if state == "EXPIRED" and seconds <= 0:
        return said_in(into, N_("EXPIRED · {time}"), time=time_left(seconds, into))
    # The platform may report it before the deadline, and then time is left.
    meaning = said_in(into, _REPORTED if state == "EXPIRED" else codes.STATES[state])
    left = time_left(max(seconds, 1), into)  # in its last second it is not late yet
    return said_in(into, N_("{meaning}, {time}"), meaning=meaning, time=left)


def time_left(seconds: int, into: Language) -> str:
    """Seconds to a deadline in words: `2 h 07 left`, `4 min late`, `3 days left`.

    At the deadline itself it is late, as the view's state says.
    """
    minutes = abs(seconds) // 60
    days, hours = minutes // 1440, minutes // 60
    if seconds <= 0:
        return said_in(into, N_("{time} late"), time=_span(minutes, into))
    # The first number in it decides between singular and plural.
    first = days or hours or minutes or 1
    return counted_in(into, "{time} left", "{time} left", first, time=_span(minutes, into))


def _span(minutes: int, into: Language) -> str:
    """A time in words: of three days and more the days are enough, of less the hours matter."""
    days, hours = divmod(minutes // 60, 24)
    if days:
        written = f"{days:,}".replace(",", "." if into == "pt" else ",")
        in_words = counted_in(into, "{n} day", "{n} days", days, n=written)
        if hours and days < 3:
            return said_in(into, N_("{days} {n} h"), days=in_words, n=hours)
        return in_words
    if hours:
        return f"{hours} h {minutes % 60:02}"
    return f"{minutes} min" if minutes else said_in(into, N_("less than 1 min"))
