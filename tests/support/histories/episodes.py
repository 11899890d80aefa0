"""Episodes: one to several lines that belong together."""

import json
from datetime import datetime, timedelta

from hypothesis import strategies as st

from tests.support.histories.events import BROKEN_BODIES, other_events, review_events, seller_events
from tests.support.histories.moments import (
    DAY,
    HOT,
    HOUR,
    START,
    TICK,
    deadlines,
    early_moments,
    in_zulu,
    moments,
    spelled,
)
from tests.support.histories.names import (
    ATTEMPT_OF,
    CNPJS,
    HOME_OF,
    SELLERS,
    TAXPAYER_IDS,
    usually,
)
from tests.support.histories.payloads import ANSWERS, ARTIFACTS, PAYLOADS, payload_texts, texts


@st.composite
def webhook(draw, body: str) -> dict:
    return {
        "kind": "webhook",
        "occurred_at": draw(spelled(usually(early_moments(), moments(), odds=1), True)),
        "body": body,
    }


@st.composite
def deliveries(draw) -> list[dict]:
    """An event delivered once, or again: same bytes, other spelling, or other content."""
    event = draw(st.one_of(review_events(), review_events(), seller_events(), other_events()))
    text = draw(texts(event))
    lines = [draw(webhook(text))]
    again = draw(st.sampled_from(["no", "no", "no", "same", "spelling", "content"]))
    if again == "same":
        lines.append(draw(webhook(text)))
    elif again == "spelling":
        lines.append(draw(webhook(draw(texts(event)))))
    elif again == "content":
        other = draw(st.one_of(review_events(), seller_events()))
        lines.append(draw(webhook(json.dumps({**other, "id": event.get("id", "evt_1")}))))
    return lines


@st.composite
def altered_deliveries(draw) -> list[dict]:
    """One event id, delivered again with other news in one or two places."""
    if draw(st.booleans()):
        [event, *others] = draw(st.lists(review_events(), min_size=3, max_size=3))
    else:
        [event, *others] = draw(st.lists(seller_events(), min_size=3, max_size=3))
    event["id"] = draw(st.sampled_from(["evt_altered", 7, "7"]))
    lines = [draw(webhook(draw(texts(event))))]
    for other in others[: draw(st.sampled_from([1, 2]))]:
        lines.append(draw(webhook(draw(texts(draw(mixed(event, other)))))))
    return lines


@st.composite
def mixed(draw, event: dict, other: dict) -> dict:
    """The event with some parts of the other: of its envelope, of its object, or all but its id."""
    taken = draw(st.sampled_from(["envelope", "object", "object", "all"]))
    if taken == "all":
        return {**other, "id": event["id"]}
    if taken == "envelope":
        keys = draw(st.sets(st.sampled_from(["created_at", "type"]), min_size=1))
        return {**event, **{key: other[key] for key in sorted(keys) if key in other}}
    payloads = [event.get("payload") or {}, other.get("payload") or {}]
    mine, theirs = (payload.get("object", payload) for payload in payloads)
    keys = draw(st.sets(st.sampled_from(sorted(theirs)), min_size=1)) if theirs else []
    news = {key: theirs[key] for key in sorted(keys)}
    return {**event, "payload": {"object": {**mine, **news}}}


@st.composite
def reports(draw) -> list[dict]:
    """Several events of one process: moved deadlines, contradictory statuses."""
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    events = draw(st.lists(review_events(process_id), min_size=2, max_size=4))
    for number, event in enumerate(events):
        if "id" in event:
            event["id"] = f"evt_{process_id}_{number}"
    keeps_its_deadline = draw(st.booleans())
    if keeps_its_deadline:
        moment = draw(deadlines())
        for event in events:
            if "deadline_at" in event["payload"]["object"]:
                event["payload"]["object"]["deadline_at"] = draw(spelled(st.just(moment)))
    return [draw(webhook(draw(texts(event)))) for event in events]


WHERE_TAX_IDS = ["taxpayer_id", "taxpayer_id", "ein", "document_number"]


