"""Each next action has words; a reminder also says how much is answered already."""

import re

import pytest

from app_pages.language import i18n, next_actions
from pipeline.language.next_actions import ACTIONS
from pipeline.ledger.views.catalogue import catalogue


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Answered: 3 of 5 required fields."),
        ("pt", "Respondidos: 3 de 5 campos exigidos."),
    ],
)
def test_a_reminder_says_how_many_of_how_many_are_answered(
    language: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(i18n, "language", lambda: language)
    process = {"next_action": "remind_seller", "fields_required": 5, "fields_answered": 3}
    assert next_actions.how(process).endswith(said)
    waiting = next_actions.how(process | {"next_action": "await_seller"})
    assert said not in waiting


@pytest.mark.parametrize("action", ["await_platform", "open_ticket"])
def test_a_ticket_does_not_hide_that_the_seller_still_has_to_answer(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a ticket was recorded, nothing said any more that nobody had asked the seller."""
    monkeypatch.setattr(i18n, "language", lambda: "en")
    ticket = {"next_action": action, "fields_required": 5}
    missing = next_actions.how(ticket | {"fields_answered": 3})
    assert missing.endswith(
        "The seller still has to answer, too: the ticket does not do it for them."
        " Answered: 3 of 5 required fields."
    )
    every = next_actions.how(ticket | {"fields_answered": 5})
    assert "still has to answer" not in every
    assert every.endswith("Answered: 5 of 5 required fields.")
    nothing = {"next_action": action, "fields_required": None, "fields_answered": None}
    assert "answer" not in next_actions.how(nothing)


def test_a_review_of_an_unknown_type_is_sent_only_with_the_word_that_it_is_answered_like_an_aci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(i18n, "language", lambda: "en")
    unknown = next_actions.how({"next_action": "submit", "review_type": None})
    assert "it is answered like an inconsistency (ACI)" in unknown
    known = next_actions.how({"next_action": "submit", "review_type": "ACP"})
    assert "ACI" not in known


def test_every_next_action_of_the_view_has_words_and_no_other_has() -> None:
    actions, _ = catalogue()["unfinished_work"].sql.split("end as next_action")
    codes = re.findall(r"(?:then|else) '(\w+)'", actions)
    assert set(codes) == set(ACTIONS)


def test_a_wait_for_which_no_time_is_left_says_what_to_do_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first rows of what to do now said to wait, and their cards to give the seller time."""
    monkeypatch.setattr(i18n, "language", lambda: "en")
    process = {"next_action": "await_seller", "queue": "act_now", "fields_required": None}
    assert next_actions.of(process).name == "Call the seller"
    assert next_actions.reason(process) == "Act now: the deadline is too close to wait."
    assert "Give them time" not in next_actions.how(process)
    calm = process | {"queue": "waiting_for_seller"}
    assert next_actions.of(calm).name == "Wait for the seller"
    assert "Give them time" in next_actions.how(calm)
    ours = process | {"next_action": "remind_seller"}
    assert next_actions.of(ours).name == "Ask again"
    assert next_actions.reason(ours) == "Act now: the next step is yours."


def test_where_the_queue_is_not_known_a_wait_has_both_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(i18n, "language", lambda: "en")
    assert next_actions.either("await_seller") == "Wait for the seller / Call the seller"
    assert next_actions.either("submit") == "Submit the answers"
