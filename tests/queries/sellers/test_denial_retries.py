"""Tests which of several denials counts when they disagree and the seller comes back."""

from datetime import date

import pytest

from tests.support.ledgers import asked, ledger_of, rows
from tests.support.lines import acp, at, seller, webhook

BEFORE, AFTER = "2026-03-02T00:00:00Z", "2026-03-20T00:00:00Z"
SUCCESSOR = seller("created", "v9", "2026-03-10T00:00:00Z", "s2", taxpayer_id="1-2-3")


def denied(event_id: str, instant: str, retry: bool | None) -> dict:
    record = {} if retry is None else {"retry": retry}
    return seller("denied", event_id, instant, taxpayer_id="123", **record)


@pytest.mark.parametrize(
    ("retries", "wasted"),
    [
        ([False], 1),
        ([True], 0),
        ([False, True], 0),
        ([True, False], 1),
        ([False, None], 0),
        ([None, False], 1),
    ],
)
def test_the_last_denial_before_a_successor_says_whether_it_was_wasted(retries, wasted):
    denials = [
        denied(f"v{number}", BEFORE.replace("02T", f"0{number + 2}T"), retry)
        for number, retry in enumerate(retries)
    ]
    history = [*denials, SUCCESSOR, denied("v8", AFTER, not retries[-1])]
    for as_of in ("2026-03-15T00:00:00", "2026-04-01T00:00:00"):
        [row] = asked(history, "denial_retries", at(as_of))
        assert (row["reonboarded"], row["wasted_retries"]) == (1, wasted)


def test_returns_count_in_the_week_of_the_first_successor():
    """s1 is denied on 2 March and comes back as s2 on 10 March, enabled in April; s4 is denied and
    never comes back. Weeks end on the day of as_of."""
    history = [
        denied("v1", BEFORE, True),
        SUCCESSOR,
        seller("enabled", "v10", "2026-04-02T00:00:00Z", "s2", taxpayer_id="123"),
        seller("denied", "v11", BEFORE, "s4", taxpayer_id="456"),
    ]
    with ledger_of(history) as reader:
        before = rows(reader, "return_weeks", at("2026-03-14T00:00:00"))
        after = rows(reader, "return_weeks", at("2026-04-11T00:00:00"))
    assert len(before) == 12
    assert [tuple(row.values()) for row in before if row["came_back"]] == [
        (date(2026, 3, 14), 1, 0, 0.0, None)
    ]
    assert [tuple(row.values()) for row in after if row["came_back"]] == [
        (date(2026, 3, 14), 1, 1, 1.0, 31 * 86_400.0)
    ]
    assert {row["cure_rate"] for row in after if not row["came_back"]} == {None}


def test_a_cure_takes_from_the_first_denial_to_the_first_time_that_a_successor_was_enabled():
    """Nobody could see how long cures take. s1 is denied on 2 and 4 March and cured by its second
    successor on 12 March: 10 days. s4 takes 90 minutes, s6 one day; s8 came back and is not cured.
    By 12 March there are three cures, and the middle one took a day; before it two, of which the
    lower counts."""
    history = [
        denied("v1", BEFORE, True),
        denied("v2", "2026-03-04T00:00:00Z", True),
        SUCCESSOR,
        seller("created", "v3", "2026-03-11T00:00:00Z", "s3", taxpayer_id="123"),
        seller("enabled", "v4", "2026-03-12T00:00:00Z", "s3", taxpayer_id="123"),
        seller("enabled", "v5", "2026-03-13T00:00:00Z", "s2", taxpayer_id="123"),
        seller("denied", "v6", BEFORE, "s4", taxpayer_id="4"),
        seller("created", "v7", "2026-03-02T01:00:00Z", "s5", taxpayer_id="4"),
        seller("enabled", "v8", "2026-03-02T01:30:00Z", "s5", taxpayer_id="4"),
        seller("disabled", "v9b", "2026-03-02T02:00:00Z", "s5", taxpayer_id="4"),
        seller("denied", "v10", BEFORE, "s6", taxpayer_id="6"),
        seller("created", "v11", "2026-03-02T12:00:00Z", "s7", taxpayer_id="6"),
        seller("enabled", "v12", "2026-03-03T00:00:00Z", "s7", taxpayer_id="6"),
        seller("denied", "v13", BEFORE, "s8", taxpayer_id="8"),
        seller("created", "v14", "2026-03-02T12:00:00Z", "s9", taxpayer_id="8"),
    ]
    with ledger_of(history) as reader:
        found = rows(reader, "returned_sellers", at("2026-04-01T00:00:00"))
        [late] = rows(reader, "denial_headline", at("2026-04-01T00:00:00"))
        [early] = rows(reader, "denial_headline", at("2026-03-11T12:00:00"))
        [first] = rows(reader, "denial_headline", at("2026-03-02T01:00:00"))
        weeks = rows(reader, "return_weeks", at("2026-03-07T00:00:00"))
    assert {row["seller_id"]: (row["cured_at"], row["seconds_to_cure"]) for row in found} == {
        "s1": (at("2026-03-12T00:00:00"), 864_000.0),
        "s4": (at("2026-03-02T01:30:00"), 5_400.0),
        "s6": (at("2026-03-03T00:00:00"), 86_400.0),
        "s8": (None, None),
    }
    assert (late["cured"], late["median_seconds_to_cure"]) == (3, 86_400.0)
    assert (early["cured"], early["median_seconds_to_cure"]) == (2, 5_400.0)
    assert (first["cured"], first["median_seconds_to_cure"]) == (0, None)
    assert [(row["came_back"], row["median_seconds_to_cure"]) for row in weeks[-2:]] == [
        (0, None),
        (3, 5_400.0),
    ]


