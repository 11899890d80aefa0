"""What a package tells, to whom, and that making one leaves its trace in the log."""

import hashlib
import itertools
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipeline import evidence, instants, packages
from pipeline.errors import CallerError, OperatorError
from pipeline.export_request import Scope
from pipeline.holder import find
from pipeline.inbox import Identity, open_inbox
from pipeline.reproduction import verify_package
from pipeline.service import LedgerService
from pipeline.settings import Settings
from tests.evidence import forgery, story
from tests.evidence.conftest import (
    EVERYTHING,
    WITHHELD,
    Made,
    command,
    environment,
    export,
    request,
)


class Text(HTMLParser):
    """The words of an HTML page, without its style."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self._words: list[str] = []
        self._is_style = False
        self.tags: set[str] = set()
        self.feed(page.decode())
        self.words = re.sub(r"\s+", " ", " ".join(self._words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._is_style = tag == "style"

    def handle_data(self, data: str) -> None:
        if not self._is_style:
            self._words.append(data)


# --- what is in it -----------------------------------------------------------------------------


def test_a_process_is_given_whole_and_nothing_else(service: LedgerService, tmp_path: Path) -> None:
    exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    files = forgery.read(exported.path)
    assert [it["seq"] for it in packages.parse_csv(files["data/entries.csv"])] == [
        *("1", "2", "4", "5", "6", "7", "8", "9")
    ]
    [process] = packages.parse_csv(files["data/processes.csv"])
    assert (process["process_id"], process["state"], process["finished_at"]) == (
        "p1",
        "FINISHED",
        "2026-03-06T15:01:01Z",
    )
    assert story.SCREEN in files.values()
    assert story.JOURNEY_LOG in files.values()
    assert files["data/entries/6/body.bin"] == service.ledger.select("seq = 6", [])[0].body


def test_a_seller_is_given_with_all_its_processes(service: LedgerService, tmp_path: Path) -> None:
    exported = export(service, Scope(seller_id="s1"), tmp_path / "s1.zip")
    assert verify_package(exported.path, key=exported.key).faults == []
    files = forgery.read(exported.path)
    assert [it["process_id"] for it in packages.parse_csv(files["data/processes.csv"])] == [
        *("p1", "p3")
    ]
    assert {it["kind"] for it in packages.parse_csv(files["data/entries.csv"])} == {
        *("webhook", "collection", "submission_started", "submission_finished")
    }


def test_a_period_is_given_with_the_whole_of_each_process_in_it(
    service: LedgerService, tmp_path: Path
) -> None:
    """Only the answer of p2's attempt lies in that minute."""
    at = instants.parse("2026-03-08T10:01:00Z")
    assert at is not None
    exported = export(service, Scope(since=at, until=at + 1), tmp_path / "m.zip")
    assert verify_package(exported.path, key=exported.key).faults == []
    entries = packages.parse_csv(forgery.read(exported.path)["data/entries.csv"])
    assert [it["seq"] for it in entries] == ["10", "11", "12", "13", "14"]


def test_a_withheld_body_still_verifies_and_the_verdict_says_what_was_withheld(
    made: Made,
) -> None:
    files = forgery.read(made.path)
    assert f"data/entries/{WITHHELD}/body.bin" not in files
    assert f"data/entries/{WITHHELD}/body.salt" not in files
    verdict = verify_package(made.path, key=made.key, against=made.earlier)
    assert verdict.faults == []
    assert (
        "1 bodies are withheld (by the exporter): bound by their commitments, and what is said of"
        " their content is the exporter's word, fixed by the export's entry"
    ) in verdict.notes


def test_an_artifact_that_is_away_is_named_as_left_out(
    service: LedgerService, tmp_path: Path
) -> None:
    digest = hashlib.sha256(story.SCREEN).hexdigest()
    next(service.settings.artifacts.glob(f"??/{digest}")).unlink()
    exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    assert "1 artifacts are withheld (not in the artifact store); their digests stand" in (
        verdict.notes
    )
    contents = json.loads(forgery.read(exported.path)["data/contents.json"])
    assert contents["withheld_artifacts"] == {digest: "not in the artifact store"}


# --- personal data -----------------------------------------------------------------------------


