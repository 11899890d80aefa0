"""What a person supplies to a delivery in quarantine, and how it is read then."""

import json

import pytest

from pipeline.errors import CallerError
from pipeline.log import deliveries
from pipeline.log.entries import Draft, Entry, Place, record_entry

REASON = "the platform's support named it"


def quarantined(body: bytes, occurred_at: int = 7) -> Entry:
    draft = deliveries.delivery(body, occurred_at=occurred_at, recorded_by="webhook")
    assert draft.kind == "quarantine"
    place = Place(17, 8, None, None, None, None, False)
    return record_entry(draft, place, log="prazo/1", log_key=b"k" * 32, random=bytes)


def review(**changes: object) -> bytes:
    inner = {"type": "REGISTRATION_REVIEW_REQUIRED", "customer_id": "s1", **changes}
    event_type = "regulatory.registration.review.required"
    return json.dumps({"id": "e1", "type": event_type, "payload": {"object": inner}}).encode()


def supply(entry: Entry, **supplied: object) -> tuple[Draft, Draft]:
    paths = {path.replace("__", "."): value for path, value in supplied.items()}
    return deliveries.supply(entry, paths, reason=REASON, actor="ana", recorded_by="user:ana")


def test_what_is_supplied_makes_the_review_live_as_of_its_receipt():
    supplying, whole = supply(quarantined(review()), payload__object__process_id="p1")
    assert (supplying.kind, supplying.process_id, supplying.seller_id) == ("supply", "p1", "s1")
    assert supplying.actor == "ana"
    assert json.loads(supplying.body or b"") == {
        "reason": REASON,
        "of": 17,
        "supplied": {"payload.object.process_id": "p1"},
    }
    assert (whole.kind, whole.occurred_at) == ("webhook", 7)
    assert (whole.event_id, whole.process_id, whole.seller_id) == ("e1", "p1", "s1")
    assert whole.particulars == {"replay_of": 17, "supplied": ["payload.object.process_id"]}
    assert json.loads(whole.body or b"") == json.loads(review(process_id="p1"))


@pytest.mark.parametrize("unreadable", ["", {}, [], 1.5, None])
def test_what_cannot_be_read_can_be_supplied(unreadable: object):
    entry = quarantined(review(process_id=unreadable))
    _, whole = supply(entry, payload__object__process_id="p1")
    assert whole.process_id == "p1"


def test_a_missing_type_and_object_can_be_supplied_together():
    event_type = "regulatory.registration.review.required"
    entry = quarantined(b'{"id": "e1", "payload": null}')
    _, whole = supply(entry, type=event_type, payload__object__process_id="p1")
    assert json.loads(whole.body or b"") == {
        "id": "e1",
        "type": event_type,
        "payload": {"object": {"process_id": "p1"}},
    }


def test_what_the_delivery_says_is_not_supplied():
    with pytest.raises(CallerError, match=r"payload\.object\.customer_id was not supplied"):
        supply(quarantined(review()), payload__object__customer_id="s2")
    with pytest.raises(CallerError, match="type was not supplied"):
        supply(quarantined(review()), type="seller.created", payload__object__process_id="p1")


def test_what_is_not_enough_says_what_is_missing():
    with pytest.raises(CallerError, match=r"a readable payload\.object\.process_id"):
        supply(quarantined(review()), payload__object__status="PENDING")


@pytest.mark.parametrize(
    "supplied",
    [
        {"payload__object__deadline_at": "2026-03-31"},  # no time of day
        {"payload__object": {"deadline_at": "soon"}},
        {"created_at": "yesterday"},
        {"payload__object__requested_fields": "revenue"},
        {"payload__object__deadline": "2026-03-31T00:00:00Z"},  # nobody would look there
    ],
)
def test_what_could_not_be_read_is_not_supplied_since_it_would_stand(supplied: dict[str, object]):
    entry = quarantined(review(status=7))
    with pytest.raises(CallerError, match="was not supplied"):
        supply(entry, payload__object__process_id="p1", **supplied)
    inner = {"process_id": "p1", "deadline_at": "2026-03-31T00:00:00Z"}
    _, whole = supply(entry, payload__object=inner)
    assert json.loads(whole.body or b"") == json.loads(review(status=7, **inner))


def test_a_denial_is_supplied_so_that_it_can_be_read():
    entry = quarantined(b'{"id": "e1", "payload": {"object": {"id": "s1", "status": 7}}}')
    with pytest.raises(CallerError, match=r"payload\.object\.retry was not supplied"):
        supply(entry, type="seller.denied", payload__object__retry="yes")
    _, whole = supply(entry, type="seller.denied", payload__object__retry=True)
    assert whole.seller_id == "s1"


@pytest.mark.parametrize("body", [b"not json", b"[]", b'{"type":"a","type":"a"}', b"\xff"])
def test_nothing_can_be_supplied_to_what_is_not_an_object(body: bytes):
    with pytest.raises(CallerError, match="Nothing can be supplied to delivery 17"):
        supply(quarantined(body), type="seller.created")


@pytest.mark.parametrize(("reason", "actor"), [("", "ana"), (REASON, None), (REASON, " ")])
def test_who_supplies_gives_a_reason_and_a_name(reason: str, actor: str | None):
    with pytest.raises(CallerError, match="a reason and a name are needed"):
        deliveries.supply(
            quarantined(review()),
            {"payload.object.process_id": "p1"},
            reason=reason,
            actor=actor,
            recorded_by="user:ana",
        )


def test_a_delivery_is_read_once_whether_supplied_or_replayed():
    entry = quarantined(review())
    once = supply(entry, payload__object__process_id="p1")
    again = supply(entry, payload__object__process_id="p2")
    assert [it.ingest_key for it in once] == [it.ingest_key for it in again]
    assert len({it.ingest_key for it in once}) == 2
    assert deliveries.replay(entry, recorded_by="user:ana") is None
