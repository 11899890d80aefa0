"""Builds the payload that a seller's answers make, and says what keeps it from being sent.

The values are those of the latest answers in the process's own entries, and nothing else is put
in: what is missing there is missing in the payload, and the rules name it. What a seller has
answered on our page is held until they have confirmed it.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.continuity.kept_heads import open_shared
from pipeline.contract.body import MAX_DEPTH, JsonValue, canonical_json
from pipeline.settings import Settings
from pipeline.submit.attempt import Sent
from pipeline.submit.casefile import CaseFile, CaseFiles
from pipeline.submit.decision import Busy, Go, NotDue, Order, Refused, Terms, Via, decide
from pipeline.submit.demand import TYPES, known_type, wanted
from pipeline.submit.resume import open_submissions
from pipeline.submit.rules import SELLER, Answer, Violation

AT_ONCE: Final = 8
"""Attempts under way at a time, of many that are sent."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What would become of one process's answers; where nothing holds them, they would be sent."""

    process_id: str
    held: tuple[Violation, ...] = ()
    busy_until: int | None = None
    is_over: bool = False
    """Not ready any more: they were sent, or the review has finished, meanwhile."""
    is_unknown: bool = False
    """Nothing in the log names the process, which `held` says, too."""

    @property
    def is_held(self) -> bool:
        """Whether anything keeps them from being sent."""
        return bool(self.held) or self.busy_until is not None or self.is_over


def payload_of(case: CaseFile) -> bytes:
    """The payload of a process's latest answers, as canonical JSON. Pure."""
    process = case.process
    seller_type = _seller_type(case)
    payload: dict[str, JsonValue] = {}
    if process is not None:
        payload["process_id"] = process.process_id
    if seller_type is not None:
        payload["type"] = seller_type
    for path, answer in _given(case):
        _put(payload, path, answer.value)
    return canonical_json(payload)


def _seller_type(case: CaseFile) -> str | None:
    """As the log knows it, or else as the seller said."""
    said = _said_type(case)
    if said is None:
        return known_type(case.process, case.seller_type)
    return said.value if said.value in TYPES else None


def _said_type(case: CaseFile) -> Answer | None:
    """What the seller said of their kind, where that counts: the log does not know it."""
    said = case.answers.get("type")
    if known_type(case.process, case.seller_type) is not None or said is None:
        return None
    return said if said.source == SELLER else None


def _given(case: CaseFile) -> Iterator[tuple[str, Answer]]:
    """The answers to what is asked, in the payload's order."""
    asked = wanted(case.process, _seller_type(case))
    left = sorted(case.answers)
    for path in asked.needed:
        if path in case.answers:
            yield path, case.answers[path]
        else:
            yield from ((leaf, case.answers[leaf]) for leaf in _taken_below(path, left))
    process = case.process
    # Left out of a partial review, it would stay as it was.
    emptied = process.requested_fields if process is not None and process.is_partial else ()
    for path in asked.optional:
        given = case.answers.get(path)
        if given is not None and (given.value != "" or path in emptied):
            yield path, given


def order_of(
    case: CaseFile, process_id: str, *, via: Via, recorded_by: str, is_listed: bool = False
) -> Order:
    """The order that sends a process's answers. Pure."""
    process = case.process
    return Order(
        process_id=process_id,
        seller_id="" if process is None else process.seller_id or "",
        payload=payload_of(case),
        via=via,
        recorded_by=recorded_by,
        is_listed=is_listed,
    )


def look(settings: Settings, process_ids: Iterable[str]) -> list[Ready]:
    """What would become of the answers of processes now; nothing is recorded or sent."""
    inbox = open_shared(settings, create=False)
    try:
        files, terms = CaseFiles(inbox), Terms.of(settings)
        found = []
        for process_id in process_ids:
            case = files.open(process_id)
            order = order_of(case, process_id, via="api", recorded_by="")
            found.append(_judged(order, case, terms))
        return found
    finally:
        inbox.close()


