"""Reading what is around every event: its id, type, creation and content."""

import hashlib

import pytest

from pipeline.contract.body import canonical_json
from pipeline.contract.events import read_event
from tests.contract.bodies import body


def test_a_type_that_the_contract_does_not_list_is_read_as_far_as_it_goes():
    event = read_event(body(id="evt_9", type="seller.renamed", payload={"object": {"id": "s1"}}))
    assert (event.id, event.type, event.seller, event.seller_id) == (
        "evt_9",
        "seller.renamed",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("sent", "unreadable"),
    [
        (None, ()),
        ("", (("id", '""'),)),
        (7.5, (("id", "7.5"),)),
        (["evt"], (("id", '["evt"]'),)),
        ("a\0b", (("id", '"a\\u0000b"'),)),
        ("x" * 513, (("id", '"' + "x" * 99),)),
    ],
)
def test_an_event_without_a_readable_id_is_named_by_its_bytes(sent: object, unreadable: object):
    data = body(id=sent, type="seller.created")
    event = read_event(data)
    assert event.id == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert not event.has_id
    assert event.unreadable == unreadable


@pytest.mark.parametrize(
    ("payload", "unreadable"),
    [
        ({"object": {"id": {"v": "s7"}}}, (("record.id", '{"v":"s7"}'),)),
        ({"object": {"id": ""}, "id": 7.5}, (("record.id", '""'),)),
        ({"object": {"id": None}, "id": True}, (("record.id", "true"),)),
        ({"object": {"id": None}}, ()),
        ({"object": {}}, ()),
        ("s7", ()),
        (None, ()),
    ],
)
def test_an_id_for_which_there_is_no_seller_record_is_named(payload: object, unreadable: object):
    """It had no finding but one of its event's type, and the next such event had none at all."""
    event = read_event(body(id="e1", type="seller.enabled", payload=payload))
    assert event.seller is None
    assert event.unreadable == unreadable


def test_an_event_type_that_the_contract_does_not_list_has_no_unreadable_part():
    assert read_event(body(id=7, type="seller.renamed", created_at=7)).unreadable == ()


@pytest.mark.parametrize("created_at", [1_772_323_200, "2026-03-01", "", {"at": "now"}])
def test_a_creation_without_an_instant_is_absent_and_named(created_at: object):
    event = read_event(body(id="e1", type="bank_account.deleted", created_at=created_at))
    assert event.created_at is None
    assert event.unreadable == (("created_at", canonical_json(created_at).decode()),)


def test_content_is_the_same_however_it_is_spelled():
    one = read_event(b'{"type":"x","a":1,"b":"\\u00e9"}').content_sha256
    other = read_event('{ "b": "é", "a": 1, "type": "x" }'.encode()).content_sha256
    assert one == other == hashlib.sha256('{"a":1,"b":"é","type":"x"}'.encode()).digest()
    assert read_event(b'{"type":"x","a":1.5,"b":"\\u00e9"}').content_sha256 != one


def test_the_longest_readable_id_is_kept_whole():
    assert read_event(body(id="é" * 512, type="seller.created")).id == "é" * 512
