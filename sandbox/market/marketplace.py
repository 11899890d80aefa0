"""Simulates a marketplace: it hears webhooks, asks its sellers, and says what it wants to do.

It decides only. What it wants are values (`Collect`, `Submit`, `Onboard`) that an edge carries
out: `history` by writing log lines, `live` over HTTP. The edge tells `learn` how a submission went.

Sellers differ: most open the invitation within days and answer in minutes, some only look, some
never react. A `Plan` fixes how one review goes; without one it is drawn.
"""

import heapq
import json
import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from sandbox import people
from sandbox.clock import DAY, HOUR, MINUTE, SECOND, exact_text
from sandbox.market.screens import screen
from sandbox.people import Profile
from sandbox.resources import (
    ADDRESS_FIELDS,
    BUSINESS_FIELDS,
    INDIVIDUAL_FIELDS,
    REVIEW_TYPES,
    Json,
    to_bytes,
)

Step = Literal["invited", "opened", "answered", "confirmed"]
Flaw = Literal["leaves_out_city", "sends_extra_field", "masks_postal_code", "is_answered_with_mask"]

CHANNELS = ("in_app", "web_form", "email", "push", "sms", "chat", "phone")
_CHANNEL_WEIGHTS = (40, 22, 14, 9, 6, 6, 3)

_WHOLE = {it.code for it in REVIEW_TYPES.values() if it.is_whole}
_FRAME = ("process_id", "type")  # in every payload, and nothing that a seller is asked

MAX_ATTEMPTS = 30
GIVE_UP_AFTER = 24 * HOUR
LONGEST_PAUSE = 15 * MINUTE


@dataclass(frozen=True)
class Plan:
    """How one review goes. Delays count from the step before; None: it never gets that far."""

    invite: int = 5 * MINUTE
    open: int | None = None
    answer: int | None = None
    confirm: int | None = None  # may be skipped: the submission then follows the answer
    submit: int | None = None
    correction: int = 3 * HOUR  # until a refused payload or refused credentials are corrected
    channel: str = "in_app"
    source: str = "seller"
    collects: bool = True  # False: the payload is filled from the marketplace's own database
    repeats: bool = False  # the seller states what was on record already
    sends_again: bool = False  # submits once more, changed, after the process has finished
    journey_id: str | None = None  # of another process too
    flaw: Flaw | None = None  # of the first payload, or of the seller's answer


SILENT = Plan()
LOOKS_ONLY = Plan(open=9 * HOUR)


def answers_after(days: float, **changes: Any) -> Plan:
    """A seller who opens the invitation after so many days, and then gets on with it."""
    plan = Plan(
        open=int(days * DAY),
        answer=4 * MINUTE,
        confirm=35 * SECOND,
        submit=20 * SECOND,
    )
    return replace(plan, **changes)


@dataclass(frozen=True)
class Artifact:
    """A file that shows a step of a journey."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class Collect:
    """Something a seller did, or was asked to do, in a collection journey."""

    at: int
    process_id: str
    seller_id: str
    journey_id: str
    step: Step
    channel: str
    source: str
    actor: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def artifacts(self) -> tuple[Artifact, ...]:
        """What the marketplace stores: the filled form, and the log of the journey's last step."""
        match self.step:
            case "answered":
                picture = screen(f"{self.journey_id} {self.step}", len(self.fields))
                return (Artifact("form.png", "image/png", picture),)
            case "confirmed":
                log = {
                    "journey_id": self.journey_id,
                    "channel": self.channel,
                    "confirmed_at": exact_text(self.at),
                }
                return (Artifact("journey.json", "application/json", to_bytes(log)),)
            case _:
                return ()

    def occurrence(self) -> Json:
        """The action as a `collection` of the product's interfaces, without its artifacts."""
        line: Json = {
            "kind": "collection",
            "occurred_at": exact_text(self.at),
            "process_id": self.process_id,
            "seller_id": self.seller_id,
            "journey_id": self.journey_id,
            "step": self.step,
            "channel": self.channel,
            "source": self.source,
            "actor": self.actor,
        }
        if self.step == "answered":
            line["fields"] = dict(self.fields)
        return line


@dataclass(frozen=True)
class Submit:
    """A PUT that the marketplace wants to send, as exact bytes: a retry sends the same bytes."""

    at: int
    process_id: str
    seller_id: str
    payload: bytes


@dataclass(frozen=True)
class Onboard:
    """A denied seller's new attempt: a new seller with the same taxpayer number."""

    at: int
    profile: Profile


