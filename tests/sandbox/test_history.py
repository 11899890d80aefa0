"""The history holds every situation at once, and ends as it says.

The states are worked out here by plain code of these tests' own: neither by the product's views
nor from what the simulation believes.
"""

import json
import struct
import zlib
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from sandbox.market.history import Past, history
from sandbox.market.stories import SCRIPTED
from tests import depth
from tests.sandbox.past import NOW, NOW_TEXT, REASONS, SECOND, Json, at, of_kind


def test_occurrences_come_in_order_and_none_after_the_end(lines: list[Json]) -> None:
    instants = [at(line["occurred_at"]) for line in lines]
    assert all(earlier <= later for earlier, later in pairwise(instants))
    assert instants[-1] <= at(NOW_TEXT)
    assert instants[0] >= at(NOW_TEXT) - timedelta(days=121)


def test_the_same_arguments_give_the_same_history_and_another_seed_does_not(
    lines: list[Json],
) -> None:
    assert list(history(NOW)) == lines
    assert list(islice(history(NOW, seed=8), 500)) != lines[:500]


@pytest.mark.parametrize("seed", depth.few(range(5), 5))
def test_every_review_state_is_there_at_the_end_whatever_the_seed(seed: int) -> None:
    past = Past(NOW, seed=seed)
    for _ in past.occurrences():
        pass
    found = Counter((p.review_type, p.status) for p in past.platform.processes.values())
    assert min(found["ACP", status] for status in ("PENDING", "OVERDUE", "EXPIRED")) >= 3
    assert min(found["ACI", status] for status in ("OVERDUE", "EXPIRED")) >= 3
    assert min(found[kind, "FINISHED"] for kind in ("ACP", "ACI")) >= 10
    assert found["ACI", "PENDING"] == 0


def test_deadlines_are_60_and_30_days_but_for_one_that_moved(reviews: dict[str, Any]) -> None:
    moved = 0
    for of_process in reviews.values():
        opened = at(of_process[0]["created_at"])
        subject = of_process[0]["payload"]["object"]
        days = 60 if subject["type"] == "REGISTRATION_REVIEW_REQUIRED" else 30
        assert at(subject["deadline_at"]) - opened == timedelta(days=days)
        moved += len({event["payload"]["object"]["deadline_at"] for event in of_process}) > 1
    assert moved == 1


def test_the_platform_stands_where_the_history_says(
    past: Past, reviews: dict[str, Any], accepted: dict[str, datetime]
) -> None:
    """State by the log alone: an accepted submission or a report of the end, else the clock."""
    said = {event.process_id for event in past.undelivered()}
    now = at(NOW_TEXT)
    unsure = 0
    for process_id, process in past.platform.processes.items():
        if process_id in said and process_id not in reviews:
            continue  # asked for, and not delivered yet
        latest = reviews[process_id][-1]["payload"]["object"]
        deadline = at(latest["deadline_at"])
        if process_id in accepted or latest["status"] == "FINISHED":
            state = "FINISHED"
        elif now >= deadline:
            state = "EXPIRED"
        elif latest["type"] == "REGISTRATION_REVIEW_REQUIRED" and now < deadline - timedelta(30):
            state = "PENDING"
        else:
            state = "OVERDUE"
        unsure += process.status != state
        if process.status != state:
            assert process.status == "FINISHED"  # its answer was lost at the very end
    assert unsure <= 1
    assert set(reviews) <= set(past.platform.processes)


def test_some_deadlines_are_near(past: Past) -> None:
    days_left = [
        (process.deadline_at - NOW) / (86_400 * SECOND)
        for process in past.platform.processes.values()
        if process.status == "OVERDUE"
    ]
    assert sum(0 < days < 1 for days in days_left) >= 2
    assert sum(1 < days < 7 for days in days_left) >= 3


def test_processes_finish_in_time_late_and_by_the_platform(
    reviews: dict[str, Any], accepted: dict[str, datetime]
) -> None:
    late = in_time = by_platform = 0
    for process_id, of_process in reviews.items():
        latest = of_process[-1]["payload"]["object"]
        if process_id in accepted:
            is_late = accepted[process_id] >= at(latest["deadline_at"])
            late, in_time = late + is_late, in_time + (not is_late)
        elif latest["status"] == "FINISHED":
            by_platform += 1
    assert in_time >= 50
    assert late >= 2
    assert by_platform >= 1


def test_a_seller_has_several_open_processes_at_once(past: Past) -> None:
    open_ones = Counter(
        process.seller_id
        for process in past.platform.processes.values()
        if process.status != "FINISHED"
    )
    assert max(open_ones.values()) >= 3


