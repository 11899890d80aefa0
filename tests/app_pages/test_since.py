"""What changed since yesterday, since Friday or since the last visit, on the reader's wall."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from app_pages.desk import visits
from app_pages.language import moments
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, review, seller_event, text
from tests.app_pages.support.reading import page_text, plain

# AS_OF is Monday, 1 June 2026, 09:00 in São Paulo.
HISTORY = [
    review("prc_expired", before(days=30, hours=5)),
    review("prc_new", before(hours=30)),
    review("prc_older", before(days=5)),
    review("prc_done", before(days=20)),
    *attempt("prc_done", before(days=2), status=200),
    seller_event("sel_bia", "denied", before(hours=3), decision_reasons=[], retry=True),
]
SAO_PAULO = ZoneInfo("America/Sao_Paulo")


def shown(app) -> list[tuple[str, str]]:
    grid = app.dataframe[0].value
    changes = zip(grid["change"], grid["process_id"], strict=True)
    return [(change[0], process) for change, process in changes if change[0] != "Finding"]


def test_what_changed_since_yesterday_is_shown_first(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("since")
    # What expired stood below all that came later.
    assert shown(app) == [("EXPIRED · late", "prc_expired"), ("Denied", ""), ("New", "prc_new")]
    text = page_text(app)
    assert "From 31 May 2026, 00:00 to 1 Jun 2026, 09:00: what needs" in text
    assert "New (1)" in text
    assert "FINISHED · done (0)" in text
    # What the badge says stands in no heading once more.
    assert "Denied" not in [it.value for it in app.header]


def test_a_denial_stands_with_its_reasons(open_log: OpenLog, visit: Visit) -> None:
    """It said that somebody was denied, and not why. An id in a reason stays masked."""
    reasons = [
        {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
        {"reason": "REGISTRATION_INCONSISTENCY", "detail": "CPF 529.982.247-25"},
    ]
    denied = seller_event("sel_bia", "denied", before(hours=3), decision_reasons=reasons)
    with open_log([*HISTORY[:-1], denied]):
        app = visit("since", change="denied")
        plainly = visit("since", change="expired")
    [said] = app.dataframe[0].value["code"]
    [heading] = [plain(it.value) for it in app.header if "Document" in it.value]
    assert said == "Document: photo qualit…"  # as far as its column has room
    assert heading.startswith("Document: photo quality too low, Registration data: CPF ***25~")
    assert "529.982.247-25" not in heading
    assert [*plainly.dataframe[0].value["code"]] == [""]


def test_who_sees_to_a_process_stands_beside_what_changed(open_log: OpenLog, visit: Visit) -> None:
    """Whoever looked on Monday at what had expired had to look each process up in another list."""
    held = {
        "kind": "assignment",
        "occurred_at": text(before(hours=2)),
        "process_id": "prc_expired",
        "assignee": "Eva",
        "reason": "",
        "actor": "Bia",
    }
    with open_log([*HISTORY, held]):
        hers = visit("since", change="expired")
        nobodys = visit("since", change="opened")
    assert [*hers.dataframe[0].value["assignee"]] == ["Eva"]
    assert "Assigned to Eva" in page_text(hers)
    assert [*nobodys.dataframe[0].value["assignee"]] == [""]
    assert "Assigned to" not in page_text(nobodys)


def test_friday_goes_further_back_and_a_kind_is_a_click_away(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("since", since="friday")
        assert ("FINISHED · done", "prc_done") in shown(app)
        assert ("New", "prc_older") not in shown(app)
        app = visit("since", since="friday", change="finished")
        assert shown(app) == [("FINISHED · done", "prc_done")]
        assert sum("FINISHED · done" in it.value for it in app.markdown) == 1, "said twice"


def test_without_a_visit_before_it_is_the_last_day(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "last", lambda: None)  # Streamlit's runner has cookies of its own
    with open_log(HISTORY):
        app = visit("since", since="visit")
    assert "This browser knows of no visit before" in page_text(app)
    [change] = app.multiselect
    assert change.proto.placeholder == "EXPIRED 1 · Denied 1 · Finding 2", (
        "507 rows, and none said of what"
    )
    [begins] = [it for it in app.segmented_control if it.label == "Since"]
    # "First visit" stood there as long as a visit had not been over for long.
    assert begins.options[-1] == "Last 24 hours"
    assert shown(app) == [("EXPIRED · late", "prc_expired"), ("Denied", "")]


def test_whoever_was_here_before_sees_first_what_changed_since_they_left(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = datetime(2026, 5, 31, 23, tzinfo=UTC).replace(tzinfo=None)
    monkeypatch.setattr(visits, "last", lambda: left)
    with open_log(HISTORY):
        app = visit("since")
    since = app.segmented_control(key="since")
    assert (since.value, since.options[0]) == ("visit", "My last visit: 31 May 2026, 20:00")
    assert "From 31 May 2026, 20:00 to 1 Jun 2026, 09:00: what needs" in page_text(app)


def test_an_empty_period_says_so(open_log: OpenLog, visit: Visit) -> None:
    """It spoke of a filter to remove where none was chosen, and even in an empty log."""
    with open_log([review("prc_old", before(days=90))]):
        text = page_text(visit("since"))
        assert "Nothing has changed since then" in text
        assert "Choose an earlier beginning to see more." in text
        assert "Remove a filter" not in text
        assert "Remove a filter" in page_text(visit("since", change="denied"))


def test_an_empty_log_says_that_no_review_has_come(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        text = page_text(visit("since"))
    assert "No review has come yet" in text
    assert "Remove a filter" not in text


@pytest.mark.parametrize(
    ("now", "yesterday", "friday", "month"),
    [
        # A Monday morning; a Friday, whose last Friday is a week ago; a Saturday at 23:00 there.
        ("2026-06-01T12:00", "2026-06-01T02:59", "2026-05-30T02:59", "2026-06-01T02:59"),
        ("2026-06-05T12:00", "2026-06-05T02:59", "2026-05-30T02:59", "2026-06-01T02:59"),
        ("2026-06-07T02:00", "2026-06-06T02:59", "2026-06-06T02:59", "2026-06-01T02:59"),
    ],
)
def test_days_end_on_the_readers_wall(now: str, yesterday: str, friday: str, month: str) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC).replace(tzinfo=None)
    ends = [moments.end_of(name, at, SAO_PAULO) for name in ("yesterday", "friday", "month")]
    assert [it.isoformat()[:16] for it in ends] == [yesterday, friday, month]
    assert {(it.second, it.microsecond) for it in ends} == {(59, 999999)}
    assert moments.start_of("yesterday", at, SAO_PAULO).isoformat()[11:] == "03:00:00"


def test_the_header_leads_to_the_end_of_a_day_and_the_banner_back(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("ledger", as_of=None)
        app.button(key="as_of friday").click().run()
        assert app.query_params["as_of"].endswith("59.999999Z")
        assert "You are looking at" in page_text(app)
        app.button(key="now").click().run()
        assert "as_of" not in app.query_params
