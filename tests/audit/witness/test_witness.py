"""A witness cosigns what continues what it saw, and nothing else; a policy asks for its word."""

import base64
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from pipeline import instants, verify
from pipeline.audit import export as evidence
from pipeline.audit.request import Scope
from pipeline.audit.witness.service import Answer, Witness
from pipeline.cli import packages
from pipeline.continuity.service import LedgerService
from pipeline.errors import OperatorError, WrongUsage
from pipeline.log import tree
from pipeline.log.checkpoints import Cosigner, Signer, VerificationKey
from pipeline.settings import Settings
from tests import fork_server
from tests.audit import forgery
from tests.audit.conftest import Made, copied, empty_tables, no_rows, request
from tests.audit.forgery import subtree_over
from tests.support.machine import free_port

LEAVES = [b"leaf %d" % it for it in range(20)]
OTHERS = [b"another", *LEAVES[1:]]


class Log(NamedTuple):
    """A log whose leaves anybody may know, and its key."""

    signer: Signer

    def note(self, size: int, leaves: list[bytes] = LEAVES) -> str:
        root = tree.Frontier()
        root.extend(map(tree.leaf_hash, leaves[:size]))
        return self.signer.checkpoint(size, root.root())

    def body(self, old: int, size: int, leaves: list[bytes] = LEAVES, *, stated: int = -1) -> bytes:
        proof = tree.consistency_proof(old, size, subtree_over(leaves)) if 0 < old <= size else []
        lines = "".join(f"{base64.b64encode(it).decode()}\n" for it in proof)
        first = old if stated < 0 else stated
        return f"old {first}\n{lines}\n{self.note(size, leaves)}".encode()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(Signer.made("prazo/0123456789abcdef", tmp_path / "log.key"))


@pytest.fixture
def witness(tmp_path: Path, log: Log) -> Iterator[Witness]:
    opened = Witness(
        Cosigner("audit.example/w1", tmp_path / "w.key"), [log.signer.key], tmp_path / "w"
    )
    yield opened
    opened.close()


def cosigned_at(witness: Witness, note: str, answer: Answer) -> float:
    at = verify.cosigned_at(
        (note + answer.text).encode(), verify.read_key(str(witness.cosigner.key), 4)
    )
    assert at is not None
    return at.timestamp()


# --- the protocol (C2SP tlog-witness) -----------------------------------------------------------


def test_each_checkpoint_that_continues_the_last_is_cosigned(witness: Witness, log: Log) -> None:
    for old, size in ((0, 3), (3, 3), (3, 8), (8, 20)):
        answer = witness.add(log.body(old, size))
        assert answer.status == 200
        assert cosigned_at(witness, log.note(size), answer) > 1_700_000_000


def test_a_wrong_old_size_is_a_conflict_that_names_the_right_one(
    witness: Witness, log: Log
) -> None:
    witness.add(log.body(0, 8))
    for body in (log.body(0, 20), log.body(3, 20)):
        assert witness.add(body) == Answer(409, "8\n", "text/x.tlog.size")
    other = log.body(8, 8, OTHERS)
    assert witness.add(other).status == 409, "the same size with another root"


def test_a_log_that_was_rewritten_is_not_cosigned(witness: Witness, log: Log) -> None:
    """Neither with the proof of the other log, nor with that of the honest one."""
    witness.add(log.body(0, 8))
    assert witness.add(log.body(8, 20, OTHERS)).status == 422
    honest = log.body(8, 20).partition(b"\n\n")[0]
    assert witness.add(honest + b"\n\n" + log.note(20, OTHERS).encode()).status == 422
    assert witness.add(log.body(8, 20)).status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"old 0\n", 400),
        (b"old 00\n\nCHECKPOINT", 400),
        (b"old -1\n\nCHECKPOINT", 400),
        (b"new 0\n\nCHECKPOINT", 400),
        (b"old 0\nnot base64\n\nCHECKPOINT", 400),
        (b"old 0\nAAAA\n\nCHECKPOINT", 400),
        (b"old 0\n" + b"A" * 43 + b"=\n\nCHECKPOINT", 422),
        (b"old 0\n" + (b"A" * 43 + b"=\n") * 64 + b"\nCHECKPOINT", 400),
        (b"old 9\n\nCHECKPOINT", 400),
        (b"old 0\n\n\xff\xfe", 400),
        (b"old 0\n\nCHECKPOIN", 403),
    ],
)
def test_what_is_not_such_a_request_is_refused(
    witness: Witness, log: Log, body: bytes, status: int
) -> None:
    note = log.note(8).encode()
    body = body.replace(b"CHECKPOINT", note).replace(b"CHECKPOIN", note[:-9] + b"AAAAAAA=\n")
    assert witness.add(body).status == status
    assert witness.newest(log.signer.key.name) is None