def test_an_aci_follows_within_minutes_of_a_finish(
    reviews: dict[str, Any], accepted: dict[str, datetime]
) -> None:
    ends = defaultdict(list)
    for process_id, end in accepted.items():
        ends[reviews[process_id][0]["payload"]["object"]["customer_id"]].append(end)
    follow_ups = sum(
        timedelta(0) < at(of_process[0]["created_at"]) - end < timedelta(minutes=16)
        for of_process in reviews.values()
        for end in ends[of_process[0]["payload"]["object"]["customer_id"]]
        if of_process[0]["payload"]["object"]["type"] == "INCONSISTENT_DATA_UPDATE_REQUIRED"
    )
    assert follow_ups >= 3


def test_every_reason_of_denial_occurs_with_retry_both_ways(events: list[Json]) -> None:
    records = [e["payload"]["object"] for e in events if e["type"] == "seller.denied"]
    reasons = {
        (item["reason"], item.get("detail") or None)
        for record in records
        for item in record["decision_reasons"]
    }
    assert reasons == REASONS
    assert {record["retry"] for record in records} == {True, False}
    assert any(len(record["decision_reasons"]) > 1 for record in records)


def test_denied_taxpayers_come_back_some_cured_and_some_in_vain(events: list[Json]) -> None:
    sellers: dict[str, Json] = {}
    denied: dict[str, Json] = {}
    enabled = set()
    for event in events:
        record = event["payload"]["object"]
        if event["type"] == "seller.created":
            sellers[record["id"]] = record
        elif event["type"] == "seller.denied":
            denied[record["id"]] = record
        elif event["type"] == "seller.enabled":
            enabled.add(record["id"])

    def successors(record: Json) -> list[Json]:
        return [
            other
            for other in sellers.values()
            if other["taxpayer_id"] == record["taxpayer_id"]
            and at(other["created_at"]) > at(record["created_at"])
        ]

    again = [record for record in denied.values() if successors(record)]
    cured = [r for r in again if any(other["id"] in enabled for other in successors(r))]
    assert len(again) >= 5
    assert 2 <= len(cured) < len(again)
    assert any(record["retry"] is False for record in again)


def test_analyses_mostly_end_within_three_minutes(events: list[Json]) -> None:
    created = {
        e["payload"]["object"]["id"]: at(e["created_at"])
        for e in events
        if e["type"] == "seller.created"
    }
    waits = [
        at(e["created_at"]) - created[e["payload"]["object"]["id"]]
        for e in events
        if e["type"] in ("seller.enabled", "seller.denied")
        and e["payload"]["object"]["id"] in created
    ]
    assert len(waits) >= 100
    assert sum(wait <= timedelta(seconds=180) for wait in waits) / len(waits) > 0.96


def test_submissions_meet_every_outcome(lines: list[Json]) -> None:
    outcomes = Counter(
        line["error"] or line["status"] for line in of_kind(lines, "submission_finished")
    )
    assert set(outcomes) == {
        200, 400, 401, 404, 409, 429, 500, 503, "timeout", "network_error",
    }  # fmt: skip
    started = {line["attempt_id"] for line in of_kind(lines, "submission_started")}
    finished = {line["attempt_id"] for line in of_kind(lines, "submission_finished")}
    assert finished < started
    assert len(started - finished) == 1  # nobody knows what became of it


def test_a_retry_has_the_same_bytes_and_key(lines: list[Json]) -> None:
    finished = {line["attempt_id"]: line for line in of_kind(lines, "submission_finished")}
    attempts = defaultdict(list)
    for line in of_kind(lines, "submission_started"):
        assert line["idempotency_key"] == line["process_id"]
        assert json.loads(line["body"])["process_id"] == line["process_id"]
        attempts[line["process_id"]].append(line)
    retried = set()
    for of_process in attempts.values():
        for earlier, later in pairwise(of_process):
            end = finished[earlier["attempt_id"]]
            if end["error"] or end["status"] in (429, 500, 503):
                assert later["body"] == earlier["body"]
                retried.add(end["error"] or end["status"])
    assert retried == {"timeout", "network_error", 429, 500, 503}
    assert max(len(of_process) for of_process in attempts.values()) == 30  # then given up


def test_collections_take_every_step_and_channel(lines: list[Json]) -> None:
    collections = of_kind(lines, "collection")
    assert {line["step"] for line in collections} == {"invited", "opened", "answered", "confirmed"}
    assert {line["channel"] for line in collections} == {
        "in_app", "web_form", "email", "push", "sms", "chat", "phone",
    }  # fmt: skip
    sources = Counter(line["source"] for line in collections)
    assert set(sources) == {"seller", "support_agent", "credit_bureau"}
    assert sources["seller"] > 100


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Any] = {}
    for key, below in value.items():
        found |= leaves(below, f"{path}.{key}" if path else key)
    return found


