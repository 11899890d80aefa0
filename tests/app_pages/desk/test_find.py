"""The box in the header finds processes and sellers, and shows nobody's name unmasked."""

import re

import pytest

from app_pages.desk import find
from pipeline.errors import LedgerStalled
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review, seller_event
from tests.app_pages.support.reading import links, page_text, press

HISTORY = [
    review("prc_late", before(days=40), seller="sel_bia"),
    review("prc_soon", before(days=26)),
    *(review(f"prc_many_{n}", before(days=10), seller="sel_caio") for n in range(8)),
    seller_event("sel_ana", "enabled", before(days=90), last_name="Souza"),
    seller_event(
        "sel_dora",
        "enabled",
        before(days=90),
        first_name="Dora",
        last_name="Anastácio",
        email="dora@example.com",
        taxpayer="11144477735",
    ),
    seller_event(
        "sel_sol",
        "enabled",
        before(days=90),
        first_name=None,
        email=None,
        taxpayer=None,
        business_name="Padaria Sol",
        business_email="contato@sol.example",
        ein=11444777000161,
    ),
]


def searched(visit: Visit, text: str, page: str = "overview"):
    app = visit(page)
    app.text_input(key="find").set_value(text).run()
    assert not app.exception, app.exception
    return app


def typed(app) -> str:
    """What still stands in the box."""
    return app.text_input(key="find").value


def found(app) -> list[str]:
    """The ids that the results lead to."""
    every = [query for _, query in links(app)]
    named = [re.search(r"(?:process|seller_id)=(\w+)", query) for query in every]
    return [it[1] for it in named if it]


