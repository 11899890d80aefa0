"""What is held of a person, and who saw it: by hand from the headers of both views."""

from typing import Any

from tests.support.ledgers import asked
from tests.support.lines import acp, action, answered, at, finished, seen, seller, started

HISTORY = [
    seller("created", "e0", "2026-03-01T10:00:00Z"),
    seller("created", "e9", "2026-03-01T11:00:00Z", seller_id="s2"),
    acp("e1", "2026-03-01T12:00:00Z"),
    answered("2026-03-01T18:00:00Z", artifacts=[
        {"name": "a.png", "media_type": "image/png", "sha256": "a" * 64, "size_bytes": 1}
    ]),
    started("a1", "2026-03-02T00:00:00Z"),
    finished("a1", 200, "2026-03-02T00:00:01Z"),
    action("note", "2026-03-03T00:00:00Z"),  # of the process, and of no seller
]  # fmt: skip


def look(kind: str, hour: int, **more: Any) -> dict[str, Any]:
    return seen(kind, f"2026-03-04T{hour:02}:00:00Z", **more)


LOOKS = [
    look("unmask", 1, seller_id="s1", view="seller_state"),
    look("unmask", 2, process_id="p1", view="submission_attempts"),
    look("unmask", 3, view="seller_names", sellers=["s2", "s1"]),
    look("unmask", 4, view="seller_names", sellers=["s2"]),
    look("unmask", 5, view="seller_state", filters={"seller_id": ["s1", "hmac:00"]}),
    look("unmask", 6, view="submission_attempts", filters={"attempt_id": "a1"}),
    look("unmask", 7, view="submission_attempts", filters={"process_id": ["p1"]}),
    look("unmask", 8, view="seller_state", filters={"status": "enabled"}),
    look("unmask", 9, view="seller_state", filters={"seller_id": "hmac:00"}),  # of nobody
    look("search", 10, session="x", sellers=["s1"]),
    look("search", 11, session="x", sellers=["s1", "s2"]),  # s1 is named again
    look("search", 12, session="y", sellers=["s1"]),
    look("export", 13, seller_id="s1", profile="full", scope={"seller": "s1"}),
    look("export", 14, process_id="p1", profile="masked", scope={"process": "p1"}),
    look("export", 15, profile="masked", scope={
        "from": "2026-03-01T11:00:00Z", "to": "2026-03-01T12:00:00Z"
    }),
    look("export", 16, profile="full", scope={
        "from": "2026-03-03T00:00:00Z", "to": "2026-03-03T01:00:00Z"
    }),
    look("unmask", 17, seller_id="s2", process_id=None, view="seller_state"),
]  # fmt: skip


def test_who_saw_a_person_by_name_by_process_in_a_search_and_in_packages() -> None:
    rows = asked([*HISTORY, *LOOKS], "personal_accesses", at("2026-03-05T00:00:00"))
    found = [(it["occurred_at"].hour, it["how"]) for it in rows if it["seller_id"] == "s1"]
    assert found == [
        (16, "package"),  # by the note on its process
        (14, "masked_package"),
        (13, "package"),
        (12, "search"),
        (10, "search"),
        (8, "rows"),
        (7, "record"),
        (6, "record"),
        (5, "record"),
        (3, "names"),
        (2, "record"),
        (1, "record"),
    ]
    other = [(it["occurred_at"].hour, it["how"]) for it in rows if it["seller_id"] == "s2"]
    assert other == [
        (17, "record"),
        (15, "masked_package"),
        (11, "search"),
        (8, "rows"),
        (4, "names"),
        (3, "names"),
    ]
    [first] = [it for it in rows if it["seller_id"] == "s1" and it["occurred_at"].hour == 1]
    assert (first["shown_view"], first["actor"], first["reason"]) == ("seller_state", "Ana", "why")
    earlier = asked([*HISTORY, *LOOKS], "personal_accesses", at("2026-03-04T02:30:00"))
    assert [it["occurred_at"].hour for it in earlier] == [2, 1]


def test_what_is_held_counts_what_names_the_person_or_is_of_their_process_alone() -> None:
    rows = asked([*HISTORY, *LOOKS], "seller_holdings", at("2026-03-05T00:00:00"))
    found = {it["kind"]: (it["entries"], it["artifacts"]) for it in rows if it["seller_id"] == "s1"}
    assert found == {
        "webhook": (2, 0),
        "collection": (1, 1),
        "submission_started": (1, 0),
        "submission_finished": (1, 0),
        "note": (1, 0),
        # Those of one subject, and the list with the name.
        "unmask": (3, 0),
        "search": (3, 0),
        "export": (2, 0),
    }
    [webhooks] = [it for it in rows if (it["seller_id"], it["kind"]) == ("s1", "webhook")]
    assert (webhooks["first_at"], webhooks["last_at"]) == (
        at("2026-03-01T10:00:00"),
        at("2026-03-01T12:00:00"),
    )
    assert all(it["erased"] == 0 for it in rows)
