"""The sellers page: one row a seller, what can be saved first, and how they were notified."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.desk import asking
from app_pages.parts import lists, views
from pipeline.continuity.service import LedgerService
from pipeline.log.ndjson import read_line
from pipeline.notices import batches, started
from pipeline.notices.sellers import REFUSALS, Seller, Sellers
from pipeline.notices.sending import Done, Sending
from tests.alert.sinks import WebhookServer
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.desk.test_casework import say_name
from tests.app_pages.desk.test_many import tick
from tests.app_pages.support.occurrences import (
    Occurrence,
    before,
    collected,
    review,
    seller_event,
    text,
)
from tests.app_pages.support.reading import links, page_text, plain, press, unfold

HISTORY = [
    review("prc_gone", before(days=50), seller="sel_ana"),
    review("prc_soon", before(days=26), seller="sel_ana"),
    review("prc_near", before(days=28), seller="sel_bia"),
    review("prc_lost", before(days=60), seller="sel_caio"),
    review("prc_done", before(days=5), seller="sel_dora", status="FINISHED"),
    seller_event(
        "sel_ana",
        "enabled",
        before(days=90),
        first_name="Ana",
        last_name="Neves",
        current_balance=1234.5,
    ),
    seller_event("sel_ana", "disabled", before(days=19), first_name="Ana", last_name="Neves"),
    {
        "kind": "seller_notice",
        "occurred_at": text(before(days=2)),
        "message_id": "n1",
        "process_id": "prc_near",
        "channel": "email",
    },
    {
        "kind": "seller_notice_result",
        "occurred_at": text(before(days=2)),
        "message_id": "n1",
        "result": "accepted",
    },
]


@pytest.fixture(autouse=True)
def _a_press_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a busy machine takes."""
    monkeypatch.setattr(asking, "PATIENCE", 60)


def listed(app) -> list[str]:
    return list(app.dataframe[0].value["seller_id"])


def reviews_on_card(app: AppTest) -> list[str]:
    return [label for label, query in links(app) if query.startswith("process=")]


