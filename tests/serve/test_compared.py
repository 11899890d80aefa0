"""Two instants of one list, by hand."""

import pyarrow as pa

from pipeline.serve.compared import Difference, differences, table

KEY, COLUMNS = ("id",), ("id", "state", "due")
STAYS = {"id": "a", "state": "PENDING", "due": 1, "left": 9}
LEFT = {"id": "b", "state": "OVERDUE", "due": 2, "left": 8}
LATE = {"id": "c", "state": "PENDING", "due": 3, "left": 7}
NEW = {"id": "d", "state": "PENDING", "due": 4, "left": 6}
EXPIRED = {**LATE, "state": "EXPIRED", "left": 0}
FOUND = [
    Difference("changed", LATE, EXPIRED, ("state",)),
    Difference("came", None, NEW, ()),
    Difference("went", LEFT, None, ()),
]


def test_what_changed_came_and_went_and_nothing_else() -> None:
    now = [{**STAYS, "left": 0}, NEW, EXPIRED]  # what is left follows from the clock alone
    assert differences([STAYS, LEFT, LATE], now, KEY, COLUMNS) == FOUND
    assert differences(now, now, KEY, COLUMNS) == []


def test_as_rows_both_values_stand_side_by_side() -> None:
    schema = pa.schema([("id", pa.string()), ("state", pa.string()), ("due", pa.int64())])
    assert table(FOUND, schema, KEY, COLUMNS).to_pylist() == [
        {
            "difference": "changed",
            "id": "c",
            **{"then_state": "PENDING", "state": "EXPIRED", "then_due": 3, "due": 3},
        },
        {
            "difference": "came",
            "id": "d",
            **{"then_state": None, "state": "PENDING", "then_due": None, "due": 4},
        },
        {
            "difference": "went",
            "id": "b",
            **{"then_state": "OVERDUE", "state": None, "then_due": 2, "due": None},
        },
    ]
