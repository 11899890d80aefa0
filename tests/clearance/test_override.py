"""An override that waits for a second person: by command, killed in between, sent once."""

import json
import os
import signal
from pathlib import Path

import pytest

from pipeline.clearance.clearances import Awaited
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.entries import Draft
from pipeline.log.kinds.clearance import CLEARANCE
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.submit.decision import Approval
from tests.submit.attempts import submit
from tests.support.commands import payload_file, rows, run
from tests.support.machine import killed
from tests.support.marketplace import Marketplace, Review, payload

ON = {"PRAZO_FOUR_EYES": "override"}
ANA = Approval("confirmed by phone", "Ana")


def command(marketplace: Marketplace, review: Review, *more: str) -> tuple[str, ...]:
    file = str(payload_file(marketplace, review))
    return ("submit", review.process_id, "--payload", file, "--override", "by phone", *more)


def request_of(marketplace: Marketplace, review: Review) -> str:
    [requested] = marketplace.inbox.find(process_id=review.process_id, kind=CLEARANCE)
    named: str = json.loads(requested.body or b"")["request"]
    return named


def approve(marketplace: Marketplace, request: str, actor: str = "Bia") -> int:
    decision = ("clearances", "approve", request, "--reason", "I heard it, too", "--actor", actor)
    return run(marketplace, *decision, **ON).code


def test_an_override_waits_for_somebody_else_and_is_then_sent_once(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review(is_answered=False)
    ask = command(marketplace, review, "--actor", "Ana")
    dry = run(marketplace, *ask, "--dry-run", **ON)
    assert (dry.code, dry.out) == (0, f"{review.process_id}: would wait for a second person\n")
    waits = run(marketplace, *ask, **ON)
    assert waits.code == 1
    request = request_of(marketplace, review)
    assert f"prazo clearances approve {request}" in waits.err
    assert marketplace.starts(review.process_id) == []
    assert approve(marketplace, request, "ana") == 1
    assert approve(marketplace, request) == 0
    assert run(marketplace, *ask, **ON).code == 0
    assert len(marketplace.puts(review.process_id)) == 1
    [row] = rows(marketplace, "clearances", review.process_id)
    said = [row[it] for it in ("act", "state", "requested_by", "decided_by", "reason")]
    assert said == ["override", "used", "Ana", "Bia", "by phone"]
    trail = rows(marketplace, "timeline", review.process_id)
    columns = ("kind", "step", "about", "actor")
    steps = [tuple(row[it] for it in columns) for row in trail]
    assert [step for step in steps if step[0] in ("clearance", "override")] == [
        ("clearance", "requested", "override", "Ana"),
        ("clearance", "approved", "override", "Bia"),
        ("override", None, None, "Ana"),
    ]


def test_another_payload_needs_another_word(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    on = {"four_eyes": "override"}
    with pytest.raises(Awaited):
        submit(marketplace, review, settings=on, override=ANA)
    assert approve(marketplace, request_of(marketplace, review)) == 0
    with pytest.raises(Awaited):
        submit(
            *(marketplace, review, payload(review.process_id, "5000_to_9000")),
            settings=on,
            override=ANA,
        )
    assert marketplace.puts(review.process_id) == []


def test_without_the_setting_or_where_nothing_is_overridden_nothing_waits(
    marketplace: Marketplace,
) -> None:
    answered = marketplace.review()
    on = {"four_eyes": "override,unmask,export"}
    assert submit(marketplace, answered, settings=on, override=ANA).is_finished
    review = marketplace.review(is_answered=False)
    assert submit(marketplace, review, override=ANA).is_finished
    assert marketplace.inbox.find(process_id=review.process_id, kind="clearance") == []


def test_killed_between_the_approval_and_the_start_it_is_sent_by_the_next_run(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """The override's entry stands and its attempt has not begun: the word is not used up yet."""
    review = marketplace.review(is_answered=False)
    # The right to send, which was taken before the start, outlasts its holder by that long.
    on: dict[str, object] = {"four_eyes": "override", "request_timeout_seconds": 5}
    with pytest.raises(Awaited):
        submit(marketplace, review, settings=on, override=ANA)
    assert approve(marketplace, request_of(marketplace, review)) == 0

    def die() -> None:
        record = GroupCommit.record

        async def recorded(self: GroupCommit, draft: Draft) -> object:
            if draft.kind == SUBMISSION_STARTED:
                os.kill(os.getpid(), signal.SIGKILL)
            return await record(self, draft)

        GroupCommit.record = recorded  # type: ignore[assignment,method-assign]
        submit(marketplace, review, settings=on, override=ANA)

    killed(die)
    overrides = marketplace.inbox.find(process_id=review.process_id, kind="override")
    assert (len(overrides), marketplace.puts(review.process_id)) == (1, [])
    [row] = rows(marketplace, "clearances", review.process_id)
    assert row["state"] == "approved"
    assert submit(marketplace, review, settings=on, override=ANA, patience_seconds=60).is_finished
    assert len(marketplace.puts(review.process_id)) == 1
    with pytest.raises(Awaited):  # a second one would be a second act
        submit(*(marketplace, marketplace.review(is_answered=False)), settings=on, override=ANA)
