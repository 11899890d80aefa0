"""The first page of a package: what it is, how to check it, whom to ask."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import verify
from pipeline.audit.package import report
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from tests.audit import forgery
from tests.audit.conftest import Made, export, no_rows
from tests.audit.packages.test_packages import Text

START = "START-HERE.html"


def test_a_package_opens_with_what_it_is_how_to_check_it_and_whom_to_ask(made: Made) -> None:
    with zipfile.ZipFile(made.path) as package:
        assert package.namelist()[0] == START
        page, report = package.read(START), package.read("data/report.html")
    # With a policy of witnesses a verifier needs no checkpoint that somebody kept.
    assert "name them in a file and pass it with --policy" in Text(report).words
    words = Text(page).words
    for said in (
        "Start here",
        "Comece por aqui",
        "python3 verify.py PACKAGE.zip --key KEY",
        "It ends with VERIFIED, names each fault, or says what it cannot decide.",
        made.key,
        "Whoever handed you this package.",
        "A quem lhe entregou este pacote.",
        "The package holds personal data in full.",
        "a web page among them runs its scripts when you open it",
    ):
        assert said in words
    assert b'href="data/report.html"' in page
    assert b'href="data/report.pt.html"' in page
    assert b"default-src 'none'" in page
    assert not Text(page).tags & {"script", "img", "iframe", "link", "object", "form"}


@pytest.mark.parametrize("language", ["en", "pt"])
def test_what_it_says_to_type_checks_the_package_once_the_names_are_put_in(
    made: Made, tmp_path: Path, language: str
) -> None:
    """As an auditor does who unpacks it: with the key that came another way, not the page's."""
    with zipfile.ZipFile(made.path) as package:
        package.extractall(tmp_path)
    page = (tmp_path / START).read_text(encoding="utf-8")
    [_, part] = page.split(f'id="{language}"')
    [command] = re.findall(r"<pre>(python3 [^<]*)</pre>", part.partition("</main>")[0])
    assert made.key not in command
    named = {"python3": sys.executable, "PACKAGE.zip": str(made.path), "KEY": made.key}
    typed = [named.get(word, word) for word in command.split()]
    ran = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1].startswith("VERIFIED")


@no_rows
def test_it_names_whom_the_setting_names_and_shows_markup_as_text(
    service: LedgerService, tmp_path: Path
) -> None:
    contact = "Ana <ana@market.example>, +55 11 5555-0100"
    service.settings = service.settings.model_copy(update={"audit_contact": contact})
    exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip", "masked")
    page = forgery.read(exported.path)[START]
    assert Text(page).words.count(contact) == 2  # in both languages
    assert b"<ana" not in page
    assert "Sellers' personal data is masked in this package." in Text(page).words
    assert verify_package(exported.path, key=exported.key).faults == []


@no_rows
def test_a_page_that_says_something_else_is_named(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an exporter with altered code, who signs it and records its digest with the export."""
    honest = report.start
    monkeypatch.setattr(
        report, "start", lambda said: honest(said).replace("python3", "sudo python3")
    )
    exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
    monkeypatch.setattr(report, "start", honest)
    alone = verify.verify(exported.path, exported.key)
    assert alone.faults == []
    assert any("START-HERE.html" in it for it in alone.unchecked)
    assert verify_package(exported.path, key=exported.key).faults == [
        "START-HERE.html does not say what the parameters say"
    ]


def _without(files: forgery.Files) -> forgery.Files:
    return {name: it for name, it in files.items() if name != START}


def _changed(files: forgery.Files) -> forgery.Files:
    return {**files, START: files[START] + b" "}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (_without, "START-HERE.html is missing"),
        (_changed, "a file is not the one that the export's entry in the log was made for"),
    ],
)
def test_whoever_holds_the_key_can_neither_change_it_nor_take_it_away(
    made: Made, tmp_path: Path, change: Callable[[forgery.Files], forgery.Files], fault: str
) -> None:
    forged = forgery.seal(change(forgery.read(made.path)), made.signer)
    assert verify.verify(forgery.write(tmp_path / "p.zip", forged), made.key).faults == [fault]