def test_logs_and_keys_that_are_not_known_are_refused_each_in_its_way(
    witness: Witness, tmp_path: Path, log: Log
) -> None:
    stranger = Log(Signer.made("prazo/another", tmp_path / "another.key"))
    assert witness.add(stranger.body(0, 3)).status == 404
    impostor = Log(Signer.made(log.signer.key.name, tmp_path / "impostor.key"))
    assert witness.add(impostor.body(0, 3)).status == 403


def test_a_key_that_was_replaced_signs_nothing_more(tmp_path: Path) -> None:
    """Anyone who found it had entries of theirs cosigned behind those of the log, which was refused
    from then on. Also when the witness starts again; before the new key signed, it is in force."""
    old, new = (Log(Signer.made("prazo/x", tmp_path / it)) for it in ("old", "new"))
    forged = [*LEAVES[:8], *OTHERS[:1], *LEAVES[9:]]
    cosigner, replaced = Cosigner("audit.example/w1", tmp_path / "w.key"), "this one was replaced"

    def answers(*bodies: bytes) -> list[Answer]:
        opened = Witness(cosigner, [old.signer.key, new.signer.key], tmp_path / "w")
        with closing(opened):
            return [opened.add(it) for it in bodies]

    assert [it.status for it in answers(old.body(0, 3), old.body(3, 5), new.body(5, 8))] == [
        200
    ] * 3
    for refused in answers(old.body(8, 20, forged), old.body(8, 8), old.body(5, 20)):
        assert (refused.status, replaced in refused.text) == (403, True)
    assert [it.status for it in answers(new.body(8, 8), new.body(8, 20))] == [200, 200]


