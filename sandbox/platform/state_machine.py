"""The payment platform as a state machine: sellers, review processes, their clocks and events.

No I/O and no clock of its own: every call takes `now` (microseconds, UTC), all chance comes from
one seeded generator. What the platform says stands in `take_events()`; what it will do by itself
is done by `advance(now)`, and `next_at()` says when that will be worth calling.

    ACP   PENDING --day 30--> OVERDUE --day 60--> EXPIRED
    ACI                       OVERDUE --day 30--> EXPIRED
    any of them --accepted submission--> FINISHED
"""

import hashlib
import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sandbox import people
from sandbox.clock import DAY, MINUTE, SECOND, to_millisecond
from sandbox.people import Address, Profile
from sandbox.platform.judge import Violation, judge, unanswerable
from sandbox.resources import (
    ADDRESS_FIELDS,
    BUSINESS_FIELDS,
    DENIAL_REASONS,
    ENABLED,
    INDIVIDUAL_FIELDS,
    REVIEW_TYPES,
    BankAccount,
    Event,
    Json,
    Process,
    Reason,
    ReviewType,
    Seller,
    SellerStatus,
    Verdict,
    bank_account_record,
    denied,
    event,
    review_object,
    seller_record,
    to_bytes,
)

REVIEW_REQUIRED = "regulatory.registration.review.required"

# How often each reason is drawn: a few explain most denials, as in life.
_REASON_WEIGHTS: dict[Reason, int] = dict(
    zip(DENIAL_REASONS, (21, 34, 9, 6, 18, 9, 5), strict=True)
)

# What an inconsistency is usually about; an owner's only for a business.
_INDIVIDUAL_INCONSISTENCIES = (
    ("address.postal_code",),
    ("revenue",),
    ("address.line1", "address.line3"),
    ("address.line1", "address.postal_code"),
    ("address",),
    ("revenue", "address.city", "address.state", "address.postal_code"),
)
_BUSINESS_INCONSISTENCIES = (
    *_INDIVIDUAL_INCONSISTENCIES,
    ("owner.revenue",),
    ("owner.address",),
    ("owner.address.line1", "owner.address.postal_code"),
    ("revenue", "owner.revenue"),
)

_BANKS = ("001", "033", "104", "237", "260", "341", "756")


@dataclass(frozen=True)
class Policy:
    """What the platform does unasked. By default, nothing."""

    denial_share: float = 0.0
    follow_up_share: float = 0.0  # accepted submissions after which an ACI follows
    finished_report_share: float = 1.0  # finished processes that an event reports as FINISHED
    acp_interval_days: float | None = None  # None: an ACP only when asked for
    accept_numeric_revenue: bool = False


BELIEVABLE = Policy(
    denial_share=0.34, follow_up_share=0.12, finished_report_share=0.4, acp_interval_days=180
)


@dataclass(frozen=True)
class Answer:
    """The platform's answer to a call."""

    status: int
    body: bytes


def refusal(status: int, message: str, violations: Iterable[Violation] = ()) -> Answer:
    """An error's body as a platform might send it; the contract shows none."""
    error: Json = {"status": status, "message": message}
    if named := [{"field": it.field, "message": it.message} for it in violations]:
        error["violations"] = named
    return Answer(status, to_bytes({"error": error}))


