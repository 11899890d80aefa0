"""When a part of the product last said that it was well, on both engines."""

from pipeline.inbox import Inbox
from pipeline.inbox.heartbeats import Part, beat, heartbeats


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
