"""An officer makes a link where they look, and submits what sellers have answered."""

import json
from pathlib import Path

from pipeline import instants
from pipeline.contract.body import parse_json
from pipeline.log.deliveries import delivery
from pipeline.log.entries import COLLECTION, SUBMISSION_STARTED
from pipeline.log.ndjson import read_line
from sandbox.server import Handle
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import page_text, press
from tests.support.marketplace import _sandbox, platform, way_to

__all__ = ["_sandbox", "platform"]

SELLERS_PAGE = "https://cadastro.loja.example"
OPEN = [review("prc_open", before(days=2), fields=["revenue"])]


def test_a_link_is_made_on_the_process_and_stands_in_the_message_to_the_seller(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(OPEN, journey_url=SELLERS_PAGE) as service:
        app = visit("process", as_of=None, process="prc_open")
        assert not any(SELLERS_PAGE in it.value for it in app.code)
        app.text_input(key="link_actor prc_open").set_value("Ana Lima")
        app.selectbox(key="link_channel prc_open").set_value("sms")
        press(app, "Record the invitation and make the link")
        [entry] = service.inbox.find(process_id="prc_open", kind=COLLECTION)
        [link] = [it.value for it in app.code if it.value.startswith(f"{SELLERS_PAGE}/j/")]
        messages = [it.value for it in app.code if "the payment platform asked" in it.value]
    said = parse_json(entry.body or b"")
    assert (said["step"], said["channel"], said["made_by"]) == ("invited", "sms", "Ana Lima")
    assert entry.recorded_by == "dashboard"
    assert [link in it for it in messages] == [True]


def test_without_a_page_for_sellers_there_is_no_button(open_log: OpenLog, visit: Visit) -> None:
    with open_log(OPEN):
        app = visit("process", as_of=None, process="prc_open")
    assert "link_form prc_open" not in {it.form_id for it in app.button}


def test_what_is_answered_is_checked_and_sent_from_submissions(
    open_log: OpenLog, visit: Visit, platform: Handle, tmp_path: Path
) -> None:
    named = way_to(platform, tmp_path).items()
    way = {name.removeprefix("PRAZO_").lower(): it for name, it in named}
    sellers = [platform.adopt_seller() for _ in range(2)]
    heard = len(platform.events)
    sent, held = (
        platform.require_review(seller, "ACI", requested_fields=("revenue",), days_ago=0.01)
        for seller in sellers
    )
    with open_log([], **way) as service:
        service.inbox.append(
            [
                delivery(event.body, occurred_at=instants.now(), recorded_by="webhook")
                for event in platform.events[heard:]
            ]
        )
        for process, seller, band in zip(
            (sent, held), sellers, ("1000_to_5000", "much"), strict=True
        ):
            line = {
                "kind": "collection",
                "occurred_at": instants.canonical(instants.now()),
                "process_id": process,
                "seller_id": seller,
                "journey_id": f"journey of {process}",
                "step": "answered",
                "channel": "in_app",
                "source": "seller",
                "fields": {"revenue": band, "type": "individual"},
            }
            service.inbox.append([read_line(json.dumps(line).encode(), recorded_by="test")])
        follow(service)
        app = visit("submissions", as_of=None)
        press(app, "Check all")
        checked = page_text(app)
        in_portuguese = visit("submissions", as_of=None, lang="pt")
        in_portuguese.button(key="ready_check").click().run()
        checked_in_portuguese = page_text(in_portuguese)
        app.checkbox(key=f"choose {held}").check().run()
        press(app, "Check 1 chosen")
        checked_one = page_text(app)
        app.checkbox(key=f"choose {held}").uncheck()
        app.checkbox(key=f"choose {sent}").check().run()
        of_others = page_text(app)
        assert not service.inbox.find(kind=SUBMISSION_STARTED)
        app.text_input(key="ready_actor").set_value("Ana Lima")
        press(app, "Send 1 chosen")
        [start] = service.inbox.find(kind=SUBMISSION_STARTED)
    assert "1 would be sent, 1 held." in checked
    assert "0 would be sent, 1 held." in checked_one
    assert "would be sent" not in of_others
    why = "the value is not in the form that the platform takes"
    assert f"{held}: revenue: {why}" in checked
    why = "o valor não está no formato que a plataforma aceita"
    assert f"{held}: revenue: {why}" in checked_in_portuguese
    assert (start.process_id, start.recorded_by) == (sent, "dashboard:Ana Lima")
    assert platform.process(sent)["status"] == "FINISHED"
    assert platform.process(held)["status"] == "OVERDUE"
