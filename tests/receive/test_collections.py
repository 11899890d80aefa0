"""`POST /v1/collections`: an answer of 200 means that evidence and artifacts are on disk."""

import asyncio
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.client import Artifact, Prazo, PrazoRefused
from pipeline.http.asgi import Message, Request
from pipeline.http.refusals import Refusals
from pipeline.log.entries import Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.receive.collections import Collecting
from tests.support.gateway import Answer, Client, receiving
from tests.support.marketplace import REVENUE, Marketplace, Review
from tests.support.stores import settings_in

SCREEN = b"\x89PNG what the seller saw"
SCREEN_SHA256 = hashlib.sha256(SCREEN).hexdigest()


def occurrence(review: Review, **changes: Any) -> dict[str, Any]:
    return {
        "occurred_at": instants.canonical(instants.now()),
        "process_id": review.process_id,
        "seller_id": review.seller_id,
        "journey_id": f"journey of {review.process_id}",
        "step": "answered",
        "channel": "web_form",
        "source": "seller",
        "actor": "Maria",
        "fields": {"revenue": REVENUE},
        **changes,
    }


def post(client: Client, content: Any, **headers: str) -> Answer:
    fields = {"Content-Type": "application/json", **headers}
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return client.request("POST", "/v1/collections", body, fields)


def multipart(parts: list[tuple[str, str | None, str, bytes]]) -> tuple[bytes, str]:
    """(field, file name, media type, bytes) of each part -> body and Content-Type."""
    pieces = []
    for field, filename, media_type, content in parts:
        name = f'form-data; name="{field}"'
        if filename is not None:
            name += f'; filename="{filename}"'
        head = f"--edge\r\nContent-Disposition: {name}\r\nContent-Type: {media_type}\r\n\r\n"
        pieces += [head.encode(), content, b"\r\n"]
    return b"".join([*pieces, b"--edge--\r\n"]), "multipart/form-data; boundary=edge"


def post_with(client: Client, content: Any, *files: tuple[str, bytes]) -> Answer:
    parts = [("collection", None, "application/json", json.dumps(content).encode())]
    parts += [("file", name, "image/png", it) for name, it in files]  # type: ignore[arg-type]
    body, content_type = multipart(parts)  # type: ignore[arg-type]
    return client.request("POST", "/v1/collections", body, {"Content-Type": content_type})


def collected(marketplace: Marketplace, review: Review) -> list[Entry]:
    return marketplace.inbox.find(process_id=review.process_id, kind=COLLECTION)


def kept(marketplace: Marketplace, sha256: str) -> Path:
    return marketplace.folder / "artifacts" / sha256[:2] / sha256


# JSON


def test_a_collection_is_recorded_as_it_was_sent(marketplace: Marketplace, gateway: Client) -> None:
    review = marketplace.review(is_answered=False)
    report = occurrence(review)
    answer = post(gateway, report)
    [entry] = collected(marketplace, review)
    assert (answer.status, answer.json) == (200, {"seq": entry.seq, "recorded": "new"})
    assert instants.canonical(entry.occurred_at) == report["occurred_at"]
    assert (entry.origin, entry.recorded_by, entry.seller_id) == (
        "live",
        "loopback",
        review.seller_id,
    )
    assert json.loads(entry.body or b"") == {
        "journey_id": f"journey of {review.process_id}",
        "step": "answered",
        "channel": "web_form",
        "source": "seller",
        "actor": "Maria",
        "fields": {"revenue": REVENUE},
    }


def test_a_collection_answered_200_is_seen_by_the_next_submission(
    marketplace: Marketplace, gateway: Client
) -> None:
    """No ledger runs at all."""
    review = marketplace.review(is_answered=False)
    assert gateway.put(review).status == 422
    assert post(gateway, occurrence(review)).status == 200
    assert gateway.put(review).status == 200