def test_a_masked_package_holds_no_personal_value_in_any_form(
    service: LedgerService, tmp_path: Path
) -> None:
    exported = export(service, EVERYTHING, tmp_path / "m.zip", "masked")
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    assert any(it.startswith("10 bodies are withheld (the masked profile)") for it in verdict.notes)
    files = forgery.read(exported.path)
    bodies = [it.body for it in service.ledger.select("body is not null", [])]
    withheld = [it for it in bodies if it is not None and it not in files.values()]
    assert len(withheld) == 10
    plain = [
        *(b"Mariana", b"mariana@example.com", b"Rua das Flores", b"01310100", b"1000_to_5000"),
        *(story.TAX_ID.encode(), story.SCREEN, story.JOURNEY_LOG),
        hashlib.sha256(story.TAX_ID.encode()).hexdigest().encode(),
        hashlib.sha256(story.SCREEN).hexdigest().encode(),
        *(hashlib.sha256(it).hexdigest().encode() for it in withheld),
    ]
    found = [(it, name) for it in plain for name, content in files.items() if it in content]
    assert found == []


def test_a_masked_package_tells_one_seller_by_one_keyed_hash(
    service: LedgerService, tmp_path: Path
) -> None:
    """Somebody without the log's key cannot find the tax id by hashing all of them; two packages of
    one log name the seller alike."""
    names = set()
    for number in range(2):
        exported = export(service, EVERYTHING, tmp_path / f"{number}.zip", "masked")
        rows = packages.parse_csv(forgery.read(exported.path)["data/processes.csv"])
        names.add(next(it["seller_id"] for it in rows if it["process_id"] == "p2"))
    [name] = names
    assert re.fullmatch("hmac:[0-9a-f]{64}", name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "report.html",
            [
                "What was masked or left out",
                "3 × Collection",
                "body withheld (masked profile)",
                "Names of persons are shown by their first letter",
                "Nothing else was left out.",
            ],
        ),
        (
            "report.pt.html",
            [
                "O que foi mascarado ou omitido",
                "conteúdo retido (perfil mascarado)",
                "Nomes de pessoas aparecem pela primeira letra",
                "Nada mais foi omitido.",
            ],
        ),
    ],
)
def test_the_report_lists_what_was_masked_and_that_nothing_else_was(
    service: LedgerService, tmp_path: Path, name: str, said: list[str]
) -> None:
    exported = export(service, EVERYTHING, tmp_path / "m.zip", "masked")
    text = Text(forgery.read(exported.path)[f"data/{name}"]).words
    assert [it for it in said if it not in text] == []


# --- the report --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "report.html",
            [
                "Evidence of registration reviews",
                "Process p1",
                "Requested by Ana Auditor",
                "Reason yearly audit",
                "The story of each process",
                "Requested 2026-03-01 09:00:00 revenue , address",
                "+4 d 1 h",
                "Collected 2026-03-05 10:04:00 web form · Seller",
                "+1 d 4 h",
                "Submitted 2026-03-06 15:01:00",
                "+1 s",
                "Answered 2026-03-06 15:01:01 HTTP 200",
                "HTTP 500",
                "2 × artifact",
                "Evidence, field by field",
                "Nothing: every body and every artifact of these entries is in the package.",
            ],
        ),
        (
            "report.pt.html",
            [
                "Evidências das revisões cadastrais",
                "Processo p1",
                "Solicitado por Ana Auditor",
                "A história de cada processo",
                "Solicitado 2026-03-01 09:00:00 revenue , address",
                "Coletado 2026-03-05 10:04:00 formulário web",
                "Enviado 2026-03-06 15:01:00",
                "Respondido 2026-03-06 15:01:01 HTTP 200",
                "Nada: todos os conteúdos e artefatos destes registros estão no pacote.",
            ],
        ),
    ],
)
def test_the_report_tells_the_story_of_a_process(
    service: LedgerService, tmp_path: Path, name: str, told: list[str]
) -> None:
    exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
    text = Text(forgery.read(exported.path)[f"data/{name}"]).words
    assert [it for it in told if it not in text] == []


def test_a_report_runs_nothing_and_loads_nothing(made: Made) -> None:
    """The story holds text that a spreadsheet would run, and a report is opened in browsers."""
    files = forgery.read(made.path)
    for name in ("data/report.html", "data/report.pt.html"):
        page = Text(files[name])
        assert not page.tags & {"script", "img", "iframe", "link", "object", "form"}
        assert b"default-src 'none'" in files[name]
        assert "=cmd|'/c calc'!A1" in page.words
    assert b"'=cmd|" in files["data/entries.csv"]


