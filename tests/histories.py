"""Whole histories for hypothesis: realistic in shape, nasty in order, spelling and repetition.

    @given(histories().flatmap(lambda history: st.tuples(st.just(history), instants_of(history))))
    @given(histories_and_as_of())          # the same, shorter

A history is a list of occurrence dicts in the order of recording, as `oracle.rows` takes it. All
instants come from one small pool, so that ties are common; ids come from a handful, so that
events of one process, attempts of one id and answers to one path meet each other.

`reordered(history)` and `repeated(history)` give the same occurrences in another order and more
often: no state may depend on either.
"""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

# Instants ------------------------------------------------------------------------------------

START = datetime(2026, 3, 1, 12, tzinfo=UTC).replace(tzinfo=None)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

HOT = [START, START + HOUR, START + DAY, START + 30 * DAY, START + 60 * DAY]
OFFSETS = [
    -DAY,
    timedelta(seconds=5),
    timedelta(seconds=60),
    timedelta(seconds=180),
    2 * HOUR,
    12 * HOUR - TICK,  # the last microsecond of the first day
    12 * HOUR,
    25 * HOUR,
    2 * DAY,
    29 * DAY,
    31 * DAY,
    59 * DAY,
    61 * DAY,
]
COLD = [START + offset for offset in OFFSETS]


def moments() -> st.SearchStrategy[datetime]:
    """Mostly one of five instants; sometimes another, or one a microsecond off."""
    near = st.builds(
        lambda moment, ticks: moment + ticks * TICK,
        st.sampled_from(HOT + COLD),
        st.sampled_from([-1, 1]),
    )
    return st.one_of(st.sampled_from(HOT), st.sampled_from(HOT + COLD), near)


def early_moments() -> st.SearchStrategy[datetime]:
    """When processes open: within the first day, so that clocks have time to run."""
    return st.sampled_from([START, START, START + TICK, START + HOUR, START + DAY])


def deadlines() -> st.SearchStrategy[datetime]:
    """At the contract's distance from an opening, at its tolerance of a day, or past either."""
    distances = [30 * DAY, 30 * DAY, 60 * DAY, 60 * DAY, 29 * DAY, 31 * DAY, 61 * DAY, 45 * DAY]
    return st.builds(
        lambda opened, distance, ticks: opened + distance + ticks * TICK,
        early_moments(),
        st.sampled_from(distances),
        st.sampled_from([0, 0, 0, -1, 1]),
    )


def spelled(
    moment: st.SearchStrategy[datetime], with_offset: bool = False
) -> st.SearchStrategy[str]:
    """One instant in one of its spellings; without an offset it is UTC."""
    spellings = [in_zulu, in_zulu, in_zulu, in_utc, in_brasilia, in_kathmandu, in_nine_digits]
    if not with_offset:
        spellings.append(without_offset)
    return st.builds(lambda at, spell: spell(at), moment, st.sampled_from(spellings))


def in_zulu(moment: datetime) -> str:
    return moment.isoformat() + "Z"