def test_one_that_fits_is_opened_at_once_wherever_one_searches(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        process = searched(visit, "prc_late", "findings")
        assert process.title[0].value == "Process"
        assert process.query_params["process"] == "prc_late"
        assert typed(process) == ""
        process.text_input(key="find").set_value("prc_late").run()
        assert typed(process.run()) == "", "also where the page is open already"
        seller = searched(visit, "111.444.777-35")
        assert seller.title[0].value == "Seller"
        assert seller.query_params["seller_id"] == "sel_dora"
        for text in ("11144477735", "dora@", "anastácio", "sel_dor"):
            only = find.look_up(text)
            assert (only.total, only.sellers) == (1, ["sel_dora"]), text


def test_a_name_is_found_without_accents_in_any_order_and_says_what_tells_its_seller_apart(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as held:
        for text in ("anastacio dora", "DÓRA ÁNAST"):
            assert find.look_up(text).sellers == ["sel_dora"], text
        assert find.look_up("dora souza").total == 0
        assert len(held.inbox.find(kind="search")) == 3
        several = searched(visit, "ana")
    shown = page_text(several)
    assert re.search(
        r"A\*\*\* S\*\*\* · fits: id · tax id \*\*\*25 · .* · 5 Jun 2026, 09:00 · 4 days left",
        shown,
    )
    assert "no open review" in shown
    assert "4 days left · never contacted" in shown


def test_the_names_of_those_who_were_found_are_shown_for_a_reason_beside_them(
    open_log: OpenLog, visit: Visit
) -> None:
    """Six masks were all alike, and what shows names stood on other pages."""
    with open_log(HISTORY):
        app = searched(visit, "ana")
        app.text_input(key="found_names_reason").set_value("a call")
        app.text_input(key="found_names_actor").set_value("Bia")
        [show] = [it for it in app.button if str(it.key).startswith("found_names")]
        show.click().run()
        assert "Dora Anastácio" in [name for name, _to in links(app)]
        assert not [it for it in app.button if str(it.key).startswith("found_names")]


@pytest.mark.parametrize(
    ("text", "in_clear", "fits"),
    [
        ("anast dora", {"sel_dora": "Dora Anastácio"}, "fits: name"),
        ("souza", {"sel_dora": "Dora Anastácio"}, "fits: an earlier name"),
        ("souza", {}, "fits: name"),  # names are shown, and could not be read
    ],
)
def test_that_an_earlier_name_fits_is_said_by_what_was_typed_and_a_name_in_clear(
    text: str, in_clear: dict[str | None, str], fits: str
) -> None:
    """It was said of what stood in another box, and of each mask."""
    names = in_clear or {"sel_dora": "D*** A***"}
    found = find.Found(
        text, [], ["sel_dora"], {"sel_dora": "name"}, names, in_clear, {}, {}, is_cut=False
    )
    said = find._about(found, "sel_dora", "", None)
    assert fits in said


def test_a_business_is_found_by_its_own_name_e_mail_and_tax_id(open_log: OpenLog) -> None:
    """Its record has other fields than a person's: whatever one typed found nothing."""
    with open_log(HISTORY):
        for text in ("11.444.777/0001-61", "11444777000161", "padaria", "contato@", "sel_sol"):
            only = find.look_up(text)
            assert (only.total, only.sellers) == (1, ["sel_sol"]), text
            assert only.names["sel_sol"] == "P***"


def test_several_are_listed_with_masked_names_and_a_limit(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        few, many = searched(visit, "ana"), searched(visit, "prc_many")
        more = searched(visit, "prc_many")
        press(more, "Show up to 30 of each")
    # By her id, and by part of a name.
    assert found(few)[:2] == ["sel_ana", "sel_dora"]
    assert "A*** S***" in page_text(few)
    assert "Souza" not in page_text(few)
    assert found(many)[:6] == [f"prc_many_{n}" for n in range(6)]
    assert "prc_many_7" not in found(many)
    # The other two could be found by typing more alone, by whoever knew what.
    assert {f"prc_many_{n}" for n in range(8)} <= {*found(more)}
    assert "Show up to 30 of each" not in page_text(more)


def test_the_results_stay_until_the_reader_goes_on_or_closes_them(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = searched(visit, "prc_many")
        app.run()
        assert "prc_many_5" in found(app)
        assert typed(app) == "prc_many", "it was emptied, beside: type more of it"
        app.switch_page("app_pages/pages/process.py").run()
        assert "prc_many_5" not in found(app)
        assert typed(app) == ""
        app = searched(visit, "prc_many")
        press(app, "Close")
        assert "prc_many_5" not in found(app)
        assert typed(app) == ""


@pytest.mark.parametrize("text", ["390.533.447-05", "nobody@example.com"])
def test_what_is_not_there_is_said_without_showing_what_was_typed(
    text: str, open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = searched(visit, text)
    shown = page_text(app)
    assert "Nothing in the log fits" in shown
    assert text not in shown
    assert text not in str(dict(app.query_params))


def test_two_characters_are_too_few(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert "Type at least 3 characters." in page_text(searched(visit, "an"))


def test_names_find_nobody_for_those_who_may_not_see_them(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find.access, "may", lambda _permission: False)
    with open_log(HISTORY):
        shown = page_text(searched(visit, "anastácio"))
        by_tax_id = searched(visit, "11144477735")
    assert "Nothing in the log fits" in shown
    assert by_tax_id.query_params["seller_id"] == "sel_dora"


def test_a_search_by_part_of_a_name_is_one_entry_however_often_the_page_is_drawn(
    open_log: OpenLog, visit: Visit
) -> None:
    """And by a whole tax id or address there is none."""
    with open_log(HISTORY) as held:
        app = searched(visit, "anast")
        app.run()
        app.run()
        assert [it.kind for it in held.inbox.find(kind="search")] == ["search"]
        find.look_up("dora@example.com")
        find.look_up("11144477735")
        find.look_up("sel_dora")
        assert len(held.inbox.find(kind="search")) == 1


def test_a_search_that_fails_says_so_where_it_was_asked_and_the_page_stands(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit said in English alone that it hides an error, and the rest was not drawn."""

    def fail(text: str, most: int) -> find.Found:
        raise LedgerStalled("The ledger has no room", "the disk is full", "make room")

    monkeypatch.setattr(find, "look_up", fail)
    with open_log(HISTORY):
        app = searched(visit, "prc_many", page="watchlist")
        [said] = app.error
        assert said.proto.title == "There is no room for the ledger"
        assert "The ledger has no room" in said.value
        assert "10 processes" in page_text(app)
