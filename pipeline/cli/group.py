"""The `prazo` command itself: its options, its exit codes and how it reports errors."""

import atexit
import getpass
import io
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import click
from click.core import ParameterSource

from pipeline import memory, places, signals, text_log, traces
from pipeline.errors import NoRoom, PrazoError, of_the_machine
from pipeline.files.disk import is_full
from pipeline.texts import printable
from pipeline.values import misread

if TYPE_CHECKING:
    from rich.progress import Progress

    from pipeline.inbox import Inbox
    from pipeline.settings import Settings

LOG = logging.getLogger(__name__)
T = TypeVar("T")

MAX_NAMED: Final = 100
"""Of what is not as it should be, such as lines of a file."""
_INTERRUPTED: Final = "Query interrupted"
"""DuckDB's word for Ctrl-C while it works on a query; elsewhere it is a `KeyboardInterrupt`."""


class _Command(click.Command):
    """Refuses an argument that is empty (a shell variable that is not set leaves one) or not in
    UTF-8, before anything is done. A path may be any bytes."""

    def invoke(self, ctx: click.Context) -> Any:
        for param in self.params:
            name = param.name or ""
            value = ctx.params.get(name)
            is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
            for text in value if isinstance(value, tuple) else (value,):
                if is_given and isinstance(text, str) and (why := _unfit(text)) is not None:
                    raise click.BadParameter(why, ctx, param)
            if is_given and isinstance(param.type, click.Path):  # counts from where it was typed
                ctx.params[name] = _absolute(value)
        places.go_home()
        part = ctx.find_root().invoked_subcommand or ""
        text_log.keep_to_setting(part)
        traces.keep_to_setting(part)
        return super().invoke(ctx)


def _absolute(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_absolute, value))
    is_path = isinstance(value, Path) and str(value) != "-" and places.HOME in os.environ
    return value.absolute() if is_path else value


def _unfit(given: str) -> str | None:
    if not given:
        return "it is empty: leave it out where nothing is meant"
    try:
        given.encode()
    except UnicodeEncodeError:  # bytes that Python could not decode
        return (
            f"{given!a} is not in UTF-8: set the terminal, or the file that calls this command, to"
            " UTF-8"
        )
    return None


class _Kind(click.Group):
    """Commands of one kind, such as `prazo alerts`."""

    command_class = _Command


class _Group(_Kind):
    """Turns every error of ours into what failed, why and what to do, and an exit code."""

    group_class = _Kind

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        try:
            with _wrong_usage_shown():
                return super().make_context(*args, **options)
        except KeyboardInterrupt:
            _abort()

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _wrong_usage_shown():
                return super().invoke(ctx)
        except PrazoError as error:
            if ctx.params.get("debug"):
                raise
            _say_failed(error)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            _abort()
        except RuntimeError as error:
            if ctx.params.get("debug") or str(error) != _INTERRUPTED:
                raise
            _abort()
        except OSError as error:
            if ctx.params.get("debug"):
                raise
            failed = of_the_machine(error)
            if is_full(error):
                where = Path(error.filename).absolute() if error.filename else "what it writes to"
                why = f"no room is left in {where} ({error.strerror})"
                what = f"`prazo {ctx.invoked_subcommand}` was not done"
                failed = PrazoError(what, why, "make room there, then run it again")
            _say_failed(failed)
            ctx.exit(1)


def _abort() -> NoReturn:
    """Of a command that a signal interrupted: 1 would be an answer, and the answer is not known."""
    if text_log.is_json():
        LOG.warning("the program was interrupted")
    else:
        say("", "Aborted!", err=True)
    sys.exit(signals.code_of_interrupt())


@contextmanager
def _wrong_usage_shown() -> Iterator[None]:
    """Says what is wrong with the arguments, and exits with 2 even where standard error cannot be
    written: there click itself would fail, and exit with 1."""
    try:
        yield
    except click.ClickException as refused:
        with printing(err=True):
            refused.show()
        sys.exit(refused.exit_code)


class Number(click.FloatRange):
    """A number within a range. It refuses `nan`, which click would take: `nan` is neither below
    the range nor above it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that was given; fails for any other text."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class Port(click.IntRange):
    """A port. A text with something around it is refused, as in the setting of the same port."""

    def __init__(self) -> None:
        super().__init__(1, 65535)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that was given; fails for any other text."""
        if isinstance(value, str) and (why := misread(value)) is not None:
            self.fail(f"{value!r} {why}", param, ctx)
        return super().convert(value, param, ctx)