def in_utc(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds") + "+00:00"


def in_brasilia(moment: datetime) -> str:
    return (moment - 3 * HOUR).isoformat(timespec="microseconds") + "-03:00"


def in_kathmandu(moment: datetime) -> str:
    return (moment + timedelta(hours=5, minutes=45)).isoformat() + "+05:45"


def in_nine_digits(moment: datetime) -> str:
    """Digits past the microsecond, which are cut and not rounded."""
    return moment.isoformat(timespec="microseconds") + "999Z"


def without_offset(moment: datetime) -> str:
    return moment.isoformat()


# Ids and codes -------------------------------------------------------------------------------

SELLERS = ["s1", "s2", "s3", "vendedor ção/4"]
HOME_OF = {"p1": "s1", "p2": "s1", "p3": "s2", "p4": "s3"}
TYPE_OF = {
    "p1": "REGISTRATION_REVIEW_REQUIRED",
    "p2": "INCONSISTENT_DATA_UPDATE_REQUIRED",
    "p3": "REGISTRATION_REVIEW_REQUIRED",
    "p4": "INCONSISTENT_DATA_UPDATE_REQUIRED",
}
REVIEW_TYPES = [*sorted(set(TYPE_OF.values())), "SOMETHING_NEW"]
STATUSES = ["PENDING", "OVERDUE", "EXPIRED", "FINISHED", "SUSPENDED", "", None]
EVENT_IDS = [f"evt_{number}" for number in range(1, 17)]
ATTEMPT_OF = {"a1": "p1", "a2": "p1", "a3": "p1", "a4": "p2", "a5": "p3", "a6": "p9"}
REASONS = [
    {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
    {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_NOT_MATCH"},
    {"reason": "REGISTRATION_INCONSISTENCY", "detail": "NAME_INVALID"},
    {"reason": "INTERNAL_KYC_POLICY", "detail": ""},
    {"reason": "INTERNAL_KYC_POLICY"},
    {"reason": "FRAUD_PREVENTION", "detail": None},
    {"reason": "NEW_REASON", "detail": "NEW_DETAIL"},
]
TAXPAYER_IDS = ["123.456.789-09", "12345678909", "98765432100", "sem número"]
REQUESTED = [
    [],
    ["revenue"],
    ["revenue", "address.city"],
    ["address"],
    ["revenue", "address"],
    ["owner.revenue", "documents.selfie"],
]


def usually(
    expected: st.SearchStrategy, otherwise: st.SearchStrategy, odds: int = 4
) -> st.SearchStrategy:
    """`expected` in `odds` of `odds + 1` draws."""
    return st.integers(0, odds).flatmap(lambda draw: otherwise if draw == odds else expected)


def without(keys: list[str], odds: int, given: dict) -> st.SearchStrategy[dict]:
    """The dict, now and then without some of `keys`."""
    dropped = usually(st.just(set()), st.sets(st.sampled_from(keys), min_size=1), odds)
    return dropped.map(lambda gone: {key: given[key] for key in given if key not in gone})


# Payloads ------------------------------------------------------------------------------------

CITY = {"city": "Recife"}
ADDRESS = {
    "line1": "Rua A, 1",
    "line3": "Centro",
    "city": "Recife",
    "state": "PE",
    "postal_code": "50000000",
    "country_code": "BR",
}
PAYLOADS = [
    {"type": "individual", "revenue": "1000_to_5000", "address": ADDRESS},
    {"type": "individual", "revenue": "1000_to_5000", "address": {**ADDRESS, "line2": "ap 2"}},
    {"type": "individual", "revenue": "1000_to_5000", "address": CITY},
    {"type": "individual", "revenue": "1000_to_5000"},
    {"type": "individual", "revenue": "5000_to_9000", "address": CITY},
    {
        "type": "business",
        "revenue": "1000_to_5000",
        "address": ADDRESS,
        "owner": {"revenue": "1000_to_5000", "address": ADDRESS},
    },
    {"type": "business", "revenue": "1000_to_5000", "address": ADDRESS, "owner": {}},
    {"type": "individual", "documents": {"selfie": ["a", {"b": 1}]}},
]
ANSWERS = [
    {"revenue": "1000_to_5000"},
    {"revenue": "5000_to_9000"},
    {"revenue": 1000},
    {"address": ADDRESS},
    {"address": CITY, "revenue": "1000_to_5000"},
    {"address.city": "Recife"},
    {"address.city": "Olinda", "revenue": "1000_to_5000"},
    {"owner": {"revenue": "1000_to_5000", "address": ADDRESS}, "address": ADDRESS},
    {"documents.selfie": ["a", {"b": 1}]},
    {},
]
ARTIFACTS = [{"name": "screen.png", "media_type": "image/png", "sha256": "ab" * 32}]


def texts(value: object) -> st.SearchStrategy[str]:
    """One JSON value in one of three spellings: other bytes, same meaning."""
    return st.sampled_from(
        [
            json.dumps(value, separators=(",", ":"), ensure_ascii=False),
            json.dumps(value, separators=(",", ":"), ensure_ascii=False),
            json.dumps(value),
            json.dumps(value, sort_keys=True, indent=1),
        ]
    )


@st.composite
def payload_texts(draw, process_id: str) -> str:
    payload = {"process_id": process_id, **draw(st.sampled_from(PAYLOADS))}
    return draw(
        st.one_of(
            st.just(json.dumps(payload)),
            st.just(json.dumps(payload)),
            st.just(json.dumps(payload)),
            st.just(json.dumps(payload, sort_keys=True)),
            st.sampled_from(["", "[]", '{"type":"individual","type":"business"}']),
        )
    )


# Events --------------------------------------------------------------------------------------

BROKEN_BODIES = [
    "",
    "not json",
    "[]",
    "null",
    '"text"',
    "{}",
    '{"id":"evt_1","type":null}',
    '{"id":"evt_1","type":5}',
    '{"id":"evt_1","id":"evt_1","type":"seller.created"}',
    '{"id":"evt_1","type":"seller.created","payload":{"object":{"id":"s1","revenue":NaN}}}',
    '{"id":"evt_1","type":"seller.created","payload":{"object":{"id":"s1","revenue":1e999}}}',
    '{"id":"evt_1","type":"seller.created","payload":{"object":{"id":"s1","uri":"\\ud800"}}}',
    '{"id":"evt_1","type":"regulatory.registration.review.required"}',
    '{"id":"evt_1","type":"regulatory.registration.review.required","payload":{"object":[]}}',
    '{"id":"evt_1","type":"seller.created","payload":' + "[" * 2000 + "]" * 2000 + "}",
]


@st.composite
def review_events(draw, process_id: str | None = None) -> dict:
    process_id = process_id or draw(st.sampled_from(sorted(HOME_OF)))
    review = {
        "type": draw(usually(st.just(TYPE_OF[process_id]), st.sampled_from(REVIEW_TYPES))),
        "process_id": process_id,
        "customer_id": draw(usually(st.just(HOME_OF[process_id]), st.sampled_from(SELLERS))),
        "status": draw(st.sampled_from(STATUSES)),
        "deadline_at": draw(spelled(deadlines())),
        "requested_fields": draw(st.sampled_from(REQUESTED)),
    }
    envelope = {
        "id": draw(st.sampled_from(EVENT_IDS)),
        "type": "regulatory.registration.review.required",
        "created_at": draw(spelled(usually(early_moments(), moments(), odds=2))),
        "payload": {"object": draw(without(["status", "requested_fields"], 6, review))},
    }
    broken = draw(usually(st.just(None), st.sampled_from(sorted(review)), odds=12))
    if broken is not None and broken in envelope["payload"]["object"]:
        envelope["payload"]["object"][broken] = draw(st.sampled_from(["", None, 7, "2026-03-01"]))
    return draw(without(["id", "created_at"], 5, envelope))


@st.composite
def seller_events(draw, event_type: str | None = None) -> dict:
    actions = ["created", "enabled", "denied", "disabled", "updated", "deleted"]
    event_type = event_type or f"seller.{draw(st.sampled_from(actions))}"
    record = {
        "id": draw(st.sampled_from(SELLERS)),
        "status": draw(st.sampled_from(["enabled", "denied", "waiting", None])),
        "resource": "seller",
        "taxpayer_id": draw(st.sampled_from(TAXPAYER_IDS)),
        "mcc": draw(st.sampled_from(["5411", "7995"])),
        "is_mobile": draw(st.booleans()),
        "current_balance": draw(st.sampled_from([0.0, 10.5])),
        "created_at": draw(spelled(moments())),
    }
    optional = ["status", "resource", "taxpayer_id", "mcc", "is_mobile", "created_at"]
    record = draw(without(optional, 2, record))
    if event_type == "seller.denied":
        record["decision_reasons"] = draw(st.lists(st.sampled_from(REASONS), max_size=4))
        record["retry"] = draw(st.sampled_from([True, False, None]))
        record = draw(without(["decision_reasons", "retry"], 3, record))
    no_record = st.sampled_from([{}, {"object": {}}, {"object": {"status": "enabled"}}, None])
    envelope = {
        "id": draw(st.sampled_from(EVENT_IDS)),
        "type": event_type,
        "created_at": draw(spelled(usually(early_moments(), moments(), odds=2))),
        "payload": draw(
            usually(st.just({"object": record}), st.one_of(st.just(record), no_record), odds=8)
        ),
    }
    return draw(without(["id", "created_at"], 5, envelope))


@st.composite
def other_events(draw) -> dict:
    envelope = {
        "id": draw(st.sampled_from(EVENT_IDS)),
        "type": draw(
            st.sampled_from(["bank_account.associated", "bank_account.deleted", "seller.paused"])
        ),
        "created_at": draw(spelled(moments())),
        "payload": draw(
            st.sampled_from(
                [
                    {"object": {"customer_id": "s1", "number": "1"}},
                    {"customer_id": "s2"},
                    {"object": {"id": "s9", "number": "1"}},
                    "text",
                ]
            )
        ),
    }
    return draw(without(["id", "created_at", "payload"], 5, envelope))


# Episodes: one to several lines that belong together -------------------------------------------


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
            event["payload"]["object"]["deadline_at"] = draw(spelled(st.just(moment)))
    return [draw(webhook(draw(texts(event)))) for event in events]


@st.composite
def onboardings(draw) -> list[dict]:
    """seller.created, then what became of it, for up to three sellers of one taxpayer."""
    lines = []
    for seller_id in draw(st.lists(st.sampled_from(SELLERS), min_size=1, max_size=3, unique=True)):
        for action in draw(
            st.sampled_from(
                [["created", "denied"], ["created", "enabled"], ["denied"], ["updated"]]
            )
        ):
            event = draw(seller_events(f"seller.{action}"))
            event["payload"] = {
                "object": {
                    **(event["payload"] or {}).get("object", {}),
                    "id": seller_id,
                    "taxpayer_id": draw(st.sampled_from(TAXPAYER_IDS[:2])),
                }
            }
            event["id"] = f"evt_{seller_id}_{action}"
            lines.append(draw(webhook(draw(texts(event)))))
    return lines


@st.composite
def broken_deliveries(draw) -> list[dict]:
    return [draw(webhook(draw(st.sampled_from(BROKEN_BODIES))))]


@st.composite
def attempts(draw) -> list[dict]:
    """A start and its finish; either may be lost, late, refused or told twice."""
    attempt_id = draw(st.sampled_from(sorted(ATTEMPT_OF)))
    process_id = ATTEMPT_OF[attempt_id]
    started_at = draw(st.one_of(moments(), moments(), deadlines()))
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
    status = draw(
        st.sampled_from([200, 200, 400, 401, 404, 409, 429, 500, 503, 599, 302, 600, None])
    )
    error = draw(st.sampled_from(["timeout", "network_error", "refused"])) if not status else None
    finish = {
        "kind": "submission_finished",
        "occurred_at": draw(
            spelled(st.just(started_at if error == "refused" else started_at + took), True)
        ),
        "attempt_id": attempt_id,
        "process_id": process_id,
        "status": status,
        "error": error,
        # The answer says its status, so that two finishes never differ in nothing but that.
        "body": json.dumps({"status": status, "error": error}),
    }
    return draw(st.sampled_from([[start, finish]] * 4 + [[start], [finish]]))


@st.composite
def retries(draw) -> list[dict]:
    """One payload sent again and again, up to and over the limit of 30 attempts."""
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    count = draw(st.sampled_from([2, 3, 29, 30, 31]))
    body = draw(payload_texts(process_id))
    first_at = draw(st.sampled_from(HOT))
    lines = []
    for number in range(count):
        at = first_at + number * timedelta(minutes=15)
        last = number == count - 1
        status = draw(st.sampled_from([200, 500, 400])) if last else 500
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
                "occurred_at": in_zulu(at + timedelta(seconds=1)),
                **common,
                "status": status,
                "error": None,
                "body": json.dumps({"status": status}),
            }
        )
    return lines


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
        for line in sent:
            line["process_id"] = process_id
            line["attempt_id"] = f"{line['attempt_id']}-{process_id}"
            if line["kind"] == "submission_started":
                line["seller_id"] = HOME_OF[process_id]
                line["body"] = json.dumps({"process_id": process_id, **payload})
        lines += sent
    return lines


@st.composite
def interventions(draw) -> list[dict]:
    process_id = draw(st.sampled_from(sorted(HOME_OF)))
    line = {
        "kind": draw(st.sampled_from(["override", "replacement"])),
        "occurred_at": draw(spelled(moments(), True)),
        "process_id": process_id,
        "reason": "asked by the seller",
        "actor": "ana",
    }
    if line["kind"] == "override":
        line["attempt_id"] = draw(st.sampled_from(sorted(ATTEMPT_OF)))
        line["gates"] = draw(st.sampled_from([["evidence"], ["process_unknown"]]))
    return [line]


EPISODES = {
    "deliveries": deliveries,
    "reports": reports,
    "onboardings": onboardings,
    "broken_deliveries": broken_deliveries,
    "attempts": attempts,
    "retries": retries,
    "collections": collections,
    "answered_submissions": answered_submissions,
    "interventions": interventions,
}
USUAL_EPISODES = (
    "deliveries",
    "deliveries",
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
)


# Histories -----------------------------------------------------------------------------------


@st.composite
def histories(
    draw,
    episodes: tuple[str, ...] = USUAL_EPISODES,
    max_episodes: int = 8,
    live: bool = True,
) -> list[dict]:
    """A history of some episodes, in any order of recording, with some lines told twice.

    `episodes` narrows what happens (names of EPISODES); `live=False` leaves every line ingested.
    """
    told = st.one_of([EPISODES[name]() for name in episodes])
    lines = [line for episode in draw(st.lists(told, max_size=max_episodes)) for line in episode]
    if live:
        lines = [draw(perhaps_live(line)) for line in lines]
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
    if lines and draw(st.booleans()):
        lines = draw(repeated(lines))
    return list(lines)


@st.composite
def perhaps_live(draw, line: dict) -> dict:
    """As it is, or live and recorded at once, just in time, or late."""
    if draw(st.booleans()):
        return line
    late = draw(
        st.sampled_from(
            [timedelta(0), timedelta(seconds=5), timedelta(seconds=5) + TICK, DAY, DAY + TICK]
        )
    )
    entry = {**line, "origin": "live", "recorded_at": in_zulu(instant_of(line) + late)}
    if line["kind"] == "submission_started":
        entry["via"] = draw(st.sampled_from(["cli", "api", "gateway"]))
    return entry


def instant_of(line: dict) -> datetime:
    """The instant of a line's own `occurred_at` (always spelled with an offset here)."""
    text = line["occurred_at"].replace("999Z", "Z") if nine_digits(line) else line["occurred_at"]
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def nine_digits(line: dict) -> bool:
    return len(line["occurred_at"].partition(".")[2]) == 10


def reordered(history: list[dict]) -> st.SearchStrategy[list[dict]]:
    """The same occurrences, recorded in another order."""
    return st.permutations(history).map(list)


@st.composite
def repeated(draw, history: list[dict]) -> list[dict]:
    """The same occurrences, some of them recorded more than once, the same or later.

    A repeated ingested line is the same line. A webhook may be delivered again, now or later,
    and a submission entry be told again later: the earliest telling counts. A collection, an
    override or a replacement comes again only as it was, since its instant is part of it.
    """
    if not history:
        return []
    lines = list(history)
    for line in draw(st.lists(st.sampled_from(history), max_size=4)):
        again = dict(line)
        if line["kind"] in ("webhook", "submission_started", "submission_finished"):
            later = draw(st.sampled_from([timedelta(0), TICK, DAY]))
            again["occurred_at"] = in_zulu(instant_of(line) + later)
            again.pop("recorded_at", None)
        if line["kind"] == "webhook" and draw(st.booleans()):
            again["origin"] = "live"
        lines.insert(draw(st.integers(0, len(lines))), again)
    return lines


# as_of ---------------------------------------------------------------------------------------


def instants_of(history: list[dict]) -> st.SearchStrategy[datetime]:
    """An `as_of` at, just before or just after an instant at which something may change."""
    at = sorted(turning_points(history) | {START})
    return st.builds(
        lambda moment, ticks: moment + ticks * TICK,
        st.one_of(st.sampled_from(at), st.sampled_from(at[len(at) // 2 :])),
        st.sampled_from([0, 0, 0, -1, 1]),
    )


def turning_points(history: list[dict]) -> set[datetime]:
    """Every occurred_at, created_at, deadline and the instants that the rules derive of them."""
    points = set()
    for line in history:
        occurred_at = instant_of(line)
        points |= {occurred_at, occurred_at + timedelta(seconds=60), occurred_at + DAY}
        timeout = line.get("timeout_seconds")
        if timeout is not None:
            points.add(occurred_at + timedelta(seconds=timeout))
        points |= points_of_body(line) if line["kind"] == "webhook" else set()
    return points


def points_of_body(line: dict) -> set[datetime]:
    try:
        envelope = json.loads(line["body"])
        review = envelope["payload"]["object"]
        created_at = datetime_of(envelope.get("created_at", line["occurred_at"]))
        deadline_at = datetime_of(review["deadline_at"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()
    return {
        created_at,
        created_at + DAY,
        deadline_at,
        deadline_at - 30 * DAY,
        deadline_at - 29 * DAY,
        deadline_at - DAY,
        deadline_at + DAY,
    }


def datetime_of(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


@st.composite
def histories_and_as_of(draw, **options) -> tuple[list[dict], datetime]:
    """A history and an interesting instant to look at it from; options as for `histories`."""
    history = draw(histories(**options))
    return history, draw(instants_of(history))
