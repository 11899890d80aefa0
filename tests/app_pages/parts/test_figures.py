"""Each figure of a page leads to the rows that it counts, or of which it is a share."""

from urllib.parse import parse_qs

from streamlit.testing.v1 import AppTest

from pipeline import instants
from pipeline.language import codes
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import (
    AS_OF,
    attempt,
    before,
    collected,
    review,
    seller_event,
)
from tests.app_pages.support.reading import links, metrics, page_text, press

# prc_late failed and was given up; prc_soon failed a minute ago and is to be sent again.
HISTORY = [
    seller_event("sel_ana", "created", before(days=100)),
    *(review(f"prc_{name}", before(days=20)) for name in ("good", "late", "soon")),
    collected("prc_soon", "invited", before(days=19)),
    collected("prc_soon", "answered", before(days=19)),
    *attempt("prc_good", before(days=9), status=200),
    *attempt("prc_late", before(days=8), status=500),
    *attempt("prc_soon", before(seconds=60), status=500),
    *(
        seller_event(
            f"sel_{days}", "denied", before(days=days), retry=retry, taxpayer=f"{days:011}"
        )
        for days, retry in ((2, True), (5, False), (40, True))
    ),
    seller_event("sel_ana", "denied", before(days=90), retry=False),
]

FAILURES = [code for code in codes.OUTCOMES if code not in ("accepted", "in_flight", "refused")]


OF_NO_FIGURE = "View what is held, and who saw it"


def leads(app: AppTest) -> list[dict[str, list[str]]]:
    """What stands in the URL behind each figure that leads anywhere, in their order."""
    leading = [it for it in links(app) if it[0].startswith("View ") and it[0] != OF_NO_FIGURE]
    return [parse_qs(query) for _, query in leading]


def pressed(visit: Visit, page: str) -> list[AppTest]:
    """The page once the button below each of its figures was pressed."""
    found = [visit(page)]
    shows = [it for it in found[0].button if it.label.startswith("View ")]
    found += [visit(page) for _ in shows[1:]]
    return [
        [it for it in app.button if it.label.startswith("View ")][number].click().run()
        for number, app in enumerate(found)
    ]