def test_it_opens_on_what_can_still_be_saved_and_one_click_leads_to_the_worst(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("sellers")
        assert listed(app) == ["sel_bia", "sel_ana", "sel_caio"]
        assert list(app.dataframe[0].value["reviews"]) == [
            "1",
            "1 EXPIRED, 1 OVERDUE",
            "1",
        ]
        of_ana = app.dataframe[0].value.iloc[1]
        assert of_ana["current_balance"] == "R$1,234.50"
        assert of_ana["balance_at"] == before(days=90).replace(tzinfo=None)
        assert of_ana["expiry_disabled_at"] == before(days=19).replace(tzinfo=None)
        assert listed(visit("sellers", state="EXPIRED")) == ["sel_ana", "sel_caio"]
        assert listed(visit("sellers", first="severe")) == ["sel_caio", "sel_ana", "sel_bia"]
        # It began with what could still be saved, also of whom stood first by what had expired.
        assert reviews_on_card(visit("sellers", row="sel_ana")) == ["prc_soon", "prc_gone"]
        severe = visit("sellers", first="severe", row="sel_ana")
        assert reviews_on_card(severe) == ["prc_gone", "prc_soon"]
        assert listed(visit("sellers", state="OVERDUE")) == ["sel_bia"]


def test_it_is_filtered_by_whose_reviews_there_are_of_which_type_and_due_when(
    open_log: OpenLog, visit: Visit
) -> None:
    """A seller is listed by one review that fits: Ana's other one is nobody's."""
    history = [
        *HISTORY,
        review("prc_year", before(days=10), seller="sel_bia", kind="ACP"),
        *(
            {
                "kind": "assignment",
                "occurred_at": text(before(days=1)),
                "process_id": process,
                "assignee": assignee,
                "actor": "Bia",
            }
            for process, assignee in (
                ("prc_soon", "Bia"),
                ("prc_near", "Bianca"),
                ("prc_year", "Bianca"),
            )
        ),
    ]
    with open_log(history):
        assert listed(visit("sellers", type="ACP")) == ["sel_bia"]
        assert listed(visit("sellers", type="ACI")) == ["sel_bia", "sel_ana", "sel_caio"]
        assert listed(visit("sellers", whose="unassigned")) == ["sel_ana", "sel_caio"]
        assert listed(visit("sellers", period="this_week")) == ["sel_bia", "sel_ana"]
        app = visit("sellers", whose="mine")
        assert not app.dataframe
        say_name(app, "list", "Bia")
        assert listed(app) == ["sel_ana"]
        nobodys = visit("sellers", whose="mine")
        say_name(nobodys, "list", "Zoe")
        assert "No seller matches these filters" in page_text(nobodys)


def test_a_row_opens_all_reviews_of_the_seller_and_what_was_sent(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        of_ana = page_text(visit("sellers", row="sel_ana"))
        of_bia = life_of(visit("sellers", row="sel_bia"))
    assert "2 open reviews" in of_ana
    for said in ("prc_gone", "prc_soon", "A*** N***"):
        assert said in of_ana
    assert "Neves" not in of_ana
    assert "Last contact: never" in of_ana
    sent_at = "30 May 2026, 09:00"
    assert of_bia == {
        "Sent": f"{sent_at} · e-mail",
        "Accepted": sent_at,
        "Arrived": "unknown",
        "Opened": "unknown",
        "Answered": "not yet",
        "Confirmed": "not yet",
        "Finished": "not yet",
    }


def life_of(app: AppTest) -> dict[str, str]:
    """What the card says of the latest notice."""
    [table] = [it.value for it in app.table if "Answered" in it.value.index]
    return {name: plain(value) for name, value in table["value"].items()}


def said(result: str, hours: int, message: str = "n2") -> Occurrence:
    return {
        "kind": "seller_notice_result",
        "occurred_at": text(before(hours=hours)),
        "message_id": message,
        "result": result,
    }


def noticed(process_id: str, channel: str = "sms", **more: str) -> Occurrence:
    return {
        "kind": "seller_notice",
        "occurred_at": text(before(hours=20)),
        "message_id": "n2",
        "process_id": process_id,
        "channel": channel,
        **more,
    }


AT_MIDNIGHT, AT_ONE = "1 Jun 2026, 00:00", "1 Jun 2026, 01:00"
OF_TWO = [noticed("prc_gone"), noticed("prc_soon"), said("accepted", 19)]
OPENED = collected("prc_soon", "opened", before(hours=9), seller="sel_ana")


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (
            [
                *OF_TWO,
                said("delivered", 18),
                OPENED,
                collected("prc_soon", "answered", before(hours=8), seller="sel_ana"),
                collected("prc_gone", "answered", before(hours=30), seller="sel_ana"),
            ],
            [
                "31 May 2026, 14:00",
                "31 May 2026, 15:00",
                AT_MIDNIGHT,
                f"{AT_ONE} · 1 of 2",
                "not yet",
            ],
        ),
        (
            [*OF_TWO, OPENED],
            [
                "31 May 2026, 14:00",
                f"by {AT_MIDNIGHT} at the latest",
                AT_MIDNIGHT,
                "not yet",
                "not yet",
            ],
        ),
        (
            [*OF_TWO, said("bounced", 17)],
            [
                "31 May 2026, 14:00",
                "no, it came back: 31 May 2026, 16:00",
                "unknown",
                "not yet",
                "not yet",
            ],
        ),
        (
            [*OF_TWO[:2], said("failed", 17)],
            ["no, not sent: 31 May 2026, 16:00", "unknown", "unknown", "not yet", "not yet"],
        ),
        (
            [
                noticed("prc_soon", "phone", outcome="reached", promised_for="2026-04-02"),
                collected("prc_soon", "confirmed", before(hours=7), seller="sel_ana"),
            ],
            ["reached · promised for 2 Apr 2026", "not yet", "1 Jun 2026, 02:00"],
        ),
    ],
    ids=["delivered", "opened", "bounced", "failed", "call"],
)
def test_the_card_says_how_far_the_latest_notice_came_or_that_nobody_knows(
    open_log: OpenLog, visit: Visit, history: list[Occurrence], expected: list[str]
) -> None:
    """It said "accepted, arrival unknown", and of one notice no more."""
    with open_log([*HISTORY, *history]):
        sent, *rest, finished = life_of(visit("sellers", row="sel_ana")).values()
    assert sent.startswith("31 May 2026, 13:00 · ")
    assert (rest, finished) == (expected, "not yet")


