"""Rows are the same whoever holds the ledger, however few of them are read, and in each format."""

import asyncio
import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from starlette.applications import Starlette

from pipeline import instants
from pipeline.audit.request import Request, Scope
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.errors import LedgerInUse, PrazoError, UnknownView, WrongUsage
from pipeline.inbox import open_inbox
from pipeline.ledger.views import formats, reader
from pipeline.ledger.views.catalogue import catalogue, public
from pipeline.ledger.views.formats import Asked
from pipeline.log.actions import By
from pipeline.serve import api, identifiers, remote
from pipeline.serve.ledger_access import Ledger, OwnLedger
from pipeline.serve.remote import Holder
from tests import depth
from tests.support.ledgers import draft
from tests.support.lines import seller
from tests.support.machine import free_port, wait_until
from tests.support.rich import RICH
from tests.support.stores import settings_in

AS_OF = instants.parse("2026-06-01T00:00:00Z")
BEFORE_ALL = instants.parse("2020-01-01T00:00:00Z")
CPF = "529.982.247-25"
BY_TAX_ID = [
    seller("created", "e-cpf-1", seller_id=CPF, taxpayer_id=CPF),
    seller(
        "denied",
        "e-cpf-2",
        "2026-03-01T10:00:00Z",
        seller_id=CPF,
        decision_reasons=[{"reason": f"{CPF} IS WRONG"}],
    ),
]
FEW = 12


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    folder = tmp_path_factory.mktemp("shown")
    with closing(open_inbox(folder / "inbox.db")) as inbox:
        for line in [*RICH, *BY_TAX_ID]:
            if (drafted := draft(line)) is not None:
                inbox.append([drafted])
    with ledger_service(settings_in(folder)) as service:
        wait_until(lambda: service.status().last_seq == service.inbox.last()[0])
        yield service


@pytest.fixture(scope="module")
def own(service: LedgerService) -> Ledger:
    """For a command that opened the ledger itself."""
    return OwnLedger(service)


class Api(httpx.BaseTransport):
    """The API of this process."""

    def __init__(self) -> None:
        self._app = httpx.ASGITransport(app=Starlette(routes=api.routes()))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def ask() -> httpx.Response:
            answer = await self._app.handle_async_request(request)
            return httpx.Response(
                answer.status_code, headers=answer.headers, content=await answer.aread()
            )

        return asyncio.run(ask())


@pytest.fixture(scope="module")
def held(service: LedgerService) -> Iterator[Ledger]:
    """For a command that asks the process that holds it."""
    with httpx.Client(transport=Api(), base_url="http://127.0.0.1") as client:
        yield Holder(client)


