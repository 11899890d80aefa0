"""What people of the marketplace typed to look a person up: the log holds it by a keyed digest, and
what earlier releases recorded in clear goes with the person.

Filters of `unmask` and `clearance` kept the CPF by which somebody was looked up, after `prazo
forget` too, and a full package of the period handed it out.
"""

import json
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.audit import export
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Request, Scope
from pipeline.clearance import acts
from pipeline.clearance.clearances import Awaited, act_of, settle
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.erasure.finding import person_of
from pipeline.erasure.forgetting import forget
from pipeline.errors import WrongUsage
from pipeline.inbox import Inbox, open_inbox
from pipeline.ledger.facts import Keys
from pipeline.log.actions import By, action
from pipeline.log.kinds.saved_view import view_step
from pipeline.serve.ledger_access import unmask_rows
from pipeline.settings import Settings
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE
from tests.erasure.test_forgetting import SAID, bodies
from tests.support.ledgers import said_in

BY = By("a doubt", "bia", "user:bia")
LOOKED_UP: list[tuple[str, dict[str, Any]]] = [
    ("CPF", {"where": {"taxpayer_id": "52998224725"}}),
    ("CPF with its mask", {"where": {"taxpayer_id": "529.982.247-25"}}),
    ("CPF in the place of an id", {"where": {"process_id": "529.982.247-25"}}),
    ("name", {"where": {"first_name": "Mariana"}}),
    ("part of a name", {"where": {}, "contains": {"last_name": "quintel"}}),
    ("e-mail", {"where": {"email": "Mariana.Quintela@example.com"}}),
    ("phone", {"where": {"phone_number": "11987654321"}}),
    ("range", {"where": {}, "between": {"birthdate": ("1990-01-02", "1990-01-03")}}),
]
WORDS = (
    *("529.982.247-25", "52998224725", "Mariana", "Quintela", "quintel", "11987654321"),
    *("(11) 98765-4321", "mariana.quintela", "1990-01-02"),
)


def left_in(content: bytes) -> list[str]:
    """The words of the person that stand in bytes, in either case."""
    found = content.lower()
    return [it for it in WORDS if it.lower().encode() in found]


def files_with(folder: Path) -> dict[str, list[str]]:
    files = [it for it in folder.rglob("*") if it.is_file()]
    found = {it.name: left_in(it.read_bytes()) for it in files}
    return {name: words for name, words in found.items() if words}


def packed(service: LedgerService, out: Path) -> bytes:
    """All files of a full package of everything."""
    scope = Scope(since=0, until=4_000_000_000_000_000)
    export.export(service, Request(scope, "all of it", "ana", "user:ana"), out)
    assert verify_package(out).faults == []
    with zipfile.ZipFile(out) as opened:
        return b"\n".join(opened.read(it) for it in opened.namelist())


@pytest.mark.parametrize("how", [asked for _, asked in LOOKED_UP], ids=[it for it, _ in LOOKED_UP])
def test_by_what_somebody_was_looked_up_stands_in_the_log_by_a_digest(
    settings: Settings, how: dict[str, Any]
) -> None:
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        before = service.inbox.last()[0]
        unmask_rows(service, "seller_state", {"as_of": None, **how}, BY)
        [entry] = service.inbox.read(before, 10)
    said = said_in(entry)
    assert left_in(entry.body or b"") == []
    assert (entry.process_id, said["actor"], said["view"]) == (None, "bia", "seller_state")
    column = next(iter({**how["where"], **how.get("contains", {}), **how.get("between", {})}))
    assert column in json.dumps(said)


def test_equal_tax_ids_have_equal_digests_and_codes_and_known_ids_stand_as_they_are(
    settings: Settings,
) -> None:
    """So an auditor with the key tells whether it was this CPF, and everybody whose rows it was."""
    asked = [
        {"taxpayer_id": "52998224725"},
        {"taxpayer_id": "529.982.247-25"},
        {"taxpayer_id": "11144477735"},
        {"status": "denied", "seller_id": person.SELLER, "decision_reasons": "FRAUD_PREVENTION"},
    ]
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        before = service.inbox.last()[0]
        for where in asked:
            unmask_rows(service, "seller_state", {"as_of": None, "where": where}, BY)
        one, same, other, known = service.inbox.read(before, 10)
    filters = [json.loads(it.body or b"")["filters"] for it in (one, same, other, known)]
    assert filters[0] == filters[1] != filters[2]
    assert filters[0]["taxpayer_id"].startswith("hmac:")
    assert filters[3] == asked[3]
    assert known.seller_id == person.SELLER


def test_a_request_for_a_second_person_holds_the_digest_too(settings: Settings) -> None:
    four_eyes = settings.model_copy(update={"four_eyes": "unmask"})
    asked = {"as_of": None, "where": {"taxpayer_id": "52998224725", "status": "denied"}}
    with closing(LedgerService(four_eyes)) as service:
        service.catch_up()
        before = service.inbox.last()[0]
        with pytest.raises(Awaited):
            unmask_rows(service, "seller_state", asked, BY)
        [entry] = service.inbox.read(before, 10)
        with pytest.raises(Awaited):  # the same request waits
            unmask_rows(service, "seller_state", asked, BY)
        assert service.inbox.last()[0] == entry.seq
    assert left_in(entry.body or b"") == []


