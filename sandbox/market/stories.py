"""Lists the situations that a believable history must contain, and makes everyday ones around them.

`SCRIPTED` is the table: who, when, what the platform did, what the marketplace did about it.
`everyday` draws the rest. Days count back from the end of the history.
"""

import random
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

from sandbox.clock import DAY, SECOND
from sandbox.market.marketplace import LOOKS_ONLY, MAX_ATTEMPTS, SILENT, Plan, answers_after
from sandbox.resources import DENIAL_REASONS, ENABLED, Reason, ReviewType, Verdict, denied

# What happens to one attempt at a submission instead of the platform's regular answer:
# an HTTP status, or
#   timeout        the request never reached the platform
#   lost_answer    the platform processed it, and the answer did not come back
#   network_error  no connection
#   vanishes       the marketplace's process died: nobody knows
Mishap = Literal["500", "503", "429", "401", "timeout", "lost_answer", "network_error", "vanishes"]

Turn = Literal["disabled", "deleted", "bank_account", "bank_account_replaced", "updated"]


@dataclass(frozen=True)
class Review:
    """One review that the platform asks for. `plan` None: the seller does as it likes."""

    days_ago: float
    review_type: ReviewType
    plan: Plan | None = None
    fields: tuple[str, ...] | None = None  # None: as the platform chooses
    mishaps: tuple[Mishap, ...] = ()  # of the first attempts, in turn
    follow_up: tuple[str, ...] = ()  # minutes after the end, an ACI for these
    deadline_moved: tuple[float, float] | None = None  # days ago, by how many days
    finished_by_platform_days_ago: float | None = None
    is_altered: bool = False  # its event is delivered again with other bytes


@dataclass(frozen=True)
class Story:
    """One seller's part in the history."""

    title: str
    is_business: bool = False
    arrived_days_ago: float | None = None  # None: a seller from before the log
    verdict: Verdict | None = None  # None: as the platform decides
    new_attempts: tuple[tuple[float, Verdict], ...] = ()  # days ago, and how each ended
    reviews: tuple[Review, ...] = ()
    turns: tuple[tuple[float, Turn], ...] = ()


_QUALITY = Reason("DOCUMENT_VALIDATION", "DOCUMENT_QUALITY")
_NO_MATCH = Reason("DOCUMENT_VALIDATION", "DOCUMENT_NOT_MATCH")
_NAME = Reason("REGISTRATION_INCONSISTENCY", "NAME_INVALID")
_BIRTH_DATE = Reason("REGISTRATION_INCONSISTENCY", "BIRTH_DATE_INVALID")
_FRAUD = Reason("FRAUD_PREVENTION")

_OUTAGE: tuple[Mishap, ...] = tuple(repeat("500", MAX_ATTEMPTS))

_POSTAL_CODE = ("address.postal_code",)
_STREET = ("address.line1", "address.line3")


def _one(title: str, review: Review, *more: Review, is_business: bool = False) -> Story:
    return Story(title, is_business=is_business, reviews=(review, *more))


_OPEN = (
    _one("ACP pending, just asked", Review(2.6, "ACP", SILENT)),
    _one("ACP pending, the seller only looked", Review(12.2, "ACP", LOOKS_ONLY)),
    _one("ACP overdue tomorrow", Review(29.3, "ACP", LOOKS_ONLY), is_business=True),
    _one("ACP overdue", Review(41.4, "ACP", SILENT)),
    _one("ACP due within the week", Review(55.1, "ACP", LOOKS_ONLY), is_business=True),
    _one("ACP due tomorrow", Review(58.7, "ACP", SILENT)),
    _one("ACP due within hours", Review(59.8, "ACP", SILENT), is_business=True),
    _one("ACI overdue from the start", Review(0.5, "ACI", SILENT, _STREET)),
    _one("ACI due the day after tomorrow", Review(27.9, "ACI", LOOKS_ONLY, ("revenue",))),
    _one("ACI due within hours", Review(29.9, "ACI", SILENT, _POSTAL_CODE)),
    Story(
        "ACP expired, and the seller blocked for it",
        reviews=(Review(64.2, "ACP", SILENT),),
        turns=((2.1, "disabled"),),
    ),
    _one("ACP expired a month ago", Review(92.3, "ACP", LOOKS_ONLY), is_business=True),
    _one("ACI expired", Review(33.6, "ACI", SILENT, ("owner.address",)), is_business=True),
    _one(
        "three open processes at once",
        Review(35.2, "ACP", LOOKS_ONLY),
        Review(9.1, "ACI", SILENT, _POSTAL_CODE),
        Review(1.3, "ACI", SILENT, ("revenue",)),
    ),
    _one(
        "an ACP and its ACIs, some done and some not",
        Review(48.4, "ACP", LOOKS_ONLY),
        Review(26.0, "ACI", answers_after(3.2), ("address",)),
        Review(11.5, "ACI", SILENT, ("owner.revenue",)),
        is_business=True,
    ),
    _one(
        "the platform moved the deadline",
        Review(57.2, "ACP", LOOKS_ONLY, deadline_moved=(6.4, 15.0)),
    ),
    _one(
        "asked for a field that the contract does not show",
        Review(8.8, "ACI", SILENT, ("phone_number",)),
    ),
    _one(
        "the same event came again with other bytes", Review(20.7, "ACP", SILENT, is_altered=True)
    ),
)

