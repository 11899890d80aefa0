"""Decides what may be sent: a payload, its review process and the seller's answers -> a verdict.

docs/rules.md#what-may-be-sent, clause by clause. Pure: callers parse the bytes with
`contract.body.parse_json` and look up what was known at the attempt's start. Every violation is
found in one go, and no text here repeats a value of the payload: values are personal, and
violations end up on terminals, in logs and in answers to callers.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pipeline import instants
from pipeline.contract.body import JsonValue, canonical_json
from pipeline.contract.differences import how_they_differ, in_words
from pipeline.contract.fields import (
    BAND,
    BODY,
    IDENTITY,
    OWNER,
    Format,
    Shown,
    flatten_under,
    instead_of,
    shape,
    shown_at,
)
from pipeline.submit.demand import (
    TYPES,
    Asked,
    Demand,
    Process,
    asks_for_nothing,
    asks_for_owner,
    demand_of,
    known_type,
)

Rule = Literal[
    "process_unknown",
    "process_finished",
    "process_mismatch",
    "seller_mismatch",
    "unknown_key",
    "owner_on_individual",
    "type_mismatch",
    "wrong_format",
    "numeric_revenue",
    "missing",
    "nothing_requested",
    "not_requested",
    "field_without_evidence",
    "source_not_seller",
    "evidence_before_request",
]
"""The rules that a payload can break; those about evidence bear the names of their findings."""
RuleOfSending = Literal["marketplace_mismatch", "retry_pending", "not_confirmed"]
"""Those that are judged elsewhere in this room, whatever the payload says."""

SELLER: Final = "seller"
"""The one source of a collection that counts as evidence."""

# Sections of the contract
_SERVICE: Final = "What the service does, 4"
_BODY_FIELDS: Final = "Submission body fields"
_STATES: Final = "States and transitions"
_BODY_RULES: Final = "Submit registration review, body rules"
_EVENT: Final = "Envelope of regulatory.registration.review.required"
_VALIDATIONS: Final = "Errors, field validations"


@dataclass(frozen=True, slots=True)
class Answer:
    """The value at one field path in the latest `answered` collection that carries that path."""

    value: JsonValue
    source: str
    answered_at: int
    seq: int
    is_final: bool = True
    """False on the seller's page, until they have confirmed all answers."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule at one field path. `found` describes a value's shape, never the value."""

    path: str
    rule: Rule | RuleOfSending
    found: str
    expected: str
    section: str  # of the contract

    def __str__(self) -> str:
        return f"{self.path}: found {self.found}; expected {self.expected} ({self.section})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`violations` refuse the payload; with `warnings` alone it is sent, and each is a finding."""

    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...]

    @property
    def is_refused(self) -> bool:
        """Whether the rules refuse the payload."""
        return bool(self.violations)


def check(
    payload: JsonValue,
    process: Process | None,
    answers: Mapping[str, Answer],
    *,
    process_id: str,
    seller_id: str,
    evidence_gate: Literal["block", "warn"],
    allow_numeric_revenue: bool,
    bands: Collection[str] | None = None,
    seller_type: str | None = None,
    is_sent_before: bool = False,
    needs_process_id: bool = True,
    is_overridden: bool = False,
) -> Verdict:
    """What docs/rules.md#what-may-be-sent says about sending `payload` for a process.

    `payload` is JSON as `body.parse_json` reads it: finite, bounded in depth. `process_id` and
    `seller_id` are those of the call; `process` (None: nothing names it) and `answers` (by field
    path) are what was known when the attempt started.

    bands             all revenue bands of the platform; None where they are not known
    seller_type       the type in the seller's latest record
    is_sent_before    these very bytes went out for this process, so they may be sent again even
                      once it is FINISHED: the answer says what became of them
    needs_process_id  false for a gateway's call, which goes out as it came
    is_overridden     a person overrode the gates with a reason and a name, which waives
                      `process_unknown`, `type_mismatch`, `nothing_requested` and the evidence
    """
    if not isinstance(payload, dict):
        not_an_object = Violation(
            "body", "wrong_format", shape(payload), "a JSON object", _BODY_FIELDS
        )
        return Verdict((not_an_object,), ())
    known = process if process is not None and process.has_review_event else None
    demand = demand_of(known, payload.get("type"))
    reading = _Reading(demand, allow_numeric_revenue, bands)
    reading.read(payload)

    violations: list[Violation] = []
    warnings: list[Violation] = []
    waivable = warnings if is_overridden else violations
    if known is None:
        waivable.append(_process_unknown(process_id))
    elif asks_for_nothing(known):
        waivable.append(_nothing_requested())
    waivable += _wrong_type(payload.get("type"), known, seller_type)
    if process is not None and process.state == "FINISHED" and not is_sent_before:
        violations.append(_FINISHED)
    violations += _wrong_seller(known, seller_id)
    if needs_process_id or "process_id" in payload:
        violations += _wrong_process_id(payload, process_id)
    violations += _no_type(payload)
    violations += reading.violations
    violations += _missing(payload, demand)
    (warnings if is_overridden or evidence_gate == "warn" else violations).extend(
        _uncovered(reading.to_cover, answers, known.opened_at if known else None)
    )
    return Verdict(tuple(violations), tuple(warnings))


