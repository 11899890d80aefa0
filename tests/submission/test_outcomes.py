"""Every outcome of rules.md section 3, from the real sandbox over real mutual TLS."""

import shutil
from typing import Any

import pytest

from pipeline import sending
from pipeline.errors import SettingsError
from pipeline.sending import Ended
from pipeline.submission import Refused, Sent
from tests.marketplace import Marketplace, Review, payload


def submit(marketplace: Marketplace, review: Review, **changes: Any) -> Ended:
    """One attempt: no patience for a retry."""
    settings = marketplace.settings(**changes.pop("settings", {}))
    return sending.submit(
        settings,
        review.process_id,
        changes.pop("payload", review.payload),
        recorded_by="test",
        patience_seconds=changes.pop("patience_seconds", 0),
        **changes,
    )


def test_an_accepted_review_finishes_the_process(marketplace: Marketplace) -> None:
    review = marketplace.review()
    ended = submit(marketplace, review)
    assert isinstance(ended.result, Sent)
    assert (ended.result.outcome, ended.result.answer.status) == ("accepted", 200)
    assert ended.is_finished
    assert marketplace.state(review.process_id) == "FINISHED"
    assert marketplace.outcomes(review.process_id) == ["accepted"]


def test_what_is_sent_is_the_payload_byte_for_byte_under_the_process_as_idempotency_key(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    spaced = review.payload.replace(b": ", b" :  ")
    submit(marketplace, review, payload=spaced)
    [put] = marketplace.puts(review.process_id)
    assert put.body == spaced
    assert put.headers["idempotency-key"] == review.process_id
    assert put.headers["content-type"] == "application/json"
    assert put.headers["authorization"].startswith("Basic ")