def test_a_command_ends_alike_whoever_holds_the_ledger(
    own: Ledger, held: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a view that cannot be read it was 2 without a holder, and 1 with one."""
    whole = catalogue()
    misspelled = {**whole, "tickets": replace(whole["tickets"], sql="select 1 form 2")}
    reader._statement.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(reader, "catalogue", lambda: misspelled)
        for asked in (own, held):
            with pytest.raises(PrazoError, match="The view tickets cannot be read") as refused:
                asked.shown(Asked("tickets", AS_OF))
            assert refused.value.exit_code == 2
    reader._statement.cache_clear()
    monkeypatch.setattr(LedgerService, "holds_erased", True)
    for asked in (own, held):
        with pytest.raises(PrazoError, match="Nothing personal is shown") as refused:
            asked.shown(Asked("denials", unmask=By("a reason", "ana", "user:ana")))
        assert refused.value.exit_code == 1


def test_no_for_an_answer_is_no_whoever_holds_the_ledger(
    own: Ledger, held: Ledger, service: LedgerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with 1 where the command opened the ledger itself, and with 2, as for wrong usage,
    where it asked its holder."""
    monkeypatch.setattr(type(service.ledger), "is_without_bodies", True)
    for asked in (own, held):
        with pytest.raises(PrazoError, match="No personal value can be shown here") as refused:
            asked.shown(Asked("denials", unmask=By("a reason", "ana", "user:ana")))
        assert refused.value.exit_code == 1


def test_wrong_usage_is_wrong_usage_whoever_holds_the_ledger(
    own: Ledger, held: Ledger, tmp_path: Path
) -> None:
    """A package for no reason ended with 1, where a holder was asked for it."""
    unsaid = Request(Scope(process_id="p1"), " ", "ana", "user:ana")
    for asked in (own, held):
        with pytest.raises(PrazoError, match="a reason and a name are needed") as refused:
            asked.export(unsaid, tmp_path / "p.zip", lambda *_: None)
        assert refused.value.exit_code == 2


@pytest.mark.parametrize("name", ["denials/count", "denials?format=csv", "../status", "denials#"])
def test_what_only_leads_to_a_view_is_none(name: str, own: Ledger, held: Ledger) -> None:
    """A holder was asked for whatever lay at that path, and its answer shown as the view's."""
    for asked in (own, held):
        with pytest.raises(UnknownView, match="There is no view"):
            asked.shown(Asked(name))
        with pytest.raises(UnknownView, match="There is no view"):
            asked.count(name)


def test_a_question_that_is_too_long_for_a_holder_is_refused(held: Ledger) -> None:
    """It was a traceback, or no refusal of ours."""
    with pytest.raises(WrongUsage, match="too long"):
        held.shown(Asked("denials", filters=[f"seller_id={'r' * 70_000}"]))
    with pytest.raises(WrongUsage, match="the body is over 65536 bytes"):
        held.shown(Asked("denials", unmask=By("r" * 70_000, "ana", "user:ana")))


def test_a_holder_that_does_not_answer_is_an_error_of_the_moment() -> None:
    """It ended with 2, as wrong settings do."""
    url = f"http://127.0.0.1:{free_port()}"
    with httpx.Client(base_url=url) as client, pytest.raises(LedgerInUse) as refused:
        Holder(client).count("denials")
    assert refused.value.exit_code == 1


@pytest.mark.parametrize("view", sorted({"denials", *depth.few([*public()], 24)}))
def test_few_rows_are_those_of_the_table(
    view: str, own: Ledger, held: Ledger, service: LedgerService
) -> None:
    found = own.shown(Asked(view, AS_OF, limit=FEW))
    table = service.reader.read(view, as_of=AS_OF, limit=FEW)
    assert [*found.columns] == table.column_names == [*public()[view].columns]
    masked = identifiers.masked(table, service.inbox.log_key)
    assert found.rows == [*formats.records(masked)]
    assert CPF not in str(found.rows)
    assert held.shown(Asked(view, AS_OF, limit=FEW)) == found
    assert held.shown(Asked(view, BEFORE_ALL)) == own.shown(Asked(view, BEFORE_ALL))


@pytest.mark.parametrize("view", depth.few([*public()], 12))
def test_a_file_is_the_same_whoever_holds_the_ledger(view: str, own: Ledger, held: Ledger) -> None:
    asked, look = Asked(view, AS_OF, limit=FEW), formats.Look()
    for form in ("json", "ndjson", "csv"):
        files = [it.encoded(asked, form, look) for it in (own, held)]
        assert files[0] == files[1], form
    own_table, held_table = (
        pq.read_table(io.BytesIO(ledger.encoded(asked, "parquet", look))) for ledger in (own, held)
    )
    assert held_table.equals(own_table, check_metadata=True)
    assert held.read(view).schema.equals(own.read(view).schema)


def test_a_holder_writes_no_text_of_many_rows(
    own: Ledger, held: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took seconds in which pages waited, and of millions longer than a command waits."""
    forms, rows = [], Holder._rows

    def spied(holder: Holder, asked: Asked, form: formats.Format) -> httpx.Response:
        forms.append(form)
        return rows(holder, asked, form)

    monkeypatch.setattr(Holder, "_rows", spied)
    monkeypatch.setattr(remote, "TEXT_ROWS", 2)
    for view, limit in (
        ("denials", 2),
        ("denial_retries", None),
        ("denials", 3),
        ("denials", None),
    ):
        asked = Asked(view, AS_OF, limit=limit)
        for form in ("json", "ndjson", "csv"):
            files = [it.encoded(asked, form, formats.Look()) for it in (own, held)]
            assert files[0] == files[1]
    assert forms == ["json", "ndjson", "csv"] * 2 + ["parquet"] * 6


@pytest.mark.parametrize("who", ["own", "held"])
def test_personal_values_are_shown_once_it_is_in_the_log_to_whom(
    who: str, request: pytest.FixtureRequest, service: LedgerService
) -> None:
    ledger: Ledger = request.getfixturevalue(who)
    asked = Asked("seller_state", AS_OF, ["taxpayer_id=***25"])
    [masked] = ledger.shown(asked).rows
    assert CPF not in masked.values()
    before = service.inbox.last()[0]
    unmask = By("the platform asks", "ana", "user:ana")
    [shown] = ledger.shown(asked._replace(filters=[f"seller_id={CPF}"], unmask=unmask)).rows
    assert (shown["seller_id"], shown["taxpayer_id"]) == (CPF, CPF)
    [entry] = service.inbox.read(before, 9)
    assert (entry.kind, entry.seller_id) == ("unmask", CPF)
    wait_until(lambda: service.status().last_seq == entry.seq)
