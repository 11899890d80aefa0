"""`prazo ticket` and `prazo remind`: entries of what a person did, each under a name."""

import json

import pytest

from pipeline import instants
from pipeline.log.entries import Entry
from tests.support.commands import run
from tests.support.ledgers import said_in
from tests.support.marketplace import Marketplace, Review


@pytest.fixture
def review(marketplace: Marketplace) -> Review:
    return marketplace.review(is_answered=False)


def recorded(marketplace: Marketplace, review: Review, kind: str) -> list[Entry]:
    return marketplace.inbox.find(process_id=review.process_id, kind=kind)


def test_a_ticket_is_opened_and_closed(marketplace: Marketplace, review: Review) -> None:
    opened = ("ticket", review.process_id, "--opened", " 4711 ", "--actor", "maria")
    assert run(marketplace, *opened).code == 0
    done = run(marketplace, "ticket", review.process_id, "--closed", "--actor", "ana")
    first, second = recorded(marketplace, review, "ticket")
    assert first.process_id == second.process_id == review.process_id
    assert said_in(first) == {"actor": "maria", "number": "4711", "step": "opened"}
    assert said_in(second) == {"actor": "ana", "step": "closed"}
    assert {first.seller_id, second.seller_id} == {review.seller_id}
    assert first.recorded_by.startswith("user:")
    assert done.out == f"recorded, entry {second.seq}\n"


def test_only_an_open_ticket_is_closed_and_no_second_one_is_opened(
    marketplace: Marketplace, review: Review
) -> None:
    """The second took the place of the first, and nobody saw that the first was never closed."""

    def ticket(*steps: str) -> tuple[int | str | None, str]:
        done = run(marketplace, "ticket", review.process_id, *steps, "--actor", "ana")
        return done.code, done.err

    code, said = ticket("--closed")
    assert code == 1
    assert f"No ticket of {review.process_id} is open" in said
    assert ticket("--opened", "4711")[0] == 0
    code, said = ticket("--opened", "4712")
    assert code == 1
    assert f"Ticket 4711 of {review.process_id} is open: ana opened it" in said
    assert ticket("--closed")[0] == 0
    assert ticket("--opened", "4712")[0] == 0
    steps = [json.loads(it.body or b"") for it in recorded(marketplace, review, "ticket")]
    assert [it.get("number") for it in steps] == ["4711", None, "4712"]


@pytest.mark.parametrize("steps", [(), ("--opened", "4711", "--closed")])
def test_a_ticket_is_either_opened_or_closed(
    marketplace: Marketplace, review: Review, steps: tuple[str, ...]
) -> None:
    done = run(marketplace, "ticket", review.process_id, *steps, "--actor", "maria")
    assert (done.code, recorded(marketplace, review, "ticket")) == (2, [])
    assert "--opened NUMBER or --closed" in done.err


@pytest.mark.parametrize(
    ("number", "actor", "said"), [(" ", "maria", "its number is needed"), ("1", " ", "a name")]
)
def test_a_ticket_has_a_number_and_a_name(
    marketplace: Marketplace, review: Review, number: str, actor: str, said: str
) -> None:
    done = run(marketplace, "ticket", review.process_id, "--opened", number, "--actor", actor)
    assert done.code == 2  # wrong usage, as without the option
    assert said in done.err
    assert recorded(marketplace, review, "ticket") == []


def test_a_call_has_what_came_of_it(marketplace: Marketplace, review: Review) -> None:
    called = ["remind", review.process_id, "--outcome", "reached", "--actor", "maria"]
    more = ["--promised-for", "2026-03-20", "--note", "after lunch", "--at", "2026-03-01T09:00Z"]
    done = run(marketplace, *called, *more)
    [entry] = recorded(marketplace, review, "seller_notice")
    said = said_in(entry)
    assert said.pop("message_id").startswith("msg_")
    assert said == {
        "actor": "maria",
        "channel": "phone",
        "outcome": "reached",
        "promised_for": "2026-03-20",
        "note": "after lunch",
    }
    assert instants.canonical(entry.occurred_at) == "2026-03-01T09:00:00.000000Z"
    assert entry.seller_id == review.seller_id
    assert (done.code, done.out) == (0, f"recorded, entry {entry.seq}\n")
    nobody = run(marketplace, *called[:-1], " ")
    assert nobody.code == 2
    assert "The seller notice was not recorded: a name is needed" in nobody.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--outcome of a call"),
        (["--channel", "letter", "--outcome", "reached"], "--outcome of a call"),
        (["--channel", "email"], "'email' is not one of"),
        (["--outcome", "asleep"], "'asleep' is not one of"),
        (["--outcome", "reached", "--at", "soon"], "an instant that has passed"),
        (["--outcome", "reached", "--at", "2126-03-01T09:00:00Z"], "an instant that has passed"),
    ],
)
def test_what_was_neither_a_call_nor_a_letter_is_refused(
    marketplace: Marketplace, review: Review, options: list[str], said: str
) -> None:
    done = run(marketplace, "remind", review.process_id, "--actor", "maria", *options)
    assert (done.code, recorded(marketplace, review, "seller_notice")) == (2, [])
    assert said in " ".join(done.err.split())


def test_a_process_that_nothing_names_has_no_ticket(marketplace: Marketplace) -> None:
    done = run(marketplace, "ticket", "prc_typo", "--opened", "1", "--actor", "maria")
    assert done.code != 0
    assert "There is no review process prc_typo" in done.err
    assert marketplace.inbox.find(process_id="prc_typo") == []