_DONE = (
    _one("ACP finished while pending", Review(70.3, "ACP", answers_after(4.1)), is_business=True),
    _one("ACP finished in the tolerance period", Review(75.5, "ACP", answers_after(44.2))),
    _one("ACP finished late", Review(88.9, "ACP", answers_after(63.4)), is_business=True),
    _one("ACI finished in time", Review(15.7, "ACI", answers_after(2.3), _POSTAL_CODE)),
    _one("ACI finished late", Review(47.6, "ACI", answers_after(33.8), ("address",))),
    _one(
        "concluded by the platform's own support",
        Review(52.3, "ACP", SILENT, finished_by_platform_days_ago=19.6),
    ),
    _one(
        "an ACI followed the ACP within minutes, and one more after it",
        Review(62.8, "ACP", answers_after(5.5), follow_up=_POSTAL_CODE),
    ),
    _one(
        "three ACIs in a row until the registration was stable",
        Review(58.0, "ACI", answers_after(1.4), ("address",)),
        Review(50.2, "ACI", answers_after(2.2), _STREET),
        Review(41.0, "ACI", answers_after(0.9), ("revenue",)),
    ),
)

_DENIED = (
    *(
        Story(
            f"denied: {reason.reason} {reason.detail or ''}".rstrip(),
            arrived_days_ago=100.0 - 11.7 * number,
            verdict=denied(reason),
        )
        for number, reason in enumerate(DENIAL_REASONS)
    ),
    Story(
        "denied for two correctable reasons",
        arrived_days_ago=37.4,
        verdict=denied(_QUALITY, _NAME),
    ),
    Story(
        "denied for a correctable reason and one that is not",
        arrived_days_ago=24.9,
        verdict=denied(_BIRTH_DATE, _FRAUD),
    ),
    Story(
        "denied, tried again and cured",
        arrived_days_ago=66.5,
        verdict=denied(_QUALITY),
        new_attempts=((61.2, ENABLED),),
    ),
    Story(
        "denied twice, then cured",
        arrived_days_ago=81.1,
        verdict=denied(_NO_MATCH),
        new_attempts=((77.9, denied(_QUALITY)), (72.0, ENABLED)),
    ),
    Story(
        "denied for good, and tried again in vain",
        arrived_days_ago=44.8,
        verdict=denied(_FRAUD),
        new_attempts=((40.3, denied(_FRAUD)),),
    ),
)

_LIVES = (
    Story("a seller blocked", turns=((13.3, "updated"), (5.2, "disabled"))),
    Story("a seller who left", turns=((31.0, "bank_account"), (7.7, "deleted"))),
    Story(
        "a bank account replaced", turns=((22.4, "bank_account"), (10.9, "bank_account_replaced"))
    ),
)

