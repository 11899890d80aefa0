"""To whom an alert leads, and who is next, by hand from docs/alerts.md#who-is-told."""

from pipeline.alert.entries import Address
from tests.alert.test_decision import (
    ANA,
    BRUNO,
    ESCALATING,
    EVA,
    MONDAY,
    NIGHT,
    Log,
    due,
    rules,
    told,
)

AWAY = {"away": [{"first": "2026-03-01", "last": "2026-03-09"}]}


def test_where_a_stand_in_does_not_see_to_it_the_next_hear_of_it() -> None:
    """Anyone who is away was told nothing: their stand-in's message counts."""
    away = ANA | AWAY | {"stand_in": "eva"}
    by = rules(recipients={"ana": away, "bruno": BRUNO, "eva": EVA}, routes=[ESCALATING])
    log = Log().raised(due()).sent(due(), "eva")
    assert told(log, [due()], by, "2026-03-02T15:59:59.999999Z") == []
    assert told(log, [due()], by, "2026-03-02T16:00:00Z") == [("bruno", 1, 1)]


def test_it_is_escalated_from_the_first_message_that_was_taken() -> None:
    by = rules(routes=[{"to": ["ana", "bruno"], "escalate": [{"after": "4h", "to": ["eva"]}]}])
    log = Log().raised(due()).sent(due(), "ana").sent(due(), "bruno", "2026-03-02T14:00:00Z")
    assert told(log, [due()], by, "2026-03-02T15:59:59.999999Z") == []
    assert told(log, [due()], by, "2026-03-02T16:00:00Z") == [("eva", 1, 1)]


def test_it_is_not_escalated_at_once_where_one_of_several_cannot_be_reached() -> None:
    by = rules(routes=[{"to": ["ana", "bruno"], "escalate": [{"after": "4h", "to": ["eva"]}]}])
    log = Log().raised(due()).given_up(due(), Address("ana", "email", 0), MONDAY)
    log.sent(due(), "bruno")
    assert told(log, [due()], by, "2026-03-02T15:59:59.999999Z") == []
    assert told(log, [due()], by, "2026-03-02T16:00:00Z") == [("eva", 1, 1)]


def test_who_was_reached_after_all_has_the_time_to_see_to_it() -> None:
    """They had been given up, and nobody else was told before their mailbox worked again."""
    log = Log().raised(due()).tried(due(), "ana", MONDAY)
    log.given_up(due(), Address("ana", "email", 0), MONDAY)
    log.tried(due(), "ana", "2026-03-02T18:00:00Z", number=2)
    log.answered(due(), "ana", "2026-03-02T18:00:00Z", number=2)
    by, breach = rules(routes=[ESCALATING]), due(severity="breach")
    assert told(log, [breach], by, "2026-03-02T21:59:59.999999Z") == []
    assert told(log, [breach], by, "2026-03-02T22:00:00Z") == [("bruno", 1, 1)]


def test_the_word_role_stands_for_all_of_the_alerts_role() -> None:
    by = rules(routes=[{"to": ["role"]}])
    officers, admins = due(severity="breach"), due("a2", severity="breach", role="admin")
    log = Log().raised(officers).raised(admins)
    assert told(log, [officers], by, NIGHT) == [("ana", 0, 1), ("bruno", 0, 1)]
    assert told(log, [admins], by, NIGHT) == [("eva", 0, 1)]


def test_where_the_last_of_a_chain_of_stand_ins_is_away_too_the_first_hears() -> None:
    away = {"ana": ANA | AWAY | {"stand_in": "bruno"}, "bruno": BRUNO | AWAY}
    mine = due(assignee="ana")
    assert told(Log().raised(mine), [mine], rules(recipients=away), MONDAY) == [("ana", 0, 1)]


def test_who_hears_by_two_routes_hears_as_by_the_earlier_step() -> None:
    escalating = {"to": ["ana"], "escalate": [{"after": "4h", "to": ["bruno"]}]}
    log = Log().raised(due()).sent(due(), "ana")
    for routes in ([escalating, {"to": ["bruno"]}], [{"to": ["bruno"]}, escalating]):
        assert told(log, [due()], rules(routes=routes), NIGHT) == []
        by = rules(routes=[it | {"at_any_hour": ["risk"]} for it in routes])
        assert told(log, [due()], by, NIGHT) == [("bruno", 0, 1)]


def test_an_unknown_review_type_goes_the_way_of_an_aci() -> None:
    unknown = due(review_type=None)
    routes = [{"to": [to], "review_types": [it]} for to, it in (("ana", "ACI"), ("eva", "ACP"))]
    assert told(Log().raised(unknown), [unknown], rules(routes=routes), MONDAY) == [("ana", 0, 1)]