def test_of_requests_at_once_one_alone_continues_the_same_checkpoint(
    witness: Witness, log: Log
) -> None:
    witness.add(log.body(0, 3))
    answers: list[Answer] = []
    bodies = [log.body(3, size) for size in range(4, 20)]
    threads = [
        threading.Thread(target=lambda body=body: answers.append(witness.add(body)))
        for body in bodies
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(it.status for it in answers) == [200] + [409] * 15


def test_two_witnesses_do_not_share_a_folder(witness: Witness, tmp_path: Path, log: Log) -> None:
    with pytest.raises(OperatorError, match="give a folder that no other witness uses"):
        Witness(witness.cosigner, [log.signer.key], tmp_path / "w")


def test_a_witness_that_lost_what_it_saw_cosigns_nothing(
    witness: Witness, tmp_path: Path, log: Log
) -> None:
    witness.add(log.body(0, 8))
    [kept] = (tmp_path / "w").glob("*.note")
    kept.write_bytes(b"half a checkpoint")
    with pytest.raises(OperatorError, match="restore it from a backup"):
        witness.add(log.body(8, 20))


# --- a process of its own -----------------------------------------------------------------------


def test_what_was_cosigned_is_on_disk_before_it_is_answered(log: Log, tmp_path: Path) -> None:
    """Killed right behind its answer, it knows the checkpoint when it is back."""
    port, folder = free_port(), tmp_path / "folder"
    for old, size in ((0, 5), (5, 9), (9, 20)):
        process = serving(folder, port, log)
        try:
            url = f"http://127.0.0.1:{port}/add-checkpoint"
            if old:
                assert httpx.post(url, content=log.body(0, size)).text == f"{old}\n"
            answer = httpx.post(url, content=log.body(old, size))
            assert answer.status_code == 200
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
    assert answer.text.startswith("— audit.example/w1 ")


def serving(folder: Path, port: int, log: Log) -> subprocess.Popen[str]:
    arguments = ["--name", "audit.example/w1", "--log", str(log.signer.key), "--port", str(port)]
    process = fork_server.start(
        [sys.executable, "-m", "pipeline.cli", "witness", "--folder", str(folder), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("audit.example/w1+")
    process.stdout.close()
    for _ in range(200):
        try:
            httpx.get(f"http://127.0.0.1:{port}/key", timeout=1)
        except httpx.TransportError:
            threading.Event().wait(0.1)
        else:
            return process
    raise AssertionError("the witness did not start")


# --- packages -----------------------------------------------------------------------------------


class Observed(NamedTuple):
    """A package that witnesses cosigned, the key of its log, and the policy."""

    path: Path
    key: str
    policy: bytes


@pytest.fixture(scope="module")
def observed(
    followed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LedgerService, Observed]]:
    """Two witnesses, of whom one is away."""
    folder = tmp_path_factory.mktemp("observed")
    with (
        copied(followed, folder, witnesses_file=folder / "policy") as service,
        witnessing(service, folder / "witness") as port,
    ):
        here = Cosigner("audit.example/w1", folder / "witness" / "witness.key").key
        away = Cosigner("audit.example/w2", folder / "away.key").key
        policy = (
            "# whom this log asks\n"
            f"witness w1 {here} http://127.0.0.1:{port}\n"
            f"witness w2 {away} http://127.0.0.1:{free_port()}/\n"
            "group enough 1 w1 w2\nquorum enough\n"
        )
        (folder / "policy").write_text(policy, encoding="utf-8")
        with empty_tables():  # and no longer: `made` has rows, and may be made for a later test
            exported = evidence.export(service, request(Scope(process_id="p3")), folder / "p3.zip")
        yield service, Observed(exported.path, exported.key, policy.encode())


@contextmanager
def witnessing(service: LedgerService, folder: Path) -> Iterator[int]:
    """The port of a witness of this log."""
    assert service.signer is not None
    port = free_port()
    process = serving(folder, port, Log(service.signer))
    try:
        yield port
    finally:
        process.kill()
        process.wait(30)


def test_a_package_shows_by_its_witnesses_that_the_log_was_not_rewritten(
    observed: tuple[LedgerService, Observed],
) -> None:
    _, made = observed
    without = verify.verify(made.path, made.key)
    assert any(it.startswith("that the log was not rewritten") for it in without.unchecked)
    verdict = verify.verify(made.path, made.key, policy=made.policy)
    assert verdict.faults == []
    assert not any(it.startswith("that the log was not rewritten") for it in verdict.unchecked)
    said = "the log continues what its witnesses saw: the checkpoint was cosigned by w1 at 20"
    assert any(it.startswith(said) for it in verdict.checked)


def test_the_logs_of_a_policy_are_the_only_ones_whose_word_is_taken(made: Made) -> None:
    """Any other log, with a key of its own, was verified by the word of its package. With --key,
    so was one that the policy does not name."""
    another = VerificationKey("prazo/0000000000000000", bytes(32))

    def faults(*named: object, key: str | None = None) -> list[str]:
        policy = "".join(f"log {it}\n" for it in named) + "quorum none\n"
        return verify.verify(made.path, key, policy=policy.encode()).faults

    log = verify.quoted(made.signer.key.name)
    said = [f"it is of the log {log}, and the policy names other logs"]
    assert faults(another) == faults(another, key=made.key) == said
    assert faults(another, made.key) == faults() == []


@pytest.mark.parametrize("quorum", ["w2", "both"])
def test_a_policy_that_asks_for_more_than_cosigned_is_a_fault(
    observed: tuple[LedgerService, Observed], quorum: str
) -> None:
    _, made = observed
    lines = made.policy.decode().splitlines()[:-1]
    stricter = "\n".join([*lines, "group both all enough", f"quorum {quorum}"])
    if quorum == "both":
        stricter = stricter.replace("enough 1", "enough 2")
    verdict = verify.verify(made.path, made.key, policy=stricter.encode())
    [fault] = verdict.faults
    assert fault.startswith("the policy of witnesses is not fulfilled: of 2 witnesses, w1 at 20")


def test_a_cosignature_of_another_checkpoint_does_not_count(
    observed: tuple[LedgerService, Observed],
) -> None:
    service, made = observed
    witness = verify.Policy(made.policy.decode()).witnesses["w1"]
    signed = service.inbox.checkpoint()
    assert signed is not None
    with_line = verify.Package(made.path)
    with with_line as package:
        note = package.read("data/checkpoint.note")
    assert verify.cosigned_at(note, witness) is not None
    line = note.splitlines(keepends=True)[-1]
    other = service.signer.checkpoint(3, bytes(32)).encode() if service.signer else b""
    assert verify.cosigned_at(other + line, witness) is None


def test_a_cosignature_from_before_the_newest_entry_does_not_count_and_is_named(
    observed: tuple[LedgerService, Observed], tmp_path: Path
) -> None:
    """A witness cannot have seen a checkpoint before its newest entry was recorded: one of the two
    clocks is wrong. Enough others outweigh it; five minutes are within what clocks may differ."""
    service, made = observed
    assert service.signer is not None
    files = forgery.read(made.path)
    newest = json.loads(files["data/leaves.ndjson"].splitlines()[-1])["recorded_at"]
    at = int(datetime.fromisoformat(newest).timestamp())
    other = Cosigner("audit.example/w3", tmp_path / "w3.key")
    witnesses = made.policy.decode().partition("group")[0] + f"witness w3 {other.key}\n"
    text = files["data/checkpoint.note"].decode().partition("\n\n")[0] + "\n"
    for early, is_counted in ((301, False), (299, True)):
        note = files["data/checkpoint.note"] + other.cosignature(text, at - early).encode()
        forged = forgery.seal({**files, "data/checkpoint.note": note}, service.signer)
        path = forgery.write(tmp_path / "f.zip", forged)
        for quorum in ("w1", "w3"):
            policy = f"{witnesses}quorum {quorum}\n".encode()
            verdict = verify.verify(path, made.key, policy=policy)
            said = "the cosignature of w3, which does not count: it is of 20"
            named = [it for it in verdict.unchecked if it.startswith(said)]
            assert len(named) == (not is_counted)
            assert len(verdict.faults) == (not is_counted and quorum == "w3")


@no_rows
def test_without_enough_witnesses_no_package_is_made(
    observed: tuple[LedgerService, Observed], tmp_path: Path
) -> None:
    service, made = observed
    assert service.settings.witnesses_file is not None
    stricter = made.policy.decode().replace("enough 1", "enough 2")
    service.settings.witnesses_file.write_text(stricter, encoding="utf-8")
    try:
        with pytest.raises(OperatorError, match="not cosigned by enough witnesses: w2 at http"):
            evidence.export(service, request(Scope(process_id="p3")), tmp_path / "p3.zip")
    finally:
        service.settings.witnesses_file.write_bytes(made.policy)
    assert not (tmp_path / "p3.zip").exists()


@no_rows
@pytest.mark.parametrize(("minutes", "is_counted"), [(4, True), (6, False)])
def test_a_cosignature_that_no_verifier_would_count_makes_no_package(
    followed: Path, tmp_path: Path, minutes: int, is_counted: bool
) -> None:
    """The log's clock is ahead of the witness's. The package was made, and NOT VERIFIED for good by
    anyone who asked for that witness."""
    policy, out = tmp_path / "policy", tmp_path / "p3.zip"
    with (
        copied(followed, tmp_path / "stores", witnesses_file=policy) as service,
        witnessing(service, tmp_path / "witness") as port,
    ):
        here = Cosigner("audit.example/w1", tmp_path / "witness" / "witness.key").key
        policy.write_text(f"witness w1 {here} http://127.0.0.1:{port}\nquorum w1\n")
        service.inbox.clock = lambda: instants.now() + minutes * instants.MINUTE
        asked = request(Scope(process_id="p3"))
        if is_counted:
            made = evidence.export(service, asked, out)
            assert verify.verify(out, made.key, policy=policy.read_bytes()).faults == []
        else:
            with pytest.raises(OperatorError, match="one of the two clocks is wrong"):
                evidence.export(service, asked, out)
    assert out.exists() == is_counted


A = "witness a w.example/a+52ea87ed+BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
B = "witness b w.example/b+69535b73+BAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no quorum line"),
        (f"{A}", "it has no quorum line"),
        ("quorum w1", "line 1 cannot be read: w1 is not known"),
        ("quorum none\nquorum none", "line 2 cannot be read: it is not a line of a policy"),
        ("quorum", "line 1 cannot be read: it is not a line of a policy"),
        ("what is this\nquorum none", "line 1 cannot be read: it is not a line of a policy"),
        ("witness w1 x+y\nquorum w1", "line 1 cannot be read: a verification key is name+hash+key"),
        (A.replace("+BAAA", "+AQAA"), "line 1 cannot be read: not an Ed25519 verification key"),
        (A.replace("52ea", "52eb"), "line 1 cannot be read: not an Ed25519 verification key"),
        (f"{A}\n{A}", "line 2 cannot be read: this witness stands there already"),
        (f"{A}\n{A.replace('witness a', 'witness b')}", "line 2 cannot be read: this witness"),
        (f"{A}\n{B.replace('witness b', 'witness a')}", "line 2 cannot be read: a stands there"),
        (A.replace("witness a", "witness none"), "line 1 cannot be read: none stands there"),
        (f"{A}\ngroup a any a", "line 2 cannot be read: a stands there already"),
        (f"{A}\ngroup g 2 a", "line 2 cannot be read: it cannot be fulfilled"),
        (f"{A}\ngroup g 0 a", "line 2 cannot be read: it cannot be fulfilled"),
        (f"{A}\ngroup g -1 a", "line 2 cannot be read: it cannot be fulfilled"),
        (f"{A}\ngroup g 2 a a", "line 2 cannot be read: it cannot be fulfilled"),
        (f"{A}\ngroup g most a", "line 2 cannot be read: invalid literal for int"),
        (f"{A}\ngroup g any", "line 2 cannot be read: it is not a line of a policy"),
        (f"{A}\ngroup g any b", "line 2 cannot be read: a member is not known"),
        (f"{A}\ngroup g any g", "line 2 cannot be read: a member is not known"),
        (f"{A}\ngroup g any a\ngroup h any a", "line 3 cannot be read: a member is not known, or"),
        ("log x+y\nquorum none", "line 1 cannot be read: a verification key is name+hash+key"),
        ("log\nquorum none", "line 1 cannot be read: it is not a line of a policy"),
    ],
)
def test_a_policy_with_a_mistake_names_its_line_and_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        verify.Policy(text)
    assert str(raised.value).startswith(why)