Action = Collect | Submit | Onboard


@dataclass(frozen=True)
class Habits:
    """How fast a marketplace and its sellers are."""

    plan: Callable[[random.Random], Plan]
    until_new_attempt: Callable[[random.Random], int]


def _unhurried_plan(rng: random.Random) -> Plan:
    mood = rng.random()
    invite = rng.randint(MINUTE, 25 * MINUTE)
    channel = rng.choices(CHANNELS, _CHANNEL_WEIGHTS)[0]
    if mood < 0.09:
        return Plan(invite=invite, channel=channel)
    days = rng.uniform(31, 66) if mood > 0.93 else rng.lognormvariate(math.log(2.2), 1.1)
    opened = Plan(invite=invite, open=int(days * DAY), channel=channel)
    if mood < 0.15:
        return opened
    is_interrupted = rng.random() < 0.15
    waits_for_the_night_run = rng.random() < 0.2
    return replace(
        opened,
        answer=rng.randint(2 * HOUR, 40 * HOUR) if is_interrupted else rng.randint(MINUTE, HOUR),
        confirm=rng.randint(8 * SECOND, 4 * MINUTE) if rng.random() < 0.85 else None,
        submit=(
            rng.randint(2 * HOUR, 14 * HOUR)
            if waits_for_the_night_run
            else rng.randint(SECOND, 3 * MINUTE)
        ),
        correction=rng.randint(HOUR, 20 * HOUR),
    )


def _brisk_plan(rng: random.Random) -> Plan:
    """Seconds instead of days, so that someone watching the demo sees a whole review. Some answers
    wait longer, so that there are always a few for them to send."""
    mood = rng.random()
    plan = Plan(
        invite=rng.randint(SECOND, 4 * SECOND), channel=rng.choices(CHANNELS, _CHANNEL_WEIGHTS)[0]
    )
    if mood < 0.2:
        return plan
    plan = replace(plan, open=rng.randint(5 * SECOND, 90 * SECOND))
    if mood < 0.3:
        return plan
    waits_for_a_person = rng.random() < 0.12
    return replace(
        plan,
        answer=rng.randint(5 * SECOND, 60 * SECOND),
        confirm=rng.randint(2 * SECOND, 15 * SECOND),
        submit=(
            rng.randint(15 * MINUTE, 30 * MINUTE)
            if waits_for_a_person
            else rng.randint(SECOND, 10 * SECOND)
        ),
        correction=rng.randint(20 * SECOND, 60 * SECOND),
    )


UNHURRIED = Habits(_unhurried_plan, lambda rng: rng.randint(6 * HOUR, 9 * DAY))
BRISK = Habits(_brisk_plan, lambda rng: rng.randint(30 * SECOND, 4 * MINUTE))


@dataclass
class _Case:
    """One review as the marketplace handles it."""

    process_id: str
    seller_id: str
    requested_fields: tuple[str, ...]
    is_whole: bool
    plan: Plan
    journey_id: str
    answers: dict[str, Any] = field(default_factory=dict)
    payload: bytes = b""
    first_sent_at: int | None = None
    attempts: int = 0
    is_closed: bool = False


