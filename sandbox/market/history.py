"""Makes a believable past for the demo: runs the simulation for four months of occurrences.

The platform, the marketplace and the network between them live through simulated time, and what
the marketplace's log would have recorded is yielded, in order of occurrence, as the NDJSON objects
of the product's `ingest`. At the end platform and marketplace stand where the history says, so
that live traffic goes on from there.

    past = Past(now=...)
    for occurrence in past.occurrences(): ...
    past.platform, past.marketplace, past.undelivered()
"""

import heapq
import itertools
import json
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sandbox import people
from sandbox.clock import DAY, HOUR, MILLISECOND, MINUTE, SECOND, exact_text
from sandbox.market.marketplace import Collect, Marketplace, Onboard, Submit
from sandbox.market.stories import MIN_DAYS, SCRIPTED, Mishap, Review, Story, Turn, everyday
from sandbox.people import Profile
from sandbox.platform.state_machine import BELIEVABLE, Platform
from sandbox.resources import Event, Json, Seller, Verdict

ANSWER_LIMIT = 30 * SECOND  # after which a submission counts as timed out

# A submission that would begin later than this before the end is left to the live traffic, so that
# every submission in the history also ends in it.
_LAST_MINUTES = 2 * MINUTE

_EVERYDAY_MISHAPS: tuple[tuple[Mishap | None, int], ...] = (
    (None, 870),
    ("500", 45),
    ("503", 20),
    ("timeout", 25),
    ("network_error", 20),
    ("lost_answer", 10),
    ("429", 10),
)


def history(now: int, days: int = 120, sellers: int = 400, seed: int = 7) -> Iterator[Json]:
    """The occurrences alone; see `Past`. `now` in microseconds since the epoch."""
    return Past(now, days=days, sellers=sellers, seed=seed).occurrences()


