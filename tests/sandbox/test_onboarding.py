"""Onboarding over the platform's own calls: the events of a seller follow from them."""

import base64
import json
from typing import Any

import httpx
import pytest

from sandbox.resources import ENABLED, Reason, Verdict, denied
from sandbox.server import Handle

PERSON: dict[str, Any] = {
    "first_name": "Ana",
    "last_name": "Souza",
    "taxpayer_id": "39053344705",
    "birthdate": "1980-12-31",
    "email": "ana@correio.example",
    "revenue": "1000_to_5000",
    "address": {
        "line1": "Rua das Acácias, 10",
        "line3": "Centro",
        "city": "Campinas",
        "state": "SP",
        "postal_code": "13015000",
        "country_code": "BR",
    },
}
SELFIE = {"type": "selfie", "content": base64.b64encode(b"a picture").decode()}
BLURRED = denied(Reason("DOCUMENT_VALIDATION", "DOCUMENT_QUALITY"))


def under(platform: Handle, path: str) -> str:
    return f"/v1/marketplaces/{platform.marketplace_id}{path}"


def created(platform: Handle, client: httpx.Client) -> str:
    response = client.post(under(platform, "/sellers/individuals"), json=PERSON)
    assert response.status_code == 201, response.text
    seller_id: str = response.json()["id"]
    return seller_id


def said(platform: Handle) -> list[tuple[str, str]]:
    """Type and the record's status of every event."""
    events = [json.loads(it.body) for it in platform.events]
    return [(it["type"], it["payload"]["object"]["status"]) for it in events]


@pytest.mark.parametrize(
    ("verdict", "last"),
    [(ENABLED, ("seller.enabled", "enabled")), (BLURRED, ("seller.denied", "denied"))],
    ids=["enabled", "denied"],
)
def test_a_seller_is_created_and_decided_once_its_documents_are_there(
    platform: Handle, client: httpx.Client, verdict: Verdict, last: tuple[str, str]
) -> None:
    response = client.post(under(platform, "/sellers/individuals"), json=PERSON)
    assert response.status_code == 201
    record = response.json()
    assert (record["status"], record["first_name"], record["type"]) == (
        "pending",
        "Ana",
        "individual",
    )
    assert record["address"]["neighborhood"] == "Centro"
    platform.foresee(record["id"], verdict)
    platform.advance(3_600)
    assert said(platform) == [("seller.created", "pending")], "documents are awaited"

    documents = under(platform, f"/sellers/{record['id']}/documents")
    for _ in range(2):  # more of them change nothing
        response = client.post(documents, json={"documents": [SELFIE]})
        assert response.status_code == 202
        assert response.json() == {"seller_id": record["id"], "status": "pending"}
    platform.advance(1_800)
    assert said(platform) == [("seller.created", "pending"), last]
    assert client.post(documents, json={"documents": [SELFIE]}).status_code == 409

    event = json.loads(platform.events[-1].body)["payload"]["object"]
    assert event["taxpayer_id"] == "39053344705"
    assert ("decision_reasons" in event) == (last[1] == "denied")


def test_the_contracts_own_spelling_of_the_paths_is_served_too(
    platform: Handle, client: httpx.Client
) -> None:
    response = client.post("/sellers/individuals", json=PERSON)
    assert response.status_code == 201
    documents = f"/sellers/{response.json()['id']}/documents"
    assert client.post(documents, json={"documents": [SELFIE]}).status_code == 202


def test_the_verdict_can_be_fixed_over_http(platform: Handle, client: httpx.Client) -> None:
    seller_id = created(platform, client)
    with httpx.Client(base_url=platform.control_url, trust_env=False) as control:
        path = f"/control/sellers/{seller_id}/verdict"
        reason = {"reason": "FRAUD_PREVENTION"}
        assert control.post(path, json={"denied_for": [reason]}).status_code == 200
        documents = under(platform, f"/sellers/{seller_id}/documents")
        client.post(documents, json={"documents": [SELFIE]})
        assert control.post(path, json={}).status_code == 400, "the analysis has begun"
        control.post("/control/time", json={"advance_seconds": 1_800})
        assert [it["status"] for it in control.get("/control/sellers").json()] == ["denied"]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"first_name": ""}, {"first_name"}),
        ({"birthdate": "31/12/1980"}, {"birthdate"}),
        ({"type": "business"}, {"type"}),
        ({"revenue": 3_000}, {"revenue"}),
        ({"address": {**PERSON["address"], "postal_code": "13015-000"}}, {"address.postal_code"}),
        (
            {"address": {"city": "Campinas", "state": "SP", "country_code": "BR"}},
            {"address.line1", "address.line3", "address.postal_code"},
        ),
        ({"favourite_colour": "red", "email": 7}, {"favourite_colour", "email"}),
    ],
)
def test_a_bad_registration_is_answered_400_with_every_field(
    platform: Handle, client: httpx.Client, changes: dict[str, Any], fields: set[str]
) -> None:
    response = client.post(under(platform, "/sellers/individuals"), json=PERSON | changes)
    assert response.status_code == 400
    assert {it["field"] for it in response.json()["error"]["violations"]} == fields
    assert platform.events == []


@pytest.mark.parametrize(
    "body", [{}, {"documents": []}, {"documents": ["x"]}, {"documents": [{"type": "selfie"}]}]
)
def test_bad_documents_are_answered_400(
    platform: Handle, client: httpx.Client, body: dict[str, Any]
) -> None:
    documents = under(platform, f"/sellers/{created(platform, client)}/documents")
    assert client.post(documents, json=body).status_code == 400


def test_what_is_not_there_and_who_may_not_are_distinguished(
    platform: Handle, client: httpx.Client
) -> None:
    individuals = under(platform, "/sellers/individuals")
    assert client.post(under(platform, "/sellers/sel_nobody/documents"), json={}).status_code == 404
    assert client.get(individuals).status_code == 405
    assert client.post(individuals, json=PERSON, auth=("praca", "wrong")).status_code == 401
    assert client.post("/v1/marketplaces/other/sellers/individuals", json=PERSON).status_code == 404
