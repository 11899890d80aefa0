"""Whatever stands in a text that reaches a view, a reader who gave no reason sees no CPF, telephone
number, e-mail address or name of a person: in no column of any view."""

import json
from typing import Any

import pyarrow as pa

from pipeline.ledger.views.catalogue import public
from pipeline.serve import identifiers
from tests.support.ledgers import ledger_of
from tests.support.lines import acp, action, answered, finished, seller, started, webhook
from tests.support.rich import RICH

AS_OF = 1_790_000_000_000_000
CPF, PHONE, EMAIL, NAME = "529.982.247-25", "+55 11 98765-4321", "dora@example.com", "Doralice"
PLANTED = (CPF, "52998224725", PHONE, "98765", EMAIL, NAME)
SAID = f"of {CPF}, {PHONE}, {EMAIL}"
KEY = b"k" * 32
NOON = "2026-03-01T12:00:00Z"


def of_seller(name: str, event_id: str, **more: Any) -> dict[str, Any]:
    record = {
        **dict.fromkeys(("first_name", "last_name", "business_name"), NAME),
        **dict.fromkeys(("email", "business_email"), EMAIL),
        **dict.fromkeys(("taxpayer_id", "ein", "document_number"), CPF),
        **dict.fromkeys(("phone_number", "business_phone"), PHONE),
        **dict.fromkeys(
            ("address", "business_address", "owner", "metadata"), json.dumps({NAME: SAID})
        ),
        **dict.fromkeys(("birthdate", "resource", "status", "mcc", "marketplace_id"), SAID),
        "uri": f"/sellers/{EMAIL}",
        "type": SAID,
    }
    return seller(name, event_id, seller_id=EMAIL, **{**record, **more})


PROCESS = {"process_id": CPF, "customer_id": EMAIL}
HISTORY = [
    of_seller("denied", "v1", decision_reasons=[{"reason": SAID, "detail": SAID}]),
    of_seller("denied", "v2", taxpayer_id=52998224725, created_at=SAID),
    of_seller("updated", "v3", ein={NAME: CPF}, status={"of": NAME}, type=[NAME]),
    acp("e1", **PROCESS, type=SAID, status=SAID, requested_fields=[SAID, "revenue"]),
    *(
        acp(f"d{number}", f"2026-03-0{number + 2}T00:00:00Z", **{**PROCESS, "deadline_at": due})
        for number, due in enumerate((CPF, PHONE, EMAIL, NAME, 52998224725, 5511987654321))
    ),
    acp("e2", "2026-03-09T00:00:00Z", **PROCESS, requested_fields=SAID, status={"of": NAME}),
    acp("e3", "2026-03-10T00:00:00Z", **PROCESS | {"customer_id": {"name": NAME, "cpf": CPF}}),
    webhook({"id": CPF, "type": f"seller.{EMAIL}", "created_at": "2026-03-01T00:00:00Z"}),
    webhook(
        {
            "id": "b1",
            "type": "bank_account.associated",
            "payload": {"account": CPF, "customer_id": EMAIL},
        }
    ),
    answered(
        fields={SAID: "x", "revenue": "1_to_2"},
        process_id=CPF,
        seller_id=EMAIL,
        source=SAID[:60],
        actor=NAME,
        journey_id=EMAIL,
    ),
    started(process_id=CPF, seller_id=EMAIL, body=json.dumps({"type": SAID, SAID: 1})),
    finished(status=None, error=SAID, process_id=CPF),
    *(
        action(kind, NOON, process_id=CPF, seller_id=EMAIL, reason=SAID, note=SAID, number=PHONE)
        for kind in ("note", "override", "replacement")
    ),
    action(
        "saved_view", NOON, name=SAID, page=SAID, query=f"seller={EMAIL}", step=SAID, actor="ana"
    ),
    action("report", NOON, name=SAID, at=SAID, days=SAID, weekday=SAID, step="kept", actor="ana"),
]


def texts(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def test_no_column_of_any_view_shows_what_was_planted_in_every_text():
    """A list said of which columns codes are; the others were shown as they came, such as `subject`
    of changes, which had the telephone number that `detail` of findings hides."""
    shown = []
    with ledger_of([*RICH, *HISTORY]) as reader:
        for name, view in public().items():
            rows = reader.read(name, as_of=AS_OF)
            for field in rows.schema:
                if pa.types.is_string(field.type) or pa.types.is_nested(field.type):
                    assert field.name in view.kinds, f"say the kind of {name}.{field.name}"
            for row in identifiers.masked(rows, KEY).to_pylist():
                for column, value in row.items():
                    hidden = identifiers.masked_value(column, row[column], KEY)
                    assert texts(hidden) == texts(value), (name, column)
                    found = [it for it in PLANTED if it in texts(value)]
                    if found:
                        shown.append((name, column, found, texts(value)[:120]))
    assert shown == []
