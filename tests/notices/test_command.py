"""`prazo notices`: what a person types, and what is said of it."""

import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli.doctor.examination import examine
from pipeline.cli.group import main
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.log.kinds.notice_schedule import Wish, wished
from pipeline.notices.dispatcher import NoticeDispatcher
from pipeline.notices.rules import NoticeRules
from tests.alert.sinks import WebhookServer
from tests.notices.office import SECRET, Office
from tests.support.machine import wait_until


@pytest.fixture
def asked(office: Office, tmp_path: Path) -> Office:
    office.seller("sel_1", phone_number="+5511912345678")
    office.review("prc_1", "sel_1")
    office.seller("sel_2")
    office.review("prc_2", "sel_2")
    (tmp_path / "secret").write_text(SECRET)
    return office


def run(office: Office, *words: str) -> tuple[int, str]:
    environment = {**office.environment(), "PRAZO_NOTICES_FILE": str(office.folder / "n.toml")}
    found = CliRunner().invoke(main, ["notices", *words], env=environment)
    return found.exit_code, found.output


def test_a_person_sees_first_and_sends_then(asked: Office, tmp_path: Path) -> None:
    with WebhookServer().running() as server:
        (tmp_path / "n.toml").write_text(
            f'language = "en"\n[channels.sms]\nurl = "{server.url}"\naddress = true\n'
            f'secret_file = "{tmp_path / "secret"}"\n'
        )
        before = asked.inbox.last()
        code, said = run(asked, "send", "sel_1", "sel_2", "--channel", "sms", "--dry-run")
        assert code == 0
        assert "sel_1  Loja do Zé: confirm your registration data by" in said
        assert "It takes a few minutes: [link]" in said
        assert "sel_2  refused: The seller's record has no address for this channel." in said
        assert (asked.inbox.last(), server.taken) == (before, [])

        code, said = run(asked, "send", "sel_1", "sel_2", "--channel", "sms", "--actor", "Ana")
        assert code == 1, "one of them was not written to"
        assert "sel_1  accepted\n" in said
        assert len(server.taken) == 1
        again = ("send", "sel_1", "--channel", "sms", "--actor", "Ana")
        assert run(asked, *again)[0] == 1, "one went a moment ago"
        code, said = run(asked, *again, "--despite", "just_sent")
        assert (code, said) == (0, "sel_1  accepted\n")


def test_nobody_sends_without_a_name_or_a_channel(asked: Office, tmp_path: Path) -> None:
    (tmp_path / "n.toml").write_text("")
    code, said = run(asked, "send", "sel_1", "--channel", "sms", "--actor", "Ana")
    assert code == 2, said
    code, said = run(asked, "send", "sel_1", "--channel", "sms")
    assert code == 2, said
    assert asked.notices() == []


def test_the_schedule_is_shown_started_held_and_stopped(asked: Office, tmp_path: Path) -> None:
    (tmp_path / "n.toml").write_text(
        'channels.sms = { url = "https://x.example", secret_file = "s", address = true }\n'
        '[[schedule.ACI.rungs]]\nafter = "0d"\nchannel = "sms"\n'
    )
    before = asked.inbox.last()
    code, said = run(asked, "status")
    assert (code, said.splitlines()[0]) == (0, "The schedule does not run here.")
    code, said = run(asked, "--dry-run", "start", "--backlog")
    assert code == 0, said
    assert "sel_1  sms: prc_1 after_0d\n" in said
    assert "sel_2  nothing: The seller's record has no address for this channel.\n" in said
    assert "sel_2  phone: prc_2 after_0d\n" in said
    assert "1 seller would be written to now; 1 seller cannot be; 1 call would be asked" in said
    assert asked.inbox.last() == before
    code, _ = run(asked, "start", "--backlog")
    assert code == 2, "nobody starts it without a name"
    code, said = run(asked, "start", "--backlog", "--actor", "Ana")
    assert (code, said.splitlines()[-1]) == (0, f"started, entry {before[0] + 1}")
    code, said = run(asked, "hold", "--seller", "sel_1", "--actor", "Ana")
    assert code == 0, said
    code, said = run(asked, "status")
    assert said.startswith("The schedule runs here.\nsel_2  nothing: ")
    assert "\nsel_1  held by Ana\n" in said
    code, said = run(asked, "release", "--seller", "sel_1", "--actor", "Ana")
    assert code == 0, said
    assert "sel_1  sms: prc_1 after_0d" in run(asked, "status")[1]
    assert "held" not in run(asked, "status")[1]
    assert run(asked, "hold", "--seller", "sel_none", "--actor", "Ana")[0] == 1
    assert run(asked, "stop", "--actor", "Ana")[0] == 0
    assert run(asked, "stop", "--actor", "Ana")[0] == 1
    assert run(asked, "status")[1].startswith("The schedule does not run here.")