class Past:
    """One run of the simulation from `now - days` to `now`, the same for the same arguments.

    With a folder for `artifacts`, collections name the screens and logs that were written there.
    """

    def __init__(
        self,
        now: int,
        *,
        days: int = 120,
        sellers: int = 400,
        seed: int = 7,
        marketplace_id: str = "mkt_praca",
        artifacts: Path | None = None,
    ) -> None:
        if days < MIN_DAYS:
            raise ValueError(f"days must be at least {MIN_DAYS}: the situations reach that far")
        if sellers < len(SCRIPTED):
            raise ValueError(f"sellers must be at least {len(SCRIPTED)}: one for each situation")
        self.now = now
        self.platform = Platform(seed=seed, marketplace_id=marketplace_id, policy=BELIEVABLE)
        self.marketplace = Marketplace(seed=seed)
        self._days = days
        self._artifacts = artifacts
        self._rng = random.Random(f"{seed}:history")
        self._numbers = itertools.count()
        self._agenda: list[tuple[int, int, Callable[[int], Iterable[Json]]]] = []
        self._deliveries: list[tuple[int, int, Event, bytes]] = []
        self._mishaps: dict[str, deque[Mishap]] = {}
        self._altered: set[str] = set()

        for story in SCRIPTED:
            self._stage(story)
        for _ in range(sellers - len(SCRIPTED)):
            self._stage(everyday(self._rng, days))
        self._at(now - int(5.4 * DAY), self._deliver_garbage)

    def occurrences(self) -> Iterator[Json]:
        """Runs the simulation and yields its occurrences up to `now`, in order.

        A second call yields nothing.
        """
        while True:
            steps = (
                (self._agenda[0][0] if self._agenda else None, self._next_on_agenda),
                (self.platform.next_at(), self._advance_platform),
                (self._deliveries[0][0] if self._deliveries else None, self._deliver),
                (self._marketplace_at(), self._act_for_marketplace),
            )
            at, step = min(
                ((at, step) for at, step in steps if at is not None),
                key=lambda pair: pair[0],
                default=(None, None),
            )
            if at is None or step is None or at > self.now:
                return
            yield from step(at)
            self._post_events()

    def undelivered(self) -> list[Event]:
        """The events that were not delivered by `now`; live traffic begins with them."""
        waiting = [event for _, _, event, _ in sorted(self._deliveries, key=lambda d: d[:2])]
        return [event for event in waiting if not self.marketplace.has_heard(event.event_id)]

    # Staging

    def _stage(self, story: Story) -> None:
        draw = people.business if story.is_business else people.person
        profile = draw(self._rng)
        sellers: list[Seller] = []  # filled when the seller is created

        def arrive(at: int) -> Iterable[Json]:
            sellers.append(self._onboard(profile, at, story.verdict))
            return ()

        shift = 0 if story in SCRIPTED else self._into_office_hours(_first_day(story))

        if story.new_attempts:
            self.marketplace.settle(profile.taxpayer_id)
        if story.arrived_days_ago is None:
            years_before = self._rng.randint(self._days + 20, 1_400) * DAY
            seller = self.platform.adopt_seller(profile, self.now - years_before)
            self.marketplace.know(seller.seller_id, profile)
            sellers.append(seller)
        else:
            self._at(self._moment(story.arrived_days_ago, shift), arrive)

        for days_ago, verdict in story.new_attempts:
            self._at(self._moment(days_ago, shift), self._new_attempt_of(profile, verdict))
        for review in story.reviews:
            self._at(self._moment(review.days_ago, shift), self._review_of(sellers, review))
        for days_ago, turn in story.turns:
            self._at(self._moment(days_ago, shift), self._turn_of(sellers, turn))

    def _onboard(self, profile: Profile, at: int, verdict: Verdict | None) -> Seller:
        seller = self.platform.create_seller(profile, at, verdict)
        self.marketplace.know(seller.seller_id, profile)
        return seller

    def _new_attempt_of(
        self, profile: Profile, verdict: Verdict
    ) -> Callable[[int], Iterable[Json]]:
        def act(at: int) -> Iterable[Json]:
            self._onboard(people.corrected(self._rng, profile), at, verdict)
            return ()

        return act

    def _review_of(self, sellers: list[Seller], review: Review) -> Callable[[int], Iterable[Json]]:
        def act(at: int) -> Iterable[Json]:
            seller = sellers[0]
            if seller.status != "enabled":  # denied, blocked or gone in the meantime
                return ()
            process = self.platform.require_review(
                seller.seller_id, review.review_type, at, review.fields
            )
            process_id = process.process_id
            if review.plan is not None:
                self.marketplace.expect(process_id, review.plan)
                self._mishaps[process_id] = deque(review.mishaps)
            if review.follow_up:
                self.platform.plan_follow_up(process_id, review.follow_up)
            if review.is_altered:
                self._altered.add(process_id)
            if review.deadline_moved is not None:
                days_ago, by_days = review.deadline_moved
                deadline_at = process.deadline_at + int(by_days * DAY)
                self._at(self._moment(days_ago), self._move_deadline_of(process_id, deadline_at))
            if review.finished_by_platform_days_ago is not None:
                self._at(
                    self._moment(review.finished_by_platform_days_ago),
                    self._finish_of(process_id),
                )
            return ()

        return act

    def _move_deadline_of(
        self, process_id: str, deadline_at: int
    ) -> Callable[[int], Iterable[Json]]:
        def act(at: int) -> Iterable[Json]:
            self.platform.move_deadline(process_id, deadline_at, at)
            return ()

        return act

    def _finish_of(self, process_id: str) -> Callable[[int], Iterable[Json]]:
        def act(at: int) -> Iterable[Json]:
            self.platform.finish(process_id, at)
            return ()

        return act

    def _turn_of(self, sellers: list[Seller], turn: Turn) -> Callable[[int], Iterable[Json]]:
        def act(at: int) -> Iterable[Json]:
            seller = sellers[0]
            if seller.status in ("denied", "pending", "deleted"):
                return ()
            match turn:
                case "disabled":
                    self.platform.disable_seller(seller.seller_id, at)
                case "deleted":
                    self.platform.delete_seller(seller.seller_id, at)
                case "updated":
                    profile = people.corrected(self._rng, seller.profile)
                    self.platform.update_seller(seller.seller_id, profile, at)
                case "bank_account":
                    self.platform.associate_bank_account(seller.seller_id, at)
                case "bank_account_replaced":
                    old = next(iter(seller.bank_accounts))
                    self.platform.delete_bank_account(seller.seller_id, old, at)
                    self.platform.associate_bank_account(seller.seller_id, at + 3 * MINUTE)
            return ()

        return act

    def _moment(self, days_ago: float, shift: int = 0) -> int:
        return min(self.now - int(days_ago * DAY) + shift, self.now - MINUTE)

    def _into_office_hours(self, days_ago: float) -> int:
        """How far to shift a story, so that its first event falls between 7:30 and 22:00."""
        at = self.now - int(days_ago * DAY)
        midnight = at - (at - 3 * HOUR) % DAY  # in São Paulo
        return midnight + int(self._rng.triangular(7.5, 22, 14) * HOUR) - at

    def _at(self, at: int, act: Callable[[int], Iterable[Json]]) -> None:
        heapq.heappush(self._agenda, (at, next(self._numbers), act))

    # Running it

    def _marketplace_at(self) -> int | None:
        at = self.marketplace.next_at()
        return None if at is None or at > self.now - _LAST_MINUTES else at

    def _next_on_agenda(self, at: int) -> Iterable[Json]:
        _, _, act = heapq.heappop(self._agenda)
        return act(at)

    def _advance_platform(self, at: int) -> Iterable[Json]:
        self.platform.advance(at)
        return ()

    def _act_for_marketplace(self, at: int) -> Iterable[Json]:
        for action in self.marketplace.due(at):
            if isinstance(action, Collect):
                yield action.occurrence() | self._kept(action)
            elif isinstance(action, Submit):
                yield from self._submit(action, at)
            elif isinstance(action, Onboard):
                self._onboard(action.profile, at, None)

    def _kept(self, action: Collect) -> Json:
        """Writes the action's artifacts, and returns their descriptions with their paths."""
        artifacts = action.artifacts()
        if self._artifacts is None or not artifacts:
            return {}
        self._artifacts.mkdir(parents=True, exist_ok=True)
        kept = []
        for artifact in artifacts:
            path = self._artifacts / f"{action.process_id}-{artifact.name}"
            path.write_bytes(artifact.content)
            kept.append(
                {
                    "name": artifact.name,
                    "media_type": artifact.media_type,
                    "path": str(path.resolve()),
                }
            )
        return {"artifacts": kept}

    # Webhooks

    def _post_events(self) -> None:
        """Most events arrive within a second; some late, some twice."""
        for event in self.platform.take_events():
            at = event.created_at + int(self._rng.lognormvariate(-1.2, 0.6) * SECOND)
            chance = self._rng.random()
            if chance < 0.03:  # later events overtake it
                at += self._rng.randint(30 * SECOND, 40 * MINUTE)
            self._send(at, event, event.body)
            if chance > 0.965:  # no 200 within the platform's 30 seconds, so once more
                self._send(at + self._rng.randint(31 * SECOND, 95 * SECOND), event, event.body)
            if event.process_id in self._altered:
                self._altered.discard(event.process_id)
                altered = event.body.replace(b'"PENDING"', b'"OVERDUE"')
                self._send(at + 41 * SECOND, event, altered)

    def _send(self, at: int, event: Event, body: bytes) -> None:
        heapq.heappush(self._deliveries, (at, next(self._numbers), event, body))

    def _deliver(self, at: int) -> Iterable[Json]:
        _, _, _, body = heapq.heappop(self._deliveries)
        self.marketplace.hear(body, at)
        yield _webhook(at, body.decode())

    def _deliver_garbage(self, at: int) -> Iterable[Json]:
        """A body that was cut off on its way: it cannot be read, but it must be kept."""
        seller_id = next(iter(self.platform.sellers))
        yield _webhook(
            at, f'{{"id":"evt_cut","type":"seller.updated","payload":{{"id":"{seller_id}'
        )

    # Submissions

    def _submit(self, sent: Submit, at: int) -> Iterable[Json]:
        attempt_id = f"att_{self._rng.getrandbits(64):016x}"
        yield {
            "kind": "submission_started",
            "occurred_at": exact_text(at),
            "attempt_id": attempt_id,
            "process_id": sent.process_id,
            "seller_id": sent.seller_id,
            "marketplace_id": self.platform.marketplace_id,
            "idempotency_key": sent.process_id,
            "body": sent.payload.decode(),
        }
        mishap = self._next_mishap(sent.process_id)
        way = self._rng.randint(60 * MILLISECOND, 900 * MILLISECOND)
        if mishap == "vanishes":
            return
        if mishap is None or mishap == "lost_answer":
            is_lost = mishap == "lost_answer"
            self._at(at + way, lambda then: self._reach(sent, attempt_id, at, is_lost, then))
        elif mishap == "timeout":
            self._at(at + ANSWER_LIMIT, lambda then: self._end(sent, attempt_id, then, "timeout"))
        elif mishap == "network_error":
            self._at(at + way, lambda then: self._end(sent, attempt_id, then, "network_error"))
        else:
            status, body = int(mishap), _REFUSALS[mishap]
            self._at(at + way, lambda then: self._end(sent, attempt_id, then, None, status, body))

    def _reach(
        self, sent: Submit, attempt_id: str, started_at: int, is_lost: bool, at: int
    ) -> Iterable[Json]:
        """Handles a request that reached the platform: it is judged now and answered later."""
        answer = self.platform.submit(sent.seller_id, sent.payload, at, sent.process_id)
        if is_lost:
            self._at(
                started_at + ANSWER_LIMIT,
                lambda then: self._end(sent, attempt_id, then, "timeout"),
            )
        else:
            status, body = answer.status, answer.body.decode()
            self._at(
                2 * at - started_at,
                lambda then: self._end(sent, attempt_id, then, None, status, body),
            )
        return ()

    def _end(
        self,
        sent: Submit,
        attempt_id: str,
        at: int,
        error: str | None,
        status: int | None = None,
        body: str | None = None,
    ) -> Iterable[Json]:
        yield {
            "kind": "submission_finished",
            "occurred_at": exact_text(at),
            "attempt_id": attempt_id,
            "process_id": sent.process_id,
            "status": status,
            "error": error,
            "body": body,
        }
        self.marketplace.learn(sent, status, at)

    def _next_mishap(self, process_id: str) -> Mishap | None:
        scripted = self._mishaps.get(process_id)
        if scripted is not None:
            return scripted.popleft() if scripted else None
        mishaps, weights = zip(*_EVERYDAY_MISHAPS, strict=True)
        drawn: Mishap | None = self._rng.choices(mishaps, weights)[0]
        return drawn


def _first_day(story: Story) -> float:
    days = [review.days_ago for review in story.reviews] + [days for days, _ in story.turns]
    return max([*days, story.arrived_days_ago or 0.0])


def _webhook(at: int, body: str) -> Json:
    return {"kind": "webhook", "occurred_at": exact_text(at), "body": body}


def _refusal(status: int, message: str) -> str:
    error: dict[str, Any] = {"error": {"status": status, "message": message}}
    return json.dumps(error, separators=(",", ":"))


_REFUSALS = {
    "500": _refusal(500, "internal synchronization failed; update not completed"),
    "503": _refusal(503, "temporarily unavailable"),
    "429": _refusal(429, "too many requests"),
    "401": _refusal(401, "authentication failed"),
}
