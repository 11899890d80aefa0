"""A line of the text log and the answer of a PUT name the same attempt."""

import json

import pytest

from tests.support.gateway import receiving
from tests.support.marketplace import Marketplace


def test_the_lines_of_a_put_bear_the_id_that_its_caller_gets(
    marketplace: Marketplace, capfd: pytest.CaptureFixture[str]
) -> None:
    with receiving(marketplace, PRAZO_LOG_FORMAT="json") as client:
        review = marketplace.review()
        answer = client.put(review)
    lines = [json.loads(it) for it in capfd.readouterr().err.splitlines()]
    [line] = [it for it in lines if it.get("request_id")]
    assert line["request_id"] == answer.headers["prazo-attempt"]
    assert line["process_id"] == review.process_id
    assert (line["part"], line["level"]) == ("receive", "INFO")
