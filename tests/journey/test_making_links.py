"""Links are made by the marketplace's own systems and by commands, and ended before their time."""

import hashlib
import json
from collections.abc import Iterator

import pytest

from sandbox.server import Handle
from tests.support.commands import run
from tests.support.gateway import Answer, Client, receiving
from tests.support.marketplace import Marketplace

SELLERS_PAGE = "https://cadastro.loja.example"
TOKENS = {"collecting": "collect", "reading": "read"}


@pytest.fixture(scope="module")
def market(
    _sandbox: Handle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Marketplace, Client]]:
    marketplace = Marketplace(_sandbox, tmp_path_factory.mktemp("marketplace"))
    tokens = marketplace.folder / "tokens"
    lines = (
        f"{name}:{scope}:{hashlib.sha256(name.encode()).hexdigest()}"
        for name, scope in TOKENS.items()
    )
    tokens.write_text("\n".join(lines))
    marketplace.environment |= {
        "PRAZO_JOURNEY_URL": SELLERS_PAGE,
        "PRAZO_API_TOKENS_FILE": str(tokens),
        "PRAZO_JOURNEY_RETURN_URLS": "https://loja.example/fim",
    }
    with receiving(marketplace) as client:
        yield marketplace, client
    marketplace.close()


def ask(client: Client, token: str = "collecting", **wanted: object) -> Answer:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return client.request("POST", "/v1/journeys", json.dumps(wanted).encode(), headers)


def test_a_program_with_a_token_makes_a_link(market: tuple[Marketplace, Client]) -> None:
    marketplace, client = market
    review = marketplace.review(is_answered=False)
    made = ask(
        client,
        process_id=review.process_id,
        channel="sms",
        return_url="https://loja.example/fim",
    )
    assert made.status == 200
    assert made.headers["cache-control"] == "no-store"
    said = made.json
    assert said["url"].startswith(f"{SELLERS_PAGE}/j/")
    assert said["journey_id"] == "jrn_" + said["journey"].replace("-", "")
    [invited] = marketplace.inbox.find(process_id=review.process_id, kind="collection")
    assert (invited.seq, invited.recorded_by) == (said["seq"], "collecting")


@pytest.mark.parametrize(
    ("token", "wanted", "status"),
    [
        ("reading", {"process_id": "prc_1"}, 403),
        ("nobody", {"process_id": "prc_1"}, 401),
        ("collecting", {"process_id": "prc_unheard_of"}, 422),
        ("collecting", {"process_id": ""}, 422),
        ("collecting", {"process": "prc_1"}, 422),
        ("collecting", {"process_id": "prc_1", "channel": "pigeon"}, 422),
        ("collecting", {"process_id": "prc_1", "email": "nobody"}, 422),
        ("collecting", {"process_id": "prc_1", "return_url": "https://evil.example"}, 422),
    ],
)
def test_who_may_not_or_asks_for_what_cannot_be_hears_why(
    market: tuple[Marketplace, Client], token: str, wanted: dict[str, object], status: int
) -> None:
    answer = ask(market[1], token, **wanted)
    assert answer.status == status
    assert answer.json["error"]


def test_a_body_that_is_not_an_object_is_named_in_words(market: tuple[Marketplace, Client]) -> None:
    """The error named a class of ours, behind a colon that had nothing before it."""
    headers = {"Authorization": "Bearer collecting", "Content-Type": "application/json"}
    answer = market[1].request("POST", "/v1/journeys", b'["prc_1"]', headers)
    assert (answer.status, answer.json) == (422, {"error": "not a JSON object"})


def test_only_post_is_taken(market: tuple[Marketplace, Client]) -> None:
    headers = {"Authorization": "Bearer collecting"}
    assert market[1].request("GET", "/v1/journeys", b"", headers).status == 405


def test_commands_make_list_and_end_links(market: tuple[Marketplace, Client]) -> None:
    marketplace, _ = market
    process = marketplace.review(is_answered=False).process_id
    made = run(marketplace, "journey", "mint", process, "--channel", "phone")
    assert made.code == 0, made.err
    assert made.out.startswith(f"{SELLERS_PAGE}/j/")
    number = made.err.partition("journey ")[2].partition(",")[0]
    listed = run(marketplace, "journey", "list", process)
    assert listed.out.startswith(f"{number}  not opened yet, works until ")
    assert run(marketplace, "journey", "revoke", "--number", number).out == "links ended: 1\n"
    again = run(marketplace, "journey", "revoke", "--number", number)
    assert (again.code, again.out) == (1, "")
    assert f"none that is not ended yet has the number {number}\n  To fix it: `prazo" in again.err
    unheard_of = run(marketplace, "journey", "list", "prc_unheard_of")
    assert (unheard_of.code, unheard_of.out) == (1, ""), "it was 0, as if all were well"
    assert "none is known of a process prc_unheard_of\n  To fix it: look" in unheard_of.err
    assert f"{number}  revoked " in run(marketplace, "journey", "list", process).out
    assert run(marketplace, "journey", "refusals").out == "Nothing was turned away.\n"
    assert run(marketplace, "journey", "mint", "prc_unheard_of").code == 1
