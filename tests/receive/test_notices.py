"""`POST /v1/notices`: what systems of the marketplace say of notices is on disk once answered."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipeline import instants
from pipeline.http.asgi import Request
from pipeline.http.refusals import Refusals
from pipeline.inbox import Receipt
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.entries import Draft, Entry
from pipeline.receive import notices
from tests.support.gateway import Answer, Client
from tests.support.marketplace import Marketplace, Review


def notice(review: Review, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "seller_notice",
        "occurred_at": instants.canonical(instants.now()),
        "message_id": f"message about {review.process_id}",
        "process_id": review.process_id,
        "channel": "sms",
        **changes,
    }


def result(of: dict[str, Any], said: str, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "seller_notice_result",
        "occurred_at": instants.canonical(instants.now()),
        "message_id": of["message_id"],
        "result": said,
        **changes,
    }


def retraction(of: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "kind": "retraction",
        "occurred_at": instants.canonical(instants.now()),
        "message_id": of["message_id"],
        "actor": "Ana",
        "reason": "another seller",
        **changes,
    }


def post(client: Client, content: Any, **headers: str) -> Answer:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    fields = {"Content-Type": "application/json", **headers}
    return client.request("POST", "/v1/notices", body, fields)


def kept(marketplace: Marketplace, kind: str) -> list[Entry]:
    return marketplace.inbox.find(kind=kind)


def test_a_notice_is_recorded_once_with_its_seller(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    sent = notice(review, template="first@3", language="pt-BR")
    first, again = post(gateway, sent), post(gateway, sent)
    [entry] = kept(marketplace, "seller_notice")
    assert (first.status, first.json) == (200, {"seq": entry.seq, "recorded": "new"})
    assert (again.status, again.json) == (200, {"seq": entry.seq, "recorded": "again"})
    assert (entry.origin, entry.seller_id) == ("live", review.seller_id)
    assert json.loads(entry.body or b"") == {
        "message_id": sent["message_id"],
        "channel": "sms",
        "template": "first@3",
        "language": "pt-BR",
    }


def test_a_result_may_come_before_its_notice_and_without_a_process(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    sent = notice(review)
    assert post(gateway, result(sent, "delivered")).json["recorded"] == "new"
    assert post(gateway, sent).json["recorded"] == "new"
    [entry] = kept(marketplace, "seller_notice_result")
    assert entry.process_id is None


def test_the_words_of_a_service_are_kept_without_links_and_addresses(
    marketplace: Marketplace, gateway: Client
) -> None:
    sent = notice(marketplace.review(is_answered=False))
    link = f"https://answer.market.example/{'t' * 43}"
    bounced = result(sent, "bounced", detail=f"blocked: {link} for maria@seller.example")
    assert post(gateway, bounced).json["recorded"] == "new"
    assert post(gateway, bounced).json["recorded"] == "again"
    said = [json.loads(it.body or b"") for it in kept(marketplace, "seller_notice_result")]
    of_it = [it["detail"] for it in said if it["message_id"] == sent["message_id"]]
    assert of_it == ["blocked: *** for ***"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"seller_id": "sel_other"}, "seller_id: the process is another seller's"),
        ({"channel": "owl"}, "channel: "),
        ({"channel": "phone"}, "outcome: say what came of the call"),
        ({"channel": "phone", "outcome": "asleep"}, "outcome: "),
        ({"message_id": ""}, "message_id: a non-empty text"),
        ({"process_id": None}, "process_id: a non-empty text"),
        ({"occurred_at": "2126-03-01T00:00:00Z"}, "more than 5 minutes in the future"),
        ({"actor": {"x": 1}}, "actor: "),
        ({"artifacts": []}, "artifacts: only messages that Prazo sends have it"),
        ({"journey_id": "jrn_1"}, "journey_id: only messages that Prazo sends have it"),
        ({"kind": "note"}, "kind: seller_notice, seller_notice_result or retraction is expected"),
    ],
)
def test_what_cannot_be_right_is_422(
    marketplace: Marketplace, gateway: Client, changes: dict[str, Any], says: str
) -> None:
    before = len(kept(marketplace, "seller_notice"))
    answer = post(gateway, notice(marketplace.review(is_answered=False), **changes))
    assert answer.status == 422
    assert says in answer.json["error"]
    assert len(kept(marketplace, "seller_notice")) == before


def test_a_call_is_retracted_by_who_recorded_it_with_a_name_and_a_reason(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    call = notice(review, message_id="call 1", channel="phone", outcome="reached", actor="Ana")
    assert post(gateway, retraction(call)).status == 422  # nothing is recorded yet
    mail = notice(review, message_id="mail 1", channel="email")
    assert post(gateway, mail).status == 200
    assert post(gateway, retraction(mail)).status == 422  # neither a call nor a letter
    assert post(gateway, call).status == 200
    assert post(gateway, retraction(call, reason=" ")).status == 422
    assert post(gateway, retraction(call, actor=None)).status == 422
    assert post(gateway, retraction(call, process_id="prc_other")).status == 422
    assert post(gateway, retraction(call)).json["recorded"] == "new"
    [entry] = kept(marketplace, "retraction")
    assert entry.name == "Ana"


def test_a_call_is_retracted_once_and_the_same_report_again_counts_as_that(
    marketplace: Marketplace, gateway: Client
) -> None:
    """Each further retraction of a call was another entry of the evidence."""
    first, second = marketplace.review(is_answered=False), marketplace.review(is_answered=False)
    call = notice(first, message_id="call 2", channel="phone", outcome="reached")
    about_both = {**call, "process_id": second.process_id}
    for said in (call, about_both):
        assert post(gateway, said).status == 200

    def seqs() -> list[int]:
        return [it.seq for it in kept(marketplace, "retraction") if b"call 2" in (it.body or b"")]

    of_one = retraction(call, process_id=first.process_id)
    assert post(gateway, of_one).json["recorded"] == "new"
    assert post(gateway, of_one).json == {"seq": seqs()[0], "recorded": "again"}
    answer = post(gateway, {**of_one, "reason": "a mistake"})
    assert answer.status == 422
    assert f"message_id: entry {seqs()[0]} retracted it already" in answer.json["error"]

    of_both = retraction(call)  # the call about the second review stands until now
    assert post(gateway, of_both).json["recorded"] == "new"
    assert post(gateway, {**of_both, "reason": "a mistake"}).status == 422
    of_the_other = retraction(call, process_id=second.process_id)
    assert post(gateway, of_the_other).status == 422
    assert len(seqs()) == 2


def test_of_retractions_that_come_at_once_one_is_recorded(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All had looked before any was recorded, and all were."""
    inbox = marketplace.inbox
    call = notice(
        marketplace.review(is_answered=False),
        message_id="call 3",
        channel="phone",
        outcome="reached",
    )
    taken = {name: it for name, it in call.items() if name != "process_id"}

    class Slow:
        """Records after all who do not wait have looked."""

        async def record(self, draft: Draft) -> Receipt:
            await asyncio.sleep(0.2)
            [receipt] = await asyncio.to_thread(inbox.append, [draft])
            return receipt

    async def admitted(request: Any, *_: object) -> tuple[Any, bytes]:
        return SimpleNamespace(name="own"), json.dumps(request).encode()

    async def statuses() -> list[int]:
        noticing = notices.Noticing(marketplace.settings(), Refusals(["notices"]))
        noticing.open(inbox, cast(GroupCommit, Slow()))
        assert (await noticing.post(cast(Request, call))).status_code == 200
        asked = [
            retraction(taken, reason=f"reason {number}", process_id=of)
            for number, of in enumerate((call["process_id"], call["process_id"], None))
        ]
        answers = await asyncio.gather(*(noticing.post(cast(Request, it)) for it in asked))
        return sorted(it.status_code for it in answers)

    monkeypatch.setattr(notices, "admitted_body", admitted)
    assert asyncio.run(statuses()) == [200, 422, 422]
    assert len([it for it in kept(marketplace, "retraction") if b"call 3" in (it.body or b"")]) == 1


def test_it_takes_its_own_scope_method_and_size(marketplace: Marketplace, gateway: Client) -> None:
    sent = notice(marketplace.review(is_answered=False))
    assert gateway.request("GET", "/v1/notices", b"", {}).status == 405
    assert post(gateway, {**sent, "note": "x" * 70_000}).status == 413
    assert post(gateway, b"{").status == 422
    assert post(gateway, sent, **{"Content-Encoding": "gzip"}).status == 415
