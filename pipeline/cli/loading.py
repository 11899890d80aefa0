"""What Ctrl-C does while the commands are loaded."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Has Ctrl-C end this process at once and without a word, as nothing has begun yet: an import
    that it interrupts would show its traceback, or lose the interrupt, where it falls into Python's
    own bookkeeping of modules."""
    if (
        threading.current_thread() is not threading.main_thread()  # no other may set a handler
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler  # somebody else's
    ):
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
