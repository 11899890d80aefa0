"""What somebody may try who has a link, a page of another site, or nothing at all."""

import contextlib
import http.client
import json
import socket
import threading
from urllib.parse import urlsplit

import pytest

from pipeline.journey.app import MAX_UNDER_WAY
from tests.journey.seller import Seller
from tests.journey.served import Page

OTHERS = ("/", "/webhooks", "/v1/collections", "/api/views", "/metrics", "/j/", "/static/x")


def test_nothing_else_of_ours_is_reachable_there(page: Page) -> None:
    stranger = page.seller()
    assert [stranger.get(path).status for path in OTHERS] == [404] * len(OTHERS)
    assert stranger.ask("PUT", "/j/x").status == 405


def test_every_answer_carries_the_headers_that_a_browser_needs(page: Page) -> None:
    minted = page.mint(page.review())
    seller = page.seller()
    screens = [seller.get(minted.url), seller.open(minted.url), seller.get("/nowhere")]
    for screen in screens:
        policy = screen.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert screen.headers["cache-control"] == "no-store"
        assert screen.headers["referrer-policy"] == "same-origin"
        assert "server" not in screen.headers
        assert "<script>" not in screen.html
        assert " style=" not in screen.html


def test_no_personal_data_and_no_secret_stands_in_an_address_or_a_cookie(page: Page) -> None:
    minted = page.mint(page.review(["address.line1"]))
    seller = page.seller()
    screen = seller.answer(seller.open(minted.url), f0="Rua das Flores, 123")
    assert screen.path == f"/r/{minted.journey.ref}/review"
    [(name, value)] = seller.cookies.items()
    assert name == f"j_{minted.journey.ref}"
    assert len(value) == 43
    raw = seller.ask("POST", minted.url, {"do": "start"})
    assert "set-cookie" not in raw.headers


def test_a_session_s_cookie_is_kept_from_scripts_and_other_sites(page: Page) -> None:
    seller = page.seller()
    minted = page.mint(page.review())
    begun = seller.ask("POST", minted.url, {"do": "start"})
    flags = {it.strip().lower() for it in begun.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= flags


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": ""},
    ],
)
def test_a_page_of_another_site_can_neither_begin_nor_answer(
    page: Page, headers: dict[str, str]
) -> None:
    process = page.review()
    minted = page.mint(process)
    victim = page.seller()
    assert victim.ask("POST", minted.url, {"do": "start"}, **headers).status == 403
    screen = victim.open(minted.url)
    typed = {**screen.inputs, "f0_from": "1", "f0_to": "2"}
    assert victim.ask("POST", screen.path, typed, **headers).status == 403
    assert page.steps(process) == ["invited", "opened"]


def test_behind_a_proxy_that_names_the_page_as_it_knows_it_sellers_begin_and_answer(
    page: Page,
) -> None:
    """As nginx does unless it is told otherwise: each button led to "This link does not work"."""
    minted = page.mint(page.review())
    seller = page.seller()
    seller.get(minted.url)
    inner = {"Host": "prazo.internal:8600", "Sec-Fetch-Site": "same-origin"}
    begun = seller.ask("POST", minted.url, {"do": "start"}, **inner)
    assert begun.status == 303
    screen = seller.get(begun.headers["location"])
    typed = {**screen.inputs, "f0_from": "1", "f0_to": "2"}
    assert seller.ask("POST", screen.path, typed, **inner).status == 303
    evil = {**inner, "Origin": "https://evil.example"}
    assert seller.ask("POST", screen.path, typed, **evil).status == 403


def test_a_token_of_another_screen_session_or_time_records_nothing(page: Page) -> None:
    mine, others = page.review(["revenue", "address.city"]), page.review(["revenue"])
    attacker, victim = page.seller(), page.seller()
    screen = attacker.open(page.mint(mine).url)
    theirs = victim.open(page.mint(others).url)
    good = screen.inputs["page"]
    drawn_at, digest, mark = good.split(".")
    forged = [
        theirs.inputs["page"],
        f"{int(drawn_at) + 1}.{digest}.{mark}",
        f"{drawn_at}.{'0' * 32}.{mark}",
        f"{drawn_at}.{digest}.{'0' * 32}",
        "",
        "...",
        "9" * 300,
    ]
    for token in forged:
        refused = attacker.post(screen.path, page=token, f0_from="1", f0_to="2")
        assert refused.status == 409, token
    city = screen.path.replace("revenue", "city")
    assert attacker.post(city, page=good, f0="Recife").status == 409
    assert "answered" not in page.steps(mine) + page.steps(others)


