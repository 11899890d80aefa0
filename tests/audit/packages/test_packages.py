"""What a package tells, to whom, and that making one leaves its trace in the log."""

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline import instants, verify
from pipeline.alert import entries
from pipeline.alert.entries import Due, Item, Subject, Try
from pipeline.audit import export as evidence
from pipeline.audit.export import Exported
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Request, Scope
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import open_inbox
from pipeline.log.checkpoints import Signer
from pipeline.log.entries import Identity
from tests.audit import forgery, story
from tests.audit.conftest import EVERYTHING, WITHHELD, Made, copied, export, no_rows, request
from tests.support.ledgers import said_in
from tests.support.stores import settings_in

REMINDER = Due(
    *("a1", "before_3d", "risk", "officer", 0),
    process_id="p1",
    seller_id="s1",
    review_type="ACP",
    state="OVERDUE",
    next_action="submit",
    seq=1,
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


class Given(NamedTuple):
    """A package and its files, and what it was made from."""

    exported: Exported
    files: forgery.Files
    log: LedgerService
    signer: Signer
    steps: list[tuple[str, int, int]]


@contextmanager
def given(followed: Path, folder: Path, asked: Request) -> Iterator[Given]:
    """The first package of the story: its export is entry 17."""
    steps: list[tuple[str, int, int]] = []
    with copied(followed, folder) as log:
        exported = evidence.export(log, asked, folder / "p.zip", lambda *at: steps.append(at))
        assert log.signer is not None
        yield Given(exported, forgery.read(exported.path), log, log.signer, steps)


@pytest.fixture(scope="module")
def p1(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """One process, in full."""
    with given(followed, tmp_path_factory.mktemp("p1"), request(Scope(process_id="p1"))) as made:
        yield made


@pytest.fixture(scope="module")
def masked(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """Everything, masked."""
    with given(followed, tmp_path_factory.mktemp("m"), request(EVERYTHING, "masked")) as made:
        yield made


# --- what is in it -----------------------------------------------------------------------------


def test_a_process_is_given_whole_and_nothing_else(p1: Given) -> None:
    exported, files, log, *_ = p1
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    assert [it["seq"] for it in forgery.parse_csv(files["data/entries.csv"])] == [
        *("1", "2", "4", "5", "6", "7", "8", "9")
    ]
    [process] = forgery.parse_csv(files["data/processes.csv"])
    assert (process["process_id"], process["state"]) == ("p1", "FINISHED")
    assert process["finished_at"] == "2026-03-06T15:01:01Z"
    assert story.SCREEN in files.values()
    assert story.JOURNEY_LOG in files.values()
    bodies = {it.seq: it.body for it in forgery.parts(files)}
    assert bodies[6] == log.ledger.select("seq = 6", [])[0].body


@no_rows
def test_a_period_is_given_with_the_whole_of_each_process_in_it(
    service: LedgerService, tmp_path: Path
) -> None:
    """Only the answer of p2's attempt lies in that minute."""
    at = instants.parse("2026-03-08T10:01:00Z")
    assert at is not None
    exported = export(service, Scope(since=at, until=at + 1), tmp_path / "m.zip")
    assert verify_package(exported.path, key=exported.key).faults == []
    entries = forgery.parse_csv(forgery.read(exported.path)["data/entries.csv"])
    assert [it["seq"] for it in entries] == ["10", "11", "12", "13", "14"]


def test_a_withheld_body_still_verifies_and_the_verdict_says_what_was_withheld(
    made: Made,
) -> None:
    files = forgery.read(made.path)
    [part] = [it for it in forgery.parts(files) if it.seq == WITHHELD]
    assert (part.body, part.salt, part.withheld) == (None, "", "by the exporter")
    verdict = verify_package(made.path, key=made.key, against=made.earlier)
    assert verdict.faults == []
    assert (
        "the content of 1 body that is withheld (by the exporter): it is bound by"
        " commitments, and what is said of it is the exporter's word"
    ) in verdict.unchecked


# --- personal data -----------------------------------------------------------------------------


def test_a_masked_package_holds_no_personal_value_in_any_form(masked: Given) -> None:
    exported, files, log, *_ = masked
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    assert any("of 10 bodies that are withheld (the mask" in it for it in verdict.unchecked)
    bodies = [it.body for it in log.ledger.select("body is not null", [])]
    shown = {it.body for it in forgery.parts(files)}
    withheld = [it for it in bodies if it is not None and it not in shown]
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
    masked: Given, service: LedgerService, tmp_path: Path
) -> None:
    """Somebody without the log's key cannot find the tax id by hashing all of them; two packages of
    one log name the seller alike."""
    names = set()
    another = export(service, Scope(process_id="p2"), tmp_path / "another.zip", "masked")
    for files in (masked.files, forgery.read(another.path)):
        rows = forgery.parse_csv(files["data/processes.csv"])
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
                "Of sellers' names, and of the names of files, only the first letter is shown.",
                "Not masked are the names of those who worked for the marketplace",
                "Nothing else was left out.",
                "what is said of it here and in the tables is the word of whoever exported it.",
            ],
        ),
        (
            "report.pt.html",
            [
                "O que foi mascarado ou omitido",
                "conteúdo retido (perfil mascarado)",
                "Dos nomes de vendedores e de arquivos aparece apenas a primeira letra.",
                "Não são mascarados os nomes de quem trabalhou pelo marketplace",
                "Nada mais foi omitido.",
                "o que aqui e nas tabelas se diz dele é a palavra de quem o exportou.",
            ],
        ),
    ],
)
def test_the_report_lists_what_was_masked_and_that_nothing_else_was(
    masked: Given, name: str, said: list[str]
) -> None:
    text = Text(masked.files[f"data/{name}"]).words
    assert [it for it in said if it not in text] == []


