"""Steps of the seller's page go to endpoints that name them, as events without any answer."""

import json
from pathlib import Path

from pipeline import instants
from pipeline.inbox import Inbox
from pipeline.journey import evidence, links
from pipeline.log.ndjson import read_line
from tests.forward.conftest import Forwarding, deliver, has_begun, of_seller
from tests.forward.sink import Sink, is_signed, sink
from tests.support import events
from tests.support.machine import wait_until
from tests.support.stores import settings_in


def test_a_step_goes_to_whoever_names_it_and_to_nobody_else(
    inbox: Inbox, market: Sink, forwarding: Forwarding, tmp_path: Path
) -> None:
    deliver(inbox, events.review())
    settings = settings_in(tmp_path, journey_url="https://cadastro.loja.example")
    own = {
        "kind": "collection",
        "occurred_at": instants.canonical(instants.now()),
        "process_id": "prc_1",
        "seller_id": "sel_1",
        "journey_id": "jrn_of_another_system",
        "step": "answered",
        "channel": "in_app",
        "source": "seller",
        "fields": {"revenue": "1000_to_5000"},
    }
    with sink() as all_of_the_platform:
        both = (
            {"url": market.url, "events": ["prazo.journey.*"]},
            {"url": all_of_the_platform.url},
        )
        with forwarding(*both):
            has_begun(inbox, "to_1", "to_2")
            inbox.append([read_line(json.dumps(own).encode(), recorded_by="token")])
            minted = links.mint(settings, inbox, "prc_1", recorded_by="user:test", channel="sms")
            # What the page adds afterwards is a step of nobody.
            receipt = evidence.added(minted.journey, instants.now(), "receipt", [])
            inbox.append([receipt])
            deliver(inbox, of_seller("sel_1"))
            wait_until(lambda: len(market.taken) == 1 and len(all_of_the_platform.taken) == 1)
    [said] = market.taken
    assert is_signed(said)
    event = json.loads(said.body)
    assert (event["type"], event["version"]) == ("prazo.journey.invited", 1)
    assert event["data"] == {
        "process_id": "prc_1",
        "seller_id": "sel_1",
        "seq": minted.seq,
        "journey_id": minted.journey.journey_id,
        "step": "invited",
        "channel": "sms",
        "expires_at": instants.canonical(minted.journey.expires_at),
        "fields": [],
    }
    assert b"seller.created" in all_of_the_platform.taken[0].body
