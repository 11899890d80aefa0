"""What was sent to sellers, what became of it, and when it was a contact.

Each case is a history, an instant, and what was expected by hand: `contacted_at` of the message n1
about p1, None where it never counted or was withdrawn.
"""

import pytest

from tests.queries.notices.builders import FIRST, sent
from tests.support.ledgers import World, asked
from tests.support.lines import (
    aci,
    acp,
    at,
    called,
    live,
    notice,
    posted,
    result,
    retracted,
    started,
)

WORLD = World()
END = "2026-03-09T00:00:00"
MESSAGE = [aci(), notice()]
ACCEPTED = result("accepted", "2026-03-02T00:00:05Z")
DELIVERED = result("delivered", "2026-03-02T00:01:00Z")
OPENED = result("opened", "2026-03-02T09:00:00Z")
BOUNCED = result("bounced", "2026-03-03T00:00:00Z")
FAILED = result("failed", "2026-03-03T00:00:00Z")
RETRACTED = retracted("2026-03-03T00:00:00Z")
JUST_BEFORE = "2026-03-02T23:59:59.999999"

BY_MESSAGE = {
    "handed over": (MESSAGE, {END: None}),
    "accepted": (
        [*MESSAGE, ACCEPTED],
        {"2026-03-02T00:00:04.999999": None, "2026-03-02T00:00:05": "2026-03-02T00:00:05"},
    ),
    "delivered": ([*MESSAGE, DELIVERED], {END: "2026-03-02T00:01:00"}),
    "opened": ([*MESSAGE, OPENED], {END: "2026-03-02T09:00:00"}),
    "uncertain": ([*MESSAGE, result("uncertain", "2026-03-02T00:00:05Z")], {END: None}),
    "the first of several": (
        [*MESSAGE, OPENED, DELIVERED, ACCEPTED],
        {
            "2026-03-02T00:00:59": "2026-03-02T00:00:05",
            END: "2026-03-02T00:00:05",
        },
    ),
    "delivered before it was accepted": (
        [*MESSAGE, ACCEPTED, result("delivered", "2026-03-02T00:00:03Z")],
        {END: "2026-03-02T00:00:03"},
    ),
    "bounced later": (
        [*MESSAGE, ACCEPTED, BOUNCED],
        {JUST_BEFORE: "2026-03-02T00:00:05", "2026-03-03T00:00:00": None, END: None},
    ),
    "bounced before it was accepted": (
        [*MESSAGE, ACCEPTED, result("bounced", "2026-03-02T00:00:03Z")],
        {"2026-03-02T00:00:03": None, "2026-03-02T00:00:05": None},
    ),
    "bounced at the same instant": (
        [*MESSAGE, ACCEPTED, result("bounced", "2026-03-02T00:00:05Z")],
        {END: None},
    ),
    "opened after it bounced": (
        [*MESSAGE, ACCEPTED, BOUNCED, result("opened", "2026-03-04T00:00:00Z")],
        {END: None},
    ),
    "failed": ([*MESSAGE, ACCEPTED, FAILED], {JUST_BEFORE: "2026-03-02T00:00:05", END: None}),
    "an e-mail is not taken back": (
        [*MESSAGE, ACCEPTED, RETRACTED],
        {END: "2026-03-02T00:00:05"},
    ),
    "a result that was recorded before its message": (
        [aci(), ACCEPTED, notice()],
        {END: "2026-03-02T00:00:05"},
    ),
    "a result whose reporter's clock is behind": (
        [*MESSAGE, result("accepted", "2026-03-01T23:59:00Z")],
        {"2026-03-02T00:00:00": "2026-03-01T23:59:00"},
    ),
    "a result of this process": (
        [*MESSAGE, {**ACCEPTED, "process_id": "p1"}],
        {END: "2026-03-02T00:00:05"},
    ),
    "a result of another process": ([*MESSAGE, {**ACCEPTED, "process_id": "p2"}], {END: None}),
    "a bounce of another process": (
        [*MESSAGE, ACCEPTED, {**BOUNCED, "process_id": "p2"}],
        {END: "2026-03-02T00:00:05"},
    ),
    "a result of another message": (
        [*MESSAGE, result("accepted", "2026-03-02T00:00:05Z", "n2")],
        {END: None},
    ),
    "results of both, the process's own first": (
        [*MESSAGE, ACCEPTED, result("accepted", "2026-03-02T00:00:04Z", process_id="p1")],
        {END: "2026-03-02T00:00:04"},
    ),
    "accepted twice": (
        [*MESSAGE, result("accepted", "2026-03-02T00:00:06Z"), ACCEPTED],
        {END: "2026-03-02T00:00:05"},
    ),
}

