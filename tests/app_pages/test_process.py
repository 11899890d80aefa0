"""The process page tells one review from the platform's request to its answer."""

import re
from datetime import timedelta
from typing import Any

import pytest

from app_pages.door import access
from app_pages.parts import explained, timeline, views
from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Item, Subject, Try
from pipeline.log.actions import action
from pipeline.log.kinds.seller_notice import handed_over
from pipeline.serve.roles import Person, Role
from tests import depth
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import (
    NOW,
    Occurrence,
    attempt,
    before,
    collected,
    review,
    text,
)
from tests.app_pages.support.reading import (
    all_links,
    chart,
    metrics,
    page_text,
    press,
    table,
    texts,
    unfold,
)
from tests.support.ledgers import draft

NASTY = (
    "![x](https://evil.example/p.png) :red[y] [z](https://evil.example)"
    " http://evil.example www.evil.example"
)
DONE = [  # entries 1 to 7 of the log
    review("prc_done", before(days=20)),
    collected("prc_done", "invited", before(days=19)),
    collected("prc_done", "answered", before(days=18)),
    *attempt("prc_done", before(days=17, hours=1), error="timeout"),
    *attempt("prc_done", before(days=17), status=200),
]
LATE = [
    review("prc_late", before(days=40), fields=["revenue", "address.city"]),
    collected("prc_late", "invited", before(days=39)),
]
LONG = [
    review("prc_long", before(days=10)),
    *(collected("prc_long", "opened", before(days=9) + timedelta(minutes=n)) for n in range(60)),
]
PARTLY = [  # revenue was answered and sent; the city was asked for and nobody answered
    review("prc_partly", before(days=20), fields=["revenue", "address.city"]),
    collected("prc_partly", "answered", before(days=18)),
    *attempt("prc_partly", before(days=17), status=400),
]


def failing(process: str) -> list[Occurrence]:
    return [
        review(process, before(days=20)),
        *(
            occurrence
            for minutes in (90, 70, 50, 30, 10, 0)
            for occurrence in attempt(process, before(hours=1, minutes=minutes), status=500)
        ),
    ]


SENT, REFUSED = attempt("prc_refused", before(days=17), status=400, name="att_1")
REFUSED["body"] = {"message": "revenue is out of range", "type": ["of 1000_to_5000"]}
HISTORY = [
    *DONE,
    *LATE,
    *LONG,
    *PARTLY,
    review("prc_acp", before(days=45), kind="ACP"),
    *attempt("prc_lost", before(days=2), status=404),
    review(NASTY, before(days=40), fields=["`](https://evil.example)"]),
    review("prc_odd", before(days=1), status="FROZEN"),
    review("prc_unproved", before(days=20)),
    *attempt("prc_unproved", before(days=17), status=200),
    review("prc_refused", before(days=20)),
    SENT,
    REFUSED,
    *failing("prc_failing"),
    *failing("prc_through"),
    *attempt("prc_through", before(minutes=5), status=200),
    review("prc_1", before(days=40)),
    review("prc_blank", before(days=20)),
    collected("prc_blank", "answered", before(days=18), fields={"revenue": "1000_to_5000 "}),
    *attempt("prc_blank", before(days=17), status=400),
]


