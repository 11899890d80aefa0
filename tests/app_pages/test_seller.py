"""The seller page shows one seller's open processes at once, its denials and its trail."""

import json
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from app_pages.language import formats, sellers
from app_pages.parts import timeline
from pipeline import instants
from pipeline.erasure.forgetting import forget
from pipeline.ledger.views.reader import Reader
from pipeline.log.ndjson import read_line
from tests.app_pages.conftest import OpenLog, Visit, fill, follow
from tests.app_pages.support import answers
from tests.app_pages.support.occurrences import attempt, before, review, seller_event, text
from tests.app_pages.support.reading import links, metrics, page_text, press, texts

HISTORY = [
    seller_event("sel_ana", "created", before(days=100)),
    seller_event("sel_ana", "enabled", before(days=100, seconds=-95)),
    review("prc_old", before(days=80), kind="ACP"),
    *attempt("prc_old", before(days=70), status=200),
    review("prc_first", before(days=40)),
    review("prc_second", before(days=20)),
    seller_event("sel_bia", "created", before(days=50), taxpayer="11144477735"),
    seller_event(
        "sel_bia",
        "denied",
        before(days=50, seconds=-40),
        taxpayer="11144477735",
        decision_reasons=[
            {"reason": "REGISTRATION_INCONSISTENCY", "detail": "NAME_INVALID"},
            {"reason": "INTERNAL_KYC_POLICY"},
        ],
        retry=False,
    ),
    # One that was deleted with a process open and one finished, and two that are late.
    seller_event("sel_caio", "created", before(days=100), taxpayer="39053344705"),
    seller_event("sel_caio", "deleted", before(days=3), taxpayer="39053344705"),
    *(review(f"prc_c{n}", before(days=20 * n), seller="sel_caio") for n in (1, 2, 3)),
    *attempt("prc_c3", before(days=50), status=200, seller="sel_caio"),
    seller_event("sel_dora", "enabled", before(days=50), taxpayer="71428793860"),
    review("prc_d1", before(days=40), seller="sel_dora"),
    review("prc_d2", before(days=39), seller="sel_dora"),
    review("prc_d3", before(days=5), seller="sel_dora"),
    review("prc_e1", before(days=40), seller="sel_eva"),
    review("prc_e2", before(days=5), seller="sel_eva", kind="ACP"),
    *(
        seller_event(f"sel_{what}", what, before(days=3), taxpayer=f"{number:011}")
        for number, what in enumerate(("enabled", "denied", "disabled", "deleted", "created"))
    ),
]


def test_open_processes_of_a_deleted_seller_say_whom_to_ask(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("seller", seller_id="sel_caio"))
        finished = page_text(visit("process", process="prc_c3"))
        still_open = page_text(visit("process", process="prc_c2"))
    deleted = "The platform deleted this seller on 29 May 2026, 09:00."
    assert shown.count(deleted) == 2
    assert deleted not in finished
    assert deleted in still_open


