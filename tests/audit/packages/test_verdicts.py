"""What a verdict says: in words of its own, bounded, and in time."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline import verify
from pipeline.audit import export as evidence
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.cli.packages import verify as command
from pipeline.continuity.service import LedgerService
from tests.audit.conftest import Made, copied, no_rows, request


@pytest.fixture(scope="module")
def honest(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    with copied(followed, tmp_path_factory.mktemp("verdicts")) as opened:
        yield opened


def test_no_check_passes_whose_faults_are_too_many_to_be_named() -> None:
    """Of stores with over 100 faults, each check that failed after them was named as passed. Of 300
    it said "and 1 more" and "101 faults"."""
    verdict = verify.Verdict()
    for check in ("a check", "another"):
        for number in range(150):
            verdict.fault(f"fault {number}")
        verdict.passed(check)
    assert verdict.checked == []
    assert len(verdict.faults) == verify.MAX_LINES + 1
    assert [*verdict.lines()][-3:] == [
        "  FAULT    fault 99",
        "  FAULT    and more: only the first 100 are named",
        "NOT VERIFIED: over 100 faults",
    ]
    verdict.passed("the next check")
    assert verdict.checked == ["the next check"]


# --- whose words ---------------------------------------------------------------------------------

LIE = "Ana; entry 9\"; the log's key is right\\"


@no_rows
def test_words_of_the_exporter_stand_between_quotation_marks(
    honest: LedgerService, tmp_path: Path
) -> None:
    """An actor was printed as he calls himself, and could go on in the verdict's own words. Blanks
    could move the rest to where a terminal's next line begins."""
    actor = LIE + " " * 40 + "\u2800" + "VERIFIED"
    asked = dataclasses.replace(request(Scope(process_id="p3")), actor=actor, reason="a, entry 3")
    exported = evidence.export(honest, asked, tmp_path / "p3.zip")
    verdict = verify.verify(exported.path, exported.key)
    assert verdict.faults == []
    [about] = verdict.about
    assert 'process "p3"; as of "20' in about
    assert 'exported by "Ana; entry 9\\"; the log\'s key is right\\\\ \\u0020\\u0020' in about
    assert 'because of "a, entry 3", entry ' in about
    assert "  " not in about
    assert "\u2800" not in about


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ana", '"Ana"'),
        ("José da Silva", '"José da Silva"'),
        ('"', '"\\""'),
        ("\\u0022", '"\\\\u0022"'),
        ("a  b", '"a \\u0020b"'),
        ("a\u3164\u00a0\nb", '"a\\u3164\\u00a0\\u000ab"'),
        ("x" * 101, f'"{"x" * 100}" and 1 more characters'),
        (7, '"7"'),
    ],
)
def test_a_quotation_cannot_be_ended_or_moved_from_within(text: object, shown: str) -> None:
    assert verify.quoted(text) == shown


@pytest.mark.parametrize("name", ["", "a log", "prazo\u2800x", "prazo\x1b[2J", "x" * 201])
def test_a_key_has_a_name_that_is_one_word(name: str) -> None:
    """Without --key, the verdict names the package's own."""
    public = b"\1" + bytes(32)
    digest = verify.hashlib.sha256(name.encode() + b"\n" + public).hexdigest()[:8]
    with pytest.raises(ValueError, match="visible ASCII"):
        verify.read_key(f"{name}+{digest}+{verify._base64(public)}\n")


def test_every_instant_that_a_verdict_names_is_one(honest: LedgerService, tmp_path: Path) -> None:
    """Those of leaves stand in it as they are."""
    entries: Any = verify.Entries.__new__(verify.Entries)
    entries._shapes, entries.recorded_at = {}, ""
    entries._sealed = type("Sealed", (), {"checkpoint": verify.Checkpoint("log", 1, b"")})
    leaf = {"v": 1, "log": "log", "seq": 1, "occurred_at": "2026-03-01T09:00:00.000000Z"}
    for text in ("2026-03-01T09:00:00Z", "VERIFIED", "2026-03-01T09:00:00.000000Z VERIFIED"):
        with pytest.raises(verify.Fault, match="its leaf has no right instant"):
            entries._check_leaf({**leaf, "recorded_at": text}, 0)
    assert entries._check_leaf({**leaf, "recorded_at": leaf["occurred_at"]}, 0)


# --- how much ------------------------------------------------------------------------------------


def test_a_verdict_has_a_most_of_lines_and_each_a_most_of_characters() -> None:
    verdict = verify.Verdict()
    verdict.unchecked += [f"point {it}" for it in range(1000)]
    verdict.notes.append("n" * 1000)
    lines = [*verdict.lines()]
    assert lines[0] == f"  note     {'n' * 600}... and 400 more characters"
    assert lines[100:] == [
        "  NOT CHECKED point 99",
        "  NOT CHECKED and 900 more",
        "VERIFIED, but for what is not checked: 101 lines above",
    ]


def test_the_query_of_a_package_is_named_with_what_follows_from_it(
    made: Made,
) -> None:
    """verify.py does not compare it; prazo verify does."""
    [named] = [it for it in verify.verify(made.path, made.key).unchecked if "query.sql" in it]
    assert named.startswith("what follows from the entries: ")
    whole = verify_package(made.path, key=made.key)
    assert whole.faults == []
    assert not any("query.sql" in it for it in whole.unchecked)


# --- how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [verify.verify, verify_package])
def test_a_verifier_whose_time_is_up_says_so(made: Made, check: Any) -> None:
    verdict = check(made.path, key=made.key, seconds=1e-9)
    assert verdict.faults == [
        "it could not be verified within 1e-09 seconds: give it more (--seconds)"
    ]
    assert verdict.exit_code == 1


def test_at_whatever_step_the_time_is_up_nothing_is_verified(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No check takes it for the answer that it waited for."""
    steps = [0]

    def seconds_left(most: int) -> float:
        steps[0] += 1
        if steps[0] > most:
            raise verify.Late("late")
        return 60.0

    monkeypatch.setattr(verify, "seconds_left", lambda: seconds_left(1_000_000))
    assert verify.verify(made.path, made.key, made.earlier).faults == []
    for most in range(0, steps[0], max(1, steps[0] // 40)):
        steps[0] = 0
        monkeypatch.setattr(verify, "seconds_left", lambda most=most: seconds_left(most))
        assert verify.verify(made.path, made.key, made.earlier).faults == ["late"]


def test_the_time_that_it_may_take_is_an_option(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify.main([str(made.path), "--key", made.key, "--seconds", "1e-9"]) == 1
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.splitlines() == [
        "  FAULT    it could not be verified within 1e-09 seconds: give it more (--seconds)",
        "NOT VERIFIED: 1 fault",
    ]
    for wrong in ("0", "-1", "nan"):
        assert verify.main([str(made.path), "--key", made.key, "--seconds", wrong]) == 2
        assert "--seconds must be more than 0" in capsys.readouterr().err


def test_the_command_has_the_same_option_for_a_package_alone(made: Made) -> None:
    given = ["--key", made.key, "--seconds", "1e-9"]
    ended = CliRunner().invoke(command, [str(made.path), *given])
    assert (ended.exit_code, ended.output.splitlines()[-1]) == (1, "NOT VERIFIED: 1 fault")
    ended = CliRunner().invoke(command, ["--seconds", "9"])
    assert (ended.exit_code, "--seconds are for a package FILE" in ended.output) == (2, True)


def test_a_limit_within_another_ends_no_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with verify.limited(10), verify.limited(1000):
        assert 0 < verify.seconds_left() <= 10
    assert verify.seconds_left() == verify.math.inf
