"""An officer makes a link where they look, and submits what sellers have answered."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from streamlit.testing.v1.element_tree import Block

from app_pages.parts import views
from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.contract.body import parse_json
from pipeline.errors import InboxUnavailable
from pipeline.journey import links
from pipeline.log.deliveries import delivery
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.ndjson import read_line
from sandbox.server import Handle
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import before, collected, review
from tests.app_pages.support.reading import links as page_links
from tests.app_pages.support.reading import page_text, press, unfold
from tests.support.marketplace import way_to

SELLERS_PAGE = "https://cadastro.loja.example"
SEND_ONE = "Send 1 review: cannot be undone"
OPEN = [review("prc_open", before(days=2), fields=["revenue"])]


def test_a_link_is_made_on_the_process_and_stands_in_the_message_to_the_seller(
    open_log: OpenLog, visit: Visit
) -> None:
    """The seller's e-mail address stayed in the form, for anyone who sat there next."""
    with open_log(OPEN, journey_url=SELLERS_PAGE) as service:
        app = visit("process", as_of=None, process="prc_open")
        assert not any(SELLERS_PAGE in it.value for it in app.code)
        app.text_input(key="link_actor prc_open").set_value("Ana Lima")
        app.selectbox(key="link_channel prc_open").set_value("sms")
        app.text_input(key="link_email prc_open").set_value("maria@loja.example")
        press(app, "Record the invitation and make the link")
        assert app.text_input(key="link_email prc_open").value == ""
        unfold(app, "message prc_open")
        [entry] = service.inbox.find(process_id="prc_open", kind=COLLECTION)
        [link] = [it.value for it in app.code if it.value.startswith(f"{SELLERS_PAGE}/j/")]
        unfold(app, "message prc_open")
        messages = [it.value for it in app.code if "the payment platform asked" in it.value]
    said = parse_json(entry.body or b"")
    assert (said["step"], said["channel"], said["made_by"]) == ("invited", "sms", "Ana Lima")
    assert entry.recorded_by == "dashboard"
    assert [link in it for it in messages] == [True]


