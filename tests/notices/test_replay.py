"""The past under another schedule, by hand: who would have been notified by when."""

import json
from pathlib import Path
from typing import Any

from pipeline import instants
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
from pipeline.log.kinds.retraction import RETRACTION
from pipeline.log.kinds.seller_notice import SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.notices.replay import Past, Replayed, counted, pasts, replayed
from pipeline.notices.rules import NoticeRules
from pipeline.notices.schedule import Said
from tests.notices.office import Office
from tests.support.commands import here
from tests.support.stores import environment_in
from tests.trends.conftest import folder

__all__ = ["folder"]

DAY, HOUR = instants.DAY, instants.HOUR
OPENED = instants.parse("2026-03-02T15:00:00Z") or 0
"""A Monday at noon in São Paulo; 3 April is Good Friday."""
ALWAYS = {
    "start": "00:00",
    "end": "23:59",
    "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
    "holidays": "",
}


def rules(*rungs: dict[str, Any], **hours: Any) -> NoticeRules:
    schedule = {"ACI": {"rungs": [*rungs]}} if rungs else {}
    return NoticeRules.model_validate({"schedule": schedule, "hours": {**ALWAYS, **hours}})


def past(*said: Said, **more: Any) -> Past:
    known = {"deadline_at": OPENED + 30 * DAY, "known_at": OPENED, "said": said}
    known |= {"asked_until": OPENED + 60 * DAY, "addresses": [(OPENED, {"email": "a@b.c"})], **more}
    return Past("ACI", OPENED, **known)


def days(of: tuple[int, ...]) -> list[float]:
    return [round(it / DAY, 3) for it in of]


def sent(of: Past, by: NoticeRules) -> list[float]:
    return days(replayed(of, by).sent)


AT_ONCE, THIRD, SEVENTH = {"after": "0d"}, {"after": "3d"}, {"after": "7d"}


def test_a_message_at_day_three_in_place_of_seven() -> None:
    assert sent(past(), rules()) == [0, 7, 14, 25, 28, 33]  # our own rungs
    assert sent(past(), rules(AT_ONCE, THIRD)) == [0, 3]
    assert sent(past(known_at=OPENED + 4 * DAY), rules(AT_ONCE, THIRD)) == [4], "the latest alone"


def test_it_ends_with_what_sellers_did_and_waits_for_the_hours() -> None:
    assert sent(past(asked_until=OPENED + 3 * DAY), rules(AT_ONCE, THIRD)) == [0]
    work = {"start": "09:00", "end": "11:00", "days": ["tue", "fri"]}
    # Tuesday at nine; of Thursday's rung Friday at nine.
    assert sent(past(), rules(AT_ONCE, THIRD, **work)) == [0.875, 3.875]


def test_what_people_did_stands() -> None:
    """A hold keeps messages back until its release; one by hand keeps the next away for 20 h."""
    held = Said(NOTICE_SCHEDULE, OPENED + DAY, {"step": "held"})
    released = Said(NOTICE_SCHEDULE, OPENED + 5 * DAY, {"step": "released"})
    assert sent(past(held, released), rules(AT_ONCE, THIRD)) == [0, 5]
    by_hand = (
        Said(SELLER_NOTICE, OPENED + 3 * DAY - HOUR, {"message_id": "m1"}),
        Said(SELLER_NOTICE_RESULT, OPENED + 3 * DAY, {"message_id": "m1", "result": "accepted"}),
    )
    assert sent(past(*by_hand), rules(AT_ONCE, THIRD)) == [0, round(3 + 19 / 24, 3)]


def test_a_call_is_asked_for_by_its_rung_or_where_an_address_is_missing() -> None:
    call = {"after": "3d", "channel": "phone", "if_silent": True}
    found = replayed(past(), rules(AT_ONCE, call))
    assert (days(found.sent), days(found.calls)) == ([0], [3])
    seen = Said(COLLECTION, OPENED + DAY, {"step": "opened", "source": "seller"})
    assert replayed(past(seen), rules(AT_ONCE, call)).calls == ()
    nowhere = replayed(past(addresses=[]), rules(AT_ONCE, SEVENTH))
    assert (nowhere.sent, days(nowhere.calls)) == ((), [0, 7])


def test_a_call_counts_until_it_is_retracted() -> None:
    call = Said(SELLER_NOTICE, OPENED + 3 * DAY, {"message_id": "m1", "channel": "phone"})
    others, its = (
        Said(RETRACTION, OPENED + 4 * DAY, {"message_id": message}) for message in ("m2", "m1")
    )
    rung = {"after": "3d", "channel": "phone"}
    assert replayed(past(call, others), rules(rung)).calls == ()
    assert days(replayed(past(call, its), rules(rung)).calls) == [4]


def test_an_address_counts_from_when_it_was_known() -> None:
    late = [(OPENED + 2 * DAY, {"email": "a@b.c"}), (OPENED + 4 * DAY, {})]
    found = replayed(past(addresses=late), rules(AT_ONCE, THIRD, SEVENTH))
    assert (days(found.sent), days(found.calls)) == ([2, 3], [0, 7])


def test_addresses_are_those_of_the_records_that_had_come(office: Office) -> None:
    """The review's are read as they came, whatever the platform said later."""
    office.seller("sel_1")
    office.seller("sel_1", email="a@b.example")
    office.review("prc_1", "sel_1")
    now = office.inbox.now()
    times = {"opened_at": instants.of(now), "deadline_at": None, "finished_at": None}
    row = {"process_id": "prc_1", "seller_id": "sel_1", "review_type": "ACI", **times}
    [found] = pasts(office.inbox, [{**row, "seller_deleted_at": None}], now + DAY)
    assert [known for _, known in found.addresses] == [{}, {"email": "a@b.example"}]


def test_reviews_are_counted_by_the_day_up_to_which_each_message_would_have_gone() -> None:
    found = [Replayed("ACI", (0, 3 * DAY), ()), Replayed("ACI", (3 * DAY + 1,), (40 * DAY,))]
    rows = [*counted("other.toml", found)]
    assert [(it["what"], it["reviews"], it["day_1"], it["day_3"], it["day_60"]) for it in rows] == [
        ("message 1", 2, 1, 1, 2),
        ("message 2", 2, 0, 1, 1),
        ("call 1", 2, 0, 0, 1),
    ]


def test_the_command_compares_both_schedules(folder: Path) -> None:
    """Sixty ACIs were opened on Sunday, 1 March, twenty of them finished after 5 days, twenty after
    25. Nobody's record has an address: calls are asked for instead."""
    (folder / "other.toml").write_text('[[schedule.ACI.rungs]]\nafter = "3d"\n')
    asked = ("notices", "replay", "--settings", "other.toml", "--as-of", "2026-05-10T00:00:00Z")
    environment = environment_in(folder)
    done = here(*asked, "--format", "json", environment=environment, folder=folder)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    ours = [it for it in rows if it["settings"] == "defaults"]
    [other] = [it for it in rows if it["settings"] == "other.toml"]
    assert [it["day_60"] for it in ours] == [60, 40, 40, 20, 20, 20]
    assert (other["what"], other["day_3"], other["day_7"]) == ("call 1", 0, 60)
    assert "60 reviews" in done.stderr
