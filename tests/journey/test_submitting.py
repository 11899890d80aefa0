"""The whole round: a webhook, a link, answers, the platform over mutual TLS, FINISHED."""

import asyncio
import json
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline import instants
from pipeline.errors import CallerError
from pipeline.journey.sending import HELD_FOR, Sender
from pipeline.submit.casefile import CaseFiles
from pipeline.submit.ready import payload_of
from sandbox.server import Handle
from tests.journey.seller import Screen, Seller
from tests.journey.served import Page, served
from tests.support.commands import run
from tests.support.machine import wait_until
from tests.support.marketplace import Marketplace, way_to


class Round:
    """A marketplace whose only journey is ours."""

    def __init__(self, page: Page, marketplace: Marketplace) -> None:
        self.page = page
        self.marketplace = marketplace
        marketplace.environment = page.environment

    def asked(self, *fields: str, kind: str = "ACI", is_business: bool = False) -> str:
        platform = self.marketplace.platform
        seller_id = platform.adopt_seller(is_business=is_business)
        process = platform.require_review(
            seller_id,
            "ACP" if kind == "ACP" else "ACI",
            requested_fields=fields or None,
            days_ago=0.01,
        )
        self.marketplace.hear()
        return process

    def answered(self, process: str) -> Screen:
        return self.page.seller().finish(self.page.mint(process).url)

    def taken(self, held_for: int) -> tuple[str, Seller, Screen]:
        """A process, its seller, and the review that they have yet to confirm, while another page
        has the answers, as if it had died; `held_for` in microseconds."""
        process, seller = self.asked("revenue"), self.page.seller()
        review = seller.answer_all(seller.open(self.page.mint(process).url))
        self.page.inbox.execute(
            "update journeys set submitting_until = $1 where process_id = $2",
            self.page.inbox.now() + held_for,
            process,
        )
        return process, seller, review