def test_several_open_processes_stand_side_by_side_with_what_is_asked_and_to_be_done(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("seller", seller_id="sel_ana")
    assert metrics(app) == {
        "Open processes": ("2", "3 in total"),
        "Denials": ("0", "never denied"),
        "Analysis took": ("1 min 35 s", "promised: 3 min for 99%"),
        "Created": ("21 Feb 2026", "individual"),
    }
    labels = [
        label for label, _ in links(app) if label != "Export evidence" and "View" not in label
    ]
    side_by_side, every_one = labels[:2], labels[2:]
    assert side_by_side == ["prc_first", "prc_second"], "the nearest deadline first"
    assert every_one == ["prc_second", "prc_first", "prc_old"]
    titles = [it.label.split("**")[1] for it in app.expander if "Submission" in it.label]
    # The end came from a file, and names no seller: the trail told of the start alone.
    assert titles == ["Submission answered", "Submission sent"]
    shown = texts(app)
    assert "10 days late" in shown
    assert "10 days left" in shown
    whole = page_text(app)
    assert "Deadline: 22 May 2026, 09:00" in whole
    assert "Deadline: 11 Jun 2026, 09:00" in whole
    assert "Start a collection Ask the seller for the requested fields" in whole


MEANINGS = {
    "enabled": ("The seller passed every step", "Have each of its reviews answered in time."),
    "denied": ("The platform rejected the seller.", "a new attempt is a new seller"),
    "disabled": ("blocked from new transactions", "ask the platform what lifts the block"),
    "deleted": ("no longer accessible", "Keep the evidence of its reviews"),
    "created": ("up to 3 minutes for 99%", "Wait for the result"),
}


def test_what_has_expired_is_not_to_be_answered_in_time(open_log: OpenLog, visit: Visit) -> None:
    """Of a seller 86 days late the page said that a review that expires can change something."""
    with open_log(HISTORY):
        late = page_text(visit("seller", seller_id="sel_dora"))
        unknown = page_text(visit("seller", seller_id="sel_ana"))
        of_nobody = page_text(visit("seller", seller_id="sel_caio"))
    remedy = "Have what expired answered now: the platform still accepts it."
    assert "A review has expired: the seller can be exposed to regulatory penalties" in late
    assert remedy in late
    assert "Have each of its reviews answered in time." not in late
    assert remedy in unknown
    assert remedy not in of_nobody


def test_a_status_never_stands_alone(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        for event, (meaning, remedy) in MEANINGS.items():
            shown = page_text(visit("seller", seller_id=f"sel_{event}"))
            assert meaning in shown, event
            assert remedy in shown, event


def test_a_process_that_finishes_while_the_page_is_drawn_breaks_nothing(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(HISTORY) as service:
        read, is_finished = Reader.records, []

        def finish_first(self, view, **asked):
            rows = read(self, view, **asked)
            if view in ("process_state", "open_processes") and not is_finished:
                is_finished.append(view)
                fill(
                    Path(service.settings.inbox).parent,
                    attempt("prc_e1", before(hours=1), status=200, seller="sel_eva"),
                )
                follow(service)
            return rows

        monkeypatch.setattr(Reader, "records", finish_first)
        answers.ask_again()
        assert "prc_e2" in page_text(visit("seller", seller_id="sel_eva"))
        assert is_finished


def test_the_header_says_what_is_late_before_it_says_enabled(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("seller", seller_id="sel_dora"))
    expired, tolerated = shown.index("EXPIRED · late: 2"), shown.index("OVERDUE · in time: 1")
    assert expired < tolerated < shown.index("Enabled")


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("taxpayer_id", "52998224725", "529.982.247-25"),
        ("taxpayer_id", "12ABC34501DE35", "12.ABC.345/01DE-35"),
        ("taxpayer_id", "***25", "***25"),
        ("taxpayer_id", "529982247", "529982247"),
        (
            "address",
            '{"line1": "Rua A, 12", "line3": "Lourdes", "city": "Caxias do Sul", "state": "RS",'
            ' "postal_code": "95020420", "country_code": "BR"}',
            "Rua A, 12 · Lourdes · Caxias do Sul, RS · 95020-420 · BR",
        ),
        ("address", '{"line1": 7}', '{"line1": 7}'),
        ("address", "***", "***"),
    ],
)
def test_a_record_is_written_as_a_brazilian_writes_it(column: str, value: str, shown: str) -> None:
    assert formats.spoken(sellers.in_record(column, value)) == shown


def test_each_open_process_says_what_it_may_cost(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("seller", seller_id="sel_eva"))
    assert "The platform still accepts the submission." in shown
    assert "In time. If the deadline passes" in shown


def test_a_denial_tells_its_reasons_and_whether_another_attempt_makes_sense(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("seller", seller_id="sel_bia")
    shown = page_text(app)
    assert metrics(app)["Denials"] == ("1", "last on 12 Apr 2026")
    assert "Registration data: name differs from the tax authority's record" in shown
    assert "Internal policy of the platform" in shown
    assert "The reasons point to no chance of approval in a new process." in shown
    assert "The platform has not asked for a review of this seller." in shown


def test_no_id_and_an_unknown_id_say_what_to_do(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert "Which seller?" in page_text(visit("seller"))
        unknown = page_text(visit("seller", seller_id="sel_x"))
    assert "No entry of the log names sel_x" in unknown


def test_personal_data_is_masked_until_a_reason_and_a_name_stand_in_the_log(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        app = visit("seller", seller_id="sel_ana")
        masked = page_text(app)
        for personal in ("ana@example.com", "52998224725"):
            assert personal not in masked
        for shown in ("***25", "R$12,500.50"):
            assert shown in masked
        app.text_input(key="unmask_seller_state_actor").set_value("Bia")
        press(app, "Record the reason and show it")
        assert "ana@example.com" not in page_text(app), "no reason, no personal data"
        app.text_input(key="unmask_seller_state_reason").set_value("a complaint by telephone")
        app.text_input(key="unmask_seller_state_actor").set_value("Bia")
        press(app, "Record the reason and show it")
        assert "ana@example.com" in page_text(app)
        [entry] = service.reader.read("timeline", where={"kind": "unmask"}).to_pylist()
        assert (entry["seller_id"], entry["actor"], entry["reason"], entry["recorded_by"]) == (
            "sel_ana",
            "Bia",
            "a complaint by telephone",
            "dashboard",
        )
        press(app, "Mask it again")
        assert "ana@example.com" not in page_text(app)
        assert "ana@example.com" not in page_text(visit("seller", seller_id="sel_ana"))


def test_pages_say_what_was_erased_and_show_the_rest(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = [
        seller_event("sel_ana", "created", before(days=100)),
        review("prc_old", before(days=80), kind="ACP", seller="sel_ana"),
        *attempt("prc_old", before(days=70), status=200, seller="sel_ana"),
        {
            "kind": "note",
            "occurred_at": text(before(days=60)),
            "process_id": "prc_old",
            "seller_id": "sel_ana",
            "actor": "bia",
            "reason": "Ana called",
        },
    ]
    with open_log(history) as service:
        said = {"reason": "she asked", "actor": "bia", "recorded_by": "user:bia"}
        app = visit("seller", seller_id="sel_ana")
        app.text_input(key="unmask_seller_state_reason").set_value("she asked")
        app.text_input(key="unmask_seller_state_actor").set_value("Bia")
        press(app, "Record the reason and show it")
        assert "ana@example.com" in page_text(app)
        erased = forget(service.settings, service.inbox, "sel_ana", **said)
        until_made_again = page_text(app.run())
        service.rebuild()
        service.catch_up()
        seller = page_text(visit("seller", seller_id="sel_ana", as_of=None))
        earlier = page_text(visit("seller", seller_id="sel_ana"))
        monkeypatch.setattr(timeline, "MAX_ENTRIES", 1)
        ticket = {"kind": "ticket", "process_id": "prc_old", "seller_id": "sel_ana"}
        ticket |= {"actor": "bia", "step": "opened", "number": "T-1"}
        ticket |= {"occurred_at": instants.canonical(instants.now())}
        service.inbox.append([read_line(json.dumps(ticket).encode(), recorded_by="test")])
        service.catch_up()
        busy = page_text(visit("seller", seller_id="sel_ana", as_of=None))
        process = page_text(visit("process", process="prc_old", as_of=None))
    assert erased.entries == 4  # the answer has no body
    assert "ana@example.com" not in until_made_again
    assert "somebody was forgotten" in until_made_again
    for page in (seller, earlier, busy):  # as of an earlier day, and where much came since
        assert "Personal data was erased, as the audit trail says." in page
    assert "Erasure" not in busy
    assert "Erased, as the audit trail says." in process
    assert "Erasure" in seller
    assert "FINISHED · done" in process
    assert "Ana called" not in process


def test_a_link_to_a_package_that_was_overtaken_still_leads_there(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page asked which seller, under an address that named the seller."""
    led: list[tuple[str, dict[str, str]]] = []

    def go(page: Any, query_params: dict[str, str]) -> None:
        led.append((page.url_path, query_params))

    monkeypatch.setattr(st, "switch_page", go)
    with open_log(HISTORY):
        visit("seller", scope="seller", subject="sel_ana")
        visit("seller", seller_id="sel_ana")
    assert led == [("evidence", {"scope": "seller", "subject": "sel_ana"})]
