"""Collections are listed, and a package tells what goes in before it is made."""

from datetime import UTC, date, datetime

import pytest

from app_pages.parts import acting, views
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, collected, review
from tests.app_pages.support.reading import links, page_text, press, table

HISTORY = [
    review("prc_1", before(days=10)),
    collected("prc_1", "invited", before(days=9)),
    collected("prc_1", "answered", before(days=8)),
    *attempt("prc_1", before(days=7), status=200),
    review("prc_2", before(days=3), seller="sel_bia"),
]


def test_what_goes_in_is_counted_kind_by_kind(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        of_process = table(visit("evidence", subject="prc_1"), "Kind")
        of_seller = table(visit("evidence", scope="seller", subject="sel_bia"), "Kind")
    assert [row[:2] for row in of_process] == [
        ["Delivery", "1"],
        ["Collection", "2"],
        ["Submission sent", "1"],
        ["Submission answered", "1"],
    ]
    assert [row[:2] for row in of_seller] == [["Delivery", "1"]]


def test_a_scope_without_entries_says_so(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert "No entry of the log is in this scope." in page_text(visit("evidence", subject="x"))
        asked = page_text(visit("evidence", list="package"))
        assert "Enter a process or a seller to see what goes in." in asked


def test_a_package_holds_the_days_that_were_counted(open_log: OpenLog, visit: Visit) -> None:
    """In São Paulo it is 23:30 of 9 May, so the delivery stands in the preview of 10 May, UTC: a
    package of 10 May has to hold it."""
    late = review("prc_late", datetime(2026, 5, 10, 2, 30, tzinfo=UTC))
    with open_log([late]) as service:
        app = visit("evidence", scope="period", as_of=None)
        app.date_input(key="days").set_value((date(2026, 5, 10), date(2026, 5, 10))).run()
        assert app.query_params["days"] == ["2026-05-10", "2026-05-10"]
        again = visit("evidence", scope="period", as_of=None, days=["2026-05-10", "2026-05-10"])
        assert table(again, "Kind") == table(app, "Kind")
        assert [row[:2] for row in table(app, "Kind")] == [["Delivery", "1"]]
        app.text_area(key="reason").set_value("yearly audit")
        app.text_input(key="actor").set_value("Ana")
        press(app, "Make the package")
        assert "The package is ready" in page_text(app)
        held = dict(
            zip(app.table[-1].value.index, app.table[-1].value.to_numpy().ravel(), strict=True)
        )
        assert service.status().last_seq == 2
    own = "and the export's own, which report and tables do not list"
    assert held["Entries"] == f"1, {own}"


def test_a_package_of_a_seller_is_of_the_quarter_that_was_chosen(
    open_log: OpenLog, visit: Visit
) -> None:
    """The page's instant is in the second quarter of 2026; the first of the two is in the first."""
    earlier = review("prc_march", datetime(2026, 3, 31, 23, 59, tzinfo=UTC), seller="sel_bia")
    later = review("prc_april", datetime(2026, 4, 1, 0, 0, tzinfo=UTC), seller="sel_bia")
    with open_log([earlier, later, *HISTORY]) as service:
        app = visit("evidence", scope="seller", subject="sel_bia", as_of="2026-05-10")
        quarter = app.segmented_control(key="quarter")
        assert quarter.options == ["All time", "Q2 2026", "Q1 2026", "Q4 2025", "Q3 2025"]
        quarter.set_value("2026-01").run()
        assert app.query_params["quarter"] == "2026-01"
        assert [row[:2] for row in table(app, "Kind")] == [["Delivery", "1"]]
        app.text_area(key="reason").set_value("the first quarter")
        app.text_input(key="actor").set_value("Ana")
        press(app, "Make the package")
        assert "The package is ready" in page_text(app)
        sql = "select unnest(content ->> ['$.scope.seller', '$.scope.from', '$.scope.to'])"
        found = service.ledger.cursor().execute(f"{sql} from fact_actions where kind = 'export'")
        assert [it for (it,) in found.fetchall()] == [
            *("sel_bia", "2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z")
        ]


def test_what_goes_in_of_a_period_is_counted_kind_by_kind(open_log: OpenLog, visit: Visit) -> None:
    """Of a quarter, each kind stood there once more for each of its days."""
    history = [
        review("prc_1", datetime(2026, 5, 10, 12, 0, tzinfo=UTC)),
        review("prc_2", datetime(2026, 5, 12, 12, 0, tzinfo=UTC)),
        collected("prc_2", "invited", datetime(2026, 5, 12, 13, 0, tzinfo=UTC)),
    ]
    with open_log(history):
        days = ["2026-05-01", "2026-05-31"]
        app = visit("evidence", scope="period", as_of="2026-06-01", days=days)
    assert table(app, "Kind") == [
        ["Delivery", "2", "10 May 2026 – 12 May 2026"],
        ["Collection", "1", "12 May 2026"],
    ]


def test_no_package_is_made_without_a_reason_and_a_name(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("evidence", subject="prc_1")
        next(it for it in app.button if it.label == "Make the package").click().run()
        assert "Fill this in: it goes into the log." in page_text(app)
        assert "A name is needed: it goes into the log." in page_text(app)
        app.text_input(key="actor").set_value("Ana")
        press(app, "Make the package")
        assert "Fill this in: it goes into the log." in page_text(app)
        assert "A name is needed" not in page_text(app)
        assert service.status().last_seq == 6


def test_one_press_makes_the_package_of_an_id_that_was_just_typed(
    open_log: OpenLog, visit: Visit
) -> None:
    """No contents of another were in sight, and it took a second press."""
    with open_log(HISTORY):
        app = visit("evidence", list="package")
        app.text_area(key="reason").set_value("yearly audit")
        app.text_input(key="actor").set_value("Ana")
        app.text_input(key="subject").set_value("prc_2")
        press(app, "Make the package")
        shown = page_text(app)
    assert "The package is ready" in shown
    assert "prc_2" in shown


def test_a_package_is_made_of_what_the_page_has_shown_and_recorded_under_reason_and_name(
    open_log: OpenLog, visit: Visit
) -> None:
    """Whoever typed another id and pressed the button saw the contents of the one before. Whoever
    came next at the same browser could take the package, and the log named nobody but the first."""
    with open_log(HISTORY) as service:
        app = visit("evidence", subject="prc_1")
        app.text_area(key="reason").set_value("yearly audit")
        app.text_input(key="actor").set_value("Ana")
        app.text_input(key="subject").set_value("prc_2")
        press(app, "Make the package")
        assert "What goes in was not shown yet for what you chose" in page_text(app)
        assert app.text_area(key="reason").value == "yearly audit"
        assert service.status().last_seq == 6
        press(app, "Make the package")
        assert "The package is ready" in page_text(app)
        assert not app.text_area(key="reason").value, "a browser would ask before it is left"
        [entry] = service.reader.read("timeline", where={"kind": "export"}).to_pylist()
        press(app, "I am somebody else")
        assert "The package is ready" not in page_text(app)
        app.text_input(key="name header").set_value("Ana")
        press(app, "That is me")
        assert "The package is ready" not in page_text(app)
    made = (entry["reason"], entry["actor"], entry["process_id"])
    assert made == ("yearly audit", "Ana", "prc_2")


def test_collections_are_listed_with_their_fields(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        every = visit("evidence").dataframe[0].value
        answered = visit("evidence", step="answered").dataframe[0].value
    assert list(every["step"]) == ["Seller answered", "Seller invited"]
    assert list(answered["paths"]) == ["Revenue"]  # the card has its path beside


def test_a_step_says_how_many_there_are_of_the_process_that_is_asked_for(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        every = visit("evidence", step="answered").pills(key="step").options
        none = visit("evidence", of="prc_2").pills(key="step").options
    assert [it for it in every if "(0)" not in it] == ["Seller invited (1)", "Seller answered (1)"]
    assert [it for it in none if "(0)" not in it] == []


def test_a_collection_leads_to_its_process_and_its_seller(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("evidence", step="answered")
    assert "Seller answered" in page_text(app)
    assert links(app) == [
        ("Open the process", "process=prc_1"),
        ("Open the seller", "seller_id=sel_ana"),
    ]


def test_without_a_collection_the_page_says_what_to_do_first(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log([]):
        shown = page_text(visit("evidence"))
    assert "No collection is in the log yet" in shown
    assert "Collect in the guide For the marketplace's developers" in shown


def test_a_sample_is_drawn_in_one_press_and_those_before_it_are_listed(
    open_log: OpenLog, visit: Visit
) -> None:
    """Two of the two processes of the time are drawn, by a number and the checkpoint that the page
    showed before the number was typed."""
    with open_log(HISTORY) as service:
        app = visit(
            "evidence",
            list="sample",
            as_of=None,
            days=[f"{before(days=it):%Y-%m-%d}" for it in (20, 1)],
        )
        assert "No sample was drawn so far." in page_text(app)
        assert app.query_params["checkpoint"] == "6"
        # Left for the button, an input of its own sent a run that overtook the click, and nothing
        # was drawn.
        asked = (app.number_input(key="sample_size"), app.text_input(key="sample_number"))
        assert [it.proto.form_id for it in asked] == ["package", "package"]
        app.number_input(key="sample_size").set_value(2)
        app.text_area(key="reason").set_value("a sample")
        app.text_input(key="actor").set_value("Ana")
        for wrong in ("abc", "47 11", "12.345", "1234567890"):
            app.text_input(key="sample_number").set_value(wrong)
            press(app, "Draw and make the package")
            assert "Nothing was drawn: type digits only" in page_text(app)
            assert app.text_input(key="sample_number").value == wrong
            assert service.status().last_seq == 6
        app.text_input(key="sample_number").set_value("4711")
        press(app, "Draw and make the package")
        assert "2 of 2 processes of the period were drawn" in page_text(app)
        assert "a sample of 2, number 4711" in page_text(app)
        [sample] = service.reader.read("samples").to_pylist()
    said = [sample[it] for it in ("size", "population", "checkpoint", "number")]
    assert said == [2, 2, 6, "4711"]
    assert sorted(sample["processes"]) == ["prc_1", "prc_2"]


def test_a_package_of_a_sample_is_made_again_after_a_reload_with_the_same_processes(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        days = [f"{before(days=it):%Y-%m-%d}" for it in (20, 1)]
        app = visit("evidence", list="sample", as_of=None, days=days)
        app.number_input(key="sample_size").set_value(1)
        app.text_input(key="sample_number").set_value("4711")
        app.text_area(key="reason").set_value("a sample")
        app.text_input(key="actor").set_value("Ana")
        press(app, "Draw and make the package")
        assert app.query_params["drawn"] == "7"
        later = visit("evidence", list="sample", as_of=None)
        assert "number 4711 · Ana" in page_text(later)
        press(later, "Package of entry 7")
        assert later.query_params["drawn"] == "7"
        assert "1 of 2 processes of the period were drawn" in page_text(later)
        later.text_area(key="reason").set_value("lost the file")
        later.text_input(key="actor").set_value("Bia")
        press(later, "Make the package of entry 7 again")
        assert "The package is ready" in page_text(later)
        rows = service.reader.read("samples").to_pylist()
        press(later, "Draw another sample")
        assert "drawn" not in later.query_params
        text = page_text(later)
        offered = [it.label for it in later.button if it.label.startswith("Package of entry")]
    assert "number 4711 · Bia · the package of an earlier drawing, made again" in text
    assert offered == ["Package of entry 7"], "what was made again is not one more drawing"
    assert [row["is_repeated"] for row in rows] == [True, False]
    again, first = rows
    same = ("processes", "size", "population", "checkpoint", "number", "since", "until")
    assert [again[it] for it in same] == [first[it] for it in same]
    assert (again["actor"], again["reason"]) == ("Bia", "lost the file")


def test_a_page_is_not_drawn_while_its_reader_acts(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was clicked or left while a sample was drawn showed a page without that sample,
    which stayed."""
    order: list[str] = []

    class Turn:
        def acquire(self, *, timeout: float) -> bool:
            assert timeout == 1.0, "a page that waits for longer shows nothing"
            order.append("the act has ended")
            return True

        def release(self) -> None:
            pass

        def locked(self) -> bool:
            return False

    with open_log(HISTORY):
        app = visit("evidence")
        app.session_state["presses"].turn = Turn()
        begin = views.begin
        monkeypatch.setattr(views, "begin", lambda: (order.append("drawn"), begin()))
        app.run()
    assert order == ["the act has ended", "drawn"]


def test_a_page_does_not_wait_for_an_act_that_takes_long(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While hundreds of submissions were sent, nothing that was clicked had an answer."""
    monkeypatch.setattr(acting, "MOMENT_SECONDS", 0.0)
    goes_on = "What you pressed is still going on."
    with open_log(HISTORY):
        app = visit("evidence")
        with app.session_state["presses"].turn:
            assert goes_on in page_text(app.run())
        assert goes_on not in page_text(app.run())


def test_a_page_is_drawn_where_a_long_act_ends_while_it_is_asked_how_far_it_is(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "MOMENT_SECONDS", 0.0)
    seen = iter([None, (3, 10)])  # by the wait for it, and by what says it: then it has ended

    class Presses(acting._Presses):
        progress = property(lambda _self: next(seen, None))

    with open_log(HISTORY):
        app = visit("evidence")
        presses = app.session_state["presses"]
        presses.__class__ = Presses
        with presses.turn:
            assert "Done: 3 of 10." in page_text(app.run())


def test_a_page_says_how_far_a_long_act_is_and_a_press_does_not_wait_for_its_end(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its body stayed empty, and a second press waited until all was sent."""
    with open_log(HISTORY) as service:
        app = visit("evidence", list="sample", as_of=None)
        presses, size = app.session_state["presses"], service.inbox.last()[0]
        with presses.turn:
            presses.progress = (3, 10)
            assert "Done: 3 of 10. What you pressed is still going on." in page_text(app.run())
            monkeypatch.setattr(acting, "PATIENCE_SECONDS", 0.0)
            press(app, "Draw and make the package")
            refused = "Nothing was recorded: what you pressed before is still going on."
            assert refused in page_text(app)
        assert service.inbox.last()[0] == size