_ATTEMPTS = (
    _one("500 twice, then accepted", Review(39.9, "ACP", answers_after(3.0), mishaps=("500",) * 2)),
    _one("timed out, then accepted", Review(28.1, "ACI", answers_after(1.1), mishaps=("timeout",))),
    _one(
        "503, 429 and no connection, then accepted",
        Review(54.6, "ACP", answers_after(2.5), mishaps=("503", "429", "network_error")),
        is_business=True,
    ),
    _one(
        "the answer was lost; the retry got the same 200",
        Review(18.8, "ACI", answers_after(0.7), mishaps=("lost_answer",)),
    ),
    _one(
        "a city left out: 400, corrected, accepted",
        Review(45.9, "ACP", answers_after(6.0, flaw="leaves_out_city")),
    ),
    _one(
        "a masked postal code: 400, corrected, accepted",
        Review(14.2, "ACI", answers_after(1.6, flaw="masks_postal_code"), _POSTAL_CODE),
    ),
    _one(
        "the seller's postal code has a mask: 400, and nobody has asked for it again",
        Review(
            24.6,
            "ACI",
            answers_after(3.1, flaw="is_answered_with_mask", correction=90 * DAY),
            ("address",),
        ),
    ),
    _one(
        "an ACI with a field nobody asked for",
        Review(17.5, "ACI", answers_after(2.0, flaw="sends_extra_field"), _STREET),
    ),
    _one("credentials refused", Review(34.4, "ACP", answers_after(1.2), mishaps=("401",))),
    _one(
        "sent again after it had finished: 409",
        Review(
            30.6, "ACI", answers_after(0.6, sends_again=True, correction=15 * SECOND), ("revenue",)
        ),
    ),
    _one(
        "nobody knows what became of it",
        Review(10.3, "ACI", answers_after(3.1), _STREET, mishaps=("vanishes",)),
    ),
    _one(
        "retried until it was given up",
        Review(21.8, "ACI", answers_after(2.7), ("address",), mishaps=_OUTAGE),
    ),
    Story(
        "deleted while the seller was answering: 404",
        reviews=(Review(26.6, "ACI", answers_after(4.0), _POSTAL_CODE),),
        turns=((23.9, "deleted"),),
    ),
)

_EVIDENCE = (
    _one(
        "answered by the support desk, not by the seller",
        Review(36.7, "ACI", answers_after(0.4, source="support_agent", channel="phone"), _STREET),
    ),
    _one(
        "answered from a credit bureau",
        Review(51.5, "ACP", answers_after(0.3, source="credit_bureau")),
    ),
    _one(
        "filled from the marketplace's own database",
        Review(42.2, "ACP", Plan(collects=False)),
    ),
    _one(
        "one journey used for two processes",
        Review(32.9, "ACP", answers_after(2.1, journey_id="jrn_8c1f03b2a95d7e64")),
        Review(16.4, "ACI", answers_after(0.8, journey_id="jrn_8c1f03b2a95d7e64"), ("revenue",)),
    ),
    _one(
        "the same answer as in an earlier submission",
        Review(43.1, "ACI", answers_after(1.9), ("revenue",)),
        Review(13.8, "ACI", answers_after(1.0, repeats=True), ("revenue",)),
    ),
)

SCRIPTED: tuple[Story, ...] = (*_OPEN, *_DONE, *_DENIED, *_LIVES, *_ATTEMPTS, *_EVIDENCE)

# The scripted situations reach this far back.
MIN_DAYS = 105


def everyday(rng: random.Random, days: int) -> Story:
    """An everyday seller, from before the log or onboarded in it, with a review or two."""
    is_business = rng.random() < 0.3
    if rng.random() < 0.55:
        reviews = []
        if rng.random() < 0.75:
            reviews.append(Review(_days_ago_of_an_acp(rng, days), "ACP"))
        if rng.random() < 0.3:
            reviews.append(Review(_days_ago(rng, days), "ACI"))
        turns: list[tuple[float, Turn]] = []
        if rng.random() < 0.2:
            turns.append(
                (
                    _days_ago(rng, days),
                    rng.choices(("updated", "bank_account", "disabled", "deleted"), (50, 40, 6, 4))[
                        0
                    ],
                )
            )
        return Story(
            "a seller from before", is_business, reviews=tuple(reviews), turns=tuple(turns)
        )

    arrived = _days_ago(rng, days - 1)
    reviews = []
    if rng.random() < 0.25:
        reviews.append(Review(arrived * rng.uniform(0.5, 0.97), "ACI"))
    return Story(
        "a new seller",
        is_business,
        arrived_days_ago=arrived,
        reviews=tuple(reviews),
        turns=((arrived - rng.uniform(0.01, 0.1), "bank_account"),) if rng.random() < 0.8 else (),
    )


def _days_ago_of_an_acp(rng: random.Random, days: int) -> float:
    """A random day for a review. The platform asks for most of them in waves, ten days apart."""
    if rng.random() < 0.45:
        return _days_ago(rng, days)
    wave = rng.randrange(days // 11)
    return 4.2 + 11 * wave + rng.uniform(-0.4, 0.4)


def _days_ago(rng: random.Random, days: int) -> float:
    return rng.uniform(0.15, days - 0.15)
