"""The one change that the inbox's tables take: bytes go with their salt, for what stays of them."""

import apsw
import pytest

from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox
from pipeline.settings import Settings
from tests.erasure.test_forgetting import done

NUMBERS = "seq occurred_at recorded_at status process_n process_prev seller_n seller_prev"
TEXTS = "kind origin recorded_by event_id attempt_id process_id seller_id pseudonym"
COLUMNS = {
    **dict.fromkeys(NUMBERS.split(), "77"),
    **dict.fromkeys(TEXTS.split(), "'z'"),
    **{"record": "'x'", "leaf": "'x'", "ingest_key": "'x'"},
    **{"is_again": "not is_again", "is_compressed": "not is_compressed"},
}
"""Another value of each column that an erasure leaves."""


@pytest.mark.parametrize(
    ("engine", "columns"),
    [("sqlite", [*COLUMNS]), ("postgres", ["leaf", "seller_id"])],  # SQLite's names each one
    indirect=["engine"],
)
def test_the_tables_take_no_other_change(
    columns: list[str], settings: Settings, inbox: Inbox
) -> None:
    assert {*COLUMNS, "body", "salt"} == {*inbox.rows.columns}
    before = inbox.read(0, 100)
    byte = "'\\x78'" if "postgres" in settings.inbox else "x'78'"
    others = [f"salt = null, body = 'x', {it} = {COLUMNS[it]}" for it in columns]
    changes = ["body = 'x'", "salt = 'x', body = 'x'", "salt = null, body = null", *others]
    for change in ("delete from entries", *(f"update entries set {it}" for it in changes)):
        with pytest.raises((InboxUnavailable, apsw.ConstraintError), match="append-only"):
            inbox.execute(change.replace("'x'", byte) + " where seq = 1")
    assert inbox.read(0, 100) == before


def test_what_stays_cannot_be_erased_once_more(settings: Settings, inbox: Inbox) -> None:
    done(settings)
    before = inbox.read(0, 100)
    with pytest.raises(InboxUnavailable, match="append-only"):
        inbox.execute("update entries set body = $1 where seq = 1", b"something else")
    assert inbox.read(0, 100) == before