def unconfirmed(case: CaseFile) -> tuple[Violation, ...]:
    """What the payload would hold that the seller has answered on our page and not confirmed."""
    said = _said_type(case)
    given = [*([] if said is None else [("type", said)]), *_given(case)]
    return tuple(
        Violation(
            path,
            "not_confirmed",
            "an answer on the seller's page that they have not confirmed",
            "their declaration on its last screen: ask them to finish",
            "What the service does, 4",
        )
        for path, answer in given
        if not answer.is_final
    )


def _judged(order: Order, case: CaseFile, terms: Terms) -> Ready:
    process_id = order.process_id
    if not case.is_finished and (waiting := unconfirmed(case)):
        return Ready(process_id, waiting)
    decision = decide(order, case, terms)
    return Ready(process_id) if isinstance(decision, Go) else _held(process_id, decision, case)


def _held(process_id: str, why: Refused | Busy | NotDue, case: CaseFile) -> Ready:
    match why:
        case Refused(violations=violations):
            return Ready(process_id, violations, is_unknown=case.process is None)
        case Busy(until=until):
            return Ready(process_id, busy_until=until)
        case NotDue():
            return Ready(process_id, is_over=True)


def send(
    settings: Settings,
    process_ids: Iterable[str],
    *,
    via: Via,
    recorded_by: str,
    is_listed: bool,
    on_sent: Callable[[str, Sent], None] = lambda process_id, sent: None,
) -> list[Ready]:
    """One attempt for each process whose answers nothing keeps from being sent; those that were
    held. Retries are left to `prazo serve` or `prazo resume`. `is_listed`: a list had them as
    ready, and what is so no longer is left alone; else a person names them.

    Raises `SettingsError` where the platform is not set up, or `InboxUnavailable`: from then on no
    other process is taken up, and `on_sent` has heard of every attempt that was begun.
    """
    failed: list[Exception] = []

    async def run() -> list[Ready]:
        turns = asyncio.Semaphore(AT_ONCE)
        async with open_submissions(settings) as (_, submissions):
            terms = Terms.of(settings)

            async def sent(process_id: str) -> Ready:
                _, case = await submissions.standing(process_id)
                order = order_of(
                    case, process_id, via=via, recorded_by=recorded_by, is_listed=is_listed
                )
                ready = _judged(order, case, terms)
                if ready.is_held:
                    return ready
                result = await submissions.attempt(order)
                if not isinstance(result, Sent):  # something came between
                    return _held(process_id, result, case)
                on_sent(process_id, result)
                return ready

            async def one(process_id: str) -> Ready | None:
                async with turns:
                    if failed:
                        return None
                    try:
                        return await sent(process_id)
                    except Exception as error:  # raised once those under way have ended
                        failed.append(error)
                        return None

            found = await asyncio.gather(*map(one, process_ids))
        return [it for it in found if it is not None and it.is_held]

    held = asyncio.run(run())
    if failed:
        raise failed[0]
    return held


def _taken_below(path: str, left: list[str]) -> list[str]:
    """The paths below one, out of sorted ones, from which they are taken: whatever stands below
    many requested paths is put in once, and each path is found without looking at the others."""
    first = bisect_left(left, f"{path}.")
    end = bisect_left(left, f"{path}/", first)  # a slash is what comes next after a dot
    found = left[first:end]
    del left[first:end]
    return found


def _put(payload: dict[str, JsonValue], path: str, value: JsonValue) -> None:
    """Puts a value at a dotted path. Where a value stands in the way of an object, as two paths of
    one request can ask for, or objects would be nested deeper than anybody reads, it is left out,
    and the rules say that it is missing."""
    *around, name = path.split(".")
    if len(around) >= MAX_DEPTH:
        return
    place = payload
    for key in around:
        inner = place.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        place = inner
    place.setdefault(name, value)
