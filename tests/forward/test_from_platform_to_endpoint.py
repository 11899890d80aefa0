"""From the platform's request to the marketplace's endpoint, over real HTTP and processes."""

from pathlib import Path

from pipeline.cli.supervisor import parts
from pipeline.forward import progress
from pipeline.inbox import open_inbox
from tests.forward.conftest import endpoints_file
from tests.forward.process import Forwarder
from tests.forward.sink import Sink, is_signed, silent
from tests.support import events
from tests.support.machine import wait_until
from tests.support.receiver import receiver
from tests.support.stores import settings_in


def test_what_the_receiver_acknowledged_arrives_as_it_came(tmp_path: Path, market: Sink) -> None:
    """Also beside an endpoint that says nothing; the receiver knows of neither."""
    odd = b' {"type": "whatever.came",\n\t"id": "evt_odd"} '
    with silent() as mute, receiver(tmp_path) as running:
        file = endpoints_file(tmp_path, {"url": market.url}, {"url": mute})
        forwarder = Forwarder(tmp_path, str(running.inbox), file)
        inbox = open_inbox(running.inbox)
        try:
            wait_until(lambda: {"to_1", "to_2"} <= set(progress.standings(inbox)))
            given = {"Content-Type": "application/vnd.platform+json; v=2"}
            answers = [
                running.deliver(odd, given),
                running.deliver(b"\xff not text"),
                *(running.deliver(events.sample(it)) for it in events.EVENT_TYPES),
            ]
            assert {it.status for it in answers} == {200}
            wait_until(lambda: len(market.taken) == len(answers))
        finally:
            inbox.close()
            forwarder.kill()
    by_body = {it.body: it for it in market.taken}
    assert by_body[odd].headers["content-type"] == "application/vnd.platform+json; v=2"
    assert by_body[b"\xff not text"].headers["content-type"] == "application/json"
    assert all(map(is_signed, market.taken))


def test_prazo_serve_passes_on_where_endpoints_are_set(tmp_path: Path) -> None:
    assert ("forward", "run") not in parts(settings_in(tmp_path))
    set_up = settings_in(tmp_path, forward_file=tmp_path / "forward.toml")
    assert ("forward", "run") in parts(set_up)
