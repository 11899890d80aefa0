"""When a part of the product last said that it was well, on both engines."""

from pipeline.inbox import Inbox
from pipeline.inbox.heartbeats import Part, beat, heartbeats, is_seen, see, see_no_longer


def test_a_part_that_never_beat_is_not_there(inbox: Inbox):
    assert heartbeats(inbox) == {}


def test_each_part_has_its_own_last_beat(inbox: Inbox):
    before = inbox.now()
    beat(inbox, Part.BACKUP)
    first = heartbeats(inbox)[Part.BACKUP]
    beat(inbox, Part.RESUMER)
    beat(inbox, Part.BACKUP)
    last = heartbeats(inbox)
    assert set(last) == {Part.BACKUP, Part.RESUMER}
    assert before <= first <= last[Part.RESUMER] <= last[Part.BACKUP] <= inbox.now()


def test_a_clock_that_goes_back_takes_no_beat_back(inbox: Inbox, monkeypatch):
    beat(inbox, Part.VERIFICATION)
    last = heartbeats(inbox)
    monkeypatch.setattr(type(inbox), "now", lambda self: 5)
    beat(inbox, Part.VERIFICATION)
    assert heartbeats(inbox) == last


def test_what_a_process_sees_is_seen_until_it_takes_that_back_or_was_killed(
    inbox: Inbox, monkeypatch
):
    for who in ("a", "b", "c"):
        see(inbox, "ledger_down", who)
    beat(inbox, Part.ALERTS)
    see_no_longer(inbox, "ledger_down", "a")
    assert is_seen(inbox, "ledger_down", 60_000_000)
    assert not is_seen(inbox, "ledger_behind", 60_000_000)
    assert set(heartbeats(inbox)) == {Part.ALERTS}
    later = inbox.now() + 60_000_001
    monkeypatch.setattr(type(inbox), "now", lambda self: later)
    assert not is_seen(inbox, "ledger_down", 60_000_000)
    assert inbox.query("select name from heartbeats") == [("alerts",)]