@pytest.mark.parametrize("is_held_first", [True, False])
def test_a_hold_and_a_wish_that_stand_are_both_shown(
    asked: Office, tmp_path: Path, is_held_first: bool
) -> None:
    """The later of them hid the other."""
    (tmp_path / "n.toml").write_text("")

    def wish(said: Wish) -> None:
        about = {"journey_id": "j1", "recorded_by": "journey", "seller_id": "sel_1"}
        asked.inbox.append([wished(said, **about)])

    if not is_held_first:
        wish("not_me")
    assert run(asked, "hold", "--seller", "sel_1", "--actor", "Ana")[0] == 0
    if is_held_first:
        wish("not_me")
    wish("stop_writing")  # whoever is not the seller stays so
    said = run(asked, "status")[1].splitlines()
    kept = sorted(line for line in said if line.startswith("sel_1  "))
    assert kept == ["sel_1  held by Ana", "sel_1  stopped by the seller: not_me"]
    release = ("release", "--seller", "sel_1", "--actor", "Ana", "--reason", "they called")
    assert run(asked, *release)[0] == 0
    assert "sel_1  " not in run(asked, "status")[1]


@pytest.mark.parametrize(
    "command",
    [
        ["stop", "--actor", "Ana"],
        ["hold", "--seller", "sel_1", "--actor", "Ana"],
        ["release", "--seller", "sel_1", "--actor", "Ana"],
        ["run"],
    ],
)
def test_a_dry_run_records_and_sends_nothing(
    asked: Office, tmp_path: Path, command: list[str]
) -> None:
    """Only `send` and `start` heard of it: `--dry-run run` sent real messages."""
    (tmp_path / "n.toml").write_text("")
    assert run(asked, "start", "--backlog", "--actor", "Ana")[0] == 0
    before = asked.inbox.last()
    code, said = run(asked, "--dry-run", *command)
    assert asked.inbox.last() == before
    assert "would be" in said or (code == 2 and "says what is due" in said)


def test_a_schedule_that_was_started_and_that_nothing_runs_is_named(
    asked: Office, tmp_path: Path
) -> None:
    (tmp_path / "n.toml").write_text("")

    def verdicts() -> list[str]:
        found = examine(
            asked.settings()
        )  # which knows of no file: the schedule is started all the same
        return [it.verdict for it in found if it.check == "schedule"]

    assert (verdicts(), "nothing runs it" in run(asked, "status")[1]) == ([], False)
    assert "nothing runs it: there has been none yet; run" in run(asked, "start", "--actor", "A")[1]
    assert (verdicts(), "nothing runs it" in run(asked, "status")[1]) == (["fault"], True)
    stop, rules = threading.Event(), NoticeRules()
    sends = NoticeDispatcher(asked.settings(), asked.inbox, lambda: rules, lambda: None)
    runs = threading.Thread(target=sends.run, args=[stop])
    runs.start()
    wait_until(lambda: Part.NOTICES in heartbeats(asked.inbox))
    stop.set()
    runs.join()
    assert (verdicts(), "nothing runs it" in run(asked, "status")[1]) == (["ok"], False)
    asked.inbox.execute("update heartbeats set at = at - 61000000 where name = 'notices'")
    assert verdicts() == ["fault"]