@st.composite
def onboardings(draw) -> list[dict]:
    """seller.created, then what became of it, for up to three sellers of one taxpayer."""
    lines = []
    for seller_id in draw(st.lists(st.sampled_from(SELLERS), min_size=1, max_size=3, unique=True)):
        tax_ids = draw(st.sampled_from([TAXPAYER_IDS[:2], CNPJS]))
        actions = draw(
            st.sampled_from(
                [
                    ["created", "denied"],
                    ["created", "enabled"],
                    ["denied"],
                    ["updated"],
                    ["enabled", "deleted", "enabled"],
                    ["deleted", "deleted", "updated"],
                ]
            )
        )
        for number, action in enumerate(actions):
            event = draw(seller_events(f"seller.{action}"))
            event["payload"] = {
                "object": {
                    **(event["payload"] or {}).get("object", {}),
                    "id": seller_id,
                    draw(st.sampled_from(WHERE_TAX_IDS)): draw(st.sampled_from(tax_ids)),
                }
            }
            event["id"] = f"evt_{seller_id}_{action}_{number}"
            lines.append(draw(webhook(draw(texts(event)))))
    return lines


@st.composite
def broken_deliveries(draw) -> list[dict]:
    return [draw(webhook(draw(st.sampled_from(BROKEN_BODIES))))]


ERRORS = ["timeout", "network_error", "tls_refused", "tls_refused", "refused", "refused", "?", None]


STATUSES = [200, 200, 400, 401, 401, 404, 409, 429, 500, 503, 599, 302, 600, None, None]


@st.composite
def attempts(draw, starts: st.SearchStrategy[datetime] | None = None) -> list[dict]:
    """A start and its finish; either may be lost, late, refused or repeated."""
    attempt_id = draw(st.sampled_from(sorted(ATTEMPT_OF)))
    process_id = ATTEMPT_OF[attempt_id]
    if starts is None:
        starts = st.one_of(moments(), moments(), deadlines())
    started_at = draw(starts)
    took = draw(st.sampled_from([timedelta(0), TICK, timedelta(seconds=59), HOUR, -HOUR]))
    seller_id = draw(usually(st.just(HOME_OF.get(process_id, "s9")), st.sampled_from(SELLERS)))
    start = {
        "kind": "submission_started",
        "occurred_at": draw(spelled(st.just(started_at), True)),
        "attempt_id": attempt_id,
        "process_id": process_id,
        "seller_id": seller_id,
        "marketplace_id": "m1",
        "idempotency_key": process_id,
        "body": draw(payload_texts(process_id)),
    }
    if draw(st.booleans()):
        start["timeout_seconds"] = draw(st.sampled_from([5, 60, 3600, 0.5]))
    status = draw(st.sampled_from(STATUSES))
    error = draw(st.sampled_from(ERRORS)) if status is None else None
    finish = {
        "kind": "submission_finished",
        "occurred_at": draw(
            spelled(st.just(started_at if error == "refused" else started_at + took), True)
        ),
        "attempt_id": attempt_id,
        "process_id": process_id,
        "status": status,
        "error": error,
        "body": draw(st.sampled_from([None, "{}"])),
    }
    return draw(st.sampled_from([[start, finish]] * 4 + [[start], [finish]]))


A_QUARTER_OF_59_MIN_59_S = timedelta(minutes=59, seconds=59) / 4
"""Five attempts so far apart that each take a second, take an hour."""


@st.composite
def retries(draw) -> list[dict]:
    """One payload sent again and again, up to and over the limits: 3 and 5 in a row, 30 in all.
    Some start before the one before has ended, as another system's machines may, or when a person
    replaced what was sent before."""
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    count = draw(st.sampled_from([2, 3, 4, 5, 6, 29, 30, 31]))
    body = draw(payload_texts(process_id))
    first_at = draw(st.one_of(st.sampled_from(HOT), deadlines().map(lambda due: due - 3 * DAY)))
    apart = draw(st.sampled_from([timedelta(minutes=15), A_QUARTER_OF_59_MIN_59_S, HOUR]))
    took = [timedelta(seconds=1), *([2 * HOUR] if draw(st.booleans()) else [])]
    lines = []
    for number in range(count):
        at = first_at + number * apart
        last = number == count - 1
        if number < 2 and draw(usually(st.just(False), st.just(True), odds=9)):
            lines.append(replacement(process_id, in_zulu(at)))
        broken = usually(st.just(503), st.sampled_from([429, 400]), odds=9)
        status = draw(st.sampled_from([200, 500, 500, 500, 400])) if last else draw(broken)
        common = {"attempt_id": f"r{number:02}-{process_id}", "process_id": process_id}
        lines.append(
            {
                "kind": "submission_started",
                "occurred_at": in_zulu(at),
                **common,
                "seller_id": HOME_OF[process_id],
                "body": body,
            }
        )
        lines.append(
            {
                "kind": "submission_finished",
                "occurred_at": in_zulu(at + draw(st.sampled_from(took))),
                **common,
                "status": status,
                "error": None,
                "body": json.dumps({"status": status}),
            }
        )
    return lines


