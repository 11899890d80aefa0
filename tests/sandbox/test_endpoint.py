"""The marketplace's endpoint takes what is signed with its secret, and shows it once."""

import time

import httpx
import pytest

from sandbox.market.endpoint import listening
from sandbox.platform.webhooks import Signature

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"id": "evt_1", "type": "seller.<b>created</b>"}'


def post(url: str, *, secret: str = SECRET, at: float | None = None, name: str = "msg_1") -> int:
    now = int(time.time() if at is None else at)
    headers = Signature(secret).headers(name, BODY, now)
    return httpx.post(url, content=BODY, headers=headers, trust_env=False).status_code


def test_what_comes_is_shown_once_as_text_and_how_often_it_came():
    with listening(SECRET) as url:
        assert [post(url), post(url), post(url, name="msg_2")] == [204, 204, 204]
        page = httpx.get(url, trust_env=False).text
    assert "2 messages" in page
    assert "seller.&lt;b&gt;created" in page
    assert "<td>msg_1</td><td>2</td>" in page
    assert page.index("msg_2") < page.index("msg_1")


@pytest.mark.parametrize(
    ("given", "status"),
    [({"secret": "whsec_AAAA"}, 401), ({"at": time.time() - 3600}, 400), ({"at": 1.0}, 400)],
)
def test_what_is_not_signed_by_us_or_old_is_refused(given, status):
    with listening(SECRET) as url:
        assert post(url, **given) == status
        assert "0 messages" in httpx.get(url, trust_env=False).text
