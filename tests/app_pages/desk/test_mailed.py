"""A list of the Watchlist is sent by mail at set times, once somebody has asked for that."""

from pathlib import Path

from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import page_text, press, table

HISTORY = [review("prc_late", before(days=40))]
FILE = """
[mail]
host = "localhost"
sender = "prazo@market.example"

[recipients.ana]
email = "ana@market.example"

[recipients.desk]
webhook = "https://desk.market.example/prazo"
webhook_secret_file = "secret"

[reports.monday]
to = ["ana"]
at = "08:00"
"""


def test_a_list_is_scheduled_and_ended_by_entries(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(FILE)
    with open_log(HISTORY, alerts_file=file) as service:
        app = visit("watchlist", as_of=None, queue="expired", compare="friday")
        assert app.selectbox(key="report_to").options == ["ana"]  # a webhook takes no reports
        # "To" is the end of a period elsewhere, and in Portuguese another word.
        assert app.selectbox(key="report_to").label == "Recipient"
        app.text_input(key="report_name").set_value("late ones")
        app.selectbox(key="report_days").set_value("weekly")
        app.selectbox(key="report_weekday").set_value("fri")
        press(app, "Schedule it")
        assert "A name is needed: it goes into the log." in page_text(app)
        assert app.text_input(key="report_name").value == "late ones"
        app.text_input(key="report_actor").set_value("Bia")
        press(app, "Schedule it")
        assert "Recorded for late ones." in page_text(app)
        [row] = service.reader.read("report_subscriptions").to_pylist()
        said = [row[it] for it in ("report_name", "recipient", "filters", "days", "at", "actor")]
        assert said == ["late ones", "ana", "queue=expired", "weekly", "08:00", "Bia"]
        app = visit("alerts", as_of=None)
        listed = table(app, "Report")
        assert [it for it in listed if it[0] != "monday"] == [
            ["late ones", "queue=expired", "every week (Friday), 08:00", "ana"]
        ]
        press(app, "It is not sent any more")
        assert "A name is needed" in page_text(app)
        app.text_input(key="report_ender").set_value("Bia")
        press(app, "It is not sent any more")
        assert "Not sent any more: late ones." in page_text(app)
        assert "late ones" not in page_text(visit("alerts", as_of=None))


REFUSED: tuple[tuple[str, dict[str, str], str], ...] = (
    ("monday", {}, "the settings have one under this name"),
    ("of 529.982.247-25", {}, "its name looks like a tax id or an e-mail address"),
    ("a seller's", {"seller": "52998224725"}, "seller: this looks like a tax id"),
    ("a day's", {"day": "2026-03-02"}, "'day' is not a filter"),
)


def test_what_would_never_be_sent_or_would_name_a_person_is_refused(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(FILE)
    with open_log(HISTORY, alerts_file=file) as service:
        for name, filters, why in REFUSED:
            app = visit("watchlist", as_of=None, **filters)
            app.text_input(key="report_name").set_value(name)
            app.text_input(key="report_actor").set_value("Bia")
            press(app, "Schedule it")
            assert why in page_text(app), name
        assert service.inbox.find(kind="report") == []


def test_where_nobody_gets_mail_there_is_no_form(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("watchlist", as_of=None)
    assert "Schedule it" not in {it.label for it in app.button}