# --- the report --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "report.html",
            [
                "Evidence of registration reviews",
                "Process p1",
                "Requested by Ana Auditor",
                "Reason yearly audit",
                "The story of each process",
                "Requested 2026-03-01 09:00:00 Revenue, Address",
                "Review requested · PENDING · in time · Deadline 2026-04-30 09:00:00 · Revenue"
                " revenue , Address address",
                "Status reported · PENDING · in time · Deadline 2026-04-30 09:00:00 #2",
                "+4 d 1 h",
                "Collected 2026-03-05 10:04:00 web form · Seller",
                "+1 d 4 h",
                "Submitted 2026-03-06 15:01:00",
                "+1 s",
                "Platform answered 2026-03-06 15:01:01 HTTP 200",
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
                "Solicitado 2026-03-01 09:00:00 Faturamento, Endereço",
                "Situação informada · PENDING · no prazo",
                "Coletado 2026-03-05 10:04:00 formulário web",
                "CEP address. postal_code sim",
                "Enviado 2026-03-06 15:01:00",
                "Envio feito · a1 · importado",
                "A plataforma respondeu 2026-03-06 15:01:01 HTTP 200",
                "Nada: todos os conteúdos e artefatos destes registros estão no pacote.",
            ],
        ),
    ],
)
def test_the_report_tells_the_story_of_a_process(p1: Given, name: str, texts: list[str]) -> None:
    page = p1.files[f"data/{name}"]
    text = Text(page).words
    assert [it for it in texts if it not in text] == []
    assert page.index(b"<article") < page.index(b'id="words"'), "what words mean comes last"


def test_who_was_reminded_when_is_evidence(service: LedgerService, tmp_path: Path) -> None:
    """The platform asks whether anybody knew: the package says who, of what, how and when."""
    subject = Subject("p1", "s1")
    made = Try(Item(REMINDER, level=0, number=1), "ana", "email", "m")
    at = [instants.now() + it * instants.SECOND for it in range(3)]
    drafts = [
        entries.raised(REMINDER, subject, at[0]),
        entries.tried(made, subject, at[1]),
        entries.answered(made, subject, at[2], fault="550 <***> mailbox full"),
    ]
    recorded = service.inbox.append(drafts)
    service.reach(recorded[-1].entry.seq)
    exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
    assert verify_package(exported.path, key=exported.key).faults == []
    files = forgery.read(exported.path)
    told = [it for it in forgery.parse_csv(files["data/entries.csv"]) if it["kind"] == "alert"]
    columns = ("step", "about", "recipient", "channel", "reason")
    assert [tuple(it[name] for name in columns) for it in told] == [
        ("raised", "before_3d", "", "", ""),
        ("tried", "before_3d", "ana", "email", ""),
        ("failed", "before_3d", "ana", "email", "550 <***> mailbox full"),
    ]
    english = Text(files["data/report.html"]).words
    assert "Alert on its way · before_3d · ana · e-mail" in english
    assert "Alert not taken by the channel · before_3d · ana · e-mail · 550 <***>" in english
    assert "Alerta gerado · before_3d" in Text(files["data/report.pt.html"]).words