def test_a_call_is_recorded_from_the_card(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("sellers", as_of=None, row="sel_caio")
        app.segmented_control(key="contact_outcome prc_lost").set_value("left_message")
        app.text_input(key="contact_actor prc_lost").set_value("Bia")
        press(app, "Record the call or letter")
        [row] = service.reader.read("seller_notices", where={"process_id": "prc_lost"}).to_pylist()
    assert (row["outcome"], row["actor"], row["contacted_at"]) == ("left_message", "Bia", None)


def notices_file(folder: Path, url: str) -> Path:
    secret = folder / "webhook-secret"
    secret.write_text(f"whsec_{base64.b64encode(b'x' * 24).decode()}\n")
    file = folder / "notices.toml"
    file.write_text(f'[channels.sms]\nurl = "{url}"\nsecret_file = "{secret}"\n')
    return file


def by_bridge(folder: Path, url: str) -> dict[str, Any]:
    """Settings with which messages to sellers go by a webhook."""
    return {
        "journey_url": "https://answer.market.example",
        "notices_file": notices_file(folder, url),
    }


def test_ticked_sellers_are_asked_again_and_what_came_of_it_is_shown(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    """Chasing eight sellers wrote eight entries, and sent nothing."""
    with (
        WebhookServer().running() as bridge,
        open_log(HISTORY, **by_bridge(tmp_path, bridge.url)) as service,
    ):
        app = visit("sellers", as_of=None)
        tick(app, 0, 1)
        press(app, "Send to 2 sellers: cannot be undone")
        assert "A name is needed: it goes into the log." in page_text(app)
        fields = [it for it in app.text_input if str(it.key).startswith("ask_actor")]
        fields[0].set_value("Bia")
        # A click in the list, which leaves its rows as they are, on its way with the press.
        app.session_state["a list was clicked savable_sellers"] = True
        press(app, "Send to 2 sellers: cannot be undone")
        said = page_text(app)
        contacts = list(app.dataframe[0].value["last_contact"])
        sent = [json.loads(it.body)["data"] for it in bridge.taken]
        rows = service.reader.read("seller_notices", where={"actor": "Bia"}).to_pylist()
    assert "Sent to 2 sellers." in said
    assert sorted(it["seller_id"] for it in sent) == ["sel_ana", "sel_bia"]
    assert all("answer.market.example" in it["text"] for it in sent)
    assert ["Bia" in it for it in contacts] == [True, True, False], "it said the contact before"
    assert sorted(it["process_id"] for it in rows) == ["prc_gone", "prc_near", "prc_soon"]
    assert all(it["accepted_at"] is not None for it in rows)


def test_ticks_stay_on_other_pages_and_in_another_order_until_a_filter_leaves_them_out(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that stood on two pages could not be asked together, and nothing said why."""
    monkeypatch.setattr(lists, "ROWS", 2)
    with open_log(HISTORY):
        app = visit("sellers", as_of=None, seller="sel_")
        tick(app, 0)
        first = listed(app)
        app.query_params["page"] = "2"
        app.run()
        tick(app, 0)
        assert first + listed(app) == ["sel_bia", "sel_ana", "sel_caio"]
        assert "Ask again (2)" in openers(app)
        app.query_params["first"] = "severe"
        app.run()
        assert "Ask again (2)" in openers(app)
        app.query_params["seller"] = "sel_caio"
        app.run()
        assert listed(app) == ["sel_caio"]
        assert "Ask again (1)" in openers(app)


def openers(app: AppTest) -> list[str]:
    return [it.proto.popover.label for it in app.get("popover")]


def test_all_that_a_list_has_are_asked_while_the_page_says_how_far_it_is_and_what_they_do(
    open_log: OpenLog, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE", 0.1)
    with WebhookServer().running() as bridge:
        bridge.gate.clear()
        with open_log(HISTORY, **by_bridge(tmp_path, bridge.url)) as service:
            app = visit("sellers", as_of=None, seller="sel_")
            app.text_input(key="name header").set_value("Bia")
            press(app, "That is me")
            looked_at = choice(app, "Preview for")
            assert looked_at.options == ["1. sel_bia", "2. sel_ana", "3. sel_caio"]
            looked_at.set_value(2)
            choice(app, "Template").set_value("reminder")
            choice(app, "Language of the message").set_value("en").run()
            asked = "we have asked you for registration data before"
            assert any(asked in code.value for code in app.code)
            press(app, "Send to 3 sellers: cannot be undone")
            # A word of its own beside the line stood there still when all was done.
            assert "Done: 0 of 3 · you can go on meanwhile" in page_text(app)
            # Who comes to match afterwards is not meant.
            add(service, review("prc_late", now(), seller="sel_eva"))
            app.switch_page("app_pages/pages/overview.py").run()
            app.switch_page("app_pages/pages/sellers.py").run()
            assert "Done: 0 of 3" in page_text(app)
            bridge.gate.set()
            batch = batches.latest(service.inbox, "Bia")
            assert batch is not None
            batch.wait(20)
            add(service, collected("prc_near", "opened", now(), seller="sel_bia"))
            add(service, collected("prc_near", "answered", now(), seller="sel_bia"))
            # What the platform asks of another of them meanwhile is not about the message.
            add(service, review("prc_new", now(), seller="sel_ana"))
            add(service, collected("prc_new", "answered", now(), seller="sel_ana"))
            [of_caio] = [it.message_id for it in batch.done if it.seller_id == "sel_caio"]
            add(service, said("bounced", 0, of_caio) | {"occurred_at": text(now())})
            follow(service)
            app.run()
            shown = page_text(app)
            press(app, "Hide")
            hidden = page_text(app)
    assert sorted(it.seller_id for it in batch.done) == ["sel_ana", "sel_bia", "sel_caio"]
    assert {json.loads(it.body)["data"]["language"] for it in bridge.taken} == {"en"}
    assert "Done: 3 of 3 · sent 3 · opened 1 · answered 1" in shown
    assert "Sent to 3 sellers." not in shown, "it was said twice"
    assert "1 bounced: sel_caio" in shown, "nobody knew whom to reach by another way"
    assert "sent 3" not in hidden


def test_before_it_is_sent_the_form_says_to_whom_nothing_goes_and_why(
    open_log: OpenLog, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Send to 3 sellers" sent one. Each of them was looked at three times for one form. The words
    shown first were those of the one to whom nothing went."""
    looked_at, look = list[str](), Sellers.look

    def noted(sellers: Sellers, seller_id: str) -> Seller:
        looked_at.append(seller_id)
        return look(sellers, seller_id)

    monkeypatch.setattr(Sellers, "look", noted)
    with (
        WebhookServer().running() as bridge,
        open_log(HISTORY, **by_bridge(tmp_path, bridge.url)) as service,
    ):
        started.hold(service.inbox, "sel_bia", is_held=True, actor="Ana", recorded_by="test")
        app = visit("sellers", as_of=None, seller="sel_", row="sel_ana")
        looked_at.clear()
        unfold(app, "ask 0")
        said, pressed = page_text(app), [it.label for it in app.button]
        assert choice(app, "Preview for").value == 1, "sel_ana"
    assert looked_at == ["sel_bia", "sel_ana", "sel_caio", "sel_ana"], "the card's own form, too"
    assert "Of these 3, nothing goes to 1:" in said
    assert said.count(REFUSALS["held"]) == 1
    assert "Send to 2 sellers: cannot be undone" in pressed
    assert "Send to sel_ana: cannot be undone" in pressed, "it names the seller of the card"


def test_nobody_is_written_to_who_was_not_counted(
    open_log: OpenLog, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list and its button said 34, and 35 were written to: one more had come meanwhile."""
    is_old, count, forget = [True], views.Facets.rows, views.forget_answers

    def forgotten() -> None:
        is_old.clear()
        forget()

    def counted(facets: views.Facets, **instead: Any) -> int:
        return count(facets, **instead) - len(is_old)

    monkeypatch.setattr(views.Facets, "rows", counted)
    with open_log(HISTORY, **by_bridge(tmp_path, "https://bridge.market.example")):
        said = page_text(visit("sellers", as_of=None, seller="sel_"))
        assert "2 sellers" in said
        assert "this is for the 3 sellers who are on it now." in said
        monkeypatch.setattr(views, "forget_answers", forgotten)
        app = visit("sellers", as_of=None, seller="sel_")
        said = page_text(app)
    assert "3 sellers" in said
    assert "The list changes" not in said
    assert "Send to 3 sellers: cannot be undone" in [it.label for it in app.button]


def test_where_nobody_can_be_written_to_nothing_can_be_sent(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    """A button offered to write to a seller whom the platform had deleted, and to nobody."""
    with open_log(HISTORY, **by_bridge(tmp_path, "https://bridge.market.example")) as service:
        for seller in ("sel_ana", "sel_bia", "sel_caio"):
            started.hold(service.inbox, seller, is_held=True, actor="Ana", recorded_by="test")
        add(service, seller_event("sel_caio", "deleted", now()))
        follow(service)
        app = visit("sellers", as_of=None, seller="sel_", row="sel_caio")
        said = page_text(app)
    assert REFUSALS["deleted"] in said
    assert "Of these 3, nothing goes to 3:" in said
    assert not [it for it in app.button if it.label.startswith("Send")]


def test_it_is_said_why_another_channel_than_the_first_is_chosen(
    open_log: OpenLog, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was e-mail for one seller and WhatsApp for eight, and nobody knew why."""
    said = "Chosen since it reaches most of these sellers."
    with open_log(HISTORY, **by_bridge(tmp_path, "https://bridge.market.example")):
        assert said not in page_text(visit("sellers", as_of=None, seller="sel_"))
        monkeypatch.setattr(Sending, "ways", lambda _sending: ["email", "sms"])
        monkeypatch.setattr(Sending, "way_to", lambda _sending, _sellers: "sms")
        assert said in page_text(visit("sellers", as_of=None, seller="sel_"))


def now() -> datetime:
    return datetime.now(UTC)


def add(service: LedgerService, occurrence: Occurrence) -> None:
    service.inbox.append([read_line(json.dumps(occurrence).encode(), recorded_by="test")])


def choice(app: AppTest, label: str) -> Any:
    """What is chosen in the form that asks all of a list."""
    return next(it for it in app.selectbox if it.label == label)


@pytest.mark.long
def test_a_process_page_asks_its_seller_again_after_the_words_that_go(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    with (
        WebhookServer().running() as bridge,
        open_log(HISTORY, **by_bridge(tmp_path, bridge.url)) as service,
    ):
        app = visit("process", as_of=None, process="prc_near")
        assert any("[link]" in it.value for it in app.code)
        assert bridge.taken == []
        next(it for it in app.text_input if str(it.key).startswith("ask_actor")).set_value("Bia")
        press(app, "Send to sel_bia: cannot be undone")
        assert "Sent to 1 seller." in page_text(app)
        assert life_of(app)["Sent"].endswith("· SMS · Bia"), "beside the process, too"
        unfold(app, "words prc_near")
        [kept] = [it.value for it in app.code if it.value.startswith("Marketplace: ")]
        assert "[link]" in kept
        batch = batches.latest(service.inbox, "Bia")
        assert batch is not None
        batch.seller_ids += ("sel_dora",)
        batch._done.append(Done("sel_dora", "refused", "no_address"))
        batch.seller_ids += ("sel_eva",)
        batch._done.append(Done("sel_eva", "uncertain", None, "msg_eva"))
        app.switch_page("app_pages/pages/sellers.py").run()
        assert "Sent to 1 seller." not in page_text(app), "it would cover a row of this page"
        assert f"sel_dora: {REFUSALS['no_address']}" in page_text(app)
        assert "Of 1 nobody knows whether it went out: sel_eva" in page_text(app)
        assert "sent 1 · unknown whether it went out 1 · not sent 1" in page_text(app)
        [sent] = [json.loads(it.body)["data"] for it in bridge.taken]
        app = visit("process", as_of=None, process="prc_near")
        assert REFUSALS["just_sent"] in page_text(app)
        next(it for it in app.text_input if str(it.key).startswith("ask_actor")).set_value("Bia")
        press(app, "Send to sel_bia all the same: cannot be undone")
        assert len(bridge.taken) == 2
    assert (sent["seller_id"], sent["process_ids"]) == ("sel_bia", ["prc_near"])


def test_without_a_channel_nothing_can_be_sent_and_the_page_says_so(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("sellers", as_of=None, row="sel_bia"))
    assert "Prazo has no way to write to sellers yet" in shown