# --- the clauses -----------------------------------------------------------------------------


def _process_unknown(process_id: str) -> Violation:
    return Violation(
        "process_id",
        "process_unknown",
        f"no review event of process {process_id}",
        "a process that the platform opened: without its event nobody knows what it asks for",
        _EVENT,
    )


def _nothing_requested() -> Violation:
    return Violation(
        "requested_fields",
        "nothing_requested",
        "no path in the latest event of the process",
        "at least one, since only requested fields may be sent: ask the platform which it means",
        _BODY_RULES,
    )


_FINISHED: Final = Violation(
    "process_id",
    "process_finished",
    "a process that is FINISHED",
    "one that is PENDING, OVERDUE or EXPIRED: the platform would answer 409",
    _STATES,
)


def _wrong_seller(known: Process | None, seller_id: str) -> Iterator[Violation]:
    # Without an event, the process's seller is only what an attempt or a collection claimed. Where
    # the event's customer_id cannot be read, nothing shows that the seller is wrong.
    if known is not None and known.seller_id not in (None, seller_id):
        yield Violation(
            "seller_id",
            "seller_mismatch",
            f"seller {seller_id}",
            f"seller {known.seller_id}, the customer_id of the process",
            _EVENT,
        )


def _wrong_process_id(payload: Mapping[str, JsonValue], process_id: str) -> Iterator[Violation]:
    expected = f"the process_id of this submission, {process_id}"
    if "process_id" not in payload:
        yield Violation("process_id", "missing", "nothing", expected, _BODY_RULES)
    elif not isinstance(sent := payload["process_id"], str):
        yield Violation("process_id", "wrong_format", shape(sent), expected, _BODY_FIELDS)
    elif sent != process_id:
        yield Violation("process_id", "process_mismatch", "another one", expected, _BODY_RULES)


def _no_type(payload: Mapping[str, JsonValue]) -> Iterator[Violation]:
    expected = "individual or business"
    if "type" not in payload:
        yield Violation("type", "missing", "nothing", expected, _BODY_RULES)
    elif (sent := payload["type"]) not in TYPES:
        yield Violation("type", "wrong_format", shape(sent), expected, _VALIDATIONS)


def _wrong_type(
    sent: JsonValue, process: Process | None, recorded: str | None
) -> Iterator[Violation]:
    """A type of seller that differs from the one that the log knows."""
    known = known_type(process, recorded)
    if known is not None and sent in TYPES and sent != known:
        is_asked = process is not None and asks_for_owner(process)
        why = "requested_fields name its owner" if is_asked else "as its latest seller record says"
        yield Violation(
            "type", "type_mismatch", "the other type of seller", f"{known}, {why}", _BODY_FIELDS
        )


def _missing(payload: Mapping[str, JsonValue], demand: Demand) -> Iterator[Violation]:
    for path in demand.needed:
        if not _holds(payload, path):
            shown = shown_at(path)
            what = shown.expected if isinstance(shown, Format) else "a value"
            yield Violation(path, "missing", "nothing", f"{what}: {demand.why}", _BODY_RULES)


def _holds(payload: Mapping[str, JsonValue], path: str) -> bool:
    value: JsonValue = payload
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _uncovered(
    sent: Iterable[tuple[str, JsonValue]], answers: Mapping[str, Answer], opened_at: int | None
) -> Iterator[Violation]:
    """The fields that the seller's latest answer does not cover, each with its first reason.

    The same JSON value is the same canonical spelling: 1 is neither 1.0 nor true nor "1". The
    facts compare the same way (`facts.Keys.of_value`), so that the gate and the findings agree.
    """
    expected = "what the seller answered in this process, collected from the seller directly"
    for path, value in sent:
        answer = answers.get(path)
        rule: Rule
        if answer is None:
            rule, found = "field_without_evidence", "no answer in this process"
        elif canonical_json(answer.value) != canonical_json(value):
            rule = "field_without_evidence"
            found = f"another value than the latest answer (entry {answer.seq})"
            if how := in_words(how_they_differ(value, answer.value)):
                found += f", which differs only in {how}"
        elif answer.source != SELLER:
            rule = "source_not_seller"
            found = f"a latest answer that is not from the seller (entry {answer.seq})"
        elif opened_at is not None and answer.answered_at < opened_at:
            rule = "evidence_before_request"
            found = (
                f"a latest answer of {instants.readable(answer.answered_at)} (entry {answer.seq}), "
                f"older than the process, opened at {instants.readable(opened_at)}"
            )
        else:
            continue
        yield Violation(path, rule, found, expected, _SERVICE)


