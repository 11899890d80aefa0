"""Which signals end a process of ours, how, and with which code (docs/operations.md#signals).

TERM, Ctrl-C (INT) and a terminal that is closed (HUP) do the same: a part that runs until it is
stopped ends what is under way, and a command is interrupted. HUP does nothing where it was ignored
at the start, as by `nohup`. QUIT is left to the system: it ends a process at once, as a crash does.
"""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # commands that listen to nobody do without
    import asyncio

_BY_SIGNAL: Final = 128
"""What a shell adds to the number of the signal that ended a program."""
INTERRUPTED: Final = _BY_SIGNAL + signal.SIGINT
HUNG_UP: Final = _BY_SIGNAL + signal.SIGHUP


class _Heard:
    """What this process was asked by to end, once it was."""

    number: int | None = None


def stop_by_signals(
    stop: Callable[[], Any], loop: "asyncio.AbstractEventLoop | None" = None
) -> None:
    """Has each signal that ends a part call `stop`, on the loop where one is given. The part then
    ends with `code`."""
    for number in _ending():
        if loop is None:
            signal.signal(number, lambda heard, _: _note(heard, stop))
        else:
            loop.add_signal_handler(number, _note, number, stop)


def stop_server_by_hangup() -> None:
    """For a server that ends by TERM already: HUP ends it in that way, with `HUNG_UP`. To be called
    before it serves, or while it starts."""
    is_main = threading.current_thread() is threading.main_thread()  # no other may set a handler
    if is_main and signal.SIGHUP in _ending():
        signal.signal(signal.SIGHUP, _pass_on)


def interrupt_by_signals() -> None:
    """Has TERM and HUP interrupt a command as Ctrl-C does, so that it leaves nothing half done.
    Where Ctrl-C is ignored or ends a program at once, so do they."""
    for number in _ending():
        if number is not signal.SIGINT:
            signal.signal(number, _interrupt)


def code(otherwise: int = 0) -> int:
    """With which code a process ends that was to end with another one: `HUNG_UP` for a part that
    ends well since its terminal was closed."""
    return HUNG_UP if otherwise == 0 and _Heard.number == signal.SIGHUP else otherwise


def code_of_interrupt() -> int:
    """With which code a command ends that was interrupted."""
    return _BY_SIGNAL + (_Heard.number or signal.SIGINT)


def _ending() -> list[signal.Signals]:
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


def _note(number: int, stop: Callable[[], Any]) -> None:
    _Heard.number = _Heard.number or number
    stop()


def _pass_on(number: int, frame: FrameType | None) -> None:
    """Uvicorn stops at what it thinks is a signal of its own, and at its end sends itself that
    signal once more."""
    if _Heard.number is not None:
        sys.exit(code())
    _Heard.number = number
    stop = signal.getsignal(signal.SIGTERM)
    if callable(stop):
        stop(number, frame)
    else:  # it does not serve yet
        sys.exit(code())


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second one ends it at once
    interrupt = signal.getsignal(signal.SIGINT)
    if callable(interrupt):
        _Heard.number = number
        interrupt(signal.SIGINT, frame)
    else:
        signal.raise_signal(number)
