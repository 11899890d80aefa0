"""What says of a message, without a process, what became of it: in which packages it is."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.audit import request
from pipeline.audit.package import report
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.log.ndjson import read_line
from pipeline.verify import Package
from tests import depth
from tests.audit import forgery
from tests.audit.conftest import EVERYTHING, export
from tests.audit.packages.test_packages import Text
from tests.support.lines import aci, called, notice, result, retracted
from tests.support.stores import settings_in

ACCEPTED = "2026-03-02T00:00:05Z"
LINK = "https://answer.market.example/j/secret"
CPF = "529.982.247-25"
LINES = [
    result("accepted", ACCEPTED),  # 1: before the notices of its message
    notice(),
    notice(process_id="p2"),
    called("n2"),
    retracted("2026-03-03T00:00:00Z", "n2"),  # 5
    notice("n3", process_id="p9", seller_id="s9"),
    result("bounced", ACCEPTED, "n3"),  # 7: another seller's
    result("bounced", ACCEPTED, "n4"),  # 8: nobody's
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    with closing(LedgerService(settings_in(tmp_path_factory.mktemp("told")))) as opened:
        lines = [read_line(json.dumps(it).encode(), recorded_by="file") for it in LINES]
        opened.inbox.append(lines)
        yield opened


def listed(package: Path) -> list[int]:
    with Package(package) as opened:
        rows = opened.rows("data/entries.csv")
        at = next(rows).index("seq")
        return [int(row[at]) for row in rows]


@pytest.mark.parametrize("profile", ["full", "masked"])
@pytest.mark.parametrize(
    ("scope", "expected"),
    depth.few(
        [
            (Scope(process_id="p1"), [1, 2, 4, 5]),
            (Scope(process_id="p2"), [1, 3]),
            (Scope(seller_id="s1"), [1, 2, 3, 4, 5]),
        ],
        2,
    ),
)
def test_a_package_holds_what_is_said_of_its_messages_and_nothing_of_others(
    told: LedgerService, tmp_path: Path, scope: Scope, expected: list[int], profile: str
) -> None:
    exported = export(told, scope, tmp_path / "told.zip", profile)
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    assert [seq for seq in listed(exported.path) if seq <= len(LINES)] == expected
    assert any("no stream holds these" in it for it in verdict.unchecked)


@pytest.mark.parametrize(("profile", "raw"), [("full", ["data/bodies/00001.bin"]), ("masked", [])])
def test_the_report_tells_in_a_story_what_became_of_its_messages(
    tmp_path: Path, profile: str, raw: list[str]
) -> None:
    """Of a receipt that names no process it only said that there is one. A file's words about it
    stand in no table and no report: they may have a link, by which anybody answers."""
    said = {**result("accepted", ACCEPTED), "detail": f"250 {LINK}"}
    lines = [said, aci(), notice(), result("bounced", ACCEPTED, "n4")]
    with closing(LedgerService(settings_in(tmp_path / "log"))) as opened:
        opened.inbox.append([read_line(json.dumps(it).encode(), recorded_by="f") for it in lines])
        exported = export(opened, Scope(process_id="p1"), tmp_path / "told.zip", profile)
        assert verify_package(exported.path, key=exported.key).faults == []
    with Package(exported.path) as package:
        page = package.read("data/report.html").decode()
    assert "Seller notice accepted by the service" in page
    assert "Seller notice bounced" not in page
    files = forgery.read(exported.path)
    assert [name for name, held in files.items() if LINK.encode() in held] == raw


def test_a_message_whose_id_names_a_person_is_masked_with_what_became_of_it(
    tmp_path: Path,
) -> None:
    lines = [result("accepted", ACCEPTED, f"m-{CPF}"), aci(), notice(f"m-{CPF}")]
    with closing(LedgerService(settings_in(tmp_path / "log"))) as opened:
        opened.inbox.append([read_line(json.dumps(it).encode(), recorded_by="f") for it in lines])
        exported = export(opened, Scope(process_id="p1"), tmp_path / "told.zip", "masked")
        assert verify_package(exported.path, key=exported.key).faults == []
    files = forgery.read(exported.path)
    assert [name for name, held in files.items() if CPF.encode() in held] == []
    assert b"Seller notice accepted by the service" in files["data/report.html"]


def test_what_is_said_of_another_sellers_message_is_a_fault(
    told: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = "seq in (select seq from fact_notice_results) or process_id in ({})"
    monkeypatch.setattr(request, "_OF_MESSAGES", everything)
    exported = export(told, Scope(process_id="p2"), tmp_path / "told.zip")
    faults = verify_package(exported.path, key=exported.key).faults
    assert [int(it.split()[1]) for it in faults if "no message here" in it] == [5, 7, 8]


def test_the_report_says_when_a_seller_was_asked_and_of_what_reached_nobody_that_it_does_not_show(
    tmp_path: Path,
) -> None:
    """Of each process by itself, with links that lead to the entry and on to its proof."""
    lines = [
        *(aci(f"e{it}", process_id=f"p{it}", customer_id=f"s{it}") for it in range(1, 5)),
        notice("n1"),
        result("accepted", ACCEPTED, "n1"),  # 6
        notice("n2", process_id="p2", seller_id="s2"),
        result("delivered", ACCEPTED, "n2"),
        result("bounced", "2026-03-02T01:00:00Z", "n2"),
        called("n3", process_id="p3", seller_id="s3"),
        notice("n4", process_id="p4", seller_id="s4", channel="letter"),
        retracted("2026-03-03T00:00:00Z", "n4"),
    ]
    with closing(LedgerService(settings_in(tmp_path / "log"))) as opened:
        opened.inbox.append([read_line(json.dumps(it).encode(), recorded_by="f") for it in lines])
        exported = export(opened, EVERYTHING, tmp_path / "told.zip")
        assert verify_package(exported.path, key=exported.key).faults == []
    page = forgery.read(exported.path)["data/report.html"].decode()
    said = {
        process_id: page.partition(f'<article id="{process_id}">')[2].partition("</article>")[0]
        for process_id in ("p1", "p2", "p3", "p4")
    }
    asked = Text(said["p1"].encode()).words
    assert "Seller asked 2026-03-02 00:00:05 (Seller notice accepted by the service" in asked
    assert "e-mail · 29 d 11 h before the deadline) #6" in asked
    unknown = [it for it, text in said.items() if "that the seller was asked" in text]
    assert unknown == ["p2", "p3", "p4"]
    assert {*re.findall('href="#([^"]+)"', page)} <= {*re.findall('id="([^"]+)"', page)}


def test_a_time_between_two_instants_is_that_of_the_instants_as_they_are_shown() -> None:
    """From 21:50:06.9 to 21:50:08.1 it said 1 s."""
    rows = [{"occurred_at": f"2026-03-01T21:50:{it}Z"} for it in ("06.9", "08.1", "08.9", "08.2")]
    spans = [report.WORDS["en"].span(report._between(*it)) for it in pairwise(rows)]
    assert spans == ["+2 s", "+less than 1 s", "+less than 1 s"]
