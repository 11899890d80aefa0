"""Nobody spells out a personal value by searching for parts of it: each search is in the log before
its answer, there are few of them, and a second person may have to agree.

An e-mail address was spelled out, letter by letter, in 88 searches of the box in the header:
without an entry, and past four eyes. Whole ids stay free.
"""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.clearance import acts
from pipeline.clearance.clearances import Awaited, decide
from pipeline.continuity.service import LedgerService
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.actions import By
from pipeline.serve import searches
from pipeline.serve.searches import PER_HOUR, Searcher, TooManySearches, by_part, by_whole
from pipeline.settings import Settings
from tests.erasure.person import add_lines, event
from tests.support.ledgers import said_in
from tests.support.stores import settings_in

SELLERS = [
    ("sel_dora", "Dora", "Anastácio", "dora.anastacio@example.com", "11144477735"),
    ("sel_davi", "Davi", "Souza", "davi@example.com", "52998224725"),
]
ANA, BIA = Searcher("ana", "s1", "dashboard"), Searcher("bia", "s2", "dashboard")


def recorded(settings: Settings, inbox: Inbox) -> None:
    for number, (seller, first, last, email, taxpayer) in enumerate(SELLERS):
        said = {"id": seller, "first_name": first, "last_name": last}
        said |= {"email": email, "taxpayer_id": taxpayer}
        add_lines(inbox, event("2026-03-01T09:00:00Z", f"e{number}", "seller.created", said))


def held(folder: Path, **more: Any) -> LedgerService:
    files = ("roles_file", "proxy_secret_file", "api_tokens_file")
    settings = settings_in(folder, login="proxy", **{it: folder / it for it in files}, **more)
    with closing(open_inbox(settings.inbox)) as inbox:
        recorded(settings, inbox)
    service = LedgerService(settings)
    service.catch_up()
    return service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LedgerService]:
    with closing(held(tmp_path)) as service:
        yield service


def entries(service: LedgerService) -> list[dict[str, Any]]:
    found = service.inbox.find(kind="search")
    return [said_in(it) for it in found]


def test_a_search_by_part_is_in_the_log_with_its_count_and_the_sellers_that_it_hit(
    service: LedgerService,
) -> None:
    by_email = {"sel_davi": "email", "sel_dora": "email"}
    assert by_part(service, "example.co", None, ANA) == by_email
    assert by_part(service, "anastá", None, ANA) == {"sel_dora": "name"}
    assert by_part(service, "nobody", None, BIA) == {}
    said = [(it["actor"], it["session"], it["searches"], it["sellers"]) for it in entries(service)]
    assert said == [
        ("ana", "s1", 1, ["sel_davi", "sel_dora"]),
        ("ana", "s1", 2, ["sel_davi", "sel_dora"]),
        ("bia", "s2", 1, []),
    ]
    bodies = b"".join(it.body or b"" for it in service.inbox.find(kind="search"))
    assert not [it for it in (b"example.co", b"anast", b"nobody") if it in bodies]


def test_nobody_spells_an_address_out_in_whatever_sessions(service: LedgerService) -> None:
    """Letter by letter, with a session for each, and another name's searches beside."""
    spelled, refused = "dora.", 0
    for number in range(88):
        searcher = Searcher("ana", f"s{number}", "dashboard")
        for letter in "abcdefghijklmnopqrstuvwxyz@.":
            try:
                if by_part(service, spelled + letter, None, searcher):
                    spelled += letter
                    break
            except TooManySearches:
                refused += 1
    assert refused > 0
    assert "dora.anastacio".startswith(spelled)
    assert len(spelled) < len("dora.anastacio@")
    assert len(entries(service)) == PER_HOUR
    assert [*by_part(service, "dora", None, BIA)] == ["sel_dora"]


def test_a_searcher_without_a_name_beside_the_log_searches_no_more(
    service: LedgerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "PER_HOUR", 2)
    for _ in range(2):
        by_part(service, "dora", None, ANA)
    service.inbox.execute("delete from actors")
    with pytest.raises(TooManySearches):
        by_part(service, "dora", None, ANA)


def test_of_many_searches_at_once_none_is_beyond_the_limit(service: LedgerService) -> None:
    def search() -> None:
        for _ in range(5):
            try:
                by_part(service, "dora", None, ANA)
            except TooManySearches:
                return

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries(service)) == PER_HOUR


def test_an_hour_later_one_may_search_again(
    service: LedgerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "PER_HOUR", 1)
    by_part(service, "dora", None, ANA)
    with pytest.raises(TooManySearches):
        by_part(service, "dora", None, ANA)
    now = service.inbox.now()
    monkeypatch.setattr(service.inbox, "now", lambda: now + 3_600_000_001)
    assert [*by_part(service, "dora", None, ANA)] == ["sel_dora"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("11144477735", ["sel_dora"]),
        ("111.444.777-35", ["sel_dora"]),
        ("Dora.Anastacio@EXAMPLE.com", ["sel_dora"]),
        ("anastacio@example.com", []),
        ("dora.anastacio@example.co", []),
    ],
)
def test_a_whole_id_is_free_and_part_of_one_finds_nobody_that_way(
    service: LedgerService, text: str, found: list[str]
) -> None:
    assert searches.is_whole(text)
    assert by_whole(service, text, None) == found
    assert entries(service) == []


@pytest.mark.parametrize("text", ["dora", "dora@", "@example.com", "dora.anastacio@example"])
def test_part_of_an_address_is_not_taken_for_all_of_it(text: str) -> None:
    assert not searches.is_whole(text)


def test_under_four_eyes_a_search_by_part_waits_for_a_second_person(tmp_path: Path) -> None:
    with closing(held(tmp_path, four_eyes="unmask")) as service:
        with pytest.raises(Awaited) as awaited:
            by_part(service, "dora", None, ANA)
        assert entries(service) == []
        by = By("she may", "bia", "token")
        terms = acts.Terms.of(service.settings)
        request = awaited.value.request_id
        decide(service.inbox, terms, request, "approved", by, is_proved=True)
        with pytest.raises(Awaited):  # another word is another search
            by_part(service, "dor", None, ANA)
        assert [*by_part(service, "dora", None, ANA)] == ["sel_dora"]
        assert [it["clearance"] for it in entries(service)] == [request]
        with pytest.raises(Awaited):  # once
            by_part(service, "dora", None, ANA)
        service.catch_up()
        rows = service.reader.read("clearances", where={"request_id": request}).to_pylist()
    assert [it["state"] for it in rows] == ["used"]


def test_where_nobody_logs_in_another_name_gives_no_more_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "PER_HOUR", 2)
    settings = settings_in(tmp_path)
    with closing(LedgerService(settings)) as service:
        by_part(service, "dora", None, ANA)
        by_part(service, "dora", None, Searcher(None, "s3", "dashboard"))
        with pytest.raises(TooManySearches):
            by_part(service, "dora", None, BIA)