# --- made once, made alike ---------------------------------------------------------------------


def test_the_same_log_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines with one history, one clock and one source of salts."""
    monkeypatch.setattr(instants, "now", lambda: 1_790_000_000_000_000)
    made = []
    for name in ("here", "there"):
        settings = story.settings(tmp_path / name)
        (tmp_path / name / "keys").mkdir(parents=True)
        for key in (settings.signing_key_file, settings.taxpayer_key_file):
            key.write_text("07" * 32 + "\n", encoding="ascii")
            key.chmod(0o600)
        open_inbox(settings.inbox, identity=Identity("prazo/0123456789abcdef", bytes(32))).close()
        service = LedgerService(settings)
        salts = itertools.count()
        service.inbox.random = lambda size, salts=salts: next(salts).to_bytes(size, "big")
        try:
            story.record(service.inbox, settings.artifacts)
            service.catch_up()
            exported = export(service, EVERYTHING, tmp_path / name / "package.zip")
        finally:
            service.close()
        made.append(exported.path.read_bytes())
    assert made[0] == made[1]


def test_an_export_is_recorded_with_reason_and_actor_before_the_package_is_there(
    service: LedgerService, tmp_path: Path
) -> None:
    steps = []
    exported = evidence.export(
        service,
        request(Scope(process_id="p1")),
        tmp_path / "p1.zip",
        lambda what, done, all_: steps.append((what, done <= all_)),
    )
    [entry] = service.ledger.select("kind = 'export'", [])
    assert (entry.seq, entry.process_id) == (exported.seq, "p1")
    told = json.loads(entry.body or b"")
    assert (told["actor"], told["reason"], told["profile"], told["scope"]) == (
        *("Ana Auditor", "yearly audit", "full", {"process": "p1"}),
    )
    assert [what for what, _ in itertools.groupby(steps, lambda it: it[0])] == [
        *("reading the log", "working out the tables", "proving entries")
    ]
    assert all(is_right for _, is_right in steps)


@pytest.mark.parametrize(("scope", "exports"), [("process", 1), ("seller", 2)])
def test_what_arrives_while_a_package_is_prepared_is_in_it(
    service: LedgerService, tmp_path: Path, scope: str, exports: int
) -> None:
    """It is prepared anew. An export of a process is not even recorded then; one of a seller is, as
    one that came to nothing, and the package is that of the next."""
    arrivals = iter([story.review("e9", "p1", "s1")])

    def meanwhile(what: str, *_: int) -> None:
        if what == "working out the tables" and (arrived := next(arrivals, None)):
            service.inbox.append([arrived])

    asked = Scope(process_id="p1") if scope == "process" else Scope(seller_id="s1")
    exported = evidence.export(service, request(asked), tmp_path / "p.zip", meanwhile)
    assert verify_package(exported.path, key=exported.key).faults == []
    rows = packages.parse_csv(forgery.read(exported.path)["data/entries.csv"])
    assert "e9" in {it["event_id"] for it in rows}
    assert len(service.ledger.select("kind = 'export'", [])) == exports


# --- earlier checkpoints -----------------------------------------------------------------------


def test_a_package_is_shown_to_continue_any_earlier_checkpoint_that_is_asked_for(
    service: LedgerService, tmp_path: Path
) -> None:
    """One of 10 entries, which this machine did not keep."""
    assert service.signer is not None
    held = service.signer.checkpoint(10, service.ledger.root_at(10))
    without = export(service, Scope(process_id="p1"), tmp_path / "without.zip")
    assert verify_package(without.path, key=without.key, against=held.encode()).faults == [
        "the package proves nothing about a checkpoint of 10 entries: ask for it anew, exported"
        " --against that checkpoint"
    ]
    exported = export(service, Scope(process_id="p1"), tmp_path / "with.zip", against=held)
    verdict = verify_package(exported.path, key=exported.key, against=held.encode())
    assert verdict.faults == []
    assert "the log continues the earlier checkpoint at 10" in verdict.checked


def test_a_checkpoint_that_contradicts_the_log_stops_the_export(
    service: LedgerService, tmp_path: Path
) -> None:
    assert service.signer is not None
    another, future = (service.signer.checkpoint(it, bytes(32)) for it in (10, 99))
    with pytest.raises(OperatorError, match="contradicts this log"):
        export(service, Scope(process_id="p1"), tmp_path / "p.zip", against=another)
    with pytest.raises(CallerError, match="not one of this log's past"):
        export(service, Scope(process_id="p1"), tmp_path / "p.zip", against=future)
    assert service.inbox.last()[0] == 16


@pytest.mark.parametrize(("reason", "actor"), [("", "Ana"), ("audit", " ")])
def test_without_reason_or_actor_nothing_is_recorded_and_nothing_made(
    service: LedgerService, tmp_path: Path, reason: str, actor: str
) -> None:
    wanted = evidence.Request(Scope(process_id="p1"), reason, actor, "user:test")
    with pytest.raises(CallerError, match="a reason and a name are needed"):
        evidence.export(service, wanted, tmp_path / "p.zip")
    assert service.inbox.last()[0] == 16
    assert not (tmp_path / "p.zip").exists()


def test_an_empty_scope_is_refused(service: LedgerService, tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="no entry of the log is in this scope"):
        export(service, Scope(process_id="p9"), tmp_path / "p9.zip")
    assert service.inbox.last()[0] == 16


# --- the commands ------------------------------------------------------------------------------


def test_the_commands_export_and_verify(settings: Settings, tmp_path: Path) -> None:
    asked = ("export", "--process", "p1", "--out", "p1.zip", "--reason", "audit")
    assert command(settings, *asked).returncode == 2, "an actor is needed"
    exported = command(settings, *asked, "--actor", "Ana")
    assert (exported.returncode, exported.stdout.splitlines()[0]) == (
        0,
        "p1.zip: 9 entries, 0 bodies withheld; the export is entry 17",
    )
    key = command(settings, "checkpoint", "--key").stdout.strip()
    assert f"--key '{key}'" in exported.stdout
    (tmp_path / "now.note").write_text(command(settings, "checkpoint").stdout, encoding="utf-8")
    verified = command(settings, "verify", "p1.zip", "--key", key, "--against", "now.note")
    assert (verified.returncode, verified.stdout.splitlines()[-1]) == (0, "VERIFIED")
    assert "the reports say what the tables say, in each language" in verified.stdout
    stores = command(settings, "verify", "--against", "now.note")
    assert (stores.returncode, stores.stdout.splitlines()[-1]) == (0, "VERIFIED")
    assert "  checked  17 entries stand in inbox and ledger" in stores.stdout
    files = forgery.read(tmp_path / "p1.zip")
    forgery.write(tmp_path / "p1.zip", {**files, "data/query.sql": b"select 1;"})
    refused = command(settings, "verify", "p1.zip", "--key", key)
    assert (refused.returncode, refused.stdout.splitlines()[-1][:13]) == (1, "NOT VERIFIED:")
    assert command(settings, "verify", "p1.zip", "--key", "none").returncode == 2


@pytest.mark.parametrize("asked", [("verify",), ("checkpoint",)])
def test_a_wrong_path_is_no_empty_log(tmp_path: Path, asked: tuple[str, ...]) -> None:
    """What only reads never starts a log: VERIFIED over nothing would be worse than an error."""
    (tmp_path / "wrong").mkdir()
    done = command(story.settings(tmp_path / "wrong"), *asked)
    assert (done.returncode, done.stdout) == (1, "")
    assert "inbox.db" in done.stderr
    assert list((tmp_path / "wrong").iterdir()) == []


@pytest.fixture
def holder(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the ledger and answers over its API."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", "follow", "--port", str(port)],
        env=environment(settings),
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while find(settings.ledger) is None and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    yield process
    process.terminate()
    process.wait(30)


def test_the_commands_ask_whoever_holds_the_ledger(
    settings: Settings, tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    asked = ("export", "--seller", "s1", "--out", "s1.zip", "--reason", "audit", "--actor", "Ana")
    until = time.monotonic() + 60
    while (done := command(settings, *asked)).returncode and time.monotonic() < until:
        time.sleep(0.5)
    assert done.returncode == 0, done.stderr
    assert holder.poll() is None
    assert verify_package(tmp_path / "s1.zip").faults == []
    stores = command(settings, "verify")
    assert (stores.returncode, stores.stdout.splitlines()[-1]) == (0, "VERIFIED")
    assert command(settings, "checkpoint").stdout.startswith("prazo/")
