"""Asks another part of the product, and no proxy that the environment may name."""

import urllib.request
from http.client import HTTPResponse

from pipeline.http.outgoing import contexts


def opened(url: str, seconds: float) -> HTTPResponse:
    """The answer to a GET, open to be read, of which no step takes longer than `seconds`. Raises
    OSError, of which `urllib.error.HTTPError` is one, or `http.client.HTTPException`."""
    trust = contexts.trusting(None) if url.startswith("https:") else contexts.bare()
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
    )
    answer: HTTPResponse = opener.open(url, timeout=seconds)
    return answer
