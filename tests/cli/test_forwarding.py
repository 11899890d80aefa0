"""`prazo forward`: what is set, how it stands, and what a person asks for."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli.doctor import Diagnosis, examine
from pipeline.forward import entries, progress
from pipeline.forward.progress import Waiting
from pipeline.inbox import open_inbox
from pipeline.inbox.heartbeats import Part, beat
from tests.forward.conftest import deliver, endpoints_file, of_seller
from tests.support.stores import settings_in


@pytest.fixture
def file(tmp_path: Path, environment: dict[str, str]) -> Path:
    given = {"name": "erp", "url": "https://erp.example/hooks?key=1", "events": ["seller.*"]}
    file = endpoints_file(tmp_path, given)
    environment["PRAZO_FORWARD_FILE"] = str(file)
    return file


@pytest.fixture
def begun(file: Path, tmp_path: Path) -> Path:
    """The inbox after a forwarder has given one delivery up, and passed another one on."""
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        progress.begin(inbox, "erp", 0, inbox.clock(), entries.begun("erp", 0, inbox.clock()))
        deliver(inbox, of_seller("sel_1"), of_seller("sel_2"))
        row = progress.standings(inbox)["erp"]
        row = row._replace(position=2, leaf=inbox.leaf(2), last_success_at=inbox.clock())
        letter = Waiting("entry 2", 2, 9, inbox.clock(), 0, "status 422", inbox.clock())
        assert progress.save(inbox, "erp", row, {letter.lane: letter}, {}, [])
    return tmp_path


def test_the_endpoints_are_listed_without_what_may_be_a_key(prazo, file) -> None:
    listed = prazo("forward", "list")
    assert listed.stdout.splitlines() == [
        "erp  https://erp.example/hooks",
        "  events       seller.*",
        "  limits       2 s, 8 at a time, given up after 72 hours",
    ]


def test_without_a_file_there_is_nobody_to_pass_on_to(prazo) -> None:
    for command in ("run", "list"):
        refused = prazo("forward", command)
        assert refused.returncode == 2
        assert "PRAZO_FORWARD_FILE is not set" in refused.stderr


def test_a_file_with_faults_is_refused(prazo, file) -> None:
    file.write_text('[[endpoint]]\nname = "erp"\nurl = "ftp://x/"')
    refused = prazo("forward", "list")
    assert refused.returncode == 2
    assert "endpoint.1.url" in refused.stderr
    assert "endpoint.1.secret_file" in refused.stderr


def test_how_it_stands_and_what_was_given_up(prazo, begun) -> None:
    shown = prazo("forward", "status")
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert lines[:2] == ["erp", "  position     entry 2"]
    assert lines[2].startswith("  to do        1 delivery, the first of 20")
    assert "  dead letters 1: see `prazo forward dead erp`" in lines
    dead = prazo("forward", "dead", "erp").stdout
    assert dead.startswith("entry 2  given up 20")
    assert ": status 422\n1 dead letter" in dead


def test_what_a_person_asks_for_is_done_and_recorded(prazo, begun) -> None:
    by = ("--reason", "maintenance", "--actor", "Ana")
    assert prazo("forward", "pause", "erp", *by).stdout == "erp is paused.\n"
    assert "paused       since 20" in prazo("forward", "status").stdout
    again = prazo("forward", "pause", "erp", *by)
    assert (again.returncode, "is paused already" in again.stderr) == (1, True)
    assert prazo("forward", "resume", "erp", *by).stdout == "erp is resumed.\n"
    once = prazo("forward", "replay", "erp", "--seq", "2", *by)
    assert once.stdout == "Delivery 2 goes to erp once more.\n"
    assert prazo("forward", "dead", "erp").stdout == "No delivery was given up.\n"
    # Without an offset it is UTC, and the answer says how it was read.
    since = prazo("forward", "replay", "erp", "--from-time", "2026-01-01T00:00:00", *by)
    assert since.stdout == (
        "Everything from entry 1 on, the first since 2026-01-01T00:00:00Z, goes to erp once more.\n"
    )
    with closing(open_inbox(begun / "inbox.db")) as inbox:
        entries = inbox.find(kind="forwarding")
    assert [it.recorded_by.partition(":")[0] for it in entries] == ["forwarder", *["user"] * 4]
    assert [it.name for it in entries] == [None, *["Ana"] * 4]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ((), 2, "one of --seq, --from-seq and --from-time is needed"),
        (("--seq", "2", "--from-seq", "1"), 2, "one of --seq, --from-seq and --from-time"),
        (("--from-time", "yesterday"), 2, "yesterday is not an instant"),
        (("--from-seq", "4"), 1, "it is at entry 2"),
        (("--seq", "1"), 1, "it is not a live delivery"),
        (("--seq", "77"), 1, "there is no such entry"),
    ],
)
def test_a_wish_that_cannot_be_done_is_refused(prazo, begun, options, code, words) -> None:
    refused = prazo("forward", "replay", "erp", "--reason", "r", "--actor", "Ana", *options)
    assert (refused.returncode, words in refused.stderr) == (code, True), refused.stderr


def of_forwarding(folder: Path, file: Path | None) -> list[Diagnosis]:
    found = examine(settings_in(folder, forward_file=file))
    return [it for it in found if it.check == "forwarding"]


def test_the_doctor_says_whether_it_runs_and_what_it_cannot_do(begun: Path, file: Path) -> None:
    assert of_forwarding(begun, None) == []
    [running, erp] = of_forwarding(begun, file)
    assert (running.verdict, running.found) == ("fault", "no forwarder has run yet")
    assert (erp.verdict, erp.found) == ("warning", "1 delivery was given up for erp")
    with closing(open_inbox(begun / "inbox.db")) as inbox:
        beat(inbox, Part.FORWARDER)
        inbox.execute("delete from forward_waiting")
        assert [it.verdict for it in of_forwarding(begun, file)] == ["ok", "ok"]
        inbox.execute("update forward_endpoints set failing_since = 1")
        [_, erp] = of_forwarding(begun, file)
        assert erp.found.startswith("erp has taken nothing since 1970-01-01T00:00:00")
        inbox.execute("update heartbeats set at = at - 61000000")
        [old, _] = of_forwarding(begun, file)
        assert old.found.startswith("the forwarder was last well 20")
        inbox.execute("update heartbeats set at = at + 3600000000")
        [ahead, _] = of_forwarding(begun, file)
        assert ahead.verdict == "warning", "one that was killed since was called well for an hour"
        assert "which is yet to come: a clock was ahead" in ahead.found


def test_the_doctor_says_who_can_read_the_endpoints_secrets(begun: Path, file: Path) -> None:
    secret = begun / "forward.secret"
    for mode, verdict in ((0o640, "fault"), (0o600, "ok")):
        secret.chmod(mode)
        found = examine(settings_in(begun, forward_file=file))
        [said] = [it for it in found if it.check == "secrets" and str(secret) in it.found]
        assert said.verdict == verdict


def test_the_doctor_names_the_faults_of_the_file(begun: Path, file: Path) -> None:
    file.write_text("[[endpoints]]")
    [fault] = of_forwarding(begun, file)
    assert fault.verdict == "fault"
    assert "endpoints: there is no such setting: is it endpoint?" in fault.found


def test_a_file_without_endpoints_is_none_of_them_and_no_fault(prazo, begun, file) -> None:
    file.write_text("# nobody any more\n")
    listed = prazo("forward", "list")
    assert (listed.returncode, listed.stdout) == (0, "There is no endpoint.\n")
    assert prazo("forward", "status").stdout.startswith("erp  (no longer in the file of endpoints)")
    with closing(open_inbox(begun / "inbox.db")) as inbox:
        beat(inbox, Part.FORWARDER)
    assert [it.verdict for it in of_forwarding(begun, file)] == ["ok"]


def test_the_dead_letters_of_an_endpoint_that_nobody_has_seen_are_refused(prazo, begun) -> None:
    refused = prazo("forward", "dead", "nosuch")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "No forwarder has seen an endpoint nosuch: known here: erp" in refused.stderr