LOST = ["timeout", "timeout", "tls_refused", None]


@st.composite
def lost_answers(draw) -> list[dict]:
    """A process that the platform finished, and what we had sent before or after."""
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    at = draw(st.sampled_from(HOT))
    finish = draw(review_events(process_id))
    finish["created_at"] = in_zulu(at)
    finish["payload"]["object"]["status"] = "FINISHED"
    lines = [
        draw(webhook(draw(texts(draw(review_events(process_id)))))),
        draw(webhook(draw(texts(finish)))),
    ]
    for number in range(draw(st.sampled_from([1, 1, 2]))):
        starts = st.sampled_from([at - HOUR, at - timedelta(seconds=30), at - TICK, at, at + TICK])
        for line in draw(attempts(starts)):
            line["process_id"] = process_id
            line["attempt_id"] = f"lost{number}-{process_id}"
            if line["kind"] == "submission_finished" and draw(st.booleans()):
                line |= {"status": None, "error": draw(st.sampled_from(LOST))}
            lines.append(line)
    return lines


@st.composite
def ends(draw) -> list[dict]:
    """A process about its end, with reports around it whose deadlines it keeps or misses."""
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    at = draw(st.sampled_from([moment + 2 * DAY for moment in HOT]))
    lines = []
    for number in range(draw(st.sampled_from([2, 3, 3, 4]))):
        event = draw(review_events(process_id))
        event["id"] = f"evt_end_{process_id}_{number}"
        event["created_at"] = in_zulu(
            at + draw(st.sampled_from([-DAY, -TICK, timedelta(0), timedelta(0), TICK, DAY]))
        )
        review = event["payload"]["object"]
        review["status"] = draw(usually(st.just("FINISHED"), st.just("OVERDUE"), odds=1))
        if "deadline_at" in review:
            review["deadline_at"] = in_zulu(
                at + draw(st.sampled_from([-5 * DAY, timedelta(0), TICK, 5 * DAY]))
            )
        lines.append(draw(webhook(draw(texts(event)))))
    if draw(st.booleans()):
        lines += started_and_answered(process_id, at)
    return lines


def started_and_answered(process_id: str, at: datetime) -> list[dict]:
    attempt = {"attempt_id": f"end-{process_id}", "process_id": process_id}
    start = {"kind": "submission_started", "occurred_at": in_zulu(at - HOUR), **attempt}
    finish = {"kind": "submission_finished", "occurred_at": in_zulu(at), **attempt}
    sent = json.dumps({"process_id": process_id, **PAYLOADS[0]})
    return [
        {**start, "seller_id": HOME_OF[process_id], "body": sent},
        {**finish, "status": 200, "error": None, "body": "{}"},
    ]


@st.composite
def departures(draw) -> list[dict]:
    """A seller that is deleted, with reviews of it and other news before and after."""
    seller_id = draw(st.sampled_from(["s1", "s2", "s3"]))
    events = [draw(seller_events("seller.deleted")), draw(seller_events())]
    lines = []
    for number, event in enumerate(events):
        event["payload"] = {"object": {"id": seller_id, "resource": "seller"}}
        event["id"] = f"evt_{seller_id}_goes_{number}"
        lines.append(draw(webhook(draw(texts(event)))))
    homes = [process_id for process_id in HOME_OF if HOME_OF[process_id] == seller_id]
    review = draw(review_events(draw(st.sampled_from(sorted(homes)))))
    return [*lines, draw(webhook(draw(texts(review))))]


