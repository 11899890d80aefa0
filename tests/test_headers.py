"""A header of a file of SQL says what its lines say, whatever order and length they have."""

from pathlib import Path

from pipeline import headers

TEXT = """\
-- One row per process that is late: it
-- may be a breach.
--
-- key: process_id, seq
-- rule: late
-- remedy: Find out what delayed it,
--   and collect again.
-- What follows is prose.
--   So is this: it continues no label.
-- rule: early
-- remedy: Wait.

-- A comment of the SQL.
select 1
"""


def test_a_header_is_read(tmp_path: Path) -> None:
    (tmp_path / "late.sql").write_text(TEXT, encoding="utf-8")
    header = headers.read(tmp_path / "late.sql", {"key", "rule", "remedy"})
    assert header.summary == "One row per process that is late: it may be a breach."
    assert header.names("key") == ("process_id", "seq")
    assert list(header.parts("rule")) == [
        {"rule": "late", "remedy": "Find out what delayed it, and collect again."},
        {"rule": "early", "remedy": "Wait."},
    ]
    assert (header.first("order"), header.all("rule")) == ("", ["late", "early"])
    assert header.sql == "-- A comment of the SQL.\nselect 1"
