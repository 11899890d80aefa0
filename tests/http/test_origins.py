"""Which requests a page of another site caused, by what browsers send with them."""

import pytest

from pipeline.http.origins import foreign_page

HOST = {b"host": b"prazo.example.com"}
CROSS = {**HOST, b"sec-fetch-site": b"cross-site"}
LINK = {b"sec-fetch-mode": b"navigate", b"sec-fetch-dest": b"document"}


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (b"https://prazo.example.com", b"prazo.example.com"),
        (b"HTTPS://Prazo.example.com", b"prazo.example.com:443"),
        (b"http://prazo.example.com", b"prazo.example.com:80"),
        (b"http://127.0.0.1:8501", b"127.0.0.1:8501"),
        (b"http://[::1]:8501", b"[::1]:8501"),
    ],
)
def test_a_page_of_this_server_is_its_own(origin: bytes, host: bytes) -> None:
    assert foreign_page({b"origin": origin, b"host": host}, "POST") is None


@pytest.mark.parametrize(
    "origin",
    [
        b"https://a.example",
        b"https://prazo.example.com.a.example",
        b"https://prazo.example.com:8443",
        b"https://prazo.example.com@a.example",
        b"https://prazo.example.com, https://prazo.example.com",
        b"prazo.example.com",
        b"file://prazo.example.com",
        b"null",
        b"",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_any_other_origin_is_foreign_whatever_is_asked(origin: bytes, method: str) -> None:
    assert foreign_page({**HOST, b"origin": origin}, method) == "its Origin is another site's"


def test_without_a_host_no_origin_is_its_own() -> None:
    assert foreign_page({b"origin": b"https://"}, "GET") == "its Origin is another site's"
    assert foreign_page({b"origin": b"https://a.example"}, "GET") is not None


def test_a_program_that_is_not_a_browser_comes_from_no_page() -> None:
    assert foreign_page(HOST, "POST") is None


def test_a_link_from_elsewhere_may_be_followed_and_nothing_else_comes_from_there() -> None:
    caused = "a page of another site caused it"
    assert foreign_page({**CROSS, **LINK}, "GET") is None
    assert foreign_page({**CROSS, **LINK}, "POST") == caused
    assert foreign_page({**CROSS, **LINK, b"sec-fetch-dest": b"iframe"}, "GET") == caused
    assert foreign_page({**CROSS, b"sec-fetch-mode": b"no-cors"}, "GET") == caused
    assert foreign_page({**HOST, b"sec-fetch-site": b"same-site"}, "POST") == caused
    for site in (b"same-origin", b"none"):
        assert foreign_page({**HOST, b"sec-fetch-site": site}, "POST") is None