def test_a_report_runs_nothing_and_loads_nothing(made: Made) -> None:
    """The story holds text that a spreadsheet would run, and a report is opened in browsers."""
    files = forgery.read(made.path)
    for name in ("data/report.html", "data/report.pt.html"):
        page = Text(files[name])
        assert not page.tags & {"script", "img", "iframe", "link", "object", "form"}
        assert b"default-src 'none'" in files[name]
        assert "=cmd|'/c calc'!A1" in page.words
    assert b"'=cmd|" in files["data/entries.csv"]


@no_rows
def test_a_report_shows_markup_of_the_log_as_text(service: LedgerService, tmp_path: Path) -> None:
    """Nor does a character in it reverse, hide or end others."""
    reason = '<script>alert(1)</script> & <b>"bold"</b>'
    unseen = "\u202egnp.exe\x1b"
    asked = dataclasses.replace(request(Scope(process_id="p1")), reason=reason, actor=unseen)
    files = forgery.read(evidence.export(service, asked, tmp_path / "p1.zip").path)
    for name in ("START-HERE.html", "data/report.html", "data/report.pt.html"):
        page = files[name]
        assert b"<script" not in page
        assert reason in Text(page).words
        assert r"\u202egnp.exe\x1b" in Text(page).words


def test_a_report_says_how_many_processes_are_in_the_tables_alone(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence.report, "MAX_STORIES", 1)
    files = forgery.read(export(service, EVERYTHING, tmp_path / "all.zip").path)
    for name, said, heading in (
        ("report.html", "1 of 3 are shown here; the tables hold all of them.", "field by field"),
        (
            "report.pt.html",
            "Aqui são exibidos 1 de 3; as tabelas contêm a lista completa.",
            "campo a campo",
        ),
    ):
        text = Text(files[f"data/{name}"]).words
        assert said in text
        assert text.count(heading) == 1


# --- made once, made alike ---------------------------------------------------------------------