def test_sent_again_because_no_answer_came_it_counts_once(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    report = occurrence(review)
    first, again = post(gateway, report), post(gateway, report)
    assert again.json == {"seq": first.json["seq"], "recorded": "again"}
    assert len(collected(marketplace, review)) == 1


def test_more_than_five_minutes_ahead_is_422(marketplace: Marketplace, gateway: Client) -> None:
    review = marketplace.review(is_answered=False)
    for minutes, status in ((6, 422), (4, 200)):
        at = instants.canonical(instants.now() + minutes * instants.MINUTE)
        assert post(gateway, occurrence(review, occurred_at=at)).status == status
    assert len(collected(marketplace, review)) == 1


def test_a_collection_of_the_future_leaves_no_artifact_behind(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    content = f"screen of {review.process_id}".encode()
    at = instants.canonical(instants.now() + instants.HOUR)
    report = occurrence(review, occurred_at=at)
    assert post_with(gateway, report, ("screen.png", content)).status == 422
    assert not kept(marketplace, hashlib.sha256(content).hexdigest()).exists()


@pytest.mark.parametrize(
    "change",
    [
        {"step": "guessed"},
        {"channel": "letter"},
        {"process_id": ""},
        {"seller_id": None},
        {"journey_id": 7},
        {"source": ""},
        {"occurred_at": "yesterday"},
        {"occurred_at": "2026-03-01T00:00:00"},
        {"fields": []},
        {"kind": "webhook"},
        {"artifacts": "screen.png"},
        {"producer": "prazo journey", "is_whole": True},
    ],
)
def test_what_is_not_a_collection_is_422_and_named(
    marketplace: Marketplace, gateway: Client, change: dict[str, Any]
) -> None:
    review = marketplace.review(is_answered=False)
    answer = post(gateway, occurrence(review, **change))
    assert answer.status == 422
    assert next(iter(change)) in answer.json["error"] or "kind" in change
    assert collected(marketplace, review) == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"a":1,"a":2}', b"[" * 100_000])
def test_garbage_is_422(gateway: Client, body: bytes) -> None:
    assert post(gateway, body).status == 422


def test_an_error_never_repeats_a_value(marketplace: Marketplace, gateway: Client) -> None:
    review = marketplace.review(is_answered=False)
    answer = post(gateway, occurrence(review, channel="maria@example.com"))
    assert answer.status == 422
    assert "maria@example.com" not in answer.body.decode()


def test_a_path_in_json_never_reads_a_file_of_the_receivers_machine(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    artifacts = [{"name": "passwd", "path": "/etc/passwd"}]
    assert post(gateway, occurrence(review, artifacts=artifacts)).status == 422
    assert collected(marketplace, review) == []


def test_a_digest_is_taken_only_of_bytes_that_are_kept(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    content = f"log of {review.process_id}".encode()
    named = [{"name": "log", "sha256": hashlib.sha256(content).hexdigest()}]
    assert post(gateway, occurrence(review, artifacts=named)).status == 422
    assert post_with(gateway, occurrence(review), ("log", content)).status == 200
    assert post(gateway, occurrence(review, step="confirmed", artifacts=named)).status == 200


# Multipart


def test_the_artifacts_bytes_are_kept_under_their_digest(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    answer = post_with(gateway, occurrence(review), ("screen.png", SCREEN))
    assert answer.status == 200
    assert kept(marketplace, SCREEN_SHA256).read_bytes() == SCREEN
    [entry] = collected(marketplace, review)
    assert json.loads(entry.body or b"")["artifacts"] == [
        {
            "name": "screen.png",
            "media_type": "image/png",
            "sha256": SCREEN_SHA256,
            "size_bytes": len(SCREEN),
        }
    ]


def test_an_announced_artifact_takes_the_file_of_its_name(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    report = occurrence(
        review, artifacts=[{"name": "screen.png", "media_type": "image/x", "sha256": SCREEN_SHA256}]
    )
    assert post_with(gateway, report, ("screen.png", SCREEN)).status == 200
    [entry] = collected(marketplace, review)
    [artifact] = json.loads(entry.body or b"")["artifacts"]
    assert (artifact["media_type"], artifact["sha256"]) == ("image/x", SCREEN_SHA256)


def test_bytes_of_another_digest_than_announced_are_422(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    report = occurrence(review, artifacts=[{"name": "screen.png", "sha256": "0" * 64}])
    assert post_with(gateway, report, ("screen.png", SCREEN)).status == 422
    assert collected(marketplace, review) == []


def test_an_announced_artifact_without_its_bytes_is_422(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    report = occurrence(review, artifacts=[{"name": "missing.png"}])
    assert post_with(gateway, report, ("screen.png", SCREEN)).status == 422


@pytest.mark.parametrize(
    "content_type", ["multipart/form-data; boundary=other", "multipart/form-data; boundary=edge"]
)
def test_a_broken_multipart_body_is_422(gateway: Client, content_type: str) -> None:
    answer = gateway.request(
        "POST", "/v1/collections", b"--edge\r\nbroken", {"Content-Type": content_type}
    )
    assert answer.status == 422


def test_a_body_that_was_cut_off_is_422_and_records_nothing_of_it(
    marketplace: Marketplace, gateway: Client
) -> None:
    """It was answered 200: recorded without the photo in which it was cut off."""
    review = marketplace.review(is_answered=False)
    report = json.dumps(occurrence(review)).encode()
    body, content_type = multipart(
        [
            ("collection", None, "application/json", report),
            ("file", "screen.png", "image/png", SCREEN),
        ]
    )
    headers = {"Content-Type": content_type}
    for end in (len(b"el what the seller saw\r\n--edge--\r\n"), len(b"\r\n--edge--\r\n"), 4, 3):
        cut = body[: len(body) - end]
        answer = gateway.request("POST", "/v1/collections", cut, headers)
        assert (answer.status, "last boundary" in answer.json["error"]) == (422, True), cut
    assert collected(marketplace, review) == []
    whole = body.removesuffix(b"\r\n")
    assert gateway.request("POST", "/v1/collections", whole, headers).status == 200


def test_a_multipart_body_without_an_occurrence_is_422(gateway: Client) -> None:
    body, content_type = multipart([("file", "screen.png", "image/png", SCREEN)])
    headers = {"Content-Type": content_type}
    assert gateway.request("POST", "/v1/collections", body, headers).status == 422


@pytest.mark.parametrize("content_type", ["", "text/plain", "multipart/form-data"])
def test_other_content_types_are_415(gateway: Client, content_type: str) -> None:
    assert post(gateway, b"{}", **{"Content-Type": content_type}).status == 415


def test_a_file_that_is_named_again_and_again_is_kept_once(
    marketplace: Marketplace, gateway: Client
) -> None:
    """It was digested and synced as often as it was named, which may be thirty thousand times."""
    review = marketplace.review(is_answered=False)
    report = occurrence(review, artifacts=[{"name": "screen.png"}] * 3_000)
    assert post_with(gateway, report, ("screen.png", bytes(2**23))).status == 200
    [entry] = collected(marketplace, review)
    artifacts = json.loads(entry.body or b"")["artifacts"]
    assert len(artifacts) == 3_000
    assert {it["size_bytes"] for it in artifacts} == {2**23}


def test_too_large_is_413_and_other_methods_405(gateway: Client) -> None:
    assert post(gateway, b" " * (2**20 + 1)).status == 413
    assert post_with(gateway, " " * 2**20, ("screen.png", SCREEN)).status == 413
    assert gateway.request("PUT", "/v1/collections", b"", {}).status == 405


def test_of_many_artifacts_that_are_none_the_first_is_named(
    marketplace: Marketplace, gateway: Client
) -> None:
    """The answer to one megabyte was forty, and nobody else was answered while it was made."""
    review = marketplace.review(is_answered=False)
    answer = post(gateway, occurrence(review, step="x", artifacts=[{}, *[0] * 1000]))
    assert answer.status == 422
    assert answer.json["error"].count(";") == 1
    assert "step: " in answer.json["error"]
    assert "artifacts.0.name: " in answer.json["error"]


def test_files_that_find_no_room_to_wait_in_are_answered_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was 500, as for an error of ours, and without a word that nothing was recorded: where
    temporary files lie, the disk was full. A file of over 1 MiB waits there for the others."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    body, content_type = multipart([("file", "screen.png", "image/png", bytes(2**20 + 1))])
    headers = {b"host": b"127.0.0.1", b"content-type": content_type.encode()}

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    scope = {"method": "POST", "headers": [*headers.items()], "client": ("127.0.0.1", 1)}
    refusals = Refusals(["collections"])
    collecting = Collecting(settings_in(tmp_path), refusals)
    answer = asyncio.run(collecting.post(Request(scope, headers, receive)))
    assert answer is not None
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"


# Tokens, and the Python client


def test_a_token_needs_the_scope_collect(marketplace: Marketplace, tmp_path: Path) -> None:
    lines = [
        f"{name}:{scopes}:{hashlib.sha256(name.encode()).hexdigest()}"
        for name, scopes in {"journeys": "collect", "shop": "submit"}.items()
    ]
    tokens = tmp_path / "tokens"
    tokens.write_text("\n".join(lines) + "\n")
    review = marketplace.review(is_answered=False)
    with receiving(marketplace, PRAZO_API_TOKENS_FILE=str(tokens)) as client:
        report = occurrence(review)
        assert post(client, report).status == 401
        assert post(client, report, Authorization="Bearer shop").status == 403
        assert post(client, report, Authorization="Bearer journeys").status == 200
    [entry] = collected(marketplace, review)
    assert entry.recorded_by == "journeys"


def test_the_python_client_collects_with_artifacts_and_submits(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    with Prazo(f"http://127.0.0.1:{gateway.port}") as prazo:
        recorded = prazo.collect(
            occurrence(review), artifacts=[Artifact("screen.png", "image/png", SCREEN)]
        )
        assert recorded.is_new
        again = prazo.collect(
            occurrence(review, step="confirmed", fields={}),
        )
        assert again.seq > recorded.seq
        with pytest.raises(PrazoRefused, match="channel"):
            prazo.collect(occurrence(review, channel="letter"))
    [entry, _] = collected(marketplace, review)
    assert entry.seq == recorded.seq
    assert kept(marketplace, SCREEN_SHA256).exists()
