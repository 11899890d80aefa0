"""Any bytes at all give a record or one kind of refusal; never a 500, never an unkept promise."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.contract.events import identify, read_event
from pipeline.errors import Unreadable
from tests.support.events import EVENT_TYPES, REVIEW, SAMPLES
from tests.support.receiver import RunningReceiver

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=20,
)
bodies = st.one_of(
    st.binary(max_size=2000),
    st.text(max_size=500).map(lambda text: text.encode("utf-8", "surrogatepass")),
    json_values.map(lambda value: json.dumps(value).encode()),
)


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value stands that is inside of a JSON value."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*above, key)
            yield from _places(inner, (*above, key))


@st.composite
def distorted_samples(draw: st.DrawFn) -> bytes:
    """A recorded event with any value, or none, in any one place."""
    event_type = draw(st.sampled_from(EVENT_TYPES))
    name = f"{event_type}.aci" if event_type == REVIEW else event_type
    event = json.loads((SAMPLES / f"{name}.json").read_bytes())
    *above, last = draw(st.sampled_from(list(_places(event))))
    place = event
    for key in above:
        place = place[key]
    if isinstance(place, dict) and draw(st.booleans()):
        del place[last]
    else:
        place[last] = draw(json_values)
    return json.dumps(event).encode()


@pytest.mark.parametrize("kind", ["bodies", "distorted samples"])
@given(data=st.data())
def test_every_body_is_recorded_as_it_came(shared: RunningReceiver, kind: str, data: st.DataObject):
    body = data.draw(bodies if kind == "bodies" else distorted_samples())
    answer = shared.deliver(body)
    content = json.loads(answer.body)
    assert answer.status == 200
    entry = shared.entry(content["seq"])
    assert entry.body == body
    assert entry.kind == ("quarantine" if content["recorded"] == "quarantined" else "webhook")


@given(bodies | distorted_samples())
def test_a_delivery_is_filed_under_the_ids_that_its_event_has(body: bytes):
    """The receiver reads no more than the ids: as far as they go, it must read the same."""
    try:
        event = read_event(body)
    except Unreadable as unreadable:
        with pytest.raises(Unreadable, match=f"^{re.escape(unreadable.what)}$"):
            identify(body)
    else:
        assert identify(body) == (event.id, event.process_id, event.seller_id)


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "OPTIONS", "BREW"]),
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1).map("/{}".format)
    | st.sampled_from(["/webhooks", "*", "/%", "/%zz", "?", "http://", "//"]),
    name=st.sampled_from(
        ["Host", "Content-Length", "Transfer-Encoding", "Content-Encoding", "Upgrade", "Expect"]
    ),
    value=st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30),
    body=st.binary(max_size=100),
)
def test_no_head_makes_it_fail(
    shared: RunningReceiver, method: str, path: str, name: str, value: str, body: bytes
):
    with shared.wire() as wire:
        head = f"{method} {path} HTTP/1.1\r\n{name}: {value}\r\nConnection: close\r\n\r\n"
        wire.send(head.encode("latin-1") + body)
        wire.stop_sending()
        status = wire.next_line()[9:12]
        assert status == b"" or status in (b"200", b"501") or 400 <= int(status) < 500
    assert shared.ask("GET", "/healthz").status == 200


@given(st.binary(min_size=1, max_size=300))
def test_no_bytes_make_it_fail(shared: RunningReceiver, sent: bytes):
    with shared.wire() as wire:
        wire.send(sent)
        wire.stop_sending()
        refused = (b"HTTP/1.1 400 Bad Request\r\n", b"HTTP/1.1 501 Not Implemented\r\n")
        assert wire.next_line() in (b"", *refused)
    assert shared.ask("GET", "/healthz").status == 200