def test_the_same_log_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines with one history, one clock and one source of salts."""
    monkeypatch.setattr(instants, "now", lambda: 1_790_000_000_000_000)
    made = []
    for name in ("here", "there"):
        settings = settings_in(tmp_path / name)
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
    p1: Given,
) -> None:
    [entry] = p1.log.ledger.select("kind = 'export'", [])
    assert (entry.seq, entry.process_id) == (p1.exported.seq, "p1")
    content = said_in(entry)
    assert (content["actor"], content["reason"], content["profile"], content["scope"]) == (
        *("Ana Auditor", "yearly audit", "full", {"process": "p1"}),
    )
    assert [what for what, _ in itertools.groupby(p1.steps, lambda step: step[0])] == [
        *("reading the log", "working out the tables", "proving entries")
    ]
    assert all(done <= all_ for _, done, all_ in p1.steps)


@no_rows
def test_what_arrives_while_the_package_of_a_process_is_prepared_is_in_it(
    service: LedgerService, tmp_path: Path
) -> None:
    """It is prepared again, and its export was not recorded before."""
    exported = with_arrivals(service, Scope(process_id="p1"), tmp_path / "p.zip")
    assert verify_package(exported.path, key=exported.key).faults == []
    rows = forgery.parse_csv(forgery.read(exported.path)["data/entries.csv"])
    assert "e9" in {it["event_id"] for it in rows}
    assert len(service.ledger.select("kind = 'export'", [])) == 1


def test_a_seller_is_given_with_all_its_processes_and_what_arrives_while_it_is_prepared(
    service: LedgerService, tmp_path: Path
) -> None:
    """Each try was an entry once, so that whoever pressed once was said to have looked thrice."""
    exported = with_arrivals(service, Scope(seller_id="s1"), tmp_path / "s1.zip")
    assert verify_package(exported.path, key=exported.key).faults == []
    files = forgery.read(exported.path)
    assert [it["process_id"] for it in forgery.parse_csv(files["data/processes.csv"])] == [
        *("p1", "p3")
    ]
    rows = forgery.parse_csv(files["data/entries.csv"])
    assert {it["kind"] for it in rows} == {
        *("webhook", "collection", "submission_started", "submission_finished")
    }
    assert "e9" in {it["event_id"] for it in rows}
    assert len(service.ledger.select("kind = 'export'", [])) == 1


def with_arrivals(service: LedgerService, scope: Scope, out: Path) -> Exported:
    """A package of p1 or its seller; while it is prepared, p1 is reviewed again."""
    arrivals = iter([story.review("e9", "p1", "s1")])

    def meanwhile(what: str, *_: int) -> None:
        if what == "working out the tables" and (arrived := next(arrivals, None)):
            service.inbox.append([arrived])

    return evidence.export(service, request(scope), out, meanwhile)


# --- earlier checkpoints -----------------------------------------------------------------------


@no_rows
def test_a_package_is_shown_to_continue_any_earlier_checkpoint_that_is_asked_for(
    p1: Given, service: LedgerService, tmp_path: Path
) -> None:
    """One of 10 entries, which this machine did not keep."""
    held = p1.signer.checkpoint(10, p1.log.ledger.root_at(10))
    assert verify.verify(p1.exported.path, p1.exported.key, held.encode()).faults == [
        "the package proves nothing about a checkpoint of 10 entries: ask for a new package,"
        " exported --against that checkpoint"
    ]
    exported = export(service, Scope(process_id="p1"), tmp_path / "with.zip", against=held)
    verdict = verify.verify(exported.path, exported.key, held.encode())
    assert verdict.faults == []
    assert "the log continues the earlier checkpoint at 10" in verdict.checked


def test_a_newer_checkpoint_decides_nothing_and_another_root_at_its_own_size_is_a_fault(
    p1: Given, tmp_path: Path
) -> None:
    exported, newer = p1.exported, p1.signer.checkpoint(99, bytes(32))
    verdict = verify.verify(exported.path, exported.key, newer.encode())
    assert (verdict.faults, verdict.exit_code) == ([], 3)
    assert verdict.undecided == [
        "newer: cannot compare. The checkpoint given has 99 entries, the package's own has 17:"
        " compare with an older one, or ask for a new package"
    ]
    assert [*verdict.lines()][-1].startswith("UNDECIDED: no fault was found")

    (tmp_path / "newer.note").write_text(newer, encoding="utf-8")
    given = ("--key", exported.key, "--against", str(tmp_path / "newer.note"))
    assert verify.main([str(exported.path), *given]) == 3

    changed = {**p1.files, "data/query.sql": b"select 1;"}
    forged = forgery.write(tmp_path / "forged.zip", changed)
    verdict = verify.verify(forged, exported.key, newer.encode())
    assert verdict.exit_code == 1, "a fault is a fault whatever it is compared with"

    other = p1.signer.checkpoint(17, bytes(32))
    verdict = verify.verify(p1.exported.path, p1.exported.key, other.encode())
    assert verdict.faults == [
        "THE LOG WAS REWRITTEN: the checkpoint given has the package's own 17 entries, and another"
        " root"
    ]


@no_rows
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


@no_rows
@pytest.mark.parametrize(("reason", "actor"), [("", "Ana"), ("audit", " ")])
def test_without_reason_or_actor_nothing_is_recorded_and_nothing_made(
    service: LedgerService, tmp_path: Path, reason: str, actor: str
) -> None:
    wanted = evidence.Request(Scope(process_id="p1"), reason, actor, "user:test")
    with pytest.raises(CallerError, match="a reason and a name are needed"):
        evidence.export(service, wanted, tmp_path / "p.zip")
    assert service.inbox.last()[0] == 16
    assert not (tmp_path / "p.zip").exists()


def test_a_scope_without_entries_and_a_body_that_is_not_there_to_be_left_out_are_refused(
    service: LedgerService, tmp_path: Path
) -> None:
    """By a slip in its number a body was handed on, and the package said 0 bodies withheld."""
    with pytest.raises(CallerError, match="nothing of entry 13, 99 can be left out"):
        export(service, Scope(process_id="p1"), tmp_path / "p.zip", withhold=frozenset({1, 13, 99}))
    with pytest.raises(CallerError, match="no entry of the log is in this scope"):
        export(service, Scope(process_id="p9"), tmp_path / "p9.zip")
    assert service.inbox.last()[0] == 16
