"""How each value is written, and what a violation says: docs/rules.md#what-may-be-sent."""

import subprocess
import sys

import pytest

from tests.submit.rules.builders import (
    ASKED_BY,
    BUSINESS,
    INDIVIDUAL,
    OPENED_AT,
    WRONG_VALUES,
    aci,
    acp,
    faults,
    judge,
    with_,
)
from tests.submit.rules.test_evidence import REVENUE, revenue_answer


@pytest.mark.parametrize(
    "band", ["0_to_1", "1000_to_5000", "999_to_1000", "007_to_8", "5_to_1" + "0" * 5000]
)
def test_a_band_has_a_lower_and_a_higher_whole_number(band: str) -> None:
    assert faults(with_(BUSINESS, "revenue", band), acp()) == set()
    assert faults(with_(BUSINESS, "owner.revenue", band), acp()) == set()


@pytest.mark.parametrize(
    "band",
    [
        *("5000_to_1000", "1000_to_1000", "1000.00_to_5000.00", "1,000_to_5,000", "-5_to_10"),
        *("+5_to_10", "1000 to 5000", "1000-5000", "1000_to_", "_to_5000", "_to_", "1_to_2_to_3"),
        *(" 1_to_2", "1_to_2\n", "1_TO_2", "R$1_to_R$2", "1e3_to_5e3", "١_to_٢", "²_to_³"),
        *("", "5000", "0010_to_9", "9" * 20 + "_to_" + "9" * 20, [], {}, None, True, ["1_to_2"]),
    ],
)
def test_anything_else_is_not_a_band(band: object) -> None:
    assert faults(with_(BUSINESS, "revenue", band), acp()) == {("revenue", "wrong_format")}
    assert faults(with_(BUSINESS, "owner.revenue", band), acp()) == {
        ("owner.revenue", "wrong_format")
    }


@pytest.mark.parametrize("number", [0, 4200, 4200.5, -1])
def test_a_number_as_revenue_is_refused_unless_the_setting_allows_it(number: float) -> None:
    for path in ("revenue", "owner.revenue"):
        payload = with_(BUSINESS, path, number)
        assert faults(payload, acp()) == {(path, "numeric_revenue")}
        assert faults(payload, acp(), allow_numeric_revenue=True) == set()


def test_the_setting_for_numbers_lets_through_numbers_in_revenue_alone() -> None:
    for path, value in [
        ("revenue", True),
        ("revenue", "4200"),
        ("revenue", None),
        ("address.postal_code", 51020000),
    ]:
        payload = with_(INDIVIDUAL, path, value)
        assert faults(payload, acp(), allow_numeric_revenue=True) == {(path, "wrong_format")}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG_VALUES.items() for value in values]
)
def test_a_wrong_address_value_is_named_at_its_own_path(key: str, value: object) -> None:
    for parent in ("address", "owner.address"):
        path = f"{parent}.{key}"
        assert faults(with_(BUSINESS, path, value), acp()) == {(path, "wrong_format")}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("state", "sp"), ("postal_code", "00000000"), ("country_code", "AX")),
        *(("country_code", "US"), ("line2", "ap 4"), ("city", "São Luís"), ("line1", "0")),
    ],
)
def test_right_address_values(key: str, value: str) -> None:
    assert faults(with_(INDIVIDUAL, f"address.{key}", value), acp()) == set()


@pytest.mark.parametrize("value", ["Rua das Laranjeiras, 123", None, [], 7, {}])
def test_an_address_is_an_object_and_lacks_everything_otherwise(value: object) -> None:
    assert faults({**INDIVIDUAL, "address": value}, acp()) == {
        ("address", "wrong_format"),
        *((path, "missing") for path in ASKED_BY["address"]),
    }


def test_a_violation_says_what_is_wrong_what_is_right_and_where_the_contract_says_so() -> None:
    verdict = judge(with_(INDIVIDUAL, "address.postal_code", "51020-000"), acp())

    assert str(verdict.violations[0]) == (
        "address.postal_code: found a string of 9 characters (digits: 8, others: 1); "
        "expected a string of 8 digits without a mask (Errors, field validations)"
    )


def test_an_old_answer_is_named_by_its_entry_and_both_instants() -> None:
    answers = revenue_answer(answered_at=OPENED_AT - 1)

    verdict = judge(REVENUE, aci("revenue"), answers=answers)

    assert verdict.violations[0].found == (
        "a latest answer of 2026-02-28T23:59:59.999999Z (entry 7), "
        "older than the process, opened at 2026-03-01T00:00:00Z"
    )


def test_country_codes_are_loaded_by_the_first_submission_and_not_by_the_import() -> None:
    """Importing pycountry takes a tenth of a second, which every command would pay at its start."""
    program = "import sys, pipeline.submit.rules; sys.exit('pycountry' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


@pytest.mark.parametrize("value", ["", " ", "ap 4"])
def test_a_complement_may_be_empty(value: str) -> None:
    assert faults(with_(INDIVIDUAL, "address.line2", value), acp()) == set()


def test_where_the_platforms_bands_are_known_exactly_those_are_bands() -> None:
    bands = {"1000_to_5000", "over 5000"}

    for value, expected in [
        ("1000_to_5000", set()),
        ("over 5000", set()),
        ("1000_to_4000", {("revenue", "wrong_format")}),
    ]:
        assert faults({**INDIVIDUAL, "revenue": value}, acp(), bands=bands) == expected


def test_a_number_is_not_a_band_where_the_platforms_bands_are_known() -> None:
    faulty = {**INDIVIDUAL, "revenue": 3000}

    assert faults(faulty, acp(), bands={"1000_to_5000"}) == {("revenue", "numeric_revenue")}


@pytest.mark.parametrize("value", [["1000_to_5000"], [], None, True])
def test_a_band_of_another_shape_is_refused_where_the_platforms_bands_are_known(value) -> None:
    """A list raised an error, and the refusal was never recorded."""
    faulty = {**INDIVIDUAL, "revenue": value}
    assert faults(faulty, acp(), bands=frozenset({"1000_to_5000"})) == {("revenue", "wrong_format")}
