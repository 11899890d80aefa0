"""The gateway: a plain HTTP client that knows only the contract changes its base URL, no more."""

from tests.gateway.client import Client
from tests.marketplace import Marketplace


def test_an_accepted_review_is_answered_as_the_platform_answered_it(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    answer = gateway.put(review)
    assert answer.status == 200
    assert not answer.is_ours
    assert marketplace.state(review.process_id) == "FINISHED"
    assert marketplace.outcomes(review.process_id) == ["accepted"]
