"""A package that is made of a journey verifies without us, and its report shows the screens."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipeline.audit import export
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Request, Scope
from pipeline.continuity.service import LedgerService
from tests.journey.served import Page


@pytest.fixture(scope="module")
def package(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a process that its seller has answered in English, with a fault on the way."""
    process = page.review(["address.city", "revenue"], process_id="prc_journey")
    seller = page.seller(language="en")
    first = seller.open(page.mint(process).url)
    wrong = seller.answer(first, f0_from="9", f0_to="1")
    seller.confirm(seller.answer_all(wrong))
    service = LedgerService(page.settings())
    try:
        request = Request(Scope(process_id=process), "a test", "Ana", "user:ana", profile="full")
        out = tmp_path_factory.mktemp("package") / "review.zip"
        export.export(service, request, out)
    finally:
        service.close()
    return out


def test_it_verifies_and_its_tables_and_reports_follow_from_its_entries(package: Path) -> None:
    verdict = verify_package(package)
    assert verdict.faults == []
    assert "the reports say what the tables say, in each language" in verdict.checked


def test_an_auditor_verifies_it_with_what_is_in_it(package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package) as zipped:
        (tmp_path / "verify.py").write_bytes(zipped.read("verify.py"))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "verify.py"), str(package)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_report_shows_what_the_seller_saw(package: Path) -> None:
    with zipfile.ZipFile(package) as zipped:
        report = zipped.read("data/report.html").decode()
        names = set(zipped.namelist())
    assert "<summary>review.txt</summary><pre>Check your answers" in report
    assert "I declare that I have given these data myself, now" in report
    assert "the first value must be lower than the second" in report
    hrefs = [part.partition('"')[0] for part in report.split('href="artifacts/')[1:]]
    assert {it.rpartition(".")[2] for it in hrefs} == {"html", "json"}
    assert {f"data/artifacts/{it}" for it in hrefs} <= names


def test_every_answer_has_its_screen_and_the_flow_says_when(package: Path) -> None:
    with zipfile.ZipFile(package) as zipped:
        flows = [it for it in zipped.namelist() if it.endswith(".json") and "/artifacts/" in it]
        [flow] = [json.loads(zipped.read(it)) for it in flows]
    assert [(it["event"], it.get("screen")) for it in flow["steps"]] == [
        ("opened", "landing"),
        ("faults_shown", "revenue"),
        ("shown", "revenue"),
        ("answered", "revenue"),
        ("shown", "city"),
        ("answered", "city"),
        ("shown", "review"),
        ("confirmed", "review"),
    ]
