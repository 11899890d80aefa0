"""A process is chosen, taken on, given away and asked about, from the list where it stands."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app_pages.language import formats
from pipeline import instants
from pipeline.notices import texts
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review, seller_event
from tests.app_pages.support.reading import marked, metrics, page_text, press

HISTORY = [
    review("prc_late", before(days=40), seller="sel_bia"),
    review("prc_soon", before(days=26)),
    review("prc_later", before(days=20), seller="sel_caio", kind="ACI"),
    review("prc_pending", before(days=10), seller="sel_caio", kind="ACP"),
    seller_event("sel_ana", "enabled", before(days=90), last_name="Souza"),
]
ABSENT = """
[mail]
host = "localhost"
security = "none"
sender = "prazo@example.com"
[recipients.Ana]
email = "ana@example.com"
assigned_as = ["ana.souza"]
stand_in = "Bia"
away = [{ first = 2000-01-01, last = 2999-12-31 }]
[recipients.Bia]
email = "bia@example.com"
"""


@pytest.fixture
def absent(tmp_path: Path) -> Path:
    """Settings in which Ana is away and Bia stands in."""
    rules = tmp_path / "alerts.toml"
    rules.write_text(ABSENT)
    return rules


def listed(app) -> list[str]:
    return list(app.dataframe[0].value["process_id"])


def say_name(app, where: str, name: str) -> None:
    app.text_input(key=f"name {where}").set_value(name)
    [button] = [it for it in app.button if it.form_id == f"name form {where}"]
    button.click().run()
    assert not app.exception, app.exception


def test_the_chosen_row_is_in_the_url_and_a_link_opens_its_card(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("watchlist", row="prc_soon")
        elsewhere = visit("watchlist", row="prc_pending")
        unknown = visit("watchlist", row="prc_nobody")
    assert metrics(app)["Deadline"][0] == "4 days left"
    assert marked(app) == "0"
    assert metrics(elsewhere)["Deadline"][0] == "50 days left"
    assert "This list does not have prc_nobody, or not any more" in page_text(unknown)
    assert "Deadline" not in metrics(unknown)
    assert marked(unknown) == ""


def test_what_can_still_be_saved_comes_first_and_what_waits_stands_in_a_queue_of_its_own(
    open_log: OpenLog, visit: Visit
) -> None:
    """A case that came an hour ago, and whose seller was called at once, is not to be done now."""
    new = review("prc_new", before(hours=1), seller="sel_duda")
    called = {
        "kind": "seller_notice",
        "occurred_at": instants.canonical(instants.from_datetime(before(minutes=50))),
        "message_id": "n1",
        "process_id": "prc_new",
        "seller_id": "sel_duda",
        "channel": "phone",
        "outcome": "reached",
        "actor": "Ana",
    }
    with open_log([*HISTORY, new, called]):
        now, waiting = visit("watchlist"), visit("watchlist", queue="waiting_for_seller")
        everything = visit("watchlist", queue="all")
    assert listed(now) == ["prc_soon", "prc_later", "prc_pending", "prc_late"]
    assert "Act now: the next step is yours." in page_text(now)
    assert listed(waiting) == ["prc_new"]
    assert "Waiting for the seller: the seller was contacted, and has to answer." in page_text(
        waiting
    )
    assert len(listed(everything)) == 5
    assert now.segmented_control(key="queue").options == [
        "Act now (4)",
        "Expired, waiting (0)",
        "Waiting for the platform (0)",
        "Waiting for the seller (1)",
        "All (5)",
    ]


def test_all_rows_are_sorted_by_the_column_in_the_url(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert listed(visit("watchlist", sort="-deadline_at")) == [
            "prc_pending",
            "prc_later",
            "prc_soon",
            "prc_late",
        ]
        assert listed(visit("watchlist", sort="process_id")) == [
            "prc_late",
            "prc_later",
            "prc_pending",
            "prc_soon",
        ]
        assert listed(visit("watchlist", sort="no_such_column"))[0] == "prc_soon"


def test_a_deadline_is_asked_for_by_month_and_by_the_day_of_a_bar(
    open_log: OpenLog, visit: Visit
) -> None:
    """`prc_late` was due on 22 May, `prc_soon` on 5 June at noon UTC."""
    with open_log(HISTORY):
        month, last = (
            visit("watchlist", period="this_month"),
            visit("watchlist", period="last_month"),
        )
        day, other = visit("watchlist", day="2026-06-05"), visit("watchlist", day="2026-06-06")
        no_day = visit("watchlist", day="2026-06-31")
    assert listed(month) == ["prc_soon", "prc_later"]
    assert listed(last) == ["prc_late"]
    assert listed(day) == ["prc_soon"]
    assert "Due on 5 Jun 2026, a UTC day." in page_text(day)
    assert "No process matches these filters" in page_text(other)
    assert listed(no_day)[0] == "prc_soon"


def test_a_list_has_sellers_by_their_ids(open_log: OpenLog, visit: Visit) -> None:
    """Half of a column was masked names, and half the ids of those without one."""
    with open_log(HISTORY):
        names = list(visit("watchlist").dataframe[0].value["seller_name"])
    assert names == ["sel_ana", "sel_caio", "sel_caio", "sel_bia"]


def test_a_process_is_taken_with_one_click_and_is_mine_then(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        app = visit("watchlist", as_of=None, row="prc_soon", whose="mine")
        assert not app.dataframe
        say_name(app, "list", "Bia")
        assert "No process matches these filters" in page_text(app)
        app.segmented_control(key="whose").set_value("all").run()
        app.query_params["row"] = "prc_soon"
        app.run()
        press(app, "Assign to me")
        assert "Assigned to Bia" in page_text(app)
        app.segmented_control(key="whose").set_value("mine").run()
        assert listed(app) == ["prc_soon"]
        app.segmented_control(key="whose").set_value("unassigned").run()
        assert "prc_soon" not in listed(app)
        [entry] = service.reader.read("assignments").to_pylist()
    assert (entry["process_id"], entry["assignee"], entry["actor"]) == ("prc_soon", "Bia", "Bia")


def test_what_was_just_done_is_taken_back_by_an_entry(open_log: OpenLog, visit: Visit) -> None:
    """An assignment to the wrong person could not be undone."""
    with open_log(HISTORY) as service:

        def actions(kind: str) -> list[tuple[str | None, str | None]]:
            rows = service.reader.read("timeline", where={"kind": kind}).to_pylist()
            return [(it["actor"], it["reason"]) for it in rows]

        app = visit("watchlist", as_of=None, row="prc_soon")
        say_name(app, "header", "Bia")
        press(app, "Assign to me")
        assert "Assigned to Bia" in page_text(app)
        press(app, "Undo")
        assert "Undone." in page_text(app)
        assert "Assigned to Bia" not in page_text(app)
        assert "Undo" not in {button.label for button in app.button}
        [row] = service.reader.read("assignments").to_pylist()
        assert (row["assignee"], row["reason"]) == (None, "undone")

        app.text_area(key="note_text prc_soon").set_value("called the wrong shop")
        press(app, "Record the note")
        assert service.reader.count("notes") == 1
        press(app, "Undo")
        assert service.reader.count("notes") == 0
        assert len(actions("note")) == 2

        def ticket() -> tuple[str, str]:
            [row] = service.reader.read("tickets").to_pylist()
            return row["step"], row["number"]

        app.text_input(key="ticket_number prc_soon").set_value("T-1")
        press(app, "Record it as opened")
        assert ticket() == ("opened", "T-1")
        press(app, "Undo")
        assert ticket() == ("closed", "T-1")
        app.text_input(key="ticket_number prc_soon").set_value("T-2")
        press(app, "Record it as opened")
        press(app, "Record T-2 as closed")
        press(app, "Undo")
        assert ticket() == ("opened", "T-2")
        assert ("Bia", "undone") in actions("ticket")

        press(app, "Record the call or letter")
        assert "What came of the call is still missing." in page_text(app)
        app.segmented_control(key="contact_outcome prc_soon").set_value("reached")
        press(app, "Record the call or letter")
        press(app, "Undo")
        assert actions("retraction") == [("Bia", "undone")]
        [call] = service.reader.read("seller_notices").to_pylist()
        assert call["retracted_at"] is not None


def test_a_case_is_given_to_somebody_and_back_to_nobody_with_one_click(
    open_log: OpenLog, visit: Visit
) -> None:
    given = {
        "kind": "assignment",
        "occurred_at": instants.canonical(instants.from_datetime(before(days=1))),
        "process_id": "prc_soon",
        "assignee": "Ana",
        "actor": "Caio",
        "reason": "hers",
    }
    with open_log([*HISTORY, given]) as service:
        app = visit("watchlist", as_of=None, row="prc_later")
        say_name(app, "header", "Bia")
        press(app, "Assign to Ana")
        assert "Assigned to Ana" in page_text(app)
        press(app, "Unassign")
        assert "Assigned to Ana" not in page_text(app)
        assert "Unassign" not in {it.label for it in app.button if not it.disabled}
        assert "Assign to me" in {it.label for it in app.button if not it.disabled}
        app.selectbox(key="assignee prc_later").set_value("Unassigned")
        press(app, "Record the assignment")
        rows = service.reader.read("assignments").to_pylist()
    assert {it["process_id"]: it["assignee"] for it in rows} == {
        "prc_soon": "Ana",
        "prc_later": None,
    }


def test_who_stands_in_for_somebody_finds_their_processes_among_their_own(
    open_log: OpenLog, visit: Visit, absent: Path
) -> None:
    with open_log(HISTORY, alerts_file=absent):
        app = visit("watchlist", as_of=None, row="prc_soon")
        say_name(app, "header", "Ana@Example.com")  # as a login says it, in whatever letters
        press(app, "Assign to me")
        assert "is away; Bia stands in." in page_text(app)
        app = visit("watchlist", as_of=None, whose="mine")
        say_name(app, "list", "Bia")
        assert listed(app) == ["prc_soon"]


def test_a_case_is_given_to_each_person_under_one_name(
    open_log: OpenLog, visit: Visit, absent: Path
) -> None:
    """Ana could give a case to "ana", too, as if that were somebody else."""
    with open_log(HISTORY, alerts_file=absent):
        app = visit("watchlist", as_of=None, row="prc_soon")
        say_name(app, "header", "ana")
        assert app.selectbox(key="assignee prc_soon").options == ["Unassigned", "ana", "Bia"]


def test_nothing_can_be_done_in_the_past(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        then = visit("watchlist")
        now = visit("watchlist", as_of=None)
    forms = {"Record the note", "Record the call or letter", "Record it"}
    assert forms <= {button.label for button in now.button}
    assert forms.isdisjoint(button.label for button in then.button)


def test_a_seller_is_reminded_in_their_language_of_what_is_still_needed(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        visit("watchlist")
        missing = ["revenue", "address.city", "address.state", "owner.revenue"]
        at = instants.from_datetime(datetime(2026, 6, 5, 2, tzinfo=UTC))
        asked = texts.Asked("ACP", at, is_late=False, missing=missing)
        english = texts.to_copy(asked, "en", formats.zone())
        at = instants.from_datetime(datetime(2026, 5, 5, 12, tzinfo=UTC))
        asked = texts.Asked("ACP", at, is_late=True, missing=["revenue", "company.size"])
        portuguese = texts.to_copy(asked, "pt-BR", formats.zone())
    # 02:00 UTC is still the day before in São Paulo; a day alone would promise the rest of it.
    assert "up to date by 4 June 2026, 23:00 (Brasilia Time). We" in english
    fields = "your revenue, your address (City, State) and the owner's revenue"
    assert f"We still need: {fields}." in english
    assert "It takes a few minutes: [link]" in english
    assert (
        "até 5 de maio de 2026, 09h00 (horário de Brasília), e esse prazo já passou" in portuguese
    )
    assert "seu faturamento e os dados que o formulário pede." in portuguese
