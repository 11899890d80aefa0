"""What is kept of a message goes into packages, which verify, and away with the seller."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipeline.audit import export
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Request, Scope
from pipeline.continuity.service import LedgerService
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.inbox.artifacts import artifact_store
from tests.alert.sinks import MailServer
from tests.notices.office import BY_MAIL, Office
from tests.notices.test_sending import LINK


def test_a_package_shows_the_words_and_opens_nothing_and_all_of_it_can_be_forgotten(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.seller("sel_1", email="maria@seller.example")
    office.review("prc_1", "sel_1")
    with MailServer(tmp_path).running() as server:
        office.sending(mail=office.mail(server)).send(["sel_1"], BY_MAIL)
    [secret] = LINK.findall(server.taken[0].get_content())
    package = tmp_path / "package.zip"
    service = LedgerService(office.settings())
    try:
        request = Request(Scope(process_id="prc_1"), "a test", "Ana", "user:ana", profile="full")
        export.export(service, request, package)
    finally:
        service.close()
    verdict = verify_package(package)
    assert verdict.faults == []
    with zipfile.ZipFile(package) as zipped:
        files = {name: zipped.read(name) for name in zipped.namelist()}
        (tmp_path / "verify.py").write_bytes(files["verify.py"])
    [kept] = [it for name, it in files.items() if name.startswith("data/artifacts/")]
    assert b"your revenue" in kept
    assert not any(secret.encode() in it for it in files.values())
    assert b"maria@" not in kept
    done = subprocess.run(
        [sys.executable, str(tmp_path / "verify.py"), str(package)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr

    monkeypatch.setattr(forgetting, "SETTLE_SECONDS", 0.0)
    office.seller("sel_1", "seller.deleted")
    gone = forget(
        office.settings(),
        office.inbox,
        "sel_1",
        reason="they asked",
        actor="Ana",
        recorded_by="user:ana",
    )
    assert gone.kinds["seller_notice"] == 1
    store = artifact_store(office.settings(), office.inbox)
    assert [*store.names()] == []
    [entry] = office.inbox.find(kind="seller_notice")
    assert entry.received is None
    assert b"commitment" not in (entry.body or b"")
