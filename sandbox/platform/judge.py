"""Judges a submission as the platform does: bytes in, a ruling out, and nothing is changed.

It follows docs/contract.md#errors and shares nothing with the product's rules, so that a mistake
made in one of them shows as a disagreement between the two.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.resources import ADDRESS_FIELDS, BUSINESS_FIELDS, REVIEW_TYPES, Json, Process, Seller

_BAND = re.compile(r"([0-9]{1,18})_to_([0-9]{1,18})")
_REQUIRED_OF_ADDRESS = tuple(name for name in ADDRESS_FIELDS if name != "line2")
_ALWAYS_OPTIONAL = {"address.line2", "owner.address.line2"}
_FRAME = {"process_id", "type"}  # every submission has them, asked for or not

# ISO 3166-1 alpha-2, officially assigned, between blanks.
_COUNTRIES = (
    " AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR "
    "BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ "
    "EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW "
    "GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY "
    "KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV "
    "MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY "
    "QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG "
    "TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM "
    "ZW "
)


@dataclass(frozen=True)
class Violation:
    """One field that breaks a rule; an empty `field` is the body as a whole."""

    field: str
    message: str


@dataclass(frozen=True)
class Ruling:
    """What the platform would answer: 200, 400, 404 or 409; and the process, if there is one."""

    status: int
    message: str
    process: Process | None = None
    document: Json | None = None
    violations: tuple[Violation, ...] = ()


def judge(
    body: bytes,
    seller: Seller | None,
    processes: Mapping[str, Process],
    *,
    accept_numeric_revenue: bool = False,
) -> Ruling:
    """Judges one PUT for `seller` (None: no such seller) against all known `processes`.

    `accept_numeric_revenue`: the contract's samples show a number, but its rules ask for a band;
    by default the platform refuses numbers.
    """
    if seller is None:
        return Ruling(404, "no such seller")
    document = parse_object(body)
    if document is None:
        return Ruling(
            400, "the body is not a JSON object", violations=(Violation("", "no object"),)
        )

    named = document.get("process_id")
    if named is None:
        open_ones = [
            process
            for process in processes.values()
            if process.seller_id == seller.seller_id and process.status != "FINISHED"
        ]
        if not open_ones:
            return Ruling(404, "the seller has no open process")
        if len(open_ones) > 1:
            ambiguous = Violation("process_id", f"needed: {len(open_ones)} processes are open")
            return Ruling(400, "process_id is needed", violations=(ambiguous,))
        process = open_ones[0]
    elif not isinstance(named, str):
        return Ruling(400, "invalid payload", violations=(Violation("process_id", "not a string"),))
    else:
        found = processes.get(named)
        if found is None or found.seller_id != seller.seller_id:
            return Ruling(404, "no such process for this seller")
        process = found

    if process.status == "FINISHED":
        return Ruling(409, "the process is already concluded", process)
    violations = tuple(
        dict.fromkeys(_violations(document, seller, process, accept_numeric_revenue))
    )
    if violations:
        return Ruling(400, "invalid payload", process, violations=violations)
    return Ruling(200, "registration updated", process, document)


def parse_object(body: bytes) -> Json | None:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        document = json.loads(body.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _violations(
    document: Json, seller: Seller, process: Process, accept_numeric_revenue: bool
) -> Iterable[Violation]:
    sent_type = document.get("type")
    if sent_type is None:
        yield Violation("type", "missing")
    elif sent_type not in ("individual", "business"):
        yield Violation("type", "neither individual nor business")
    elif sent_type not in _types_of(seller, process):
        yield Violation("type", f"the seller is of type {seller.profile.type}")

    sent = dict(flatten({k: v for k, v in document.items() if k not in _FRAME}))
    is_business = seller.profile.type == "business"
    if REVIEW_TYPES[process.review_type].is_whole:
        allowed = {*_registration_of(is_business), *process.requested_fields}
    else:
        allowed = set(process.requested_fields)

    for path in sorted(allowed - _ALWAYS_OPTIONAL - _FRAME):
        yield from missing(path, sent)
    for path, value in sent.items():
        if not any(path == listed or path.startswith(f"{listed}.") for listed in allowed):
            yield Violation(path, "not asked for")
        elif message := format_fault(
            path, value, accept_numeric_revenue, is_requested=path in process.requested_fields
        ):
            yield Violation(path, message)


def _types_of(seller: Seller, process: Process) -> set[str]:
    """The types that a submission may state. Only a business has an owner, so a seller who is asked
    for owner fields may state that it is a business."""
    asks_for_owner = any(path.split(".")[0] == "owner" for path in process.requested_fields)
    return {seller.profile.type, "business"} if asks_for_owner else {seller.profile.type}


def unanswerable(requested_fields: Iterable[str]) -> list[str]:
    """The paths that no submission could contain; a platform must not ask for them."""
    return [path for path in requested_fields if not _is_answerable(path)]


def _is_answerable(path: object) -> bool:
    if not isinstance(path, str) or not all(path.split(".")):
        return False
    return not any(path.startswith(f"{value}.") for value in (*BUSINESS_FIELDS, *_FRAME))


def _registration_of(is_business: bool) -> tuple[str, ...]:
    """All registration fields of the seller type, which a whole review must contain."""
    own = ("revenue", "address")
    return (*own, "owner.revenue", "owner.address") if is_business else own


def missing(path: str, sent: Mapping[str, Any]) -> Iterable[Violation]:
    """The violations for a requested path. A requested address needs all of its fields; any other
    path needs itself or something under it."""
    if path in ("address", "owner.address"):
        for name in _REQUIRED_OF_ADDRESS:
            if f"{path}.{name}" not in sent:
                yield Violation(f"{path}.{name}", "missing")
    elif not any(field == path or field.startswith(f"{path}.") for field in sent):
        yield Violation(path, "missing")


def flatten(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """(dotted path, value) of everything that is not an object, and of empty objects."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            # A dot inside a key is not a step down: {"address.city": ...} is not an address.
            step = key.replace(".", "\\.")
            yield from flatten(below, f"{path}.{step}" if path else step)
    elif path:
        yield path, value