@pytest.fixture(scope="module", params=["auto"])
def page(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, _sandbox: Handle
) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("journey")
    settings = {**way_to(_sandbox, folder), "PRAZO_JOURNEY_SUBMIT": request.param}
    with served(folder, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def around(page: Page, _sandbox: Handle) -> Iterator[Round]:
    marketplace = Marketplace(_sandbox, page.folder)
    yield Round(page, marketplace)
    marketplace.close()


def test_a_business_answers_and_the_platform_has_finished_by_the_time_of_the_receipt(
    around: Round, platform: Handle
) -> None:
    process = around.asked(kind="ACP", is_business=True)
    receipt = around.answered(process)
    assert "A plataforma de pagamentos aceitou as respostas." in receipt.html
    assert around.marketplace.state(process) == "FINISHED"
    [start] = around.marketplace.starts(process)
    assert (start.recorded_by, start.particulars["via"]) == ("journey", "api")
    assert json.loads(start.body or b"")["owner"]["address"]["postal_code"] == "01310100"
    shown = run(
        around.marketplace,
        *("show", "evidence_coverage", "--where", f"process_id={process}", "--format", "json"),
    )
    coverage = {row["path"]: row["covered"] for row in json.loads(shown.out)}
    assert {path: it for path, it in coverage.items() if it is not True} == {
        "address.line2": None,
        "owner.address.line2": None,
    }
    found = run(
        around.marketplace,
        *("show", "findings", "--where", f"process_id={process}", "--format", "json"),
    )
    assert json.loads(found.out) == []


def test_what_the_platform_refuses_by_name_comes_back_to_the_seller_alone(
    around: Round, platform: Handle
) -> None:
    process = around.asked("revenue", "address.city", "address.state")
    platform.add_fault(kind="status", status=400, fields=("address.city",), process_id=process)
    seller = around.page.seller()
    refused = seller.finish(around.page.mint(process).url)
    assert "recusou: Cidade." in refused.html
    question = seller.answer(refused)
    assert question.heading == "Em qual cidade?"
    assert question.inputs["f0"] == ""
    done = seller.confirm(seller.answer(question, f0="Olinda"))
    assert "aceitou as respostas" in done.html
    first, second = (json.loads(it.body or b"") for it in around.marketplace.starts(process))
    assert first["address"] == {"city": "São Paulo", "state": "SP"}
    assert second["address"] == {"city": "Olinda", "state": "SP"}
    assert around.marketplace.state(process) == "FINISHED"


def test_after_the_seller_has_gone_a_fresh_link_asks_for_what_was_refused(
    around: Round, platform: Handle
) -> None:
    process = around.asked("revenue", "address.city")
    platform.add_fault(kind="status", status=400, fields=("revenue",), process_id=process)
    around.answered(process)
    fresh = around.page.mint(process)
    assert fresh.journey.only_paths == ("revenue",)
    landing = around.page.seller().get(fresh.url)
    assert "Só falta corrigir o que ela apontou." in landing.html
    assert "É uma pergunta curta." in landing.html


@pytest.mark.parametrize("status", [400, 503])
def test_any_other_answer_is_not_the_sellers_business(
    around: Round, platform: Handle, status: int
) -> None:
    process = around.asked("revenue")
    platform.add_fault(kind="status", status=status, process_id=process)
    receipt = around.answered(process)
    assert "Você não precisa fazer mais nada." in receipt.html
    [finish] = around.marketplace.finishes(process)
    assert finish.status == status


def test_a_page_that_dies_after_the_confirmation_submits_when_it_is_back(
    around: Round, platform: Handle
) -> None:
    process, seller, review = around.taken(HELD_FOR)
    page = around.page
    platform.add_fault(kind="slow", seconds=30.0, process_id=process)
    assert seller.confirm(review).slug == "receipt"
    assert around.marketplace.starts(process) == []
    page.stop(signal.SIGKILL)
    platform.clear_faults()
    page.inbox.execute("update journeys set submitting_until = 0 where process_id = $1", process)
    page.start()
    wait_until(lambda: around.marketplace.state(process) == "FINISHED")
    assert len(around.marketplace.starts(process)) == 1


def test_a_page_that_died_while_the_clock_was_ahead_keeps_no_confirmed_answers_back(
    around: Round, platform: Handle
) -> None:
    """Before: nobody submitted them for as long as the clock had been ahead."""
    process, seller, review = around.taken(30 * instants.DAY + HELD_FOR)
    seller.confirm(review)
    wait_until(lambda: around.marketplace.state(process) == "FINISHED")
    assert len(around.marketplace.starts(process)) == 1


def test_what_our_rules_refused_of_others_keeps_no_confirmed_answers_back(
    around: Round, platform: Handle
) -> None:
    process, seller, review = around.taken(HELD_FOR)
    page, marketplace = around.page, around.marketplace
    seller.confirm(review)
    stray = page.folder / "stray.json"
    stray.write_text("{}")
    assert run(marketplace, "submit", process, "--payload", str(stray)).code == 1
    page.inbox.execute("update journeys set submitting_until = 0 where process_id = $1", process)
    wait_until(lambda: marketplace.state(process) == "FINISHED")


def test_the_payload_holds_the_latest_answers_and_nothing_else(
    around: Round, platform: Handle
) -> None:
    deep = ".".join(["a"] * 1300)  # nobody encodes that
    process = around.asked("tax", "address.line1", "address.line2", deep)
    around.marketplace.collect(
        process,
        around.marketplace.inbox.find(process_id=process)[0].seller_id or "",
        {
            **{"tax.regime": "simples", "tax.since": "2020", "address.line1": "Rua B, 2"},
            **{"email": "x", deep: "x"},
        },
    )
    case = CaseFiles(around.marketplace.inbox).open(process)
    assert json.loads(payload_of(case)) == {
        "process_id": process,
        "tax": {"regime": "simples", "since": "2020"},
        "address": {"line1": "Rua B, 2"},
    }


def test_an_error_about_one_journey_keeps_no_other_back(caplog: pytest.LogCaptureFixture) -> None:
    tried: list[str] = []

    class Sweeping(Sender):
        async def submit(self, ref: str, process_id: str, confirmed_at: int) -> None:
            tried.append(process_id)
            if process_id == "p1":
                raise RecursionError
            if process_id == "p2":
                raise CallerError("The order", "it cannot be taken")

    async def now() -> int:
        return 0

    waiting = [("J1", "p1", 0), ("J2", "p2", 0), ("J3", "p3", 0)]
    inbox: Any = SimpleNamespace(query=lambda sql, *_: waiting if "journeys" in sql else [])
    submissions: Any = SimpleNamespace(now=now)
    asyncio.run(Sweeping(inbox, submissions).sweep())
    assert tried == ["p1", "p2", "p3"]
    bug, refusal = caplog.records
    assert bug.exc_info
    assert not refusal.exc_info  # it is for the one who sent it, and not a bug
    assert "journey J2 wait: The order: it cannot be taken" in refusal.message


def test_many_are_sent_at_once_and_what_is_held_is_named_as_what_is_not_confirmed_on_our_page(
    around: Round, platform: Handle
) -> None:
    """All is answered there, but the seller has authorised nobody to send it."""
    marketplace = around.marketplace
    unsure = around.asked("revenue", "address.city")
    seller = around.page.seller()
    review = seller.answer_all(seller.open(around.page.mint(unsure).url))
    ready = around.asked("owner.revenue", is_business=True)
    held = around.asked("owner.revenue", is_business=True)
    for process, band in ((ready, "1000_to_5000"), (held, "a lot")):
        seller_id = marketplace.inbox.find(process_id=process)[0].seller_id or ""
        marketplace.collect(process, seller_id, {"owner.revenue": band})
    tried = run(marketplace, "submit", "--ready", "--dry-run")
    assert tried.code == 1
    assert f"{ready}: would be sent" in tried.out
    assert f"{held}: held: owner.revenue: found a string of 5 characters" in tried.err
    assert f"{unsure}: would be sent" not in tried.out
    why = "found an answer on the seller's page that they have not confirmed"
    for path in ("revenue", "address.city"):
        assert f"{unsure}: held: {path}: {why}" in tried.err
    assert marketplace.starts(ready) == []
    done = run(marketplace, "submit", "--ready")
    assert done.code == 1
    assert f"{ready}: att_" in done.out
    assert f"{held}: held: owner.revenue" in done.err
    assert f"{unsure}: held: revenue: {why}" in done.err
    assert marketplace.state(ready) == "FINISHED"
    assert marketplace.starts(held) == marketplace.starts(unsure) == []
    seller.confirm(review)
    assert marketplace.state(unsure) == "FINISHED"


def test_what_a_seller_has_corrected_is_ready_again(around: Round, platform: Handle) -> None:
    """After a 400 the next action is a person's, to correct the payload: the seller has done it."""
    process = around.asked("revenue")
    platform.add_fault(kind="status", status=400, fields=("revenue",), process_id=process)
    around.answered(process)
    page = around.page
    seller = page.seller()
    review = seller.answer_all(seller.open(page.mint(process).url))
    page.inbox.execute(  # as where an officer sends
        "update journeys set submitting_until = $1 where process_id = $2",
        page.inbox.now() + HELD_FOR,
        process,
    )
    seller.confirm(review)
    assert len(around.marketplace.starts(process)) == 1
    done = run(around.marketplace, "submit", "--ready")
    assert f"{process}: att_" in done.out
    assert around.marketplace.state(process) == "FINISHED"
