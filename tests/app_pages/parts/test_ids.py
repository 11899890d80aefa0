"""Ids that look like a tax id or an e-mail address are masked on every page, and links lead on."""

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.door import access
from pipeline.serve.identifiers import mask
from pipeline.serve.roles import Person, Role
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import (
    attempt,
    before,
    collected,
    review,
    seller_event,
    text,
)
from tests.app_pages.support.reading import links, page_text, plain, press, unfold

CPF, CNPJ, MAIL = "123.456.789-01", "12345678000195", "ana.maria@example.com"
NAMELESS = "529.982.247-25"  # of a seller of whom no event came: lists show the id for a name
DENIED = seller_event(CPF, "denied", before(days=59))
DENIED["body"]["id"] = "evt_denied"
HISTORY = [
    DENIED,
    review(CNPJ, before(days=40), seller=CPF, event=MAIL),
    collected(CNPJ, "answered", before(days=39), seller=CPF, journey_id=MAIL),
    review("prc_2", before(days=40), seller=CPF),
    review("prc_3", before(days=40), seller=NAMELESS),
    collected("prc_2", "answered", before(days=38), seller=CPF, journey_id=MAIL),
    *attempt(CNPJ, before(days=30), status=400, seller=CPF, name=CPF),
    review("prc_path", before(days=40), fields=[CPF, MAIL, "revenue"]),
    seller_event(
        "sel_1",
        "denied",
        before(days=9),
        taxpayer="39053344705",
        decision_reasons=[{"reason": "REGISTRATION_INCONSISTENCY", "detail": f"CPF {NAMELESS}"}],
        retry=True,
        mcc=f"of {NAMELESS}",
        marketplace_id=f"mkt-{NAMELESS}",
    ),
    review("prc_code", before(days=40), seller="sel_1", status=f"PENDING {NAMELESS}"),
    collected("prc_code", "answered", before(days=8), seller="sel_1", source=f"agent {NAMELESS}"),
    review(" prc_spaced ", before(days=40)),
]
PAGES: dict[str, dict[str, str]] = {
    "overview": {},
    "watchlist": {},
    "since": {"since": "friday"},
    "findings": {},
    "process": {"process": CNPJ},
    "seller": {"seller_id": CPF},
    "submissions": {},
    "denials": {},
    "trends": {},
    "evidence": {},
    "privacy": {"seller_id": CPF},
    "ledger": {},
}


def everything(app: AppTest) -> str:
    """Every text on the page, its grids among them."""
    cells = [str(it) for grid in app.dataframe for it in grid.value.to_numpy().ravel()]
    return "\n".join([page_text(app), *cells])


def test_no_page_shows_an_id_that_looks_personal(open_log: OpenLog, visit: Visit):
    """The API masked them, and the pages showed them whole."""
    with open_log(HISTORY) as service:
        masks = [mask(it, service.inbox.log_key) for it in (CPF, CNPJ, MAIL)]
        for page, query in PAGES.items():
            app = visit(page, **query)
            for chart in ("behind_process_phases", "exchange"):
                if page == "process":
                    unfold(app, chart)
            shown = everything(app)
            for known in (CPF, CNPJ, MAIL, NAMELESS):
                assert known not in shown.replace("\N{WORD JOINER}", ""), page
            if page not in ("overview", "ledger", "trends"):
                assert any(it in shown for it in masks), page


def test_a_requested_path_that_looks_personal_is_masked(open_log: OpenLog, visit: Visit):
    with open_log(HISTORY):
        pages = [visit("process", process="prc_path"), visit("watchlist", row="prc_path")]
        shown = "\n".join(map(everything, pages)).replace("\N{WORD JOINER}", "")
    assert "revenue" in shown
    assert "01~" in shown
    assert CPF not in shown
    assert MAIL not in shown


def test_what_looks_personal_in_the_place_of_a_code_is_masked(open_log: OpenLog, visit: Visit):
    """The API masked a denial's detail that says whose CPF it was, and pages, charts and grids
    showed it whole: to analysts as well. The audit trail showed a collection's source so, and a
    seller's record its marketplace and category."""
    with open_log(HISTORY) as service:
        masked = mask(NAMELESS, service.inbox.log_key)
        for app in (visit("denials"), visit("seller", seller_id="sel_1")):
            shown = everything(app).replace("\N{WORD JOINER}", "").replace("\\", "")
            assert NAMELESS not in shown + str(app)
            assert masked in shown
        assert f"source: agent {masked}" in shown