def test_a_link_that_no_longer_works_stands_in_no_message(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood there as long as the officer's tab was open: the seller whom they reminded was sent
    to a page that says that the link does not work."""
    with open_log(OPEN, journey_url=SELLERS_PAGE) as service:
        app = visit("process", as_of=None, process="prc_open")
        app.text_input(key="link_actor prc_open").set_value("Ana Lima")
        press(app, "Record the invitation and make the link")
        unfold(app, "message prc_open")
        assert any(SELLERS_PAGE in it.value for it in app.code)
        with monkeypatch.context() as away:
            away.setattr(links, "by_token", Mock(side_effect=InboxUnavailable("it is away")))
            app.run()
        assert not app.exception
        assert not any(SELLERS_PAGE in it.value for it in app.code)
        app.run()
        assert any(SELLERS_PAGE in it.value for it in app.code)
        assert links.revoke(service.inbox, process_id="prc_open") == 1
        app.run()
        assert not any(SELLERS_PAGE in it.value for it in app.code)
        unfold(app, "message prc_open")
        [message] = [it.value for it in app.code if "the payment platform asked" in it.value]
    assert "[link]" in message


def test_without_a_page_for_sellers_there_is_no_button(open_log: OpenLog, visit: Visit) -> None:
    with open_log(OPEN):
        app = visit("process", as_of=None, process="prc_open")
    assert "link_form prc_open" not in {it.form_id for it in app.button}


Answered = Callable[..., str]


@pytest.fixture
def answered(platform: Handle) -> Answered:
    """`answered(service)`: the id of a new review of the revenue, which its seller has answered."""

    def asked(service: LedgerService, band: str = "1000_to_5000") -> str:
        seller, heard = platform.adopt_seller(), len(platform.events)
        process = platform.require_review(
            seller, "ACI", requested_fields=("revenue",), days_ago=0.01
        )
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
        events = [
            delivery(event.body, occurred_at=instants.now(), recorded_by="webhook")
            for event in platform.events[heard:]
        ]
        answer = read_line(json.dumps(line).encode(), recorded_by="test")
        service.inbox.append([*events, answer])
        follow(service)
        return process

    return asked


@pytest.fixture
def way(platform: Handle, tmp_path: Path) -> dict[str, str]:
    """The settings by which the platform is reached."""
    named = way_to(platform, tmp_path).items()
    return {name.removeprefix("PRAZO_").lower(): it for name, it in named}


def test_what_is_answered_is_checked_and_sent_from_submissions(
    open_log: OpenLog, visit: Visit, platform: Handle, answered: Answered, way: dict[str, str]
) -> None:
    with open_log([], **way) as service:
        sent, held = answered(service), answered(service, "much")
        app = visit("submissions", as_of=None, list="ready")
        press(app, "Validate all (2): sends nothing")
        checked = page_text(app)
        in_portuguese = visit("submissions", as_of=None, list="ready", lang="pt")
        press(in_portuguese, "Simular envio de todas (2)")
        on_their_own_pages = [visit("process", as_of=None, process=it) for it in (sent, held)]
        checked_in_portuguese = page_text(in_portuguese)
        # Its label is for screen readers alone, which read backslashes aloud.
        assert app.checkbox(key=f"choose {held}").label == f"Choose {held}"
        app.checkbox(key=f"choose {held}").check().run()
        press(app, "Validate 1 chosen: sends nothing")
        checked_one = page_text(app)
        app.checkbox(key=f"choose {held}").uncheck()
        app.checkbox(key=f"choose {sent}").check().run()
        of_others = page_text(app)
        press(app, SEND_ONE)
        assert "A name is needed" in page_text(app)
        assert not service.inbox.find(kind=SUBMISSION_STARTED)
        app.text_input(key="ready_actor").set_value("Ana Lima")
        press(app, SEND_ONE)
        # Of what had been sent, and how that had ended, it said nothing.
        assert "1 attempt was sent: Accepted (1)." in page_text(app)
        [start] = service.inbox.find(kind=SUBMISSION_STARTED)
    assert "1 would be sent, 1 held." in checked
    assert "0 would be sent, 1 held." in checked_one
    assert "would be sent" not in of_others
    why = "the value is not in the form that the platform takes"
    assert f"{held}: revenue: {why}" in checked
    # There it said "Submit the answers", and anyone who looked did not know why nothing was sent.
    of_sent, of_held = map(page_text, on_their_own_pages)
    assert "Held back" not in of_sent
    assert "Held back: our own rules would not send these answers" in of_held
    assert f"revenue: {why}" in of_held
    why = "o valor não está no formato que a plataforma aceita"
    assert f"{held}: revenue: {why}" in checked_in_portuguese
    assert (start.process_id, start.recorded_by) == (sent, "dashboard:Ana Lima")
    assert platform.process(sent)["status"] == "FINISHED"
    assert platform.process(held)["status"] == "OVERDUE"


def test_where_not_all_could_be_sent_the_page_says_how_the_others_ended(
    open_log: OpenLog, visit: Visit, platform: Handle, answered: Answered, way: dict[str, str]
) -> None:
    """It named the error, and nothing of what the platform had taken."""
    with open_log([], **way) as service:
        sent, refused = answered(service), answered(service)
        platform.add_fault(kind="slow", seconds=0.5, process_id=sent)
        service.inbox.execute(
            "create trigger full before insert on leases"
            f" when new.name = 'submission {refused}'"
            " begin select raise(abort, 'database or disk is full'); end"
        )
        app = visit("submissions", as_of=None, list="ready")
        press(app, "Validate all (2): sends nothing")
        app.text_input(key="ready_actor").set_value("Ana Lima")
        assert "The answers of 2 reviews go to the platform, of " in page_text(app)
        press(app, "Send 2 reviews: cannot be undone")
        shown = page_text(app)
        assert sent_by(service) == {sent: "Ana Lima"}
    assert "database or disk is full" in shown
    assert "not sent." not in shown, "what was looked at before says nothing of this"
    assert "1 attempt was sent: Accepted (1)." in shown
    assert platform.process(sent)["status"] == "FINISHED"


def sent_by(service: LedgerService) -> dict[str, str]:
    """Process -> who has sent it."""
    starts = service.inbox.find(kind=SUBMISSION_STARTED)
    return {it.process_id or "": it.recorded_by.partition(":")[2] for it in starts}


def test_what_is_sent_is_what_was_chosen_or_there_when_it_was_pressed_and_not_sent_since(
    open_log: OpenLog, visit: Visit, answered: Answered, way: dict[str, str]
) -> None:
    """It sent every process that was ready: nothing that was chosen was left in the list, and
    nothing chosen meant all. The page says what has left the list: its buttons stand for all that
    is left then."""
    with open_log([], **way) as service:
        chosen, other = answered(service), answered(service)
        rita, otto, eva = (visit("submissions", as_of=None, list="ready") for _ in range(3))
        for app, name in ((rita, "Rita"), (otto, "Otto"), (eva, "Eva")):
            app.text_input(key="ready_actor").set_value(name)
            app.checkbox(key=f"choose {chosen}").check().run()
        press(otto, SEND_ONE)
        assert "not ready any more" not in page_text(otto)
        follow(service)
        views.forget_answers()
        eva.run()
        assert f"Chosen before, and not ready any more: {chosen}." in page_text(eva)

        press(rita, SEND_ONE)
        shown = page_text(rita)
        assert sent_by(service) == {chosen: "Otto"}
        assert f"Not ready any more, and so left alone: {chosen}." in shown
        assert SEND_ONE in shown
        assert "attempt was sent: " not in shown
        # It was said for ten seconds, or not at all where nothing was left to send.
        assert f"1 attempt was sent: Accepted (1). {chosen}" in page_text(otto.run())
        press(otto, "Validate all (1): sends nothing")
        assert "attempt was sent: " not in page_text(otto)
        press(rita, "Validate all (1): sends nothing")
        assert "1 would be sent, 0 held." in page_text(rita)
        came_since = answered(service)
        press(rita, SEND_ONE)
        assert sent_by(service) == {chosen: "Otto", other: "Rita"}
        assert f"choose {came_since}" in [it.key for it in rita.checkbox]


def test_before_it_is_sent_the_page_says_what_nobody_knows_and_masks_what_looks_personal(
    open_log: OpenLog, visit: Visit, way: dict[str, str]
) -> None:
    """Of the seller's type it said that the seller had not answered it, which nobody had asked."""
    unknown = review("prc_unknown", before(days=4))
    unknown["body"]["payload"]["object"]["type"] = "ANOTHER"
    cpf = "529.982.247-25"
    fields = {"revenue": "1000_to_5000"}
    known, wrong = {**fields, "type": "individual"}, {"revenue": "much", "type": "individual"}
    history = [
        unknown,
        review("prc_nobody", before(days=4), seller="sel_bia"),
        collected("prc_nobody", "answered", before(days=3), fields=fields, seller="sel_bia"),
        collected("prc_unknown", "answered", before(days=3), fields=known),
        review(cpf, before(days=2), seller="sel_caio", fields=["revenue"]),
        collected(cpf, "answered", before(days=1), seller="sel_caio", fields=wrong),
    ]
    with open_log(history, **way):
        app = visit("submissions", as_of=None, list="ready")
        press(app, "Validate all (2): sends nothing")
        shown = page_text(app)
        to_ask = [it for it in page_links(app) if it[0] == "Ask sel_bia"]
        keys = [it.key for kind in ("button", "checkbox") for it in app.get(kind)]
        blocks = [str(it.proto) for it in _blocks(app._tree)]
        card = page_text(visit("watchlist", as_of=None, row="prc_unknown"))
        process = page_text(visit("process", as_of=None, process="prc_unknown"))
    assert shown.count("type of review unknown") == 1
    assert "1 would be sent, 1 held." in shown
    # It counted among those that all would be sent, and nothing could be pressed to find it out.
    assert "Answered, but of an unknown type of seller (1)" in shown
    assert to_ask == [("Ask sel_bia", "row=sel_bia")]
    assert "it is answered like an inconsistency (ACI)" in card
    assert "it is answered like an inconsistency (ACI)" in process
    assert "revenue: the value is not in the form" in shown
    assert cpf not in shown
    assert any("ready_***25~" in it for it in blocks)
    assert not [it for it in (*keys, *blocks) if cpf in (it or "")]


def test_a_review_that_names_no_seller_is_listed_without_a_way_to_ask(
    open_log: OpenLog, visit: Visit, way: dict[str, str]
) -> None:
    """Answered in full and of an unknown type of seller, it took the page down for everybody."""
    nobodys = review("prc_nobody", before(days=4))
    del nobodys["body"]["payload"]["object"]["customer_id"]
    given = collected("prc_nobody", "answered", before(days=3), fields={"revenue": "1000_to_5000"})
    known = {"revenue": "1000_to_5000", "type": "individual"}
    ready = [
        review("prc_1", before(days=2)),
        collected("prc_1", "answered", before(days=1), fields=known),
    ]
    with open_log([nobodys, given, *ready], **way):
        app = visit("submissions", as_of=None, list="ready")
        shown = page_text(app)
        links = [label for label, _where in page_links(app)]
    assert "Answered, but of an unknown type of seller (1)" in shown
    assert not [it for it in links if it.startswith("Ask ")]


def _blocks(block: Block) -> Iterator[Block]:
    for inner in block.children.values():
        if isinstance(inner, Block):
            yield inner
            yield from _blocks(inner)