def test_a_denial_holds_its_reasons_as_codes_to_look_for():
    pairs = [
        {"reason": "A", "detail": "B"},
        {"reason": "A", "detail": "C"},
        {"reason": "D"},
    ]
    history = [
        seller("denied", "v1", BEFORE, decision_reasons=pairs, retry=True),
        seller("denied", "v2", AFTER, "s2", decision_reasons=[], retry=True),
    ]
    with ledger_of(history) as reader:
        found = rows(reader, "denials", at("2026-04-01T00:00:00"))
        exact = reader.read("denials", contains={"codes": "|A/B|"}).num_rows
        near = reader.read("denials", contains={"codes": "|B|"}).num_rows
    assert [row["codes"] for row in found] == ["||", "|A|D|A/B|A/C|"]
    assert (exact, near) == (1, 0)


def test_months_count_each_reason_up_to_their_last_day():
    """Two denials in March and one in April; one of a year before April is too old by April."""
    pair = [{"reason": "A", "detail": "B"}]
    history = [
        seller("denied", f"v{number}", instant, decision_reasons=pair, retry=True)
        for number, instant in enumerate(
            (
                "2025-04-30T23:59:59Z",
                "2026-03-01T00:00:00Z",
                "2026-03-31T23:59:59Z",
                "2026-04-01T00:00:00Z",
            )
        )
    ]
    with ledger_of(history) as reader:
        april = rows(reader, "denial_months", at("2026-04-02T00:00:00"))
        march = rows(reader, "denial_months", at("2026-03-31T23:59:59"))
    assert [tuple(row.values()) for row in april] == [
        (date(2025, 5, 31), None, None, 0),
        (date(2025, 6, 30), None, None, 0),
        (date(2025, 7, 31), None, None, 0),
        (date(2025, 8, 31), None, None, 0),
        (date(2025, 9, 30), None, None, 0),
        (date(2025, 10, 31), None, None, 0),
        (date(2025, 11, 30), None, None, 0),
        (date(2025, 12, 31), None, None, 0),
        (date(2026, 1, 31), None, None, 0),
        (date(2026, 2, 28), None, None, 0),
        (date(2026, 3, 31), "A", "B", 2),
        (date(2026, 4, 30), "A", "B", 1),
    ]
    assert [(row["ends_on"], row["denials"]) for row in march if row["denials"]] == [
        (date(2025, 4, 30), 1),
        (date(2026, 3, 31), 2),
    ]
    assert len(march) == 12


def test_a_week_without_a_denial_has_a_row_of_no_reason():
    """Denials on 2 and on 20 March; weeks end on Saturdays. One of 83 days before counts, one of 84
    does not."""
    pair = [{"reason": "A"}]
    history = [
        seller("denied", f"v{number}", instant, decision_reasons=pair, retry=True)
        for number, instant in enumerate(
            ("2025-12-27T23:59:59Z", "2025-12-28T00:00:00Z", BEFORE, AFTER)
        )
    ]
    weeks = asked(history, "denial_weeks", at("2026-03-21T00:00:00"))
    assert [(row["ends_on"], row["reason"], row["denials"]) for row in weeks] == [
        (date(2026, 1, 3), "A", 1),
        (date(2026, 1, 10), None, 0),
        (date(2026, 1, 17), None, 0),
        (date(2026, 1, 24), None, 0),
        (date(2026, 1, 31), None, 0),
        (date(2026, 2, 7), None, 0),
        (date(2026, 2, 14), None, 0),
        (date(2026, 2, 21), None, 0),
        (date(2026, 2, 28), None, 0),
        (date(2026, 3, 7), "A", 1),
        (date(2026, 3, 14), None, 0),
        (date(2026, 3, 21), "A", 1),
    ]


@pytest.mark.parametrize("shown", [False, True, 1.5, ["1"], {"cpf": "1"}])
def test_what_is_not_a_tax_id_makes_no_two_sellers_one(shown):
    """It was compared as it is written in JSON: whoever had `false` was one person, come back."""
    history = [
        seller("denied", "v1", BEFORE, taxpayer_id=shown, retry=False),
        seller("created", "v2", AFTER, "s2", taxpayer_id=shown),
    ]
    [row] = asked(history, "denial_retries", at("2026-04-01T00:00:00"))
    assert (row["reonboarded"], row["reonboarding_rate"], row["wasted_retries"]) == (0, None, 0)


