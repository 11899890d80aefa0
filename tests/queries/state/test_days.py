"""What each day shows of a process, by what had been received by its end (docs/rules.md#as-of).

A letter for each UTC day from 1 to 10 March: Pending, Overdue, eXpired, Finished, or a dot while no
event is known. They are written out by hand, and stand in one ledger: `state_daily` says their sum.
"""

from collections import Counter
from datetime import date

from tests.support.ledgers import asked
from tests.support.lines import ACI_DEADLINE, aci, acp, at, finished, started

LETTERS = {"PENDING": "P", "OVERDUE": "O", "EXPIRED": "X", "FINISHED": "F"}
ENDS = [*(f"2026-03-{day:02}T23:59:59.999999" for day in range(1, 10)), "2026-03-10T12:00:00"]
"""The end of each day; that of the current one is `as_of`."""


def day(number, clock="12:00:00"):
    return f"2026-03-{number:02}T{clock}Z"


OVERDUE_ON_THE_5TH = "2026-04-04T12:00:00Z"
"""The deadline of an ACP that is overdue from 5 March, noon, on: 30 days before."""

PROCESSES = {
    # By the clock alone.
    "an ACP": (
        "PPPPOOOOOO",
        [acp(deadline_at=OVERDUE_ON_THE_5TH)],
    ),
    "an ACI": (
        "OOOOOXXXXX",
        [aci(deadline_at=day(6))],
    ),
    "overdue and expired on one day": (
        "PPPPXXXXXX",
        [acp(created_at=day(5), occurred_at=day(1), deadline_at=day(5, "18:00:00"))],
    ),
    "overdue at as_of": (
        "PPPPPPPPPO",
        [acp(deadline_at="2026-04-09T12:00:00Z")],
    ),
    "expired at as_of": (
        "OOOOOOOOOX",
        [aci(deadline_at=day(10))],
    ),
    "received after it was overdue": (
        "...OOOOOOO",
        [aci(occurred_at=day(4))],
    ),
    # A day before any was opened has no row.
    "received before it was opened": (
        "OOOOOOOOOO",
        [aci(occurred_at="2026-02-27T12:00:00Z")],
    ),
    "received before it was opened, with another deadline later": (
        "OOOOOOOOOO",
        [
            aci(created_at=day(4), occurred_at=day(1), status="PENDING"),
            aci("e2", day(5), deadline_at="2026-04-05T12:00:00Z", status="PENDING"),
        ],
    ),
    "of an unknown type, received before it was opened": (
        ".OOOOOOOOO",
        [
            acp(created_at=day(4), occurred_at=day(2), type="NEW"),
            acp("e2", day(5), type="NEW"),
        ],
    ),
    # By reports.
    "reported once, ahead of the clock": (
        "OOOOOOOOOO",
        [acp(status="OVERDUE")],
    ),
    "reported as expired once, ahead of the clock": (
        "XXXXXXXXXX",
        [aci(status="EXPIRED")],
    ),
    "reported ahead of the clock, and after it": (
        "PPOOOOOOOO",
        [
            acp(deadline_at=OVERDUE_ON_THE_5TH),
            acp("e2", day(3), deadline_at=OVERDUE_ON_THE_5TH, status="OVERDUE"),
            acp("e3", day(7), deadline_at=OVERDUE_ON_THE_5TH, status="OVERDUE"),
        ],
    ),
    "reported as expired ahead of the clock, and after it": (
        "OOXXXXXXXX",
        [
            aci(deadline_at=day(6)),
            aci("e2", day(3), deadline_at=day(6), status="EXPIRED"),
            aci("e3", day(8), deadline_at=day(6), status="EXPIRED"),
        ],
    ),
    "reported for a deadline that was extended": (
        "PPXXPPPPPP",
        [
            acp(),
            acp("e2", day(3), deadline_at=None, status="EXPIRED"),
            acp("e3", day(5), deadline_at="2026-05-30T12:00:00Z"),
        ],
    ),
    "reported before any deadline": (
        "OOOOOOOOOO",
        [acp(deadline_at=None, status="OVERDUE"), acp("e2", day(3))],
    ),
    # By what came later of it.
    "without a deadline at first": (
        "PPPPPPPOOO",
        [acp(deadline_at=None), acp("e2", day(8), deadline_at=OVERDUE_ON_THE_5TH)],
    ),
    "without a type at first": (
        "OOOOOOOOOO",
        [acp(type=None), acp("e2", day(3), deadline_at="2026-05-30T12:00:00Z")],
    ),
    "of which the earliest event came last": (
        ".PPPOOOOOO",
        [
            acp("e2", day(8), day(2), deadline_at="2026-03-20T12:00:00Z"),
            acp("e1", day(1), day(5), deadline_at="2026-03-20T12:00:00Z"),
        ],
    ),
    "with a deadline before its opening, and another one": (
        ".PXXXXXXXX",
        [
            acp("e1", day(8), day(2), deadline_at=day(3)),
            acp("e2", day(9), day(6), deadline_at=day(4)),
        ],
    ),
    "with a later deadline, expired at as_of": (
        "OOOOOOOOOX",
        [aci(deadline_at=day(8)), aci("e2", day(3), deadline_at=day(10))],
    ),
    "with a later deadline before it was expired": (
        "OOOOOOOOOO",
        [aci(deadline_at=day(8)), aci("e2", day(3), deadline_at=ACI_DEADLINE)],
    ),
    # By its finish.
    "reported as finished twice": (
        "PPFFFFFFFF",
        [
            acp(),
            acp("e2", day(3), status="FINISHED"),
            acp("e3", day(2), day(7), status="FINISHED"),
        ],
    ),
    "reported as finished, received later": (
        "PPPPFFFFFF",
        [acp(), acp("e2", day(2), day(5), status="FINISHED")],
    ),
    "reported as finished before the answer came": (
        "PPPFFFFFFF",
        [
            acp(),
            started(occurred_at=day(3)),
            acp("e2", day(4), status="FINISHED"),
            finished(occurred_at=day(6)),
        ],
    ),
    "finished before any event was received": (
        "....FFFFFF",
        [started(occurred_at=day(2)), finished(occurred_at=day(2)), acp(occurred_at=day(5))],
    ),
    "finished at as_of": (
        "PPPPPPPPPF",
        [acp(), acp("e2", day(10), status="FINISHED")],
    ),
    "reported ahead of the clock, and finished": (
        "PPOOFFFFFF",
        [
            acp(),
            acp("e2", day(3), status="OVERDUE"),
            acp("e3", day(5), status="FINISHED"),
            acp("e4", day(7), status="FINISHED"),
        ],
    ),
}