@st.composite
def collections(draw) -> list[dict]:
    process_id = draw(st.sampled_from(["p1", "p1", "p2", "p3", "p4", "p8"]))
    step = draw(st.sampled_from(["invited", "opened", "answered", "answered", "confirmed"]))
    line = {
        "kind": "collection",
        "occurred_at": draw(spelled(moments(), True)),
        "process_id": process_id,
        "seller_id": draw(
            usually(st.just(HOME_OF.get(process_id, "s8")), st.sampled_from(SELLERS))
        ),
        "journey_id": draw(usually(st.just(f"j-{process_id}"), st.just("j-shared"))),
        "step": step,
        "channel": draw(st.sampled_from(["web_form", "in_app", "phone"])),
        "source": draw(usually(st.just("seller"), st.sampled_from(["bureau", "database"]))),
        "actor": "Maria",
    }
    if step == "answered":
        line["fields"] = draw(st.sampled_from(ANSWERS))
    if step == "invited" and draw(st.booleans()):
        line["expires_at"] = "2026-06-01T00:00:00Z"
    if draw(st.booleans()):
        line["artifacts"] = ARTIFACTS
    return [line]


@st.composite
def answered_submissions(draw) -> list[dict]:
    """Reviews, the seller's answers to them, and what was sent; any may be a little off.

    Two reviews of one seller may be answered with the same values.
    """
    payload = draw(st.sampled_from(PAYLOADS))
    process_ids = draw(st.sampled_from([["p1"], ["p2"], ["p3"], ["p4"], ["p1", "p2"]]))
    return [
        line
        for process_id in process_ids
        for line in draw(answered_submission(process_id, payload))
    ]


@st.composite
def answered_submission(draw, process_id: str, payload: dict) -> list[dict]:
    lines = [draw(webhook(draw(texts(draw(review_events(process_id))))))]
    answered = {key: value for key, value in payload.items() if key != "type"}
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        [collection] = draw(collections())
        collection |= {
            "process_id": process_id,
            "seller_id": HOME_OF[process_id],
            "step": "answered",
            "fields": draw(usually(st.just(answered), st.sampled_from(ANSWERS), odds=2)),
        }
        lines.append(collection)
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        sent = draw(attempts())
        is_accepted = draw(st.booleans())
        for line in sent:
            if line["kind"] == "submission_finished" and is_accepted:
                line |= {"status": 200, "error": None}
            line["process_id"] = process_id
            line["attempt_id"] = f"{line['attempt_id']}-{process_id}"
            if line["kind"] == "submission_started":
                line["seller_id"] = HOME_OF[process_id]
                line["body"] = json.dumps({"process_id": process_id, **payload})
        lines += sent
    return lines


def replacement(process_id: str, occurred_at: str) -> dict:
    return {
        "kind": "replacement",
        "occurred_at": occurred_at,
        "process_id": process_id,
        "reason": "asked by the seller",
        "actor": "ana",
    }


@st.composite
def interventions(draw) -> list[dict]:
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    line = replacement(process_id, draw(spelled(moments(), True)))
    if draw(st.booleans()):
        line["kind"] = "override"
        line["attempt_id"] = draw(st.sampled_from(sorted(ATTEMPT_OF)))
        line["gates"] = draw(st.sampled_from([["evidence"], ["process_unknown"]]))
    return [line]


@st.composite
def tickets(draw) -> list[dict]:
    """Tickets of a process that are opened, closed, or both."""
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    return [
        {
            "kind": "ticket",
            "occurred_at": draw(spelled(moments(), True)),
            "process_id": process_id,
            "number": "T-1",
            "step": step,
            "actor": "ana",
        }
        for step in draw(st.sampled_from([["opened"], ["opened", "closed"], ["closed"]]))
    ]


CALLERS = {"phone": "ana", "letter": "bia"}
REPORTED = ["accepted", "accepted", "delivered", "opened", "bounced", "failed", "uncertain"]


