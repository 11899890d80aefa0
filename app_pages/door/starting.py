"""Ends the dashboard where it cannot start, as a command ends: what failed, why and what to do."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from pipeline import text_log
from pipeline.errors import PrazoError, SettingsError, of_the_machine


@contextmanager
def or_end() -> Iterator[None]:
    """Around what the start needs. An error of ours ends the process: with 2 where settings are at
    fault, else with 1, since an inbox or a ledger may be there in a moment. So does one of the
    machine, such as a folder that cannot be written.

    An exception would be a traceback in a server that ends with a code of its own; or, where the
    door is built, which comes before the lifespan, one that goes on without a ledger and answers
    500 to everybody.
    """
    try:
        yield
    except PrazoError as refused:
        _end(refused, 2 if isinstance(refused, SettingsError) else 1)
    except OSError as error:
        _end(of_the_machine(error), 1)


def _end(why: PrazoError, code: int) -> NoReturn:
    text_log.note_refusal(why)
    sys.stdout.flush()
    os._exit(code)