def history():
    """Their lines, each with ids of its own."""
    for number, (_, lines) in enumerate(PROCESSES.values()):
        for line in lines:
            if line["kind"] == "webhook":
                body = line["body"]
                review = {**body["payload"]["object"], "process_id": f"p{number}"}
                body = {**body, "id": f"{body['id']}_{number}", "payload": {"object": review}}
                yield {**line, "body": body}
            else:
                yield {**line, "process_id": f"p{number}", "attempt_id": f"a{number}"}


HISTORY = [*history()]


def test_each_process_stands_at_the_end_of_each_day_as_what_was_received_by_then_says():
    found = dict.fromkeys(PROCESSES, "")
    for end in ENDS:
        states = {
            row["process_id"]: "." if row["opened_at"] is None else LETTERS[row["state"]]
            for row in asked(HISTORY, "process_state", at(end))
        }
        for number, name in enumerate(PROCESSES):
            found[name] += states.get(f"p{number}", ".")
    assert found == {name: letters for name, (letters, _) in PROCESSES.items()}


def test_a_day_counts_the_processes_that_stand_in_each_state_at_its_end():
    expected = []
    for number, letters in enumerate(zip(*(it for it, _ in PROCESSES.values()), strict=True)):
        count = Counter(letters)
        counts = count["P"], count["O"], count["X"], count["F"]
        expected.append((date(2026, 3, number + 1), *counts))
    found = asked(HISTORY, "state_daily", at(ENDS[-1]))
    assert [tuple(row.values()) for row in found] == expected