@st.composite
def notices(draw) -> list[dict]:
    """A message or a call about one or two processes, what became of it, and its retraction."""
    message_id = draw(st.sampled_from(["n1", "n2", "n3"]))
    process_ids = draw(st.sampled_from([["p1"], ["p2"], ["p1", "p2"], ["p3"], ["p4"], ["p8"]]))
    channel = draw(st.sampled_from(["email", "email", "whatsapp", "phone", "phone", "letter"]))
    sent_at = draw(usually(early_moments(), moments(), odds=2))
    lines = []
    for process_id in process_ids:
        line = {
            "kind": "seller_notice",
            "occurred_at": draw(spelled(st.just(sent_at), True)),
            "message_id": message_id,
            "process_id": process_id,
            "seller_id": HOME_OF.get(process_id, "s8"),
            "channel": channel,
        }
        if channel in CALLERS:
            line["actor"] = CALLERS[channel]
        if channel == "phone":
            line["outcome"] = draw(st.sampled_from(["reached", "reached", "no_answer"]))
        lines.append(line)
    for what in draw(st.lists(st.sampled_from(REPORTED), max_size=3)):
        report = {"kind": "seller_notice_result", "result": what, "detail": None}
        lines.append({**report, **draw(of_message(message_id))})
    if draw(usually(st.just(False), st.just(True))):
        by_ana = {"actor": "ana", "reason": "another seller"}
        lines.append({"kind": "retraction", **by_ana, **draw(of_message(message_id))})
    if draw(usually(st.just(False), st.just(True))):
        lines.append({**lines[0], "message_id": "n0", "occurred_at": in_zulu(START - DAY)})
    return lines


@st.composite
def of_message(draw, message_id: str) -> dict:
    """When something was said of a message, and mostly of all its processes."""
    said = {"occurred_at": draw(spelled(moments(), True)), "message_id": message_id}
    process_id = draw(usually(st.none(), st.sampled_from(["p1", "p2", "p3"]), odds=2))
    return said if process_id is None else {**said, "process_id": process_id}


@st.composite
def schedules(draw) -> list[dict]:
    """The schedule of notices is started, and perhaps held or stopped, for all or for some."""
    lines = []
    for step in draw(
        st.sampled_from(
            [["started"], ["started", "held"], ["started", "stopped", "claimed"], ["released"]]
        )
    ):
        line = {"kind": "notice_schedule", "step": step, "actor": "ana"}
        line["occurred_at"] = in_zulu(draw(usually(st.just(START - DAY), moments(), odds=2)))
        if step == "started":
            line["backlog"] = draw(st.booleans())
        elif step == "claimed":
            line |= {"process_id": "p1", "channel": "phone", "reason": "no_address"}
        elif draw(st.booleans()):
            line |= draw(st.sampled_from([{"process_id": "p1"}, {"seller_id": "s1"}]))
            if step == "stopped":
                line["reason"] = draw(st.sampled_from(["not_me", "stop_writing", "a dispute"]))
        lines.append(line)
    return lines


@st.composite
def assignments(draw) -> list[dict]:
    """Who sees to a process, or a reminder as it was recorded once. Of two assignments at one
    instant the place in the log decides, so the instant says to whom."""
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    moment = draw(moments())
    line = {"occurred_at": in_zulu(moment), "process_id": process_id, "actor": "ana"}
    if draw(st.booleans()):
        return [{"kind": "reminded", "channel": "phone", **line}]
    return [{"kind": "assignment", "assignee": ["ana", "bia"][moment.day % 2], **line}]


EPISODES = {
    "deliveries": deliveries,
    "altered_deliveries": altered_deliveries,
    "departures": departures,
    "ends": ends,
    "lost_answers": lost_answers,
    "tickets": tickets,
    "reports": reports,
    "onboardings": onboardings,
    "broken_deliveries": broken_deliveries,
    "attempts": attempts,
    "retries": retries,
    "collections": collections,
    "answered_submissions": answered_submissions,
    "interventions": interventions,
    "notices": notices,
    "schedules": schedules,
    "assignments": assignments,
}
USUAL_EPISODES = (
    "deliveries",
    "deliveries",
    "altered_deliveries",
    "altered_deliveries",
    "departures",
    "ends",
    "ends",
    "lost_answers",
    "lost_answers",
    "tickets",
    "reports",
    "onboardings",
    "broken_deliveries",
    "attempts",
    "retries",
    "collections",
    "answered_submissions",
    "answered_submissions",
    "answered_submissions",
    "interventions",
    "notices",
    "notices",
    "notices",
    "schedules",
    "assignments",
)