BY_HAND = {
    "a call that reached the seller": (
        [aci(), called()],
        {"2026-03-02T00:00:00": "2026-03-02T00:00:00"},
    ),
    "a message left": ([aci(), called(outcome="left_message")], {END: None}),
    "no answer": ([aci(), called(outcome="no_answer")], {END: None}),
    "a wrong number": ([aci(), called(outcome="wrong_number")], {END: None}),
    "a call of which nobody says how it went": ([aci(), called(outcome=None)], {END: None}),
    "no result makes a call a contact": (
        [aci(), called(outcome="no_answer"), ACCEPTED, DELIVERED, OPENED],
        {END: None},
    ),
    "a call that a result speaks of": (
        [aci(), called(), DELIVERED],
        {END: "2026-03-02T00:00:00"},
    ),
    "a call taken back": (
        [aci(), called(), RETRACTED],
        {JUST_BEFORE: "2026-03-02T00:00:00", "2026-03-03T00:00:00": None},
    ),
    "a call taken back before it was recorded": ([aci(), RETRACTED, called()], {END: None}),
    "a call that failed": (
        [aci(), called(), FAILED],
        {JUST_BEFORE: "2026-03-02T00:00:00", END: None},
    ),
    "a call of this process taken back": (
        [aci(), called(), {**RETRACTED, "process_id": "p1"}],
        {END: None},
    ),
    "a call of another process taken back": (
        [aci(), called(), {**RETRACTED, "process_id": "p2"}],
        {END: "2026-03-02T00:00:00"},
    ),
    "a letter": ([aci(), posted()], {"2026-03-02T00:00:00": "2026-03-02T00:00:00"}),
    "a letter that was delivered": ([aci(), posted(), DELIVERED], {END: "2026-03-02T00:00:00"}),
    "a letter that came back": (
        [aci(), posted(), BOUNCED],
        {JUST_BEFORE: "2026-03-02T00:00:00", END: None},
    ),
    "a letter taken back": (
        [aci(), posted(), RETRACTED],
        {JUST_BEFORE: "2026-03-02T00:00:00", END: None},
    ),
    "the first of one message counts": (
        [aci(), called(outcome="no_answer"), called(occurred_at="2026-03-04T00:00:00Z")],
        {END: None},
    ),
}


def in_world(cases):
    """One case for each instant of each history."""
    return [
        pytest.param(history, as_of, expected, id=f"{name}, {as_of}")
        for name, (lines, instants) in cases.items()
        for history in [WORLD.add(FIRST, *lines)]
        for as_of, expected in instants.items()
    ]


@pytest.mark.parametrize(("history", "as_of", "expected"), in_world(BY_MESSAGE) + in_world(BY_HAND))
def test_a_message_is_a_contact_from_its_first_good_result_until_it_is_withdrawn(
    history, as_of, expected
):
    assert sent(history, as_of)["contacted_at"] == (expected and at(expected))


@pytest.mark.parametrize(
    ("channel", "history"),
    [
        (channel, WORLD.add(FIRST, aci(), notice(channel=channel), ACCEPTED))
        for channel in ("in_app", "web_form", "email", "push", "sms", "chat", "whatsapp")
    ],
)
def test_any_channel_but_phone_and_letter_is_a_contact_by_its_result(channel, history):
    row = sent(history, END)
    assert (row["channel"], row["contacted_at"]) == (channel, at("2026-03-02T00:00:05"))


OF_TWO = [aci(), aci("e2", process_id="p2"), notice(), notice(process_id="p2")]


