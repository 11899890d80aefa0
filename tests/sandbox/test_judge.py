"""The platform's judgement, case by case from the contract's body rules and error table."""

import copy
import json
import random
from typing import Any

import pycountry
import pytest

from sandbox import people
from sandbox.platform import judge as judge_module
from sandbox.platform.judge import Ruling, judge
from sandbox.resources import Process, Seller

ADDRESS = {
    "line1": "Rua das Acácias, 10",
    "line2": "Apto 12",
    "line3": "Centro",
    "city": "Campinas",
    "state": "SP",
    "postal_code": "13015000",
    "country_code": "BR",
}
PERSON = Seller("sel_1", people.person(random.Random(1)), "enabled", 0, 0)
FIRM = Seller("sel_2", people.business(random.Random(1)), "enabled", 0, 0)


def process(
    seller: Seller, review_type: Any = "ACP", *fields: str, process_id: str = "p1", status: Any = ""
) -> Process:
    return Process(process_id, seller.seller_id, review_type, 0, 1, fields, status or "PENDING")


def acp_of_a_person() -> dict[str, Any]:
    return {
        "process_id": "p1",
        "type": "individual",
        "revenue": "1000_to_5000",
        "address": copy.deepcopy(ADDRESS),
    }


def acp_of_a_firm() -> dict[str, Any]:
    return {
        "process_id": "p1",
        "type": "business",
        "revenue": "1000_to_5000",
        "address": copy.deepcopy(ADDRESS),
        "owner": {"revenue": "5000_to_9000", "address": copy.deepcopy(ADDRESS)},
    }


def ruled(
    document: Any, seller: Seller | None, *known: Process, accept_numeric_revenue: bool = False
) -> Ruling:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return judge(
        body,
        seller,
        {p.process_id: p for p in known},
        accept_numeric_revenue=accept_numeric_revenue,
    )


def faults(ruling: Ruling) -> set[str]:
    assert ruling.status == (400 if ruling.violations else ruling.status)
    return {violation.field for violation in ruling.violations}


def test_a_complete_acp_is_accepted() -> None:
    assert ruled(acp_of_a_person(), PERSON, process(PERSON)).status == 200
    assert ruled(acp_of_a_firm(), FIRM, process(FIRM)).status == 200


def test_line2_may_be_left_out_even_where_it_is_asked_for() -> None:
    document = acp_of_a_person()
    del document["address"]["line2"]
    assert ruled(document, PERSON, process(PERSON, "ACP", "address.line2")).status == 200


@pytest.mark.parametrize("path", ["type", "revenue", "address"])
def test_an_acp_without_a_registration_field_is_refused(path: str) -> None:
    document = acp_of_a_person()
    del document[path]
    ruling = ruled(document, PERSON, process(PERSON))
    assert ruling.status == 400
    assert path in {fault.split(".")[0] for fault in faults(ruling)}


@pytest.mark.parametrize("name", ["line1", "line3", "city", "state", "postal_code", "country_code"])
def test_an_acp_needs_the_full_address(name: str) -> None:
    document = acp_of_a_person()
    del document["address"][name]
    assert faults(ruled(document, PERSON, process(PERSON))) == {f"address.{name}"}


def test_an_acp_of_a_firm_needs_its_owner() -> None:
    document = acp_of_a_firm()
    del document["owner"]["revenue"]
    del document["owner"]["address"]["city"]
    ruling = ruled(document, FIRM, process(FIRM))
    assert faults(ruling) == {"owner.revenue", "owner.address.city"}


def test_an_owner_of_a_person_is_refused() -> None:
    document = acp_of_a_person() | {"owner": {"revenue": "1000_to_5000"}}
    assert faults(ruled(document, PERSON, process(PERSON))) == {"owner.revenue"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("postal_code", "13015-000"),
        ("postal_code", "1301500"),
        ("postal_code", 13015000),
        ("postal_code", "1301500٠"),  # eight digits, one of them not ASCII
        ("country_code", "br"),
        ("country_code", "XX"),
        ("country_code", "BRA"),
        ("country_code", "R B"),
        ("country_code", ["BR"]),
        ("state", "São Paulo"),
        ("line1", ""),
        ("line3", None),
        ("city", 7),
        ("line2", 7),
        ("street", "Rua das Acácias"),
        ("number", "10"),
    ],
)
def test_a_wrong_address_value_is_refused(path: str, value: Any) -> None:
    document = acp_of_a_person()
    document["address"][path] = value
    assert faults(ruled(document, PERSON, process(PERSON))) == {f"address.{path}"}