def format_fault(
    path: str, value: Any, accept_numeric_revenue: bool = False, *, is_requested: bool = False
) -> str | None:
    """What is wrong with one value, or None; paths the contract does not show take anything.

    An address has no other fields than the contract's, unless the platform itself asks for one.
    """
    if path in ("address", "owner.address", "owner"):
        return "not an object with the fields asked for"
    parent, _, name = path.rpartition(".")
    if name == "revenue" and parent in ("", "owner"):
        return _revenue_fault(value, accept_numeric_revenue)
    if parent in ("address", "owner.address"):
        check = _ADDRESS_CHECKS.get(name)
        if check is not None:
            return check(value)
        return None if is_requested else "no such field of an address"
    return None


def _revenue_fault(value: Any, accept_numeric: bool) -> str | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None if accept_numeric else "a number; a band <lower>_to_<upper> is asked for"
    match = _BAND.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return "not a band <lower>_to_<upper>"
    return None if int(match[1]) < int(match[2]) else "the band's lower end is not below its upper"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "not a text"


def _optional_text(value: Any) -> str | None:
    return None if isinstance(value, str) else "not a text"


def _state(value: Any) -> str | None:
    is_code = isinstance(value, str) and re.fullmatch("[A-Za-z]{2}", value)
    return None if is_code else "not a state code of two letters"


def _postal_code(value: Any) -> str | None:
    is_code = isinstance(value, str) and re.fullmatch("[0-9]{8}", value)
    return None if is_code else "not 8 digits without mask"


def _country_code(value: Any) -> str | None:
    is_code = (
        isinstance(value, str) and re.fullmatch("[A-Z]{2}", value) and f" {value} " in _COUNTRIES
    )
    return None if is_code else "not an upper-case ISO 3166-1 alpha-2 code"


_ADDRESS_CHECKS: dict[str, Callable[[Any], str | None]] = {
    "line1": _text,
    "line2": _optional_text,
    "line3": _text,
    "city": _text,
    "state": _state,
    "postal_code": _postal_code,
    "country_code": _country_code,
}
