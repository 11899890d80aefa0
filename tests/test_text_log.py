"""The text log: a record is told apart from what came from outside, and JSON names nobody."""

import asyncio
import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InboxUnavailable, Quoted
from pipeline.text_log import JsonLines, LogLines
from tests.support.machine import free_port, wait_until
from tests.support.stores import environment_in

PERSON = "Maria da Silva"
IDS = "maria@example.com, CPF 529.982.247-25, +55 11 98765-4321"


def test_no_line_from_outside_looks_like_a_record_of_the_log() -> None:
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(LogLines("%(levelname)s %(message)s"))
    log = logging.Logger("forged")
    log.addHandler(handler)
    log.error("no such thing: %s", "x\nERROR all is well\x1b[2J")
    try:
        raise ValueError("y\nERROR as well\u202e")
    except ValueError:
        log.exception("failed")
    lines = said.getvalue().splitlines()
    assert lines[:3] == ["ERROR no such thing: x", r"  ERROR all is well\x1b[2J", "ERROR failed"]
    assert lines[-1] == r"  ERROR as well\u202e"
    assert all(line.startswith("  ") for line in lines[3:])


@pytest.fixture
def said() -> tuple[logging.Logger, io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines("receive"))
    log = logging.Logger("hostile")
    log.addHandler(handler)
    return log, written


def test_a_record_is_one_line_of_json_with_what_it_is_about(said: Any) -> None:
    log, written = said
    about = {"seq": 7, "process_id": "p-1", "request_id": "att_1"}
    log.error("entry %d: %s", 7, 'x\n{"level": "INFO"}\u2028\x1b[2J\ud800', extra=about)
    log.warning("no %d", "number")
    log.info("100% done")
    first, second, third = written.getvalue().splitlines()
    assert first.isascii()
    line = json.loads(first)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "ERROR",
        "part": "receive",
        "logger": "hostile",
        "message": 'entry 7: x\n{"level": "INFO"}\u2028\x1b[2J\ud800',
        **about,
    }
    assert json.loads(second)["message"] == "no %d"
    assert json.loads(third)["message"] == "100% done"


def test_json_names_nobody_whatever_a_message_or_an_error_quotes(said: Any) -> None:
    log, written = said
    log.error("not taken: %s", IDS, extra={"process_id": "maria@example.com"})
    log.error("not read: %s", ValueError(f"no date: {PERSON}"))
    log.error("not kept: %s", OSError(28, "No space left on device", f"/tmp/{PERSON}"))
    log.error(ValueError(PERSON))
    try:
        try:
            raise KeyError(PERSON)
        except KeyError as cause:
            raise InboxUnavailable("Nothing was sent", IDS) from cause
    except InboxUnavailable:
        log.exception("failed")
    try:
        raise ExceptionGroup(PERSON, [ValueError(PERSON), KeyError(IDS)])
    except ExceptionGroup:
        log.exception("several failed")
    everything = written.getvalue()
    assert not [it for it in (PERSON, "maria", "529", "98765") if it in everything]
    taken, read, kept, alone, failed, several = map(json.loads, everything.splitlines())
    assert taken["message"] == "not taken: ***, CPF ***, ***"
    assert read["message"] == "not read: ValueError"
    assert kept["message"] == "not kept: OSError: No space left on device"
    assert alone["message"] == "ValueError"
    assert "InboxUnavailable: Nothing was sent: ***" in failed["exception"]
    assert "KeyError" in failed["exception"]
    assert f'{Path(__file__).name}", line' in failed["exception"]
    assert "ValueError\n" in several["exception"]


def test_an_error_that_a_task_leaves_behind_is_not_quoted(said: Any) -> None:
    log, written = said
    logging.getLogger("asyncio").addHandler(log.handlers[0])

    async def fail() -> None:
        raise ValueError(PERSON)

    async def leave() -> None:
        task = asyncio.ensure_future(fail())
        await asyncio.sleep(0)
        del task

    try:
        asyncio.run(leave())
    finally:
        logging.getLogger("asyncio").removeHandler(log.handlers[0])
    line = json.loads(written.getvalue())
    assert line["message"] == "Task exception was never retrieved"
    assert line["exception"].endswith("ValueError")
    assert PERSON not in written.getvalue()