def test_what_was_sent_was_answered_before_but_for_the_cases_that_break_the_rule(
    lines: list[Json],
) -> None:
    answered: dict[str, Json] = {}
    uncovered = set()
    for line in lines:
        if line.get("step") == "answered":
            answered[line["process_id"]] = line["fields"]
        elif line["kind"] == "submission_started":
            sent = leaves(json.loads(line["body"]))
            del sent["process_id"], sent["type"]
            said = answered.get(line["process_id"], {})
            if any(path not in said or said[path] != value for path, value in sent.items()):
                uncovered.add(line["process_id"])
    # From the database; with a mask; with an extra field; sent again after the end.
    assert len(uncovered) == 4


def test_artifacts_are_written_where_they_are_wanted(tmp_path: Path) -> None:
    kept = [
        (line["step"], artifact)
        for line in Past(NOW, sellers=len(SCRIPTED), artifacts=tmp_path).occurrences()
        for artifact in line.get("artifacts", ())
    ]
    assert {(step, artifact["media_type"]) for step, artifact in kept} == {
        ("answered", "image/png"),
        ("confirmed", "application/json"),
    }
    contents = [Path(artifact["path"]).read_bytes() for _, artifact in kept]
    assert len({artifact["path"] for _, artifact in kept}) == len(kept) > 20
    assert len(contents) - len(set(contents)) == 0
    for (step, _), content in zip(kept, contents, strict=True):
        if step == "answered":
            assert png_size(content) == (180, 320)
        else:
            assert "journey_id" in json.loads(content)


def png_size(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG whose chunks and pixels are sound."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at_byte = {}, 8
    while at_byte < len(content):
        (length,) = struct.unpack_from(">I", content, at_byte)
        kind = content[at_byte + 4 : at_byte + 8]
        data = content[at_byte + 8 : at_byte + 8 + length]
        (crc,) = struct.unpack_from(">I", content, at_byte + 8 + length)
        assert crc == zlib.crc32(kind + data)
        chunks[kind] = data
        at_byte += length + 12
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    pixels = zlib.decompress(chunks[b"IDAT"])
    assert len(pixels) == height * (width + 1)
    assert max(pixels) < len(chunks[b"PLTE"]) // 3
    return width, height


def test_a_journey_is_used_for_two_processes_once(lines: list[Json]) -> None:
    processes = defaultdict(set)
    for line in of_kind(lines, "collection"):
        processes[line["journey_id"]].add(line["process_id"])
    assert sorted(map(len, processes.values()))[-2:] == [1, 2]


def test_some_events_come_twice_one_altered_and_one_delivery_cannot_be_read(
    lines: list[Json],
) -> None:
    bodies = defaultdict(list)
    unreadable = 0
    for line in of_kind(lines, "webhook"):
        try:
            bodies[json.loads(line["body"])["id"]].append(line["body"])
        except ValueError:
            unreadable += 1
    again = [copies for copies in bodies.values() if len(copies) > 1]
    assert len(again) >= 10
    assert sum(len(set(copies)) > 1 for copies in again) == 1
    assert unreadable == 1


def test_some_events_are_overtaken(events: list[Json]) -> None:
    created = [at(event["created_at"]) for event in events]  # in the order of first delivery
    assert sum(earlier > later for earlier, later in pairwise(created)) >= 5


def test_a_field_that_the_contract_does_not_show_is_asked_for(reviews: dict[str, Any]) -> None:
    asked = {
        path
        for of_process in reviews.values()
        for path in of_process[0]["payload"]["object"]["requested_fields"]
    }
    assert "phone_number" in asked


def test_one_open_review_was_refused_for_a_field_that_nobody_has_asked_for_again(
    past: Past, lines: list[Json]
) -> None:
    refused = {}
    for line in of_kind(lines, "submission_finished"):
        if line["status"] == 400:
            violations = json.loads(line["body"])["error"]["violations"]
            refused[line["process_id"]] = [violation["field"] for violation in violations]
    processes = past.platform.processes
    left = [fields for name, fields in refused.items() if processes[name].status == "OVERDUE"]
    assert left == [["address.postal_code"]]


def test_a_history_that_cannot_hold_every_situation_is_refused() -> None:
    with pytest.raises(ValueError, match="days must be at least 105"):
        history(NOW, days=30)
    with pytest.raises(ValueError, match=f"sellers must be at least {len(SCRIPTED)}"):
        history(NOW, sellers=3)
