"""`intake` says when the last delivery came, and since when nothing has come for too long."""

from datetime import timedelta

import pytest

from tests.support.ledgers import asked
from tests.support.lines import acp, at, live, seller, webhook

START = at("2026-03-01T12:00:00")


def delivered(*hours: int) -> list[dict]:
    """Live deliveries so many hours after the start."""
    return [
        live(seller("updated", f"v{number}", f"{(START + timedelta(hours=hour)).isoformat()}Z"))
        for number, hour in enumerate(hours)
    ]


USUAL = delivered(0, 1, 2, 52, 53, 63, 64, 68, 69, 70, 71)
"""Pauses of 50, 10 and 4 hours, the others of one: silence after 6 hours. The last on 4 March."""


BURSTS = delivered(*[0] * 4, *[24] * 4, *[48] * 4)


@pytest.mark.parametrize(
    ("history", "as_of", "last_seq", "last_at", "silent_since"),
    [
        ([], "2026-03-04T12:00:00", None, None, None),
        ([acp()], "2026-03-04T12:00:00", None, None, None),
        (USUAL, "2026-03-04T16:59:59", 11, "2026-03-04T11:00:00", None),
        (USUAL, "2026-03-04T17:00:00", 11, "2026-03-04T11:00:00", "2026-03-04T17:00:00"),
        (delivered(0, 0), "2026-03-01T12:00:00", 2, "2026-03-01T12:00:00", None),
        (USUAL, "2026-03-01T12:30:00", 1, "2026-03-01T12:00:00", None),
        # Ten of them in 28 days say what is usual; once these are over, 28 days do.
        (USUAL, "2026-04-02T12:00:00", 11, "2026-03-04T11:00:00", "2026-04-01T11:00:00"),
        # Three bursts have two pauses, and none is the third longest: an hour was taken for it.
        (BURSTS, "2026-03-04T12:00:00", 12, "2026-03-03T12:00:00", None),
        (delivered(0), "2026-03-29T11:59:59", 1, "2026-03-01T12:00:00", None),
        (delivered(0), "2026-03-29T12:00:00", 1, "2026-03-01T12:00:00", "2026-03-29T12:00:00"),
    ],
)
def test_the_last_delivery_and_the_end_of_the_usual_pause(
    history, as_of, last_seq, last_at, silent_since
):
    [row] = asked(history, "intake", at(as_of))
    assert row == {
        "last_seq": last_seq,
        "last_at": last_at and at(last_at),
        "silent_since": silent_since and at(silent_since),
    }


def test_what_cannot_be_read_is_a_delivery_too():
    bad = live(webhook("not json", "2026-03-04T18:00:00Z"), "2026-03-04T18:00:00Z")
    [row] = asked([*USUAL, bad], "intake", at("2026-03-04T18:30:00"))
    assert (row["last_at"], row["silent_since"]) == (at("2026-03-04T18:00:00"), None)