def test_what_people_wrote_is_shown_without_an_id_that_looks_personal(
    open_log: OpenLog, visit: Visit
):
    """The API masked an id in a note, in a reason and in a ticket's number; the page of the process
    showed it whole, beside the note and in the audit trail."""
    done = {"process_id": "prc_2", "actor": "bia@market.example"}
    noted = {"reason": f"whose CPF {NAMELESS} is, says {MAIL}"}
    written = [
        {"kind": "note", "occurred_at": text(before(days=1)), **done, **noted},
        {
            "kind": "reminded",
            "occurred_at": text(before(days=1)),
            **done,
            "channel": "sms",
            **noted,
        },
        {
            **{"kind": "ticket", "occurred_at": text(before(days=1)), **done},
            **{"step": "opened", "number": f"T-17 {NAMELESS}"},
        },
    ]
    with open_log([*HISTORY, *written]) as service:
        masked = mask(NAMELESS, service.inbox.log_key)
        app = visit("process", process="prc_2")
        shown = everything(app).replace("\N{WORD JOINER}", "").replace("\\", "")
        buttons = "".join(it.label for it in app.button).replace("\\", "")
    for known in (NAMELESS, MAIL):
        assert known not in shown + buttons
    assert shown.count(f"whose CPF {masked} is, says a***~") == 3
    assert f"Ticket T-17 {masked} has been open" in shown
    assert "bia@market.example" in shown


def test_links_lead_to_the_id_itself(open_log: OpenLog, visit: Visit):
    with open_log(HISTORY) as service:
        shown = mask(CNPJ, service.inbox.log_key)
        found = dict(links(visit("seller", seller_id=CPF)))
    assert found[shown] == f"process={CNPJ}"


def test_who_gave_a_reason_sees_the_seller_by_its_id_and_whoever_comes_next_does_not(
    open_log: OpenLog, visit: Visit
):
    """The next person saw it without having said why, and the log named nobody but the first."""
    with open_log(HISTORY):
        app = visit("seller", seller_id=CPF)
        app.text_input(key="unmask_seller_state_reason").input("a call")
        app.text_input(key="unmask_seller_state_actor").input("Ana")
        press(app, "Record the reason and show it")
        assert CPF in everything(app)
        assert f"Ana · {CPF}" in [plain(it.value) for it in app.header]
        press(app, "I am somebody else")
        assert CPF not in everything(app)
        app.text_input(key="name header").set_value("Bruno")
        press(app, "That is me")
        assert CPF not in everything(app)
        app.text_input(key="unmask_seller_state_reason").input("a complaint")
        press(app, "Record the reason and show it")
        assert CPF in everything(app)


def test_an_id_with_spaces_around_it_has_a_page_and_what_is_typed_with_them_is_found(
    open_log: OpenLog, visit: Visit
):
    with open_log(HISTORY):
        app = visit("process", process=" prc_spaced ")
        assert app.query_params["process"] == " prc_spaced "
        assert "No entry of the log names" not in page_text(app)
        app.text_input(key="process").set_value(" prc_2 ").run()
        assert app.query_params["process"] == "prc_2"
        assert "No entry of the log names" not in page_text(app)


def test_an_analyst_spells_out_no_id_and_finds_one_that_they_have(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
):
    """Part by part, a filter told them what masks hide; a click on a row wrote its id, whole, into
    the address of the page."""
    returned = {"at": before(days=20), "taxpayer": "52998224725"}
    history = [*HISTORY, seller_event("sel_new", "created", **returned)]
    with open_log(history) as service:
        shown = mask(CPF, service.inbox.log_key)
        monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
        assert "No denial matches" in page_text(visit("denials", of="123.456"))
        found = everything(visit("denials", list="returned", of=CPF, row=shown))
    assert "1 seller came back" in found
    assert "does not have" not in found
    assert shown in found


def test_a_number_beside_a_filter_tells_an_analyst_nothing_of_a_part_of_an_id(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
):
    """The list found nothing by a part; numbers that follow it must not, either."""
    monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
    with open_log(HISTORY):
        part, whole = (
            visit("submissions", of=sought).multiselect(key="outcome").options
            for sought in (CNPJ[:6], CNPJ)
        )
    assert "Payload refused (0)" in part
    assert "Payload refused (1)" in whole