def test_a_late_process_says_what_it_may_cost_and_what_to_do(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("process", process="prc_late")
    shown = page_text(app)
    assert metrics(app) == {
        "Deadline": ("22 May 2026", "09:00 · 10 days late"),
        "Requested": ("22 Apr 2026", "2 fields"),
        "Seller's answer": ("–", "asked, no answer yet"),
        "Attempts": ("0", "nothing sent yet"),
    }
    assert "up to a block of cash-in and cash-out" in shown
    assert "Ask again" in shown
    assert "Answered: 0 of 2 required fields." in shown
    assert ("sel_ana", "seller_id=sel_ana") in all_links(app)  # whose it is; nothing said that


def test_the_course_of_a_finished_process_ends_with_it_and_has_no_now(
    open_log: OpenLog, visit: Visit
) -> None:
    """It was finished on 15 May, and a line said `now` beside its last mark."""
    with open_log(HISTORY):
        done = chart(visit("process", process="prc_done", tz="UTC"))["layout"]
        late = chart(visit("process", process="prc_late", tz="UTC"))["layout"]
    assert "annotations" not in done
    assert done["xaxis"]["range"][1].startswith("2026-05-15T")
    assert [note["text"] for note in late["annotations"]] == ["now"]


def test_a_finished_process_says_when_and_by_whom(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("process", process="prc_done")
    assert metrics(app) == {
        "Finished": ("15 May 2026", "09:00 · by our submission"),
        "Requested": ("12 May 2026", "1 field"),
        "Seller's answer": ("14 May 2026", "09:00"),
        "Attempts": ("2", "Accepted"),
    }
    assert "Nothing is left to do." in page_text(app)


def test_the_trail_names_each_entry_its_place_and_its_leaf(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        leaves = service.reader.read("timeline", where={"process_id": "prc_done"}).to_pylist()
        app = visit("process", process="prc_done")
    shown = texts(app)
    newest = leaves[-1]
    assert newest["seq"] == 7
    leaf = newest["leaf_hash"][:8]
    assert f"Submission answered · HTTP 200 15 May 2026, 09:00:01 · entry 7 · {leaf}" in shown
    assert any(it.startswith("Seller answered · web form 14 May 2026, 09:00:00") for it in shown)
    assert any(it.startswith("Submission answered · no answer in time") for it in shown)


def test_the_clock_is_drawn_phase_by_phase(open_log: OpenLog, visit: Visit) -> None:
    """An ACP 45 days old: 30 days pending, 15 overdue so far, 15 to come."""
    with open_log(HISTORY):
        figure = chart(visit("process", process="prc_acp", tz="UTC"))
    bands = [
        (trace["name"], trace["x"], trace["opacity"])
        for trace in figure["data"]
        if trace["mode"] == "lines"
    ]
    assert bands == [
        ("PENDING · in time", ["2026-04-17T12:00:00", "2026-05-17T12:00:00"], 1),
        ("OVERDUE · in time", ["2026-05-17T12:00:00", "2026-06-01T12:00:00"], 1),
        ("OVERDUE · in time", ["2026-06-01T12:00:00", "2026-06-16T12:00:00"], 0.35),
    ]
    assert figure["layout"]["shapes"][0]["x0"] == "2026-06-01T12:00:00"


def test_the_clock_says_what_it_shows_and_what_it_rests_on(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("process", process="prc_done")
        unfold(app, "behind_process_phases")
    assert (
        "Requested on 12 May 2026, 09:00, due on 11 Jun 2026, 09:00,"
        " finished on 15 May 2026, 09:00." in page_text(app)
    )
    phases, entries = (shown.value for shown in app.dataframe)
    assert list(phases["phase"]) == ["overdue"]
    assert len(entries) == 7
    assert set(entries["process_id"]) == {"prc_done"}
    assert any("as_of" in block.value for block in app.code)


@pytest.mark.parametrize(("drawn_at_most", "collections"), [(500, 60), (60, 59)])
def test_the_clock_draws_the_whole_story_however_long_and_the_trail_says_what_it_shows(
    monkeypatch: pytest.MonkeyPatch,
    open_log: OpenLog,
    visit: Visit,
    drawn_at_most: int,
    collections: int,
) -> None:
    """It drew the trail's newest 40 entries: of a long story the request itself was missing. The
    newest are known without a question where all are drawn, and the same where not."""
    monkeypatch.setattr(explained, "TABLE_ROWS", drawn_at_most)
    with open_log(HISTORY):
        app = visit("process", process="prc_long")
        figure = chart(app)
    drawn = {
        trace["name"]: len(trace["x"]) for trace in figure["data"] if trace["mode"] == "markers"
    }
    assert drawn == {"Platform": 1, "Collection": collections, "Submission": 0}
    assert "The newest 40 of 61 entries" in page_text(app)


def test_a_process_without_an_event_says_that_its_deadline_is_unknown(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("process", process="prc_lost"))
    assert "its deadline is not known" in shown
    assert "Check the identifiers" in shown
    assert "Without a review event there is no clock to draw." in shown


def test_no_id_and_an_unknown_id_say_what_to_do(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("process")
        assert "or choose one of all that are known" in page_text(app)
        assert set(app.dataframe[0].value["process_id"]) >= {"prc_late", "prc_done", "prc_acp"}
        assert "No entry of the log names prc_x" in page_text(visit("process", process="prc_x"))


def test_what_the_platform_sent_is_shown_as_text_and_never_as_markup_or_a_link(
    open_log: OpenLog, visit: Visit
) -> None:
    """An id that is an image, a link or a directive must not load, lead or colour anything. And
    Streamlit makes a link of every address, whatever is escaped."""
    with open_log(HISTORY):
        app = visit("process", process=NASTY)
    for element in [*app.header, *app.markdown]:
        beside_code = re.sub(r"(`+).*?\1(?!`)", "", element.value)
        assert "](https" not in beside_code
    assert any(
        header.value.startswith("\\!\\[x\\]\\(https\N{WORD JOINER}\\:") for header in app.header
    )
    shown = [it.value for kind in ("header", "markdown") for it in app.get(kind)]
    foreign = [it for it in shown if "evil" in it and "`" not in it]
    assert foreign
    for each in foreign:
        assert not re.search(r"https?:|www\.", re.sub(r"\\(.)", r"\1", each)), each


def test_a_status_and_a_type_that_the_contract_does_not_know_are_shown_as_they_came(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("process", process="prc_odd"))
    assert "Review requested: FROZEN" in shown


def test_each_event_of_a_review_is_titled_by_what_it_reports(
    open_log: OpenLog, visit: Visit
) -> None:
    """All three were *Review requested*."""
    reports = [
        review("prc_1", before(days=45), kind="ACP"),
        review("prc_1", before(days=45), kind="ACP", status="OVERDUE", at=before(days=14)),
        review("prc_1", before(days=45), kind="ACP", status="FINISHED", at=before(days=1)),
    ]
    with open_log(reports):
        shown = page_text(visit("process", process="prc_1"))
    assert "Review requested: PENDING · in time" in shown
    assert "Review reported: OVERDUE · in time" in shown
    assert "Review reported: FINISHED · done" in shown
    assert shown.count("Review requested") == 1


def test_an_event_has_one_title_also_where_others_are_not_shown(open_log: OpenLog) -> None:
    """The first of a long trail, or of a finding, was *reported*; of a short one, *requested*."""
    reports = [
        review("prc_1", before(days=45), kind="ACP"),
        review("prc_1", before(days=45), kind="ACP", status="OVERDUE", at=before(days=14)),
        review("prc_2", before(days=40), kind="ACP"),
    ]
    with open_log(reports) as service:
        rows = service.reader.read("timeline").to_pylist()
        alone = [timeline.with_requests([it], have_first=False)[0] for it in rows]
    asked = {(it["process_id"], it["reported_status"]): it["is_request"] for it in alone}
    assert asked == {
        ("prc_1", "PENDING"): True,
        ("prc_1", "OVERDUE"): False,
        ("prc_2", "PENDING"): True,
    }


def test_a_link_without_a_notice_stands_by_itself_beside_a_notice_without_a_link() -> None:
    what = dict.fromkeys(("message_id", "journey_id", "step", "process_id", "occurred_at"))
    notice = what | {"seq": 1, "kind": "seller_notice"}
    link = what | {"seq": 2, "kind": "journey", "step": "invited"}
    assert timeline._at_once([notice, link]) == [[notice], [link]]


def test_what_is_cut_is_said_to_be_and_the_trail_names_whoever_an_alert_went_to(
    open_log: OpenLog, visit: Visit
) -> None:
    due = Due("a1", "before_3d", "risk", "officer", 0, process_id="prc_1")
    subject, now = Subject(process_id="prc_1"), instants.now()
    made = Try(Item(due, level=0, number=1), "ana", "email", "m")
    by = {"actor": "Bia", "recorded_by": "test", "process_id": "prc_1"}
    with open_log(HISTORY) as service:
        service.inbox.append(
            [action("note", reason=f"call {number}", **by) for number in range(12)]
        )
        service.inbox.append(
            [entries.tried(made, subject, now), entries.answered(made, subject, now, fault=None)]
        )
        follow(service)
        shown = page_text(visit("process", as_of=None, process="prc_1"))
    assert "call 11" in shown
    assert "Showing 10 of 12." in shown
    assert "Alert on its way · Less than 3 days left · ana · e-mail" in shown
    assert "Alert sent · Less than 3 days left · ana · e-mail" in shown


def test_it_can_be_looked_at_as_it_stood(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        then = (NOW - timedelta(days=18, hours=-1)).isoformat().replace("+00:00", "Z")
        app = visit("process", as_of=then, process="prc_done")
    assert metrics(app)["Deadline"] == ("11 Jun 2026", "09:00 · 27 days left")
    assert metrics(app)["Attempts"] == ("0", "nothing sent yet")


def test_evidence_is_shown_field_by_field(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("process", process="prc_partly")
    assert table(app, "Field") == [
        ["City address.city", "not sent", "yes", "–", "–", "–"],
        [
            "Revenue revenue",
            "covered",
            "yes",
            "14 May 2026, 09:00",
            "the seller",
            "15 May 2026, 09:00",
        ],
    ]
    assert table(app, "Started")[0][:4] == [
        "15 May 2026, 09:00:00",
        "Payload refused",
        "400",
        "1 s",
    ]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"error": {"violations": [{"field": "address.city", "message": "unknown"}]}},
            "The platform refused: City address.city. Ask again asks the seller for nothing else.",
        ),
        ({"message": "invalid"}, "The answer names no field that was asked"),
    ],
    ids=["by name", "in general"],
)
def test_a_process_says_which_fields_the_platform_refused(
    open_log: OpenLog, visit: Visit, body: dict[str, Any], said: str
) -> None:
    """A reason, and three clicks, led to the name of the field."""
    started, finished = attempt("prc_partly", before(days=17), status=400)
    with open_log([*PARTLY[:2], started, {**finished, "body": body}]):
        shown = page_text(visit("process", as_of=None, process="prc_partly"))
    assert said in shown


LEFT_OUT = (
    "address.postal_code: it is asked for, and was not sent, though the seller has answered it."
    " That is ours to correct."
)
FORM = (
    "address.postal_code: the value is not in the form that the platform takes (8 digits, without"
    " a mask)."
)


@pytest.mark.parametrize(
    ("answered", "sent", "said"),
    [
        ("66055-818", "66055-818", [FORM, "The seller gave it so: ask them again."]),
        ("66055818", "66055-818", [FORM, "That is ours to correct."]),
        ("66055818", None, [LEFT_OUT]),
        ("66055818", "66055818", ["Our own rules find nothing wrong in what was sent"]),
    ],
    ids=["as answered", "otherwise", "left out", "right"],
)
def test_of_what_the_platform_refused_our_own_rules_say_what_is_wrong_and_whose_it_is(
    open_log: OpenLog, visit: Visit, answered: str, sent: str | None, said: list[str]
) -> None:
    """Only a masked answer named the rule, and the one button asked the seller for our mistake."""
    path = "address.postal_code"
    started, finished = attempt("prc_form", before(days=17), status=400)
    address = {} if sent is None else {"address": {"postal_code": sent}}
    body = {"process_id": "prc_form", "type": "individual", **address}
    answer = {"error": {"violations": [{"field": path, "message": "66055-818 is wrong"}]}}
    with open_log(
        [
            review("prc_form", before(days=20), fields=[path]),
            collected("prc_form", "answered", before(days=18), fields={path: answered}),
            {**started, "body": body},
            {**finished, "body": answer},
        ]
    ):
        shown = page_text(visit("process", as_of=None, process="prc_form"))
    for each in said:
        assert each in shown
    is_fault_found = "nothing wrong" not in said[0]
    assert ("Prazo did not send it, and would have held it back." in shown) == is_fault_found
    assert "66055" not in shown


@pytest.mark.parametrize(("days", "is_said"), [(18, False), (16, True)])
def test_beside_what_was_refused_stands_that_the_seller_was_asked_since(
    open_log: OpenLog, visit: Visit, days: int, *, is_said: bool
) -> None:
    """It still said that the next step is ours, and somebody asked a second time."""
    started, finished = attempt("prc_partly", before(days=17), status=400)
    body = {"error": {"violations": [{"field": "address.city", "message": "unknown"}]}}
    said = {"occurred_at": text(before(days=days)), "message_id": "n1"}
    notice = {"process_id": "prc_partly", "channel": "email", "actor": "Bia"}
    told = [
        {"kind": "seller_notice", **said, **notice},
        {"kind": "seller_notice_result", **said, "result": "accepted"},
    ]
    with open_log([*PARTLY[:2], started, {**finished, "body": body}, *told]):
        shown = page_text(visit("process", as_of=None, process="prc_partly"))
    at = "The seller was contacted since, on "
    assert (at in shown) == is_said
    assert ("e-mail, Bia." in shown) == is_said


def test_a_message_and_the_link_that_it_brought_are_one_line_of_the_trail(
    open_log: OpenLog, visit: Visit
) -> None:
    """One WhatsApp message stood there twice: as a seller notice, and as an invitation by chat."""
    link = collected("prc_1", "invited", before(days=2), source="marketplace", channel="chat")
    by = {"actor": "Bia", "recorded_by": "test", "process_id": "prc_1", "seller_id": "sel_ana"}
    with open_log([review("prc_1", before(days=5)), link]) as service:
        sent = handed_over("msg_1", "whatsapp", {"journey_id": link["journey_id"]}, **by)
        service.inbox.append([sent])
        follow(service)
        views.forget_answers()
        shown = page_text(visit("process", as_of=None, process="prc_1"))
        trail = service.reader.read("timeline", where={"process_id": "prc_1"}).to_pylist()
    assert "Seller notice · WhatsApp · Bia" in shown
    assert "entries 2, 3" in shown
    assert "Seller invited" not in shown.partition("Audit trail")[2]
    assert [it["kind"] for it in trail] == ["webhook", "collection", "seller_notice"]


def test_how_an_answer_differs_where_nobody_sees_it_is_said(
    open_log: OpenLog, visit: Visit
) -> None:
    """The answer ends with a blank: both values look the same, and one was "not covered"."""
    with open_log(HISTORY):
        shown = page_text(visit("process", process="prc_blank"))
        said = "differ only in blanks or characters that nobody sees."
        assert f"revenue: what was sent last and the seller's answer {said}" in shown
        assert "differ only in" not in page_text(visit("process", process="prc_unproved"))


def test_findings_stand_on_the_process_they_are_about(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("process", process="prc_unproved"))
    assert "Breach Field sent without evidence · Revenue revenue" in shown


def test_an_attempt_shows_its_request_and_its_answer_masked_until_there_is_a_reason(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        app = visit("process", process="prc_refused")
        assert "revenue is out of range" not in page_text(app)
        unfold(app, "exchange")
        shown = page_text(app)
        assert "PUT /v1/marketplaces/mkt_1/sellers/sel_ana/registration/review" in shown
        assert "Idempotency-Key: prc_refused" in shown
        assert "HTTP 400" in shown
        assert "1000_to_5000" not in shown
        assert "revenue is out of range" not in shown
        app.text_input(key="unmask_submission_attempts_reason").set_value("why it was refused")
        app.text_input(key="unmask_submission_attempts_actor").set_value("Bia")
        press(app, "Record the reason and show it")
        shown = page_text(app)
        assert "1000_to_5000" in shown
        assert "revenue is out of range" in shown
        [entry] = service.reader.read("timeline", where={"kind": "unmask"}).to_pylist()
    assert (entry["process_id"], entry["actor"]) == ("prc_refused", "Bia")


def test_as_many_fields_are_requested_as_rows_say_so(open_log: OpenLog, visit: Visit) -> None:
    """It said one field above six of them: an address has six that the contract requires. Then it
    said six where lists say one."""
    with open_log([review("prc_home", before(days=9), fields=["owner.address"])]):
        app = visit("process", process="prc_home")
    assert metrics(app)["Requested"] == ("23 May 2026", "1 field · 6 with all parts")
    assert [row[2] for row in table(app, "Field")] == ["yes"] * 6


def test_what_the_seller_answered_is_shown_to_who_gave_a_reason(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could be read in a package alone."""
    with open_log(PARTLY[:2]) as service:
        app = visit("process", process="prc_partly")
        assert "1000_to_5000" not in page_text(app)
        app.text_input(key="unmask_evidence_coverage_reason").set_value("the seller asks")
        app.text_input(key="unmask_evidence_coverage_actor").set_value("Bia")
        press(app, "Record the reason and show it")
        shown = [(row[0], row[-1]) for row in table(app, "Field")]
        [entry] = service.reader.read("timeline", where={"kind": "unmask"}).to_pylist()
        monkeypatch.setattr(access, "person", lambda: Person("caio", frozenset({Role.ANALYST})))
        of_analyst = visit("process", process="prc_partly")
    assert shown == [("City address.city", "–"), ("Revenue revenue", "1000_to_5000")]
    assert (entry["process_id"], entry["actor"]) == ("prc_partly", "Bia")
    assert entry["reason"] == "the seller asks"
    assert not any(it.key == "unmask_evidence_coverage_reason" for it in of_analyst.text_input)


@pytest.mark.parametrize(
    ("certificate", "said"),
    depth.few(
        [
            ("given", "Mutual TLS: the platform asked for our certificate and got it."),
            ("withheld", "No mutual TLS: the platform asked for a certificate that ours is not"),
            ("not_asked", "No mutual TLS: the platform did not ask for our certificate."),
        ],
        2,
    ),
)
def test_where_an_answer_leads_and_whether_our_certificate_was_asked_for_stand_with_it(
    open_log: OpenLog, visit: Visit, certificate: str, said: str
) -> None:
    """The next action after a 307 was to read its answer, and this page had nothing to read."""
    known = {"location": "https://other.example/v2", "client_certificate": certificate}
    with open_log([review("prc_moved", before(days=9))]) as service:
        for line in attempt("prc_moved", before(days=1), status=307):
            made = draft({**line, "origin": "live"})
            assert made is not None
            is_end = made.kind == "submission_finished"
            more = known if is_end else {}
            service.inbox.append([made._replace(particulars={**made.particulars, **more})])
        service.catch_up()
        app = visit("process", process="prc_moved")
        unfold(app, "exchange")
        shown = page_text(app)
    assert "Location: https://other.example/v2" in shown
    assert said in shown


def test_what_another_system_wrote_of_an_attempts_end_is_shown_to_who_gave_a_reason(
    open_log: OpenLog, visit: Visit
) -> None:
    """It stood there whole, with whom it named, on this page and on that of all submissions."""
    wrote = "connection refused for Mariana Quintela"
    ended = attempt("prc_words", before(days=1), error=wrote)
    with open_log([review("prc_words", before(days=9)), *ended]):
        grid = visit("submissions").dataframe[0].value.to_string()
        app = visit("process", process="prc_words")
        unfold(app, "exchange")
        assert "No answer came." in page_text(app)
        assert "connection refused" in page_text(app)
        assert "Mariana" not in grid + page_text(app)
        assert not any("Mariana" in it.value.to_string() for it in app.dataframe)
        app.text_input(key="unmask_submission_attempts_reason").set_value("why it was refused")
        app.text_input(key="unmask_submission_attempts_actor").set_value("Bia")
        press(app, "Record the reason and show it")
        assert wrote in page_text(app)


def test_a_note_that_is_not_too_long_and_an_assignment_are_entries_under_a_name_asked_for_once(
    open_log: OpenLog, visit: Visit
) -> None:
    note = "Called; [they](x) answer tomorrow".ljust(2000, "x")
    with open_log(HISTORY) as service:
        app = visit("process", as_of=None, process="prc_1")
        assert "Unassigned" in page_text(app)
        app.text_area(key="note_text prc_1").set_value(note + "x")
        press(app, "Record the note")
        assert "A name is needed: it goes into the log." in page_text(app)
        app.text_input(key="note_actor prc_1").set_value("Bia")
        press(app, "Record the note")
        assert "At most 2,000 characters go into the log: this text has 2,001." in page_text(app)
        assert app.text_area(key="note_text prc_1").value == note + "x"
        assert service.inbox.last()[0] == len(HISTORY)
        app.text_area(key="note_text prc_1").set_value(note)
        press(app, "Record the note")
        assert app.text_area(key="note_text prc_1").value == ""
        assert service.inbox.last()[0] == len(HISTORY) + 1
        app.selectbox(key="assignee prc_1").set_value("Bia")
        app.text_input(key="assignment_text prc_1").set_value("knows the seller")
        press(app, "Record the assignment")
        shown = page_text(app)
        assert "Assigned to Bia since" in shown
        assert "Assignment · to Bia · Bia · knows the seller" in shown
        assert note in shown
        entries = service.reader.read("timeline", where={"process_id": "prc_1"}).to_pylist()
        listed = visit("watchlist", as_of=None, assignee="bi").dataframe[0].value
        elsewhere = page_text(visit("watchlist", as_of=None, assignee="caio"))
        then = visit("process", process="prc_1")
    assert [(it["kind"], it["actor"], it["reason"]) for it in entries[1:]] == [
        ("note", "Bia", note),
        ("assignment", "Bia", "knows the seller"),
    ]
    assert "Record the note" not in [button.label for button in then.button]
    assert list(listed["assignee"]) == ["Bia"]
    assert "No process matches these filters" in elsewhere


def test_a_ticket_is_due_is_opened_and_closed_on_the_page(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        then = page_text(visit("process", process="prc_failing"))
        assert "A support ticket is due 10 days left" in then
        assert "The platform keeps failing, or the retries were given up." in then
        app = visit("process", as_of=None, process="prc_failing")
        press(app, "Record it as opened")
        assert "A number and a name are needed" in page_text(app)
        app.text_input(key="ticket_number prc_failing").set_value("[4711](x)")
        app.text_input(key="ticket_actor prc_failing").set_value("Bia")
        press(app, "Record it as opened")
        opened = page_text(app)
        press(app, r"Record \[4711\]\(x\) as closed")
        closed = page_text(app)
        entries = service.reader.read("timeline", where={"kind": "ticket"}).to_pylist()
    assert re.search(r"Ticket \[4711\]\(x\) has been open since .*, by Bia\.", opened)
    assert "A support ticket is due" not in opened
    assert "A support ticket is open." in opened
    assert "Support ticket opened · Bia" in opened
    assert "has been open since" not in closed
    assert "Support ticket closed · Bia" in closed
    assert [(it["step"], it["actor"]) for it in entries] == [("opened", "Bia"), ("closed", "Bia")]


def test_a_finished_process_asks_for_no_ticket(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("process", process="prc_through"))
    assert "support ticket" not in shown.lower()


@pytest.mark.long
def test_a_call_is_recorded_with_what_came_of_it(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("process", as_of=None, process="prc_late")
        app.segmented_control(key="contact_outcome prc_late").set_value("reached")
        day = instants.of(instants.now()).date() + timedelta(days=3)
        app.date_input(key="contact_promise prc_late").set_value(day)
        app.text_area(key="contact_note prc_late").set_value("after lunch")
        press(app, "Record the call or letter")
        assert "A name is needed" in page_text(app)
        app.text_input(key="contact_actor prc_late").set_value("Bia")
        press(app, "Record the call or letter")
        shown = page_text(app)
        [entry] = service.reader.read("seller_notices").to_pylist()
    assert "Seller notice · telephone · reached · promised for " in shown
    assert shown.count("after lunch") == 2, "under the call, and in its entry"
    assert "The seller was contacted not long ago" in shown
    said = [entry[it] for it in ("channel", "outcome", "promised_for", "actor")]
    assert said == ["phone", "reached", day.isoformat(), "Bia"]
    assert entry["contacted_at"] == entry["sent_at"]
