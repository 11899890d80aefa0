"""Ids and codes: a handful, so that occurrences meet each other."""

from itertools import cycle

from hypothesis import strategies as st

from tests.support.oracle import contract

SELLERS = ["s1", "s2", "s3", "vendedor ção/4", "7"]
HOME_OF = {"p1": "s1", "p2": "s1", "p3": "s2", "p4": "s3"}
TYPE_OF = dict(zip(HOME_OF, cycle(contract.REVIEW_TYPES), strict=False))
REVIEW_TYPES = [*contract.REVIEW_TYPES, "SOMETHING_NEW"]
STATUSES = [*contract.REVIEW_STATUSES, "SUSPENDED", None]
EVENT_IDS = [f"evt_{number}" for number in range(1, 17)]
ATTEMPT_OF = {"a1": "p1", "a2": "p1", "a3": "p1", "a4": "p2", "a5": "p3", "a6": "p9"}
REASONS = [
    *({"reason": "DOCUMENT_VALIDATION", "detail": it} for it in contract.DETAILS),
    *({"reason": it} for it in contract.REASONS),
    {"reason": "INTERNAL_KYC_POLICY", "detail": ""},
    {"reason": "FRAUD_PREVENTION", "detail": None},
    {"reason": "NEW_REASON", "detail": "NEW_DETAIL"},
]
TAXPAYER_IDS = ["123.456.789-09", "12345678909", "98765432100", "sem número", "--"]
CNPJS = ["12.abc.345/01DE-35", "12ABC34501DE35", "12.ABC.345/01DE-36"]
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
