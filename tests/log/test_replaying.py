"""`prazo quarantine` beside receivers that go on recording."""

import os
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.errors import Unreadable
from pipeline.inbox import open_inbox
from pipeline.log import deliveries
from tests.support import events
from tests.support.commands import here
from tests.support.stores import environment_in

AT_ONCE = 100


def replay(environment: dict[str, str], folder: Path) -> str:
    return here("quarantine", "--replay", environment=environment, folder=folder).stdout


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_many_deliveries_are_read_again_in_commits_that_let_others_record(
    engine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """All were one commit: of 60,000 on PostgreSQL a receiver that waited ended its session as a
    silent one's, so that no replay came to its end, and deliveries were answered 503."""
    environment = os.environ | environment_in(tmp_path)
    if engine == "postgres":
        environment["PRAZO_INBOX"] = request.getfixturevalue("database")
    many = 2 * AT_ONCE + 1
    with closing(open_inbox(environment["PRAZO_INBOX"])) as inbox:
        with monkeypatch.context() as earlier_release:

            def refuse(_: bytes) -> None:
                raise Unreadable("this release could not read it")

            earlier_release.setattr(deliveries, "identify", refuse)
            inbox.append(
                [
                    deliveries.delivery(events.event(), occurred_at=1, recorded_by="w")
                    for _ in range(many)
                ]
            )
        assert replay(environment, tmp_path) == f"{many} replayed, 0 still cannot be read\n"
        read_again = inbox.find(kind="webhook")
        assert [it.particulars["replay_of"] for it in read_again] == [*range(1, many + 1)]
        commits = Counter(it.recorded_at for it in read_again)
        assert list(commits.values()) == [AT_ONCE, AT_ONCE, 1]
    assert replay(environment, tmp_path) == "0 replayed, 0 still cannot be read\n"