def typed_before(inbox: Inbox) -> list[int]:
    """Records what earlier releases did of people's work; the seqs of what quotes the person."""
    by = {"actor": "bia", "recorded_by": "user:bia"}
    of_seller = {"seller_id": person.SELLER, "process_id": person.PROCESS}
    looked = [
        {"taxpayer_id": "529.982.247-25"},
        {"first_name": "mariana"},
        {"email": "mariana.quintela@example.com"},
        {"phone_number": "(11) 98765-4321"},
    ]
    of_view = {"reason": "a doubt", "view": "seller_state", **by}
    drafts = [action("unmask", filters=it, **of_view) for it in looked]
    drafts += [
        action("unmask", reason="Mariana called", view="seller_state", **of_seller, **by),
        action("reminded", reason="same CPF as 529.982.247-25", process_id="prc_10", **by),
        action("note", reason="see Mariana Quintela", seller_id=person.OTHER, **by),
        view_step("saved", "watchlist", "of 52998224725", query="q=1", for_all=True, **by),
        view_step("saved", "watchlist", "x", query="q=Mariana+Quintela", for_all=True, **by),
    ]
    seqs = [it.entry.seq for it in inbox.append(drafts) if it.entry is not None]
    asked = acts.rows("seller_state", as_of=None, where={"taxpayer_id": "52998224725"})
    terms = acts.Terms(frozenset({"unmask"}), 3_600_000_000, False)
    with pytest.raises(Awaited):
        settle(inbox, terms, asked, BY)
    return [*seqs, inbox.last()[0]]


def test_what_was_typed_before_goes_with_the_person_from_every_store_and_package(
    settings: Settings, tmp_path: Path
) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        quoting = typed_before(inbox)
        by = {"actor": "bia", "recorded_by": "user:bia"}
        others = [
            action("unmask", reason="Joana asked", view="v", filters={"first_name": "Joana"}, **by),
            action("override", reason="Mariana Prado agreed", process_id="prc_10", **by),
        ]
        kept = [it.entry.body for it in inbox.append(others) if it.entry is not None]
        assert set(left_in(bodies(inbox))) >= {"529.982.247-25", "Mariana", "(11) 98765-4321"}
        done = forget(settings, inbox, person.SELLER, **SAID)
        assert done.kinds["unmask"] == 5
        erased = {it.seq: it for it in inbox.read(0, 100) if it.is_erased}
        assert {*quoting} <= erased.keys()
        assert left_in(b"\n".join(it.body or b"" for it in erased.values())) == []
        assert [it.body for it in inbox.read(0, 100) if it.body in kept] == kept
        [(first, said)] = json.loads(erased[quoting[0]].body or b"")["facts"]
        assert (first, said["reason"]) == ("facts.actions", "a doubt")
        assert said["actor"] == erased[quoting[0]].pseudonym
        assert erased[quoting[0]].name == "bia"
        assert json.loads(said["content"]) == {"view": "seller_state"}
        [(_, of_clearance)] = json.loads(erased[quoting[-1]].body or b"")["facts"]
        assert act_of(inbox, json.loads(of_clearance["content"])["request"]) == "unmask"
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        content = packed(service, tmp_path / "all.zip")
        verdict = audit(service)
    assert verdict.faults == []
    left = set(left_in(content)) - {"Mariana"}  # of `Mariana Prado`, who is somebody else
    assert left == set()
    found = files_with(settings.ledger.parent)
    assert {name for name, words in found.items() if words != ["Mariana"]} == set()


@pytest.mark.parametrize(
    ("typed", "is_hers"),
    [
        ("mariana quintela", True),
        ("Quintéla, MARIANA", True),
        ("call +55 11 98765-4321", True),
        ("529 982 247 25", True),
        ("MARIANA.QUINTELA@EXAMPLE.COM wrote", True),
        ("Rua das Flores 12", True),
        ("Mariana", False),
        ("111.444.777-35", False),
        ("a check of March", False),
    ],
)
@ON_SQLITE
def test_a_text_quotes_the_person_however_it_is_written(
    inbox: Inbox, typed: str, is_hers: bool
) -> None:
    keys = Keys(values=b"v", taxpayer=b"t")
    known = person_of(inbox.find(seller_id=person.SELLER), keys)
    assert known.is_quoted_in(typed) == is_hers


def test_a_ledger_that_knew_what_was_typed_follows_its_erasure(settings: Settings) -> None:
    """It holds what stays against the bytes that it has, with the reason or without."""
    with closing(open_inbox(settings.inbox)) as inbox:
        typed_before(inbox)
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    with closing(open_inbox(settings.inbox)) as inbox:
        forget(settings, inbox, person.SELLER, **SAID)
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        held = b"\n".join(it.body or b"" for it in service.ledger.select("true", []))
    assert left_in(held) == []


def test_who_is_forgotten_once_more_takes_along_what_was_typed_since(settings: Settings) -> None:
    """The log has no value of theirs any more, but the digest of the tax id."""
    with closing(open_inbox(settings.inbox)) as inbox:
        forget(settings, inbox, person.SELLER, **SAID)
        by = {"actor": "bia", "recorded_by": "user:bia"}
        inbox.append([action("unmask", reason="529.982.247-25 wrote", view="v", **by)])
        done = forget(settings, inbox, person.SELLER, **SAID)
        assert done.kinds == {"unmask": 1}
        assert left_in(bodies(inbox)) == []


def test_an_erasure_whose_own_reason_would_name_the_person_is_refused(settings: Settings) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        before = inbox.last()
        for reason in ("CPF 529.982.247-25 asked", "Mariana asked", "11 98765-4321 called"):
            with pytest.raises(WrongUsage, match="quotes the person"):
                forget(settings, inbox, person.SELLER, **{**SAID, "reason": reason})
        assert inbox.last() == before