def test_figures_of_submissions_lead_to_their_attempts(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        figures = metrics(visit("submissions"))
        every = pressed(visit, "submissions")
        failures = visit("submissions", outcome=FAILURES)
    assert figures["Waiting for a retry"][0] == figures["Given up"][0] == "1"
    listed = [list(app.dataframe[0].value["process_id"]) for app in (*every, failures)]
    assert listed == [
        ["prc_soon", "prc_late", "prc_good"],
        ["prc_soon", "prc_late"],
        ["prc_soon"],
        ["prc_late"],
        ["prc_soon", "prc_late"],
    ]
    assert "Attempts that wait for a retry." in page_text(every[2])


def test_a_figure_of_nothing_leads_nowhere(open_log: OpenLog, visit: Visit) -> None:
    """A link below a zero ended at an empty list, on some pages and not on others. One attempt
    was accepted at once, and one seller was denied ten days ago, with no chance."""
    history = [
        seller_event("sel_bia", "denied", before(days=10), retry=False),
        review("prc_good", before(days=20)),
        *attempt("prc_good", before(days=9), status=200),
    ]
    with open_log(history):
        overview, seller = visit(), visit("seller", seller_id="sel_ana")
        buttons = {
            page: [it.key for it in visit(page).button if it.label.startswith("View ")]
            for page in ("submissions", "denials")
        }
    assert [(row[0], row[1][0]) for row in list(metrics(overview).items())[:4]] == [
        ("EXPIRED · late", "0"),
        ("OVERDUE · in time", "0"),
        ("Due in 7 days", "0"),
        ("Denial rate", "–"),
    ]
    assert leads(overview) == []
    figures = metrics(seller)
    assert (figures["Open processes"][0], figures["Denials"][0]) == ("0", "0")
    assert leads(seller) == []
    assert buttons == {"submissions": ["rows [('place', '1')]"], "denials": ["rows []"]}


def test_the_overviews_denial_rate_leads_to_the_denials_that_it_counts(
    open_log: OpenLog, visit: Visit
) -> None:
    """Those of the last 7 days, as the same figure of Denials does; it led to all."""
    with open_log(HISTORY):
        app = visit()
        [query] = [query for query in leads(app) if "ends" in query]
        listed = visit("denials", **query).dataframe[0].value["seller_id"]
        of_denials = pressed(visit, "denials")[0].dataframe[0].value["seller_id"]
    assert list(listed) == list(of_denials) == ["sel_2", "sel_5"]


def test_figures_of_denials_lead_to_their_denials(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        every = pressed(visit, "denials")
    listed = [list(app.dataframe[0].value["seller_id"]) for app in every]
    assert listed == [
        ["sel_2", "sel_5"],
        ["sel_2", "sel_5", "sel_40", "sel_ana"],
        ["sel_2", "sel_40"],
    ]


def test_figures_of_a_seller_lead_to_its_own_rows(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("seller", seller_id="sel_ana")
        processes, denials = leads(app)
        listed = visit("watchlist", **processes).dataframe[0].value["process_id"]
        denied = visit("denials", **denials).dataframe[0].value["seller_id"]
    assert metrics(app)["Open processes"][0] == "2"
    assert sorted(listed) == ["prc_late", "prc_soon"]
    assert list(denied) == ["sel_ana"]


def test_figures_of_a_process_lead_to_its_collections_and_attempts(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        answer, attempts = leads(visit("process", process="prc_soon"))
        collections = visit("evidence", **answer).dataframe[0].value["process_id"]
        tried = visit("submissions", **attempts).dataframe[0].value["process_id"]
    assert list(collections) == ["prc_soon", "prc_soon"]
    assert list(tried) == ["prc_soon"]


def test_each_end_of_the_overviews_flow_leads_to_exactly_the_processes_that_it_counts(
    open_log: OpenLog, visit: Visit
) -> None:
    """It counts those opened in 90 days; the lists had all, or those of another time."""
    unknown = review("prc_unknown", before(days=40))
    unknown["body"]["payload"]["object"]["type"] = "ANOTHER"
    history = [
        unknown,
        review("prc_edge", before(days=90)),
        review("prc_old", before(days=100)),
        review("prc_expired", before(days=89)),
        review("prc_overdue", before(days=9)),
        review("prc_pending", before(days=9), kind="ACP"),
        *(review(f"prc_{it}", before(days=60)) for it in ("in_time", "in_time_too", "late")),
        *attempt("prc_in_time", before(days=50), status=200),
        *attempt("prc_in_time_too", before(days=49), status=200),
        *attempt("prc_late", before(days=5), status=200),
        review("prc_old_late", before(days=100)),
        *attempt("prc_old_late", before(days=5), status=200),
    ]
    with open_log(history) as service:
        flow = service.reader.read("review_flow", as_of=instants.parse(AS_OF)).to_pylist()
        led = {}
        for query in (parse_qs(it) for _, it in links(visit()) if "opened=" in it):
            app = visit("process", **query)
            [led[query["ends"][0]]] = [list(app.dataframe[0].value["process_id"])]
        press(app, "Open the process")
        assert app.query_params["process"] in ("prc_expired", ["prc_expired"])
    assert led == {
        "finished_in_time": ["prc_in_time", "prc_in_time_too"],
        "finished_late": ["prc_late"],
        "pending": ["prc_pending"],
        "overdue": ["prc_overdue"],
        "expired": ["prc_expired"],
    }
    counted: dict[str, int] = {}
    for row in flow:
        counted[row["ends_as"]] = counted.get(row["ends_as"], 0) + row["processes"]
    assert counted == {end: len(rows) for end, rows in led.items()}