@pytest.mark.parametrize(
    "revenue",
    ["1000", "5000_to_1000", "1000_to_1000", "1000_TO_5000", "1000.5_to_5000", 3000, True, None],
)
def test_revenue_must_be_a_rising_band(revenue: Any) -> None:
    document = acp_of_a_person() | {"revenue": revenue}
    assert faults(ruled(document, PERSON, process(PERSON))) == {"revenue"}


def test_a_number_as_revenue_passes_only_where_the_platform_is_set_so() -> None:
    document = acp_of_a_person() | {"revenue": 3000}
    assert ruled(document, PERSON, process(PERSON)).status == 400
    assert ruled(document, PERSON, process(PERSON), accept_numeric_revenue=True).status == 200


@pytest.mark.parametrize("given", ["company", "INDIVIDUAL", 1, ["individual"], "business"])
def test_the_type_must_be_the_sellers(given: Any) -> None:
    document = acp_of_a_person() | {"type": given}
    assert "type" in faults(ruled(document, PERSON, process(PERSON)))


def test_an_aci_takes_what_it_asked_for() -> None:
    document = {
        "process_id": "p1",
        "type": "individual",
        "revenue": "1000_to_5000",
        "address": {"city": "Campinas"},
    }
    assert ruled(document, PERSON, process(PERSON, "ACI", "revenue", "address.city")).status == 200


def test_an_aci_refuses_a_field_it_did_not_ask_for() -> None:
    document = {"process_id": "p1", "type": "individual", "revenue": "1_to_2", "address": ADDRESS}
    ruling = ruled(document, PERSON, process(PERSON, "ACI", "revenue"))
    assert faults(ruling) == {f"address.{name}" for name in ADDRESS}


def test_an_aci_refuses_to_go_without_a_field_it_asked_for() -> None:
    document = {"process_id": "p1", "type": "individual", "revenue": "1_to_2"}
    ruling = ruled(document, PERSON, process(PERSON, "ACI", "revenue", "address.city"))
    assert faults(ruling) == {"address.city"}


def test_an_aci_for_an_address_means_all_of_it() -> None:
    document: dict[str, Any] = {"process_id": "p1", "type": "individual", "address": {}}
    document["address"] = {"city": "Campinas", "state": "SP", "country_code": "BR"}
    ruling = ruled(document, PERSON, process(PERSON, "ACI", "address"))
    assert faults(ruling) == {"address.line1", "address.line3", "address.postal_code"}


def test_a_field_that_the_contract_does_not_show_takes_any_value() -> None:
    document = {"process_id": "p1", "type": "individual", "phone_number": {"mobile": [1]}}
    assert ruled(document, PERSON, process(PERSON, "ACI", "phone_number")).status == 200


def test_a_dot_in_a_key_is_not_a_step_down() -> None:
    document = {"process_id": "p1", "type": "individual", "address.city": "Campinas"}
    assert ruled(document, PERSON, process(PERSON, "ACI", "address.city")).status == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"text"', b"\xff", b'{"revenue": NaN}', b"[" * 200_000]
)
def test_what_is_not_a_json_object_is_refused(body: bytes) -> None:
    assert ruled(body, PERSON, process(PERSON)).status == 400


def test_an_unknown_seller_or_process_is_not_found() -> None:
    assert ruled(acp_of_a_person(), None, process(PERSON)).status == 404
    assert ruled(acp_of_a_person(), PERSON).status == 404
    assert ruled(acp_of_a_person(), PERSON, process(FIRM)).status == 404  # another seller's


def test_a_finished_process_conflicts() -> None:
    done = process(PERSON, status="FINISHED")
    assert ruled(acp_of_a_person(), PERSON, done).status == 409


def test_without_a_process_id_the_only_open_process_is_meant() -> None:
    document = acp_of_a_person()
    del document["process_id"]
    one = process(PERSON)
    other = process(PERSON, "ACI", "revenue", process_id="p2")
    ruling = ruled(document, PERSON, one, process(PERSON, process_id="p0", status="FINISHED"))
    assert (ruling.status, ruling.process) == (200, one)
    assert faults(ruled(document, PERSON, one, other)) == {"process_id"}
    assert ruled(document, PERSON, process(PERSON, status="FINISHED")).status == 404


def test_the_country_codes_are_those_of_iso_3166() -> None:
    listed = set(judge_module._COUNTRIES.split())
    assert listed == {country.alpha_2 for country in pycountry.countries}
