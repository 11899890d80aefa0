"""What people do is recorded under a name, and in few words."""

import pytest

from pipeline.errors import WrongUsage
from pipeline.log.actions import action
from pipeline.log.kinds.seller_notice import by_hand
from pipeline.log.kinds.ticket import ticket

WHO = {"recorded_by": "test", "process_id": "prc_1", "seller_id": "sel_1"}


@pytest.mark.parametrize("number", [None, "", " "])
def test_a_ticket_is_not_opened_without_a_number(number: str | None) -> None:
    with pytest.raises(WrongUsage, match="its number is needed"):
        ticket("opened", number=number, actor="Bia", **WHO)


@pytest.mark.parametrize("actor", [None, "", " ", "\u200b", " \u00ad\x00"])
def test_nothing_is_recorded_without_a_name(actor: str | None) -> None:
    with pytest.raises(WrongUsage, match="a name is needed"):
        by_hand("n1", "letter", actor=actor, **WHO)
    with pytest.raises(WrongUsage, match="a name is needed"):
        ticket("closed", actor=actor, **WHO)


@pytest.mark.parametrize(
    ("channel", "outcome"), [("phone", "no_answer"), ("phone", "left_message"), ("letter", None)]
)
def test_who_was_not_reached_has_promised_nothing(channel: str, outcome: str | None) -> None:
    """A page refused it; a command recorded it."""
    said = {"outcome": outcome, "promised_for": "2026-03-20", "actor": "Bia"}
    with pytest.raises(WrongUsage, match="only who was reached can have promised a day"):
        by_hand("n1", channel, **said, **WHO)
    assert by_hand("n1", "phone", **(said | {"outcome": "reached"}), **WHO).actor == "Bia"


@pytest.mark.parametrize("said", ["actor", "reason"])
def test_nothing_is_recorded_under_endless_words(said: str) -> None:
    """A package named anyone who asked for it in a file that no verifier read, so long was it."""
    words = {"actor": "Bia", "reason": "yearly audit", said: "x" * 2001}
    with pytest.raises(WrongUsage, match="is over 2000 characters\n  To fix it: shorten it"):
        action("export", **words, **WHO)
