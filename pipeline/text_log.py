"""The text log, on standard error: lines for people, or one JSON object an event where the setting
`PRAZO_LOG_FORMAT` says so.

JSON goes to systems that many people search. So it has no words of errors that are not ours, since
those of a library may quote what somebody sent, and ids of persons are masked wherever they stand.
"""

import json
import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

from pipeline import instants, places, traces
from pipeline.errors import PrazoError, Quoted
from pipeline.texts import hide_personal, printable

SETTING: Final = f"{places.PREFIX}LOG_FORMAT"
NAMED: Final = ("seq", "process_id", "request_id")
"""What a record can say it is about, by logging's `extra`: the entry in the log of proof, the
process, and the id of an attempt, which its caller gets as `prazo-attempt`."""
LOG: Final = logging.getLogger(__name__)
_MOST_CAUSES: Final = 10
_BEGIN: Final = b'{"time": "'
"""Of each line of JSON here."""


class LogLines(logging.Formatter):
    """Writes records for people. Each further line of a record begins with blanks, so that text
    from outside cannot begin a line that looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """One record, its message made printable."""
        record.message = _indented(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        """A traceback, whose last line may repeat text from outside."""
        return f"  {_indented(super().formatException(ei))}"


def _indented(text: str) -> str:
    return "\n  ".join(printable(line) for line in text.split("\n"))


class JsonLines(logging.Formatter):
    """Writes each record as one line of JSON in ASCII, whatever it repeats from outside."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.part = part

    def format(self, record: logging.LogRecord) -> str:
        """A record with its exception. A record that cannot be put together is written, too."""
        line: dict[str, object] = {
            "time": instants.canonical(round(record.created * instants.SECOND)),
            "level": record.levelname,
            "part": self.part,
            "logger": record.name,
            "message": _masked(_message(record)),
        }
        for name in NAMED:
            if (value := getattr(record, name, None)) is not None:
                line[name] = value if isinstance(value, int) else _masked(str(value))
        if "request_id" in line and (trace := traces.id_of(str(line["request_id"]))) is not None:
            line["trace_id"] = trace
        if record.exc_info and (error := record.exc_info[1]) is not None:
            line["exception"] = _masked("\n".join(_traced(error)))
        return json.dumps(line)


def _message(record: logging.LogRecord) -> str:
    if isinstance(record.msg, BaseException | Quoted):
        return _words(record.msg)
    if not isinstance(record.args, tuple):
        return str(record.msg)
    said = [_words(it) if isinstance(it, BaseException | Quoted) else it for it in record.args]
    try:
        message = str(record.msg) % tuple(said) if said else str(record.msg)
    except Exception:  # logging would print the arguments, over several lines
        message = str(record.msg)
    if record.name == "asyncio":  # further lines show objects, an exception among them
        message = message.partition("\n")[0]
    return message


def _words(error: BaseException | Quoted) -> str:
    """What an error says without what a library may quote."""
    if isinstance(error, Quoted):
        return error.ours
    if isinstance(error, PrazoError):
        said = error.in_one_line
        return said.ours if isinstance(said, Quoted) else said
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"
    return type(error).__name__


def _masked(text: str) -> str:
    return hide_personal(text, lambda _: "***")


def _traced(error: BaseException | None) -> Iterator[str]:
    """Where an exception came from, and those before it; the newest first."""
    for _ in range(_MOST_CAUSES):
        if error is None:
            return
        yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
        kind, words = type(error).__name__, _words(error)
        yield words if words.startswith(kind) else f"{kind}: {words}"
        for one in getattr(error, "exceptions", ())[:_MOST_CAUSES]:  # of a group
            yield from _traced(one)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def begin(level: int) -> None:
    """Has this program's records written for people, until `keep_to_setting` says otherwise. Does
    nothing where another program, which runs ours, has seen to them."""
    if logging.getLogger().handlers:
        return
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(LogLines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[to_stderr])


def keep_to_setting(part: str) -> None:
    """Goes over to JSON where the setting says so: for the records of `part`, for warnings, and for
    errors that nobody catches. To be called in the folder of the settings."""
    try:
        is_json = places.variables().get(SETTING) == "json"
    except ValueError:  # whoever loads the settings says what is wrong with them
        return
    if not is_json:
        return
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonLines(part))
    _take_over()
    logging.captureWarnings(True)
    sys.excepthook = _note_end
    sys.unraisablehook = _note_unraisable
    threading.excepthook = _note_end_of_thread


def is_json() -> bool:
    """Whether this program writes JSON by now."""
    return any(isinstance(it.formatter, JsonLines) for it in logging.getLogger().handlers)


def note_refusal(error: PrazoError) -> None:
    """Writes why the program ends: what failed, why and what to do. Raises OSError where standard
    error cannot be written."""
    if is_json():
        LOG.error("%s", error)
        return
    remedy = [f"  To fix it: {error.remedy}"] if error.remedy else []
    for line in (f"Error: {error.finding}", *remedy):
        sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()


def passed_on(line: bytes, part: str) -> bytes:
    """A line of another program of ours, `part`, as it is to be written here. Where that is JSON,
    so is this line: a program can say something before it has read its settings."""
    if not is_json() or _message_in(line) is not None:
        return line
    said = line.decode(errors="replace").rstrip()
    record = logging.LogRecord(part, logging.WARNING, "", 0, said, None, None)
    return f"{JsonLines(part).format(record)}\n".encode()


def words_of(line: bytes) -> str:
    """What a line of a program of ours says, without what is around it where it is JSON."""
    return _message_in(line) or line.decode(errors="replace").strip()


def _message_in(line: bytes) -> str | None:
    if line.startswith(_BEGIN):
        with suppress(ValueError, RecursionError):
            said = json.loads(line)
            if isinstance(said.get("message"), str):
                return str(said["message"])
    return None


def _note_end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    LOG.critical("the program ends by an error of ours", exc_info=(kind, error, trace))


def _note_end_of_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and ended.exc_type is not SystemExit:
        LOG.critical(
            "a thread ended by an error of ours",
            exc_info=(ended.exc_type, ended.exc_value, ended.exc_traceback),
        )


def _note_unraisable(failed: "sys.UnraisableHookArgs") -> None:
    LOG.error(
        "an error of ours had nobody to go to",
        exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback)
        if failed.exc_value is not None
        else None,
    )


def _take_over() -> None:
    """Has libraries that write lines of their own leave their records to ours."""
    for logger in logging.getLogger().manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            for handler in logger.handlers[:]:
                logger.removeHandler(handler)
            logger.propagate = True