@WORLD.given(
    of_both=[FIRST, *OF_TWO, ACCEPTED],
    reported_first=[FIRST, ACCEPTED, *OF_TWO],
    bounced_for_one=[FIRST, *OF_TWO, ACCEPTED, {**BOUNCED, "process_id": "p2"}],
    taken_back=[FIRST, *OF_TWO[:2], called(), called(process_id="p2"), RETRACTED],
    taken_back_for_one=[
        *(FIRST, *OF_TWO[:2], called(), called(process_id="p2")),
        {**RETRACTED, "process_id": "p2"},
    ],
)
def test_what_names_no_process_speaks_of_each_one_of_its_message(
    of_both, reported_first, bounced_for_one, taken_back, taken_back_for_one
):
    def contacted(history):
        return [sent(history, END, "n1", process)["contacted_at"] for process in ("p1", "p2")]

    assert contacted(of_both) == contacted(reported_first) == [at("2026-03-02T00:00:05")] * 2
    assert contacted(bounced_for_one) == [at("2026-03-02T00:00:05"), None]
    assert contacted(taken_back) == [None, None]
    assert contacted(taken_back_for_one) == [at("2026-03-02T00:00:00"), None]


@WORLD.given(
    FIRST,
    acp(),
    notice(template="first@3", language="pt-BR", rung="day_0"),
    ACCEPTED,
    DELIVERED,
    OPENED,
    result("uncertain", "2026-03-02T00:00:01Z"),
    result("failed", "2026-03-05T00:00:00Z"),
    BOUNCED,
    RETRACTED,
)
def test_a_row_says_what_was_sent_and_all_that_became_of_it(history):
    row = sent(history, END)
    expected = {
        "message_id": "n1",
        "process_id": "p1",
        "seller_id": "s1",
        "channel": "email",
        "rung": "day_0",
        "template": "first@3",
        "language": "pt-BR",
        "actor": None,
        "outcome": None,
        "promised_for": None,
        "sent_at": at("2026-03-02T00:00:00"),
        "accepted_at": at("2026-03-02T00:00:05"),
        "delivered_at": at("2026-03-02T00:01:00"),
        "opened_at": at("2026-03-02T09:00:00"),
        "bounced_at": at("2026-03-03T00:00:00"),
        "failed_at": at("2026-03-05T00:00:00"),
        "uncertain_at": at("2026-03-02T00:00:01"),
        "retracted_at": None,
        "contacted_at": None,
    }
    assert {name: row[name] for name in expected} == expected
    assert sent(history, "2026-03-01T23:59:59.999999") is None
    on_the_way = sent(history, "2026-03-02T00:01:00")
    assert (on_the_way["delivered_at"], on_the_way["opened_at"]) == (
        at("2026-03-02T00:01:00"),
        None,
    )


@WORLD.given(FIRST, aci(), called(promised_for="2026-03-10", note="after lunch"), RETRACTED)
def test_a_call_says_who_called_what_came_of_it_and_what_was_promised(history):
    row = sent(history, "2026-03-02T00:00:00")
    assert (row["actor"], row["outcome"], row["promised_for"]) == ("Ana", "reached", "2026-03-10")
    assert row["note"] == "after lunch"
    assert row["retracted_at"] is None
    assert sent(history, "2026-03-03T00:00:00")["retracted_at"] == at("2026-03-03T00:00:00")


@WORLD.given(
    of_another_seller=[FIRST, aci(), notice(seller_id="s2"), ACCEPTED],
    without_a_review=[FIRST, notice(), ACCEPTED],
    of_an_attempt=[FIRST, started(seller_id="s3"), notice(), ACCEPTED],
)
def test_the_seller_is_the_one_of_the_process(of_another_seller, without_a_review, of_an_attempt):
    def seller(history):
        return sent(history, END)["seller_id"]

    assert seller(of_another_seller) == "s1"
    assert seller(without_a_review) is None
    assert seller(of_an_attempt) == "s3"
    assert asked(without_a_review, "process_state", at(END)) == []


# --- counting once: in ledgers of their own, since digests look at all that is said ---


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_that_say_otherwise_at_one_instant_the_smaller_digest_counts(order):
    """Who called is part of what is said: fd34... is the digest of the first, e9ff... that of the
    other."""
    both = [called(), called(outcome="no_answer")]
    row = sent([aci(), *(both[place] for place in order)], END)
    assert row["outcome"] == "no_answer"


def test_a_live_one_that_comes_again_is_one():
    history = [aci(), live(called()), live(called(), "2026-03-02T00:00:10Z")]
    [row] = asked(history, "seller_notices", at(END))
    assert row["contacted_at"] == at("2026-03-02T00:00:00")
