"""Submissions of a test: one attempt each, as the Python interface makes them."""

from typing import Any

from pipeline.submit import resume
from pipeline.submit.resume import Ended
from pipeline.submit.retries import Waiting
from tests.support.marketplace import Marketplace, Review


def submit(
    marketplace: Marketplace,
    review: Review,
    payload: bytes = b"",
    *,
    settings: dict[str, Any] | None = None,
    **changes: Any,
) -> Ended:
    """One attempt with the review's own payload, and no patience for a retry."""
    return resume.submit(
        marketplace.settings(**(settings or {})),
        review.process_id,
        payload or review.payload,
        **{"recorded_by": "test", "patience_seconds": 0, **changes},
    )


def a_waiting_retry(marketplace: Marketplace, *, seconds: int = 3600, **changes: Any) -> Review:
    """A review whose first attempt ended in a 503 that asks for so long a wait."""
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=503, retry_after=str(seconds), process_id=review.process_id
    )
    assert isinstance(submit(marketplace, review, **changes).standing, Waiting)
    return review