class Marketplace:
    """A marketplace. `hear` takes webhooks, and `due` returns what it wants to do."""

    def __init__(self, *, seed: int = 0, habits: Habits = UNHURRIED) -> None:
        self.habits = habits
        self._rng = random.Random(f"{seed}:marketplace")
        self._customers: dict[str, Profile] = {}
        self._plans: dict[str, Plan] = {}
        self._cases: dict[str, _Case] = {}
        self._denied: dict[str, int] = {}
        self._heard: set[str] = set()
        self._due: list[tuple[int, int, Callable[[int], Iterable[Action]]]] = []
        self._planned = 0

    def know(self, seller_id: str, profile: Profile) -> None:
        """Tells the marketplace who a seller is, since the platform's review event does not say."""
        self._customers[seller_id] = profile

    def expect(self, process_id: str, plan: Plan) -> None:
        """Decides how a review will go; call it before its event is heard."""
        self._plans[process_id] = plan

    def settle(self, taxpayer_id: str) -> None:
        """Forbids unplanned new attempts for this taxpayer."""
        self._denied[taxpayer_id] = 2

    def hear(self, body: bytes, now: int) -> None:
        """Takes one webhook; a redelivery has no effect."""
        envelope = json.loads(body)
        event_id = envelope["id"]
        if event_id in self._heard:
            return
        self._heard.add(event_id)
        match envelope["type"]:
            case "regulatory.registration.review.required":
                self._hear_review(envelope["payload"]["object"], now)
            case "seller.denied":
                self._hear_denial(envelope["payload"]["object"], now)

    def has_heard(self, event_id: str) -> bool:
        return event_id in self._heard

    def next_at(self) -> int | None:
        return self._due[0][0] if self._due else None

    def due(self, now: int) -> list[Action]:
        """What the marketplace wants to do by `now`, in order; each action has its instant."""
        actions: list[Action] = []
        while self._due and self._due[0][0] <= now:
            at, _, act = heapq.heappop(self._due)
            actions.extend(act(at))
        return actions

    def learn(
        self, sent: Submit, status: int | None, now: int, retry_after_seconds: float = 0
    ) -> None:
        """Takes the outcome of a submission; `status` is None if no answer came."""
        case = self._cases[sent.process_id]
        case.attempts += 1
        if status == 200:
            case.is_closed = not case.plan.sends_again
            if case.plan.sends_again:
                case.plan = replace(case.plan, sends_again=False, repeats=False)
                case.answers = self._draw_answers(case)
                self._plan(now + case.plan.correction, lambda at: self._submit_again(case, at))
        elif status == 400 and case.plan.flaw is not None:
            case.plan = replace(case.plan, flaw=None)
            self._plan(now + case.plan.correction, lambda at: self._submit_again(case, at))
        elif status == 401:
            self._plan(now + case.plan.correction, lambda at: self._submit(case, at))
        elif status is None or status == 429 or status >= 500:
            started_at = case.first_sent_at if case.first_sent_at is not None else now
            if case.attempts < MAX_ATTEMPTS and now - started_at < GIVE_UP_AFTER:
                pause = min(SECOND * 2 ** (case.attempts - 1), LONGEST_PAUSE)
                pause = int(pause * self._rng.uniform(0.8, 1.2))
                pause = max(pause, int(retry_after_seconds * SECOND))
                self._plan(now + pause, lambda at: self._submit(case, at))
        else:
            case.is_closed = True

    # Hearing

    def _hear_review(self, subject: Json, now: int) -> None:
        process_id = subject["process_id"]
        case = self._cases.get(process_id)
        if case is not None:
            case.is_closed = case.is_closed or subject["status"] == "FINISHED"
            return
        if subject["status"] == "FINISHED" or subject["customer_id"] not in self._customers:
            return
        plan = self._plans.pop(process_id, None) or self.habits.plan(self._rng)
        case = _Case(
            process_id=process_id,
            seller_id=subject["customer_id"],
            requested_fields=tuple(subject["requested_fields"]),
            is_whole=subject["type"] in _WHOLE,
            plan=plan,
            journey_id=plan.journey_id or f"jrn_{self._rng.getrandbits(64):016x}",
        )
        self._cases[process_id] = case
        if plan.collects:
            self._plan(now + plan.invite, lambda at: self._invite(case, at))
        else:
            self._plan(now + plan.invite, lambda at: self._submit_again(case, at))

    def _hear_denial(self, subject: Json, now: int) -> None:
        """Most correctable denials are tried again; a few hopeless ones as well."""
        profile = self._customers.get(subject["id"])
        if profile is None:
            return
        earlier = self._denied.get(profile.taxpayer_id, 0)
        self._denied[profile.taxpayer_id] = earlier + 1
        if earlier >= 2 or self._rng.random() >= (0.62 if subject["retry"] else 0.12):
            return
        again = people.corrected(self._rng, profile)
        self._plan(now + self.habits.until_new_attempt(self._rng), lambda at: [Onboard(at, again)])

    # A review, step by step

    def _invite(self, case: _Case, at: int) -> Iterable[Action]:
        if case.is_closed:
            return
        yield self._collect(case, "invited", at)
        if case.plan.open is not None:
            self._plan(_by_day(at + case.plan.open, at), lambda then: self._open(case, then))

    def _open(self, case: _Case, at: int) -> Iterable[Action]:
        if case.is_closed:
            return
        yield self._collect(case, "opened", at)
        if case.plan.answer is not None:
            self._plan(_by_day(at + case.plan.answer, at), lambda then: self._answer(case, then))

    def _answer(self, case: _Case, at: int) -> Iterable[Action]:
        if case.is_closed:
            return
        case.answers = self._draw_answers(case)
        yield self._collect(case, "answered", at)
        if case.plan.confirm is not None:
            self._plan(at + case.plan.confirm, lambda then: self._confirm(case, then))
        elif case.plan.submit is not None:
            self._plan(at + case.plan.submit, lambda then: self._submit_again(case, then))

    def _confirm(self, case: _Case, at: int) -> Iterable[Action]:
        if case.is_closed:
            return
        yield self._collect(case, "confirmed", at)
        if case.plan.submit is not None:
            self._plan(at + case.plan.submit, lambda then: self._submit_again(case, then))

    def _submit_again(self, case: _Case, at: int) -> Iterable[Action]:
        """A new payload, and so a new try."""
        if not case.answers:
            case.answers = self._draw_answers(case)
        case.payload = to_bytes(self._payload(case))
        case.first_sent_at, case.attempts = at, 0
        return self._submit(case, at)

    def _submit(self, case: _Case, at: int) -> Iterable[Action]:
        if not case.is_closed:
            yield Submit(at, case.process_id, case.seller_id, case.payload)

    def _collect(self, case: _Case, step: Step, at: int) -> Collect:
        return Collect(
            at=at,
            process_id=case.process_id,
            seller_id=case.seller_id,
            journey_id=case.journey_id,
            step=step,
            channel=case.plan.channel,
            source=case.plan.source,
            actor=self._customers[case.seller_id].full_name,
            fields=case.answers if step == "answered" else {},
        )

    # What sellers answer

    def _draw_answers(self, case: _Case) -> dict[str, Any]:
        """A value for each requested field; the answers also change the seller's own record."""
        known = self._customers[case.seller_id]
        if not case.plan.repeats and case.plan.collects:
            known = people.restated(self._rng, known)
            self._customers[case.seller_id] = known
        said = _fields_of(known)
        asked: tuple[str, ...] = case.requested_fields
        if case.is_whole:
            asked = (
                *asked,
                *(INDIVIDUAL_FIELDS if known.type == "individual" else BUSINESS_FIELDS),
            )
        # Fields outside the registration get an answer too, deeper paths first.
        for path in sorted(asked, key=len, reverse=True):
            if path not in _FRAME and not any(_is_within(field, path) for field in said):
                said[path] = f"{path} as {known.full_name} says"
        if case.plan.flaw == "is_answered_with_mask":
            said["address.postal_code"] = _masked(said["address.postal_code"])
        return {
            field: value
            for field, value in said.items()
            if any(_is_within(field, path) for path in asked)
        }

    def _payload(self, case: _Case) -> Json:
        answers = dict(case.answers)
        match case.plan.flaw:
            case "leaves_out_city":
                answers.pop("address.city", None)
            case "sends_extra_field":
                answers["address.country_code"] = "BR"
            case "masks_postal_code":
                answers["address.postal_code"] = _masked(answers["address.postal_code"])
            case "is_answered_with_mask" | None:
                pass
        document: Json = {
            "process_id": case.process_id,
            "type": self._customers[case.seller_id].type,
        }
        for path, value in answers.items():
            *parents, name = path.split(".")
            holder = document
            for parent in parents:
                holder = holder.setdefault(parent, {})
            holder[name] = value
        return document

    def _plan(self, at: int, act: Callable[[int], Iterable[Action]]) -> None:
        self._planned += 1
        heapq.heappush(self._due, (at, self._planned, act))


def _fields_of(profile: Profile) -> dict[str, Any]:
    """What a seller knows about itself, by dotted path; a person is its own owner."""
    address, owner = asdict(profile.address), asdict(profile.owner_address or profile.address)
    fields: dict[str, Any] = {"revenue": profile.revenue}
    fields |= {f"address.{name}": address[name] for name in ADDRESS_FIELDS}
    fields["owner.revenue"] = profile.owner_revenue or profile.revenue
    fields |= {f"owner.address.{name}": owner[name] for name in ADDRESS_FIELDS}
    fields["phone_number"] = profile.phone_number
    fields["email"] = profile.email
    return fields


def _masked(postal_code: str) -> str:
    return f"{postal_code[:5]}-{postal_code[5:]}"


def _is_within(field: str, path: str) -> bool:
    return field == path or field.startswith(f"{path}.")


def _by_day(at: int, now: int) -> int:
    """Moves an instant at night, hours ahead, to the morning, because sellers sleep."""
    if at - now < 2 * HOUR:
        return at
    hour = (at // HOUR - 3) % 24
    return at + (7 - hour) * HOUR if hour < 7 else at
