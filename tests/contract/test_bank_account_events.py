"""Reading a bank account's event: whose account it is."""

import pytest

from pipeline.contract.events import read_event
from tests.contract.bodies import body


@pytest.mark.parametrize(
    ("payload", "seller_id", "account_id"),
    [
        ({"object": {"id": "b1", "customer_id": "s1"}}, "s1", "b1"),
        ({"id": "b1", "seller_id": "s1"}, "s1", "b1"),
        ({"object": {"id": "b1", "customer": {"id": "s1"}}}, "s1", "b1"),
        ({"object": {"id": "b1", "seller": "s1"}}, "s1", "b1"),
        ({"object": {"id": 7, "customer_id": 8}}, "8", "7"),
        ({"object": {"account": 7}}, None, "7"),
        ({"object": {"account": "acc_1", "customer_id": "s1"}}, "s1", "acc_1"),
        ({"object": {"account": {"id": "acc_1"}}, "customer_id": "s1"}, "s1", "acc_1"),
        ({"object": {"bank_account": "acc_1", "customer": "s1"}}, "s1", "acc_1"),
        ({"object": "acc_1", "seller_id": "s1"}, "s1", "acc_1"),
        ({"account_id": 5, "account": "named"}, None, "5"),
        ({"object": {"account": ["acc_1"]}}, None, None),
        ("text", None, None),
    ],
)
def test_a_bank_account_event_names_its_seller_as_far_as_it_can_be_found(
    payload: object, seller_id: str | None, account_id: str | None
):
    event = read_event(body(type="bank_account.associated", payload=payload))
    assert (event.seller_id, event.bank_account_id) == (seller_id, account_id)


@pytest.mark.parametrize(
    ("account", "unreadable"),
    [
        ({"customer_id": 8}, (("customer_id", "8"),)),
        ({"customer_id": None, "seller_id": {}}, (("seller_id", "{}"),)),
        ({"customer_id": "s1", "seller_id": {}}, ()),
        ({"holder": 8}, ()),
    ],
)
def test_a_bank_account_event_names_a_seller_that_is_not_a_text(account: dict, unreadable: object):
    event = read_event(body(id="e1", type="bank_account.associated", payload={"object": account}))
    assert event.unreadable == unreadable