@pytest.mark.long
def test_all_parts_write_json_and_their_file_can_be_copied_and_emptied(tmp_path: Path) -> None:
    """The file is opened for appending, as `2>>` does: what comes next begins it again."""
    ports = [free_port(), free_port()]
    log, rotated = tmp_path / "prazo.log", tmp_path / "prazo.log.1"
    environment = os.environ | environment_in(tmp_path) | {"PRAZO_LOG_FORMAT": "json"}
    with log.open("ab") as out:
        serving = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", "serve"],
            env=environment
            | {"PRAZO_RECEIVER_PORT": str(ports[0]), "PRAZO_DASHBOARD_PORT": str(ports[1])},
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=out,
        )
    try:
        wait_until(lambda: _answers(ports[0], "/healthz") and _answers(ports[1], "/_stcore/health"))
        wait_until(lambda: log.read_text().count("Started server process") == 2)  # both passed on
        shutil.copy(log, rotated)
        os.truncate(log, 0)
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait(60)
    for file, word in ((rotated, "Started server process"), (log, "Finished server process")):
        lines = [json.loads(it) for it in file.read_text().splitlines()]
        assert not [it for it in lines if it["logger"] == it["part"]]  # lines that were not JSON
        assert {it["part"] for it in lines if word in it["message"]} == {"receive", "dashboard"}


def _answers(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_part_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    environment = os.environ | {"PRAZO_LOG_FORMAT": "json", "PRAZO_RECEIVER_PORT": "none"}
    for part in ("receive", "dashboard"):
        ended = subprocess.run(
            [sys.executable, "-m", "pipeline.cli", part],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        line = json.loads(ended.stderr)
        assert (ended.returncode, line["part"], line["level"]) == (2, part, "ERROR")
        assert "PRAZO_RECEIVER_PORT" in line["message"]


def in_json(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end, with a text log in JSON."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PRAZO_LOG_FORMAT": "json"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_error_that_nobody_catches_and_a_foreign_line_are_json(tmp_path: Path) -> None:
    program = f"""
import logging, os, sys, threading, warnings
from pipeline import text_log
text_log.begin(logging.INFO)
text_log.keep_to_setting("receive")
sys.stdout.buffer.write(text_log.passed_on(b"Fatal error, {IDS}\\n", "dashboard"))
ours = b'{{"time": "", "message": "well"}}\\n'
assert text_log.passed_on(ours, "dashboard") == ours
assert text_log.words_of(ours) == "well"
deep = b'{{"time": "", "a": ' + b"[" * 100_000
assert text_log.words_of(deep) == deep.decode()
warnings.warn("old")
def fail(): raise ValueError("{PERSON}")
class Left:
    def __del__(self): fail()
Left()
thread = threading.Thread(target=fail); thread.start(); thread.join()
fail()
"""
    ended = in_json(program, tmp_path)
    assert ended.returncode == 1
    passed = json.loads(ended.stdout)
    assert (passed["part"], passed["message"]) == ("dashboard", "Fatal error, ***, CPF ***, ***")
    warned, left, thread, last = map(json.loads, ended.stderr.splitlines())
    assert "old" in warned["message"]
    assert (left["level"], left["exception"].endswith("ValueError")) == ("ERROR", True)
    assert all(it["level"] == "CRITICAL" for it in (thread, last))
    assert all(it["exception"].endswith("ValueError") for it in (thread, last))
    assert PERSON not in ended.stderr


def test_streamlit_writes_json_also_by_loggers_that_it_makes_later(tmp_path: Path) -> None:
    program = """
import logging
from streamlit.logger import get_logger
from pipeline import text_log
from app_pages.door import loggers
get_logger("streamlit.early")
text_log.begin(logging.WARNING)
loggers.keep_to_setting()
get_logger("streamlit.early").warning("early")
get_logger("streamlit.late").warning("late")
import uvicorn
from streamlit import logger
uvicorn.Config(None, access_log=False, log_config=None)
logger.update_formatter()  # as where its settings are read again
assert not logging.getLogger("uvicorn.access").hasHandlers()
"""
    ended = in_json(program, tmp_path)
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(it) for it in ended.stderr.splitlines()]
    assert [(it["part"], it["message"]) for it in lines] == [
        ("dashboard", "early"),
        ("dashboard", "late"),
    ]


def test_words_of_servers_are_left_out_of_json_and_stand_in_the_text(said: Any) -> None:
    log, written = said
    words = f"duplicate key: ({PERSON})"
    failed = InboxUnavailable("Nothing was sent", Quoted(words, "UniqueViolation (23505)"), "wait")
    log.error("retries wait: %s", failed)
    log.error("retries wait: %s", failed.in_one_line)
    log.error(str(ValueError(Quoted(PERSON, "it answered 550"))))
    try:
        raise failed
    except InboxUnavailable:
        log.exception("failed")
    assert str(failed) == f"Nothing was sent: {words}\n  To fix it: wait"
    assert PERSON not in written.getvalue()
    wait, wait_again, refused, traced = map(json.loads, written.getvalue().splitlines())
    ours = "Nothing was sent: UniqueViolation (23505). To fix it: wait"
    assert wait["message"] == wait_again["message"] == f"retries wait: {ours}"
    assert refused["message"] == "it answered 550"
    assert ours in traced["exception"]
