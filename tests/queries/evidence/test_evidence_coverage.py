"""Which fields of a process were asked for, answered and sent (docs/rules.md#collection-evidence).

The view works the rules out once for all processes of which the same was asked for, answered and
sent: each case here stands beside others that differ from it in one of the three.
"""

from typing import Any

import pytest

from tests.support.ledgers import asked
from tests.support.lines import ADDRESS, aci, answered, at, finished, started

AS_OF = at("2026-03-03T00:00:00")
OF_THE_ADDRESS = sorted(f"address.{name}" for name in ADDRESS)


def process(name: str, paths: list[str] | None) -> dict[str, Any]:
    return aci(f"e_{name}", process_id=name, customer_id=f"s_{name}", requested_fields=paths)


def answer(name: str, **fields: Any) -> dict[str, Any]:
    return answered(process_id=name, seller_id=f"s_{name}", fields=fields)


def sent(name: str, **fields: Any) -> list[dict[str, Any]]:
    payload = {"process_id": name, "type": "individual", **fields}
    mine = {"attempt_id": f"a_{name}", "process_id": name, "seller_id": f"s_{name}"}
    return [started(**mine, body=payload), finished(**mine)]


HISTORY = [
    process("asked", ["revenue"]),
    process("asked_too", ["revenue"]),
    process("asked_twice", ["revenue", "revenue"]),
    process("answered", ["revenue"]),
    answer("answered", revenue="1_to_2"),
    process("sent", ["revenue"]),
    answer("sent", revenue="1_to_2"),
    *sent("sent", revenue="1_to_2"),
    process("sent_unasked", ["mcc"]),
    *sent("sent_unasked", revenue="1_to_2"),
    process("object", ["address"]),
    process("object_in_part", ["address"]),
    answer("object_in_part", **{"address.city": "Recife"}),
    process("parent", ["extra"]),
    answer("parent", **{"extra.note": "7"}),
    process("nothing", []),
    process("unreadable", None),
    process("only_answered", []),
    answer("only_answered", revenue="1_to_2"),
    answer("no_event", revenue="1_to_2"),
    *sent("no_event", revenue="1_to_2", mcc="5411"),
    process("other_order", ["revenue", "mcc"]),
    process("in_order", ["mcc", "revenue", "mcc"]),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # path, requested, was answered, was sent, covered
        ("asked", [("revenue", True, False, False, None)]),
        ("asked_too", [("revenue", True, False, False, None)]),
        ("asked_twice", [("revenue", True, False, False, None)]),
        ("answered", [("revenue", True, True, False, None)]),
        ("sent", [("revenue", True, True, True, True)]),
        (
            "sent_unasked",
            [("mcc", True, False, False, None), ("revenue", False, False, True, False)],
        ),
        ("object", [(path, True, False, False, None) for path in OF_THE_ADDRESS]),
        (
            "object_in_part",
            [(path, True, path == "address.city", False, None) for path in OF_THE_ADDRESS],
        ),
        ("parent", [("extra.note", True, True, False, None)]),
        ("nothing", []),
        ("unreadable", []),
        ("only_answered", [("revenue", False, True, False, None)]),
        # No event asks for anything, and without an `opened_at` no answer is too old.
        ("no_event", [("mcc", False, False, True, False), ("revenue", False, True, True, True)]),
        *(
            (name, [("mcc", True, False, False, None), ("revenue", True, False, False, None)])
            for name in ("other_order", "in_order")
        ),
    ],
)
def test_each_field_asked_for_answered_or_sent_is_one_row(
    name: str, expected: list[tuple[object, ...]]
) -> None:
    rows = [
        (
            row["path"],
            row["requested"],
            row["answered_at"] is not None,
            row["sent_at"] is not None,
            row["covered"],
        )
        for row in asked(HISTORY, "evidence_coverage", AS_OF)
        if row["process_id"] == name
    ]
    assert rows == expected


def test_rows_are_in_the_order_of_processes_and_paths() -> None:
    rows = [(row["process_id"], row["path"]) for row in asked(HISTORY, "evidence_coverage", AS_OF)]
    assert rows == sorted(rows)
    assert len(rows) == len(set(rows)) == 27


def test_a_field_was_sent_when_it_was_sent_last_and_is_covered_where_each_sending_was() -> None:
    later = {"process_id": "p", "seller_id": "s_p"}
    history = [
        process("p", ["revenue"]),
        *sent("p", revenue="1_to_2"),
        {**answer("p", revenue="1_to_2"), "occurred_at": "2026-03-02T06:00:00Z"},
        started(
            "a2",
            "2026-03-02T12:00:00Z",
            body={"process_id": "p", "type": "individual", "revenue": "1_to_2"},
            **later,
        ),
    ]
    [row] = asked(history, "evidence_coverage", AS_OF)
    assert (row["sent_at"], row["covered"]) == (at("2026-03-02T12:00:00"), False)