class Platform:
    """All state is in `sellers` and `processes`; read them freely, change them by the methods."""

    def __init__(
        self, *, seed: int = 0, marketplace_id: str = "mkt_praca", policy: Policy | None = None
    ) -> None:
        self.marketplace_id = marketplace_id
        self.policy = policy or Policy()
        self.sellers: dict[str, Seller] = {}
        self.processes: dict[str, Process] = {}
        self._rng = random.Random(f"{seed}:platform")
        self._events: list[Event] = []
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._planned = 0
        self._accepted: dict[tuple[str, str], tuple[bytes, Answer]] = {}
        self._follow_ups: dict[str, tuple[str, ...]] = {}

    # Time

    def next_at(self) -> int | None:
        """When the platform will next do something unasked."""
        return self._due[0][0] if self._due else None

    def advance(self, now: int) -> None:
        """Does everything that was due by `now`, each thing at its own instant and in order."""
        while self._due and self._due[0][0] <= now:
            at, _, act = heapq.heappop(self._due)
            act(at)

    def take_events(self) -> list[Event]:
        """The events since the last call, in their order."""
        events, self._events = self._events, []
        return events

    # Sellers

    def create_seller(self, profile: Profile, now: int, verdict: Verdict | None = None) -> Seller:
        """A registration with its documents: `seller.created` now, the decision within minutes."""
        seller = self.register(profile, now)
        self.analyse(seller.seller_id, now, verdict)
        return seller

    def register(self, profile: Profile, now: int) -> Seller:
        """`POST /sellers/individuals`: `seller.created`; then the platform waits for documents."""
        at = to_millisecond(now)
        seller = Seller(self._new_id("sel"), profile, "pending", at, at)
        self.sellers[seller.seller_id] = seller
        self._say("seller.created", seller, at)
        return seller

    def analyse(self, seller_id: str, now: int, verdict: Verdict | None = None) -> None:
        """`POST /sellers/{id}/documents`: the analysis begins, and ends within minutes. More
        documents of the same analysis change nothing."""
        seller = self._seller(seller_id)
        if seller.is_under_analysis:
            return
        seller.is_under_analysis = True
        end = verdict or seller.verdict or self._draw_verdict()
        at = to_millisecond(now) + self._draw_analysis()
        self._plan(at, lambda then: self._decide(seller, end, then))

    def foresee(self, seller_id: str, verdict: Verdict) -> None:
        """Decides how the analysis of a seller will end; call it before its documents come."""
        seller = self._seller(seller_id)
        if seller.status != "pending" or seller.is_under_analysis:
            raise ValueError(f"the analysis of seller {seller_id} has begun already")
        seller.verdict = verdict

    def adopt_seller(self, profile: Profile, created_at: int) -> Seller:
        """Adds a seller who was enabled earlier, without any event."""
        at = to_millisecond(created_at)
        seller = Seller(self._new_id("sel"), profile, "enabled", at, at, verdict=ENABLED)
        seller.balance = self._draw_balance()
        self.sellers[seller.seller_id] = seller
        return seller

    def draw_profile(self, is_business: bool) -> Profile:
        """A new random profile, from the platform's own seed."""
        return people.business(self._rng) if is_business else people.person(self._rng)

    def update_seller(self, seller_id: str, profile: Profile, now: int) -> None:
        seller = self._seller(seller_id)
        seller.profile = profile
        self._say("seller.updated", seller, to_millisecond(now))

    def disable_seller(self, seller_id: str, now: int) -> None:
        self._set_status(seller_id, "disabled", "seller.disabled", now)

    def enable_seller(self, seller_id: str, now: int) -> None:
        self._set_status(seller_id, "enabled", "seller.enabled", now)

    def delete_seller(self, seller_id: str, now: int) -> None:
        """The seller is "no longer accessible": later submissions are answered 404."""
        self._set_status(seller_id, "deleted", "seller.deleted", now)

    def associate_bank_account(self, seller_id: str, now: int) -> BankAccount:
        seller = self._seller(seller_id)
        account = BankAccount(
            account_id=self._new_id("bac"),
            seller_id=seller_id,
            bank_code=self._rng.choice(_BANKS),
            routing_number=f"{self._rng.randint(1, 9999):04d}",
            account_number=f"{self._rng.randint(10_000, 9_999_999)}-{self._rng.randint(0, 9)}",
            created_at=to_millisecond(now),
        )
        seller.bank_accounts[account.account_id] = account
        self._say_of_account("bank_account.associated", account, account.created_at)
        return account

    def delete_bank_account(self, seller_id: str, account_id: str, now: int) -> None:
        account = self._seller(seller_id).bank_accounts.pop(account_id)
        self._say_of_account("bank_account.deleted", account, to_millisecond(now))

    # Reviews

    def require_review(
        self,
        seller_id: str,
        review_type: ReviewType,
        now: int,
        requested_fields: tuple[str, ...] | None = None,
    ) -> Process:
        """Opens a process and sends its event. `now` may be in the past: `advance` then catches up.

        Raises ValueError for fields that no submission could carry: whatever the platform asks for
        can also be answered.
        """
        seller = self._seller(seller_id)
        if impossible := unanswerable(requested_fields or ()):
            raise ValueError(f"no submission could answer {', '.join(map(repr, impossible))}")
        at = to_millisecond(now)
        terms = REVIEW_TYPES[review_type]
        process = Process(
            process_id=self._new_id("prc"),
            seller_id=seller_id,
            review_type=review_type,
            opened_at=at,
            deadline_at=at + terms.days * DAY,
            requested_fields=requested_fields or self._draw_requested_fields(seller, review_type),
            status="PENDING" if terms.pending_days else "OVERDUE",
        )
        self.processes[process.process_id] = process
        self._say_of_review(process, at)
        self._watch(process)
        return process

    def plan_follow_up(self, process_id: str, requested_fields: tuple[str, ...]) -> None:
        """Plans an ACI for these fields after this process's end, whatever the policy says."""
        self._follow_ups[process_id] = requested_fields

    def move_deadline(self, process_id: str, deadline_at: int, now: int) -> None:
        """Moves the deadline of an unfinished process, and recomputes its clock."""
        process = self.processes[process_id]
        if process.status == "FINISHED":
            raise ValueError(f"process {process_id} is FINISHED: it has no deadline to move")
        process.deadline_at = to_millisecond(deadline_at)
        process.status = process.status_at(now)
        self._say_of_review(process, to_millisecond(now))
        self._watch(process)

    def report(self, process_id: str, now: int, event_id: str | None = None) -> None:
        """Reports the state of a process again, in a new event; with `event_id`, under the id of an
        earlier event, as a platform does that uses an id twice."""
        self.advance(now)
        self._say_of_review(self.processes[process_id], to_millisecond(now), event_id)

    def report_again(self, process_id: str, now: int) -> None:
        """Sends the last report of a process again, with the same id and `created_at` but the
        present status, as a platform does that writes each delivery from its present state."""
        self.advance(now)
        process = self.processes[process_id]
        last = process.last_report
        if last is None:
            raise ValueError(f"process {process_id} was not reported yet")
        self._say_of_review(process, last.created_at, last.event_id)

    def finish(self, process_id: str, now: int, *, is_reported: bool = True) -> None:
        """Finishes a process on the platform's side, without a submission."""
        process = self.processes[process_id]
        process.status, process.finished_at = "FINISHED", to_millisecond(now)
        if is_reported:
            self._say_of_review(process, process.finished_at)

    def submit(
        self, seller_id: str, body: bytes, now: int, idempotency_key: str | None = None
    ) -> Answer:
        """`PUT .../registration/review` behind the endpoint: judged, and on 200 the process ends.

        The same key with the same bytes after a success gets the same 200 again, so that a retry
        after a lost answer is harmless. Anything else for a finished process gets 409.
        """
        self.advance(now)
        digest = hashlib.sha256(body).digest()
        if idempotency_key is not None:
            earlier = self._accepted.get((seller_id, idempotency_key))
            if earlier is not None and earlier[0] == digest:
                return earlier[1]

        seller = self.sellers.get(seller_id)
        ruling = judge(
            body,
            None if seller is None or seller.status == "deleted" else seller,
            self.processes,
            accept_numeric_revenue=self.policy.accept_numeric_revenue,
        )
        answer = refusal(ruling.status, ruling.message, ruling.violations)
        if ruling.status == 200 and ruling.process and ruling.document and seller:
            finished = {"process_id": ruling.process.process_id, "status": "FINISHED"}
            answer = Answer(200, to_bytes(finished))  # the contract shows no body of it either
            self._conclude(ruling.process, seller, ruling.document, to_millisecond(now))
            if idempotency_key is not None:
                self._accepted[seller_id, idempotency_key] = (digest, answer)
        return answer

    # What happens unasked

    def _decide(self, seller: Seller, verdict: Verdict, now: int) -> None:
        if seller.status != "pending":  # deleted while it was being analysed
            return
        seller.verdict = verdict
        seller.status = "enabled" if verdict.is_enabled else "denied"
        self._say(f"seller.{seller.status}", seller, now)
        if verdict.is_enabled and self.policy.acp_interval_days is not None:
            self._plan_next_acp(seller, now, self.policy.acp_interval_days)

    def _plan_next_acp(self, seller: Seller, now: int, interval_days: float) -> None:
        def require(then: int) -> None:
            if seller.status == "enabled":
                self.require_review(seller.seller_id, "ACP", then)
                self._plan_next_acp(seller, then, interval_days)

        spread = self._rng.uniform(0.8, 1.2)
        self._plan(to_millisecond(now + int(interval_days * spread * DAY)), require)

    def _watch(self, process: Process) -> None:
        """Plans the steps of a process's clock. A step that a moved deadline has made obsolete does
        nothing, since the status is always recomputed."""

        def step(then: int) -> None:
            status = process.status_at(then)
            if process.status != "FINISHED" and process.status != status:
                process.status = status
                self._say_of_review(process, then)

        self._plan(process.overdue_at, step)
        self._plan(process.deadline_at, step)

    def _conclude(self, process: Process, seller: Seller, document: Json, now: int) -> None:
        process.status, process.finished_at = "FINISHED", now
        seller.profile = _updated(seller.profile, document)
        self._plan(now + self._draw_seconds(2, 20), lambda then: self._say_updated(seller, then))
        if self._rng.random() < self.policy.finished_report_share:
            # Later than the answer, which is still on its way.
            report_at = now + self._draw_seconds(20, 90)
            self._plan(report_at, lambda then: self._say_of_review(process, then))
        fields = self._follow_ups.pop(process.process_id, None)
        if fields or self._rng.random() < self.policy.follow_up_share:
            self._plan(
                now + self._draw_seconds(120, 900),
                lambda then: self._follow_up(seller, fields, then),
            )

    def _follow_up(self, seller: Seller, fields: tuple[str, ...] | None, now: int) -> None:
        if seller.status != "deleted":
            self.require_review(seller.seller_id, "ACI", now, fields)

    def _say_updated(self, seller: Seller, now: int) -> None:
        if seller.status != "deleted":
            self._say("seller.updated", seller, now)

    # Events and planning

    def _say(self, event_type: str, seller: Seller, now: int) -> None:
        seller.updated_at = max(seller.updated_at, now)
        record = seller_record(seller, self.marketplace_id)
        self._events.append(
            event(self._new_id("evt"), event_type, now, record, seller_id=seller.seller_id)
        )

    def _say_of_account(self, event_type: str, account: BankAccount, now: int) -> None:
        record = bank_account_record(account)
        self._events.append(
            event(self._new_id("evt"), event_type, now, record, seller_id=account.seller_id)
        )

    def _say_of_review(self, process: Process, now: int, event_id: str | None = None) -> None:
        process.last_report = event(
            event_id or self._new_id("evt"),
            REVIEW_REQUIRED,
            now,
            review_object(process, process.status),
            seller_id=process.seller_id,
            process_id=process.process_id,
        )
        self._events.append(process.last_report)

    def _set_status(self, seller_id: str, status: SellerStatus, event_type: str, now: int) -> None:
        seller = self._seller(seller_id)
        seller.status = status
        self._say(event_type, seller, to_millisecond(now))

    def _plan(self, at: int, act: Callable[[int], None]) -> None:
        self._planned += 1  # keeps things due at one instant in the order of planning
        heapq.heappush(self._due, (at, self._planned, act))

    def _seller(self, seller_id: str) -> Seller:
        try:
            return self.sellers[seller_id]
        except KeyError:
            raise KeyError(f"the sandbox has no seller {seller_id}") from None

    # Chance

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_{self._rng.getrandbits(64):016x}"

    def _draw_seconds(self, least: int, most: int) -> int:
        return to_millisecond(int(self._rng.uniform(least, most) * SECOND))

    def _draw_analysis(self) -> int:
        """Up to 3 minutes in 99 % of cases; up to half an hour in the rest."""
        if self._rng.random() < 0.01:
            return self._draw_seconds(181, 1_800)
        return min(self._draw_seconds(8, 60) + self._draw_seconds(0, 110), 3 * MINUTE)

    def _draw_balance(self) -> float:
        return self._rng.randint(0, 2_500_000) / 100

    def _draw_verdict(self) -> Verdict:
        if self._rng.random() >= self.policy.denial_share:
            return ENABLED
        reasons, weights = tuple(_REASON_WEIGHTS), tuple(_REASON_WEIGHTS.values())
        drawn = self._rng.choices(reasons, weights, k=self._rng.choice((1, 1, 1, 2)))
        return denied(*dict.fromkeys(drawn))

    def _draw_requested_fields(self, seller: Seller, review_type: ReviewType) -> tuple[str, ...]:
        is_business = seller.profile.type == "business"
        if REVIEW_TYPES[review_type].is_whole:
            return BUSINESS_FIELDS if is_business else INDIVIDUAL_FIELDS
        return self._rng.choice(
            _BUSINESS_INCONSISTENCIES if is_business else _INDIVIDUAL_INCONSISTENCIES
        )


def _updated(profile: Profile, document: Json) -> Profile:
    """The registration with the sent values in it. What was not sent stays, and sent fields that
    the registration does not have are ignored."""
    owner = document.get("owner", {})
    revenue, owner_revenue = document.get("revenue"), owner.get("revenue")
    return replace(
        profile,
        address=_moved(profile.address, document),
        revenue=revenue if isinstance(revenue, str) else profile.revenue,
        owner_revenue=owner_revenue if isinstance(owner_revenue, str) else profile.owner_revenue,
        owner_address=profile.owner_address and _moved(profile.owner_address, owner),
    )


def _moved(known: Address, sent: Json) -> Address:
    lines = sent.get("address", {})
    return replace(known, **{name: lines[name] for name in ADDRESS_FIELDS if name in lines})