class OutFile(click.Path):
    """A file that is about to be written, in a folder that is there."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path that was given; fails where it has no folder."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent}: make it first", param, ctx)
        return path


class Folder(click.Path):
    """A folder, which need not exist yet. An empty name, which a shell variable that is not set
    leaves, would mean the folder that the command runs in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path that was given; fails for an empty one."""
        if isinstance(value, str) and not value.strip():
            self.fail("it is empty: name a folder", param, ctx)
        return super().convert(value, param, ctx)


def say(*lines: str, err: bool = False) -> None:
    """Prints lines. What came from outside cannot begin another line, and no terminal obeys it:
    its control characters are escaped."""
    with printing(err=err):
        for line in lines:
            click.echo(printable(line), err=err)


def name_first(bad: Sequence[T], line: Callable[[T], str], others: str) -> None:
    """Names the first of what is not as it should be, each on a line, and says how many others
    there are: a file of another kind has bad lines alone. `others`: what stands before that."""
    say(*map(line, bad[:MAX_NAMED]), err=True)
    if len(bad) > MAX_NAMED:
        say(f"{others}and {len(bad) - MAX_NAMED} more", err=True)


@contextmanager
def printing(*, err: bool = False) -> Iterator[None]:
    """For a block that prints. Where the reader has closed the pipe (`| head`), or standard error
    cannot be written, the command still goes on to its end and keeps its exit code.

    Raises `NoRoom` where standard output cannot be written: rows or a proof are lost then, but what
    the command did stands, and doing it twice could be wrong.
    """
    try:
        yield
    except OSError as error:
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
        if err:
            sys.stderr = nowhere
            return
        sys.stdout = nowhere
        if isinstance(error, BrokenPipeError):
            return
        raise NoRoom(
            "The output could not be written",
            error.strerror or str(error),
            "make room where it goes; what was done until then stands, so look before you do it"
            " again",
        ) from error


def bars() -> "Progress":
    """Progress bars on standard error, and none where that is a file or a pipe: bars are of no use
    there, and a full disk or a closed pipe would end the command."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def _say_failed(error: PrazoError) -> None:
    with printing(err=True):
        text_log.note_refusal(error)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show a traceback where a command fails.")
@click.version_option(package_name="prazo", prog_name="prazo")
def main(debug: bool) -> None:
    """Prazo watches the deadlines of seller registration reviews and keeps the proof.

    Settings are PRAZO_* environment variables or a .env file; `prazo doctor` checks them. What is
    kept lies in the folder that PRAZO_HOME names, or else in the current one.
    """
    places.leave_out_key_logs()
    memory.look_for_cycles_less_often()
    memory.start_no_blas_threads()
    os.umask(0o077)  # whatever is written may hold personal data: ledgers, packages, artifacts
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal has no letters for
            stream.reconfigure(errors="backslashreplace")
    # Not at a lower level with --debug: what libraries say there is what they send and to whom.
    text_log.begin(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def run() -> None:
    """Runs `prazo` as a program. It leaves at once when its command has ended, its threads have,
    what `atexit` calls is done and all output is written.

    Python would first take modules and objects apart one by one, which is a seventh of a short
    command's time (docs/decisions/programs.md#a-command-leaves-at-once). It still does so after an
    error that is not ours.
    """
    ending = _Ending()
    atexit.register(ending.leave)  # what is registered first is called last
    try:
        signals.interrupt_by_signals()
        main()
    except KeyboardInterrupt:  # before click reads the arguments
        ending.code = signals.code_of_interrupt()
        _abort()
    except SystemExit as ended:
        given = 0 if ended.code is None else ended.code
        ending.code = signals.code(given) if isinstance(given, int) else given
        raise SystemExit(ending.code) from None


class _Ending:
    """How the program ends, once that is known."""

    code: object = None  # what `sys.exit` was given

    def leave(self) -> None:
        """Ends the process; returns where Python should end it."""
        if not isinstance(self.code, int):
            return
        try:
            logging.shutdown()
            for stream in filter(None, (sys.stdout, sys.stderr)):  # None where it was closed
                stream.flush()
        except (OSError, ValueError):
            return  # Python tries once more, says what failed, and ends with 120
        os._exit(self.code)


def guarded_inbox(settings: "Settings", *, create: bool = False) -> "closing[Inbox]":
    """The inbox to record what a command does in, closed at the end. `create`: where there is none,
    one is made."""
    from pipeline.continuity.kept_heads import open_guarded

    return closing(open_guarded(settings, create=create))


def user() -> str:
    """Who runs this command, as the log names them."""
    try:
        return f"user:{getpass.getuser()}"
    except (KeyError, OSError):
        return "user:unknown"
