"""Which entry named a process or a seller last: nobody may be told an earlier one."""

import pytest

from pipeline.ledger import last_named as names
from pipeline.ledger.last_named import LastNamed, named_in
from pipeline.log.entries import Entry


def entry(seq: int, process_id: str | None, seller_id: str | None) -> Entry:
    fields = dict.fromkeys(Entry._fields)
    return Entry(**{**fields, "seq": seq, "process_id": process_id, "seller_id": seller_id})


def test_it_is_the_newest_that_names_it_and_else_any_before_the_start() -> None:
    last_named = LastNamed(10)
    assert last_named.of("prc_1") == 10
    last_named.add(
        named_in([entry(11, "prc_1", "sel_1"), entry(12, None, "sel_1"), entry(13, None, None)])
    )
    assert [last_named.of(it) for it in ("prc_1", "sel_1", "prc_2")] == [11, 12, 10]
    last_named.add(named_in([entry(14, "prc_1", None)]))
    assert [last_named.of(it) for it in ("prc_1", "sel_1", "prc_2")] == [14, 12, 10]


def test_who_was_forgotten_may_have_been_named_by_any_entry_up_to_the_last_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names, "MOST_SUBJECTS", 2)
    last_named = LastNamed(0)
    last_named.add(
        named_in([entry(1, "prc_1", None), entry(2, "prc_2", None), entry(3, "prc_1", None)])
    )
    last_named.add(named_in([entry(4, "prc_3", None)]))
    assert [last_named.of(f"prc_{n}") for n in (1, 2, 3, 4)] == [3, 2, 4, 2]
    last_named.add(named_in([entry(5, "prc_4", None)]))
    assert [last_named.of(f"prc_{n}") for n in (1, 2, 3, 4)] == [3, 3, 4, 5]
