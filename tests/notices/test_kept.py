"""What is kept of a message, and of a repeat, goes into packages, which verify, and away with the
seller."""

import html
import json
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.audit import export
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Request, Scope
from pipeline.continuity.service import LedgerService
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.artifacts.owners import unnamed
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
from pipeline.notices import channels, texts
from tests.alert.sinks import MailServer, WebhookServer
from tests.notices.office import BY_MAIL, Office
from tests.notices.test_dispatcher import rules_for, sender, start
from tests.notices.test_sending import LINK


def exported(office: Office, package: Path) -> dict[str, bytes]:
    """The files of a package of the process, which verifies."""
    with closing(LedgerService(office.settings())) as service:
        request = Request(Scope(process_id="prc_1"), "a test", "Ana", "user:ana", profile="full")
        export.export(service, request, package)
    assert verify_package(package).faults == []
    with zipfile.ZipFile(package) as zipped:
        return {name: zipped.read(name) for name in zipped.namelist()}


def words_in(files: dict[str, bytes]) -> list[bytes]:
    return [it for name, it in files.items() if name.startswith("data/artifacts/")]


def forgotten(office: Office, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many entries of each kind were erased with the seller, whom the platform deleted."""
    monkeypatch.setattr(forgetting, "SETTLE_SECONDS", 0.0)
    office.seller("sel_1", "seller.deleted")
    by = {"reason": "they asked", "actor": "Ana", "recorded_by": "user:ana"}
    return forget(office.settings(), office.inbox, "sel_1", **by).kinds


def test_a_package_shows_the_words_and_opens_nothing_and_all_of_it_can_be_forgotten(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.seller("sel_1", email="maria@seller.example")
    office.review("prc_1", "sel_1")
    with MailServer(tmp_path).running() as server:
        office.sending(mail=office.mail(server)).send(["sel_1"], BY_MAIL)
    [secret] = LINK.findall(server.taken[0].get_content())
    package = tmp_path / "package.zip"
    files = exported(office, package)
    (tmp_path / "verify.py").write_bytes(files["verify.py"])
    [kept] = words_in(files)
    assert b"your revenue" in kept
    assert not any(secret.encode() in it for it in files.values())
    assert b"maria@" not in kept
    done = subprocess.run(
        [sys.executable, str(tmp_path / "verify.py"), str(package)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr

    assert forgotten(office, monkeypatch)["seller_notice"] == 1
    store = artifact_store(office.settings(), office.inbox)
    assert [*store.names()] == []
    [entry] = office.inbox.find(kind="seller_notice")
    assert entry.received is None
    assert b"commitment" not in (entry.body or b"")


def test_the_words_of_a_repeat_stand_in_packages_and_backups_and_go_with_the_seller(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its claim names them. No package had them, no backup copied them, and `prazo doctor` called
    them nobody's."""
    start(office)
    office.seller("sel_1")
    office.review("prc_1", "sel_1")
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url), now=lambda: clock[0])
        with monkeypatch.context() as silent:
            silent.setattr(channels, "hand_over", lambda *_: channels.Came("uncertain"))
            sends.turn()
        office.answer("prc_1", "sel_1", revenue="1000_to_5000")
        clock[0] += 20 * instants.MINUTE
        sends.turn()
        [posted] = server.taken
    store = artifact_store(office.settings(), office.inbox)
    assert unnamed(office.inbox, store).is_none
    files = exported(office, tmp_path / "package.zip")
    said = json.loads(posted.body)["data"]
    words = [it.decode() for it in words_in(files)]
    sent = f"{said['subject']}\n\n{said['text']}\n".replace(said["link"], texts.LINK)
    assert (sent in words, len(words)) == (True, 2)
    report = html.unescape(files["data/report.html"].decode())
    assert [each for each in words if each.strip() not in report] == []

    assert forgotten(office, monkeypatch)[NOTICE_SCHEDULE] == 1
    assert [*store.names()] == []
    *_, claim = office.inbox.find(kind=NOTICE_SCHEDULE)
    left = (claim.body or b"").decode()
    assert [word in left for word in ("artifacts", "commitment", "rung")] == [False, False, True]
    files = exported(office, tmp_path / "later.zip")
    assert words_in(files) == []
    assert json.loads(files["data/contents.json"])["withheld"][NOTICE_SCHEDULE] == {"erased": 1}