def test_a_review_that_was_not_answered_cannot_be_confirmed(page: Page) -> None:
    process = page.review(["revenue", "address.city"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    review = screen.path.replace("revenue", "review")
    assert seller.post(review, page=screen.inputs["page"], declared="yes").slug == "revenue"
    assert "confirmed" not in page.steps(process)


def test_a_confirmation_sent_twice_at_once_counts_once(page: Page) -> None:
    process = page.review()
    seller = page.seller()
    review = seller.answer_all(seller.open(page.mint(process).url))
    typed = {**review.inputs, "declared": "yes"}
    statuses: list[int] = []

    def send() -> None:
        again = Seller(page.base, dict(seller.cookies))
        statuses.append(again.ask("POST", review.path, typed).status)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [303] * 8
    assert page.steps(process).count("confirmed") == 1


def test_two_who_open_one_link_at_once_are_one(page: Page) -> None:
    process = page.review()
    minted = page.mint(process)
    statuses: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: statuses.append(
                page.seller().ask("POST", minted.url, {"do": "start"}).status
            )
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [303] + [404] * 7
    assert page.steps(process).count("opened") == 1


@pytest.mark.parametrize(
    "typed",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{{7*7}}",
        "\N{SYMBOL FOR NULL}page\N{SYMBOL FOR NULL}",
    ],
)
def test_what_a_seller_types_is_text_everywhere(page: Page, typed: str) -> None:
    process = page.review(["address.city"])
    seller = page.seller()
    review = seller.answer(seller.open(page.mint(process).url), f0=typed)
    assert "<script>" not in review.html
    assert "<img src=x" not in review.html
    seller.confirm(review)
    *_, (_, whole), _ = page.collections(process)
    assert whole["fields"] == {"address.city": typed}


@pytest.mark.parametrize("typed", ["a\x00b", "\x1b[31m", "a\u202eb", "x" * 201])
def test_what_cannot_be_sent_or_shown_is_refused_in_words(page: Page, typed: str) -> None:
    process = page.review(["address.city"])
    seller = page.seller()
    refused = seller.answer(seller.open(page.mint(process).url), f0=typed)
    assert refused.status == 422
    assert seller.answer(refused, f0="Recife").slug == "review"


def test_marks_without_a_width_that_were_copied_along_are_left_out(page: Page) -> None:
    """Nobody sees them, so who had copied an address from a chat could not correct it."""
    process = page.review(["address.city"])
    seller = page.seller()
    typed = "\u202aSão Jo\u00ads\u00e9\u200b do\ufeff Rio\u2060 Preto\u202c\u200e"
    seller.confirm(seller.answer(seller.open(page.mint(process).url), f0=typed))
    *_, (_, whole), _ = page.collections(process)
    assert whole["fields"] == {"address.city": "São José do Rio Preto"}


def test_bodies_and_heads_have_a_most(page: Page) -> None:
    minted = page.mint(page.review())
    stranger = page.seller()
    assert stranger.ask("POST", minted.url, {"do": "x" * 20_000}).status == 413
    many = {f"f{number}": "" for number in range(60)}
    assert stranger.ask("POST", minted.url, many).status == 413
    place = urlsplit(page.base)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    connection.request("POST", urlsplit(minted.url).path, b"\xff\xfe", {"Origin": page.base})
    assert connection.getresponse().status == 413
    connection.close()


def test_screens_that_are_shown_again_and_again_fill_nothing(page: Page) -> None:
    process = page.review(["address.city"])
    minted = page.mint(process)
    seller = page.seller()
    screen = seller.open(minted.url)
    page.inbox.execute(  # as if it had been so all day
        "insert into journey_flow (ref, at, event, screen, detail)"
        " with recursive counted (n) as"
        " (select 1 union all select n + 1 from counted where n < 2000)"
        " select $1, n, 'faults_shown', 'city', null from counted",
        minted.journey.ref,
    )
    before = len(list((page.folder / "artifacts").rglob("*")))
    for _ in range(3):
        assert seller.answer(screen, f0="").status == 422
    assert len(list((page.folder / "artifacts").rglob("*"))) == before


def test_one_screen_cannot_be_answered_on_and_on(page: Page) -> None:
    """The log is append-only: nobody with a link may fill it."""
    process = page.review(["address.city", "address.line3"])
    minted = page.mint(process)
    seller = page.seller()
    review = seller.answer_all(seller.open(minted.url))
    page.inbox.execute(  # as if it had been so all day
        "insert into journey_flow (ref, at, event, screen, detail)"
        " with recursive counted (n) as"
        " (select 1 union all select n + 1 from counted where n < 2000)"
        " select $1, n, 'answered', 'city', null from counted",
        minted.journey.ref,
    )
    before = len(page.steps(process)), len(list((page.folder / "artifacts").rglob("*")))
    city = seller.get(review.path.replace("review", "city"))
    assert seller.answer(city, f0="Olinda").heading == "Este link não funciona"
    after = len(page.steps(process)), len(list((page.folder / "artifacts").rglob("*")))
    assert after == before
    assert seller.confirm(review).slug == "receipt"  # what was answered counts


def test_who_sends_a_form_slowly_keeps_nobody_out(page: Page) -> None:
    place = urlsplit(page.base)
    head = b"POST /j/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nab"
    with contextlib.ExitStack() as stack:
        for _ in range(MAX_UNDER_WAY + 20):
            slow = socket.create_connection((place.hostname, place.port))
            stack.enter_context(contextlib.closing(slow)).sendall(head)
        asked = [page.seller().get("/nowhere").status for _ in range(20)]
    assert asked == [404] * 20
    assert page.seller().get("/nowhere").status == 404
    assert "Traceback" not in page.log.read_text()


def test_a_receipt_that_is_asked_for_many_times_at_once_is_kept_once(page: Page) -> None:
    process = page.review()
    seller = page.seller()
    review = seller.answer(seller.open(page.mint(process).url), f0_from="1", f0_to="5")
    path = f"{review.path.rpartition('/')[0]}/receipt"
    seller.ask("POST", review.path, {**review.inputs, "declared": "yes"})
    assert page.receipts(process) == []
    asking = [threading.Thread(target=seller.ask, args=("GET", path)) for _ in range(8)]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert len(page.receipts(process)) == 1


def test_the_code_s_secret_is_not_in_the_log_of_entries(page: Page) -> None:
    process = page.review()
    page.seller().finish(page.mint(process, email="ze@loja.example").url)
    entries = page.inbox.find(process_id=process)
    text = json.dumps([(it.body or b"").decode() for it in entries])
    assert "ze@loja.example" not in text
    [(email,)] = page.inbox.query("select email from journeys where process_id = $1", process)
    assert email is None