# --- one walk over the payload ---------------------------------------------------------------


class _Reading:
    """Reads a payload: finds what must not be sent as it is, and the fields that need evidence.

    Its keys are walked beside the contract's and the requested ones, never compared as dotted
    strings: a key spelled "address.city" is not a city in an address.
    """

    def __init__(
        self, demand: Demand, allow_numeric_revenue: bool, bands: Collection[str] | None
    ) -> None:
        self.demand = demand
        self.bands = bands
        self.allow_numeric_revenue = allow_numeric_revenue
        self.violations: list[Violation] = []
        self.to_cover: list[tuple[str, JsonValue]] = []

    def read(self, payload: Mapping[str, JsonValue]) -> None:
        members = {key: value for key, value in payload.items() if key not in IDENTITY}
        is_asked = OWNER in self.demand.asked.below
        if self.demand.seller_type == "individual" and OWNER in members and not is_asked:
            del members[OWNER]
            expected = "no owner: only a business has one"
            self._refuse(OWNER, "owner_on_individual", "an owner", expected, _BODY_FIELDS)
        self._members("", members, BODY, self.demand.asked, is_covered=False)

    def _members(
        self,
        prefix: str,
        members: Mapping[str, JsonValue],
        shown: Mapping[str, Shown],
        asked: Asked,
        *,
        is_covered: bool,  # a requested path lists the object around these members
    ) -> None:
        for key, value in members.items():
            path, here, below = prefix + key, shown.get(key), asked.below.get(key)
            if here is None and below is None:
                found, expected = "a key that the contract does not show", instead_of(key, shown)
                self._refuse(path, "unknown_key", found, expected, _BODY_FIELDS)
            elif here is None and below is not None and below.is_listed:
                self.to_cover.extend(flatten_under(path, value))  # the contract says no format
            elif isinstance(here, Format) and not (below and below.below):
                self._field(path, value, here, is_covered or below is not None)
            else:
                inner = here if isinstance(here, Mapping) else {}
                self._object(path, value, inner, below or Asked(), is_covered)

    def _object(
        self,
        path: str,
        value: JsonValue,
        shown: Mapping[str, Shown],
        asked: Asked,
        is_covered: bool,
    ) -> None:
        """An object of the contract, or one whose members requested paths name."""
        is_covered = is_covered or asked.is_listed
        if isinstance(value, dict) and value:
            self._members(f"{path}.", value, shown, asked, is_covered=is_covered)
        elif self._may_be_sent(path, is_covered or bool(asked.below)):
            expected = f"an object with {', '.join(shown or asked.below)}"
            self._refuse(path, "wrong_format", shape(value), expected, _BODY_FIELDS)

    def _field(self, path: str, value: JsonValue, format_: Format, is_asked: bool) -> None:
        if not self._may_be_sent(path, is_asked):
            return
        self.to_cover.extend(flatten_under(path, value))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if format_ is BAND and is_number:
            if not self.allow_numeric_revenue:
                expected = f"{format_.expected}; PRAZO_ALLOW_NUMERIC_REVENUE lets numbers through"
                self._refuse(path, "numeric_revenue", shape(value), expected, _BODY_FIELDS)
        elif format_ is BAND and self.bands is not None:
            if not isinstance(value, str) or value not in self.bands:
                expected = "one of the platform's bands, as PRAZO_REVENUE_BANDS_FILE lists them"
                self._refuse(path, "wrong_format", shape(value), expected, _VALIDATIONS)
        elif not format_.accepts(value):
            self._refuse(path, "wrong_format", shape(value), format_.expected, _VALIDATIONS)

    def _may_be_sent(self, path: str, is_asked: bool) -> bool:
        if is_asked or not self.demand.is_partial:
            return True
        expected = "no such key: a partial review holds what requested_fields list, nothing else"
        self._refuse(path, "not_requested", "a key that is not requested", expected, _BODY_RULES)
        return False

    def _refuse(self, path: str, rule: Rule, found: str, expected: str, section: str) -> None:
        self.violations.append(Violation(path, rule, found, expected, section))