def test_what_is_not_a_tax_id_takes_no_place_of_one_and_a_whole_number_is_its_digits():
    history = [
        seller("denied", "v1", BEFORE, taxpayer_id=123, retry=False),
        seller("updated", "v2", "2026-03-03T00:00:00Z", taxpayer_id=[]),
        seller("created", "v3", AFTER, "s2", taxpayer_id="000.000.001-23"),
    ]
    [row] = asked(history, "denial_retries", at("2026-04-01T00:00:00"))
    assert (row["reonboarded"], row["reonboarding_rate"]) == (1, 1.0)


ASSOCIATED = {
    "id": "b1",
    "type": "bank_account.associated",
    "created_at": "2026-03-01T00:00:00Z",
    "payload": {"customer_id": "s2"},
}
NAMED_LATER = seller("updated", "v9", "2026-03-10T00:00:00Z", "s2", taxpayer_id="123")
DENIED_AT = "2026-03-02T00:00:00Z"


def of_record(what, event_id, day, created_at):
    """An event of a day of March whose record says when s2 was created."""
    line = seller(what, event_id, f"2026-03-0{day}T00:00:00Z", "s2", taxpayer_id="123")
    line["body"]["payload"]["object"]["created_at"] = created_at
    return line


@pytest.mark.parametrize(
    ("successor", "reonboarded"),
    [
        ([NAMED_LATER], 1),
        # Whatever names a seller first says that it was there before the denial.
        ([NAMED_LATER, webhook(ASSOCIATED, "2026-03-01T00:00:00Z")], 0),
        ([NAMED_LATER, acp(customer_id="s2")], 0),
        # The record's own word counts before that, the latest that carries one.
        ([of_record("created", "v8", 3, "2026-03-01T00:00:00Z")], 0),
        (
            [
                of_record("created", "v7", 3, "2026-03-01T00:00:00Z"),
                of_record("updated", "v8", 4, "2026-03-03T00:00:00Z"),
            ],
            1,
        ),
        ([seller("created", "v9", DENIED_AT, "s2", taxpayer_id="123")], 0),  # not after it
        ([seller("created", "v9", "2026-03-02T00:00:00.000001Z", "s2", taxpayer_id="123")], 1),
    ],
)
def test_a_successor_is_one_that_was_created_after_the_first_denial(successor, reonboarded):
    history = [denied("v1", DENIED_AT, True), *successor]
    [row] = asked(history, "denial_retries", at("2026-04-01T00:00:00"))
    assert (row["denied_sellers"], row["reonboarded"]) == (1, reonboarded)


@pytest.mark.parametrize("ids", [("v1", "v2"), ("v2", "v1")])
def test_of_denials_created_at_once_the_one_received_last_is_the_latest(ids):
    first, last = denied(ids[0], DENIED_AT, True), denied(ids[1], DENIED_AT, False)
    history = [{**first, "occurred_at": "2026-03-03T00:00:00Z"}]
    history += [{**last, "occurred_at": "2026-03-04T00:00:00Z"}, SUCCESSOR]
    [row] = asked(history, "denial_retries", at("2026-04-01T00:00:00"))
    assert row["wasted_retries"] == 1


def test_an_analysis_of_180_seconds_is_within_them_and_the_99th_of_100_is_the_share():
    """On 2 March 98 take a minute, one takes 180 s and one 180.5 s: the share that is within, and
    what 99 % took at the most."""
    history = []
    for number in range(100):
        seconds = {98: "03:00", 99: "03:00.500000"}.get(number, "01:00")
        seller_id = f"s{number:03}"
        history += [
            seller("created", f"c{number}", "2026-03-02T00:00:00Z", seller_id),
            seller("enabled", f"e{number}", f"2026-03-02T00:{seconds}Z", seller_id),
        ]
    [row] = asked(history, "onboarding_analysis", at("2026-04-01T00:00:00"))
    assert tuple(row.values()) == (date(2026, 3, 2), 100, 99, 0.99, 180.0)


@pytest.mark.parametrize(
    ("denied_as", "back_as", "returned"),
    [
        ({"ein": "12.345.678/0001-95"}, {"ein": 12345678000195}, 1),
        ({"ein": "02.345.678/0001-95"}, {"taxpayer_id": 2345678000195}, 1),
        ({"taxpayer_id": "025.869.803-01"}, {"document_number": 2586980301}, 1),
        ({"document_number": "1"}, {"document_number": "2", "taxpayer_id": "1"}, 1),
        # The tax id that counts is the record's, and the document's is another.
        ({"document_number": "1", "taxpayer_id": "2"}, {"taxpayer_id": "1"}, 0),
        ({"ein": "1", "taxpayer_id": "--"}, {"ein": "1", "taxpayer_id": "2"}, 0),
    ],
)
def test_a_business_that_comes_back_is_recognised_by_whichever_tax_id_it_has(
    denied_as, back_as, returned
):
    """Businesses were outside of the rate of re-onboarding, and so were tax ids without a zero."""
    history = [
        seller("denied", "v1", BEFORE, "s1", **denied_as),
        seller("created", "v2", AFTER, "s2", **back_as),
    ]
    [row] = asked(history, "denial_retries", at("2026-04-01T00:00:00"))
    assert (row["reonboarded"], row["reonboarding_rate"]) == (returned, float(returned))