def test_a_policy_without_a_mistake_asks_for_its_quorum() -> None:
    text = f"# ours\n\n{A} https://a.example\n{B}\ngroup both all a b\ngroup one any both\n"
    policy = verify.Policy(f"{text}quorum one")
    assert policy.urls == {"a": "https://a.example"}
    assert [policy.holds(it) for it in ({"a", "b"}, {"a"}, set())] == [True, False, False]


def test_a_policy_with_a_mistake_is_wrong_usage_and_no_verdict(
    observed: tuple[LedgerService, Observed], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, made = observed
    for text, why in (("quorum w1\n", "line 1 cannot be read: w1 is not known"), ("", "is empty")):
        (tmp_path / "policy").write_text(text, encoding="utf-8")
        given = [str(made.path), "--key", made.key, "--policy", str(tmp_path / "policy")]
        assert verify.main(given) == 2
        shown = capsys.readouterr()
        assert why in shown.err
        assert shown.out == ""


def test_the_settings_name_the_file_that_cannot_be_used(tmp_path: Path) -> None:
    from pipeline.audit.witness.cosigned import read_policy

    (tmp_path / "policy").write_text(json.dumps({}), encoding="utf-8")
    with pytest.raises(OperatorError, match="line 1 cannot be read"):
        read_policy(tmp_path / "policy")


def test_a_witness_has_a_port_of_its_own_unless_another_is_chosen() -> None:
    """It had that of the seller's page, and of the two the second did not start."""
    [port] = [it.default for it in packages.witness.params if it.name == "port"]
    others = {name: it.default for name, it in Settings.model_fields.items() if "port" in name}
    assert others == {"receiver_port": 8400, "dashboard_port": 8501, "journey_port": 8600}
    assert port not in others.values()


@pytest.mark.parametrize("name", ["", "audit example", "audit.example/w1+x", "audit\u00a0w1"])
def test_a_name_that_no_cosignature_can_have_is_refused_and_makes_no_key(
    tmp_path: Path, name: str
) -> None:
    """The witness started, and nobody could read what it cosigned."""
    with pytest.raises(WrongUsage, match="cannot be the name of a witness"):
        Cosigner(name, tmp_path / "witness.key")
    assert [*tmp_path.iterdir()] == []
