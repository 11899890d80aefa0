"""Whatever can be recorded can be shown, exported and verified: one accepted message once made
every export fail for ever, by a cell over 131,072 characters."""

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from pipeline import instants
from pipeline.audit import export
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Profile, Scope
from pipeline.continuity.service import LedgerService
from pipeline.ledger.views import formats
from pipeline.ledger.views.catalogue import public
from pipeline.log.deliveries import delivery
from pipeline.log.entries import LIVE, Draft
from tests import depth
from tests.audit.conftest import EVERYTHING, request
from tests.support.ledgers import draft
from tests.support.lines import acp, answered, finished, invited, live, seller, started
from tests.support.stores import settings_in

AT = "2026-03-01T12:00:00Z"
LARGE = "L" * 140_000
FIELDS = 1_000_000_000
MANY, LENGTH = depth.rounds(100, 8_000), depth.rounds(100, 10)
"""Fields so many, and so long, that their names are more than 131,072 characters: csv's own limit
for a cell."""
ODD = [
    *("=1+1", "-x", "@x", "\t", "a\tb", "a\r\nb", '"', "a,b;c", "'", "\\", "\x1b[2J", "\x00"),
    *("\u202e\u2066", "\u2028", "\ufeff", "😀", "é" * 100, "ana@example.com", "12345678901"),
    *("", " ", "../x", "/etc/passwd", "NULL", "NaN", "1e400", "hmac:00", "<b>", "{{x}}", "%s"),
    "x" * 512,
    LARGE,
]
text = st.one_of(st.sampled_from(ODD), st.text(max_size=40))
identifier = st.one_of(st.sampled_from(ODD), st.text(min_size=1, max_size=20))
value = st.one_of(text, st.integers(-(2**63), 2**63), st.booleans(), st.none(), st.floats())
process, person = st.sampled_from(["p1", "p\t2", "é=1"]), st.sampled_from(["s1", "ana@example.com"])


def events(number: int) -> st.SearchStrategy[dict[str, Any]]:
    name = f"e{number}"
    return st.one_of(
        st.builds(
            lambda process_id, customer_id, fields, **more: acp(
                name,
                process_id=process_id,
                customer_id=customer_id,
                requested_fields=fields,
                **more,
            ),
            process,
            person,
            st.lists(text, max_size=5),
            status=text,
            deadline_at=st.sampled_from(["9999-12-31T23:59:59.999999Z", AT, "x"]),
        ),
        st.builds(
            lambda what, seller_id, **record: seller(what, name, seller_id=seller_id, **record),
            st.sampled_from(["created", "updated", "denied", "deleted", "enabled"]),
            identifier,
            first_name=text,
            email=text,
            taxpayer_id=value,
            address=st.dictionaries(text, value, max_size=3),
            metadata=st.dictionaries(text, value, max_size=3),
            decision_reasons=st.lists(st.fixed_dictionaries({"reason": text, "detail": text})),
        ),
        st.builds(
            lambda process_id, seller_id, **more: answered(
                AT, process_id=process_id, seller_id=seller_id, **more
            ),
            process,
            person,
            actor=text,
            journey_id=identifier,
            fields=st.dictionaries(text, value, max_size=4),
        ),
        st.builds(lambda actor: invited(AT, actor=actor), text),
        st.builds(
            lambda body, key: started(f"a{number}", body=body, idempotency_key=key),
            st.dictionaries(text, value, max_size=3),
            identifier,
        ),
        st.builds(
            lambda status, body: finished(f"a{number - 1}", status, body=body),
            st.sampled_from([200, 400, 429, 500, 700]),
            text,
        ),
    )


histories = st.tuples(*(events(number) for number in range(8)), st.binary(max_size=60))
GIANTS = (
    acp("e1", requested_fields=[f"{'of_the_register' * LENGTH}.line{n}" for n in range(MANY)]),
    live(
        answered(AT, fields={f"{'collected' * LENGTH}.{n}": f"value {n}" for n in range(2 * MANY)})
    ),
    seller("denied", "e2", first_name=LARGE, metadata={LARGE: LARGE}, status=LARGE),
    started("a1", body={"process_id": "p1", "revenue": LARGE}),
    finished("a1", 400, body=LARGE * 5),
    answered(AT, actor=LARGE, journey_id="j\t1", process_id="p\t2", seller_id="ana@example.com"),
    seller("updated", "e3", seller_id="ana@example.com", metadata={it: it for it in ODD}),
    *(seller("created", f"e{number}", first_name=it, id=it) for number, it in enumerate(ODD, 10)),
    b"{" + b" " * 200_000,
)


def drafts(history: Sequence[dict[str, Any] | bytes]) -> list[Draft]:
    """What of a history the log takes: deliveries as they came, other lines where they are read."""
    at = instants.parse(AT)
    assert at is not None
    found = []
    for line in history:
        if isinstance(line, bytes):
            found.append(delivery(line, occurred_at=at, recorded_by="webhook"))
        elif line["kind"] == "webhook":
            body = json.dumps(line["body"], ensure_ascii=True).encode()
            found.append(delivery(body, occurred_at=at, recorded_by="webhook"))
        elif (made := draft(line)) is not None:
            found.append(made._replace(origin=LIVE) if "origin" in line else made)
    return found


def assert_shown(service: LedgerService) -> None:
    """Each view can be written in each form, and read again with as many rows."""
    csv.field_size_limit(FIELDS)
    for view in public():
        rows = service.reader.read(view, as_of=instants.parse("2026-04-01T00:00:00Z"))
        written = {form: formats.encode(rows, form, {}) for form in formats.FORMATS}
        assert len(json.loads(written["json"])) == rows.num_rows
        lines = csv.reader(io.StringIO(written["csv"].decode(), newline=""))
        assert len(list(lines)) == 1 + rows.num_rows, view
        assert pq.read_table(io.BytesIO(written["parquet"])).num_rows == rows.num_rows
        assert zipfile.ZipFile(io.BytesIO(written["xlsx"])).testzip() is None


def assert_exported(service: LedgerService, folder: Path, scope: Scope, profile: Profile) -> None:
    made = export.export(service, request(scope, profile), folder / "package.zip")
    assert verify_package(made.path, key=made.key).faults == []


@settings(
    max_examples=max(1, settings.default.max_examples // 100),
    # The giants alone take 15 seconds; others are for `make test-long`.
    phases=list(Phase) if depth.has_more_rounds() else [Phase.explicit],
)
@given(history=histories)
@example(history=GIANTS)
def test_whatever_is_recorded_can_be_shown_exported_and_verified(
    history: Sequence[dict[str, Any] | bytes],
) -> None:
    with tempfile.TemporaryDirectory(prefix="prazo-") as name:
        folder = Path(name)
        with closing(LedgerService(settings_in(folder))) as service:
            service.inbox.append(drafts(history))
            service.catch_up()
            assert_shown(service)
            assert_exported(service, folder, EVERYTHING, "full")
            assert_exported(service, folder, EVERYTHING, "masked")
