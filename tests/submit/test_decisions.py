"""What is sent and what is refused beforehand: gates, retries, overrides, replacements."""

import hashlib
import json
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.errors import CallerError, InboxMissing
from pipeline.submit import resume as sending
from pipeline.submit.attempt import Sent
from pipeline.submit.decision import Approval, Busy, Go, NotDue, Refused
from pipeline.submit.resume import Ended
from pipeline.submit.retries import Waiting
from tests.submit.attempts import a_waiting_retry, submit
from tests.support.ledgers import said_in
from tests.support.marketplace import REVENUE, Marketplace, Review, payload
from tests.support.stores import settings_in

MARIA = Approval("the seller confirmed by phone", "maria")


def rules_of(ended: Ended) -> set[tuple[str, str]]:
    assert isinstance(ended.result, Refused)
    return {(it.path, it.rule) for it in ended.result.violations}


# Refusals


def test_every_violation_is_named_at_once_and_nothing_is_sent(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    body = {"process_id": review.process_id, "type": "person", "revenue": "5_to_1", "street": "x"}
    ended = submit(marketplace, review, json.dumps(body).encode())
    assert rules_of(ended) == {
        ("type", "wrong_format"),
        ("revenue", "wrong_format"),
        ("street", "unknown_key"),
        ("revenue", "field_without_evidence"),
    }
    assert marketplace.puts(review.process_id) == []


def test_a_refusal_is_a_start_and_a_finish_at_one_instant_in_one_commit(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review(is_answered=False)
    submit(marketplace, review)
    [start], [finish] = (
        marketplace.starts(review.process_id),
        marketplace.finishes(review.process_id),
    )
    assert start.occurred_at == finish.occurred_at
    assert start.recorded_at == finish.recorded_at
    assert start.attempt_id == finish.attempt_id
    assert (finish.status, finish.body, finish.particulars) == (None, None, {"error": "refused"})
    assert start.body == review.payload
    assert marketplace.outcomes(review.process_id) == ["refused"]


def test_a_refusal_leaves_the_process_free_for_the_next_payload(marketplace: Marketplace) -> None:
    review = marketplace.review()
    assert isinstance(submit(marketplace, review, payload(review.process_id, "x")).result, Refused)
    assert submit(marketplace, review).is_finished


def test_what_is_not_json_is_refused_with_its_reason(marketplace: Marketplace) -> None:
    review = marketplace.review()
    assert rules_of(submit(marketplace, review, b"{")) == {("body", "wrong_format")}


def test_a_finished_process_is_refused_other_bytes_than_it_was_sent(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    assert submit(marketplace, review).is_finished
    ended = submit(marketplace, review, review.payload + b" ")
    assert rules_of(ended) == {("process_id", "process_finished")}
    ended = submit(marketplace, review, review.payload + b" ")  # a refusal was never sent
    assert rules_of(ended) == {("process_id", "process_finished")}
    assert len(marketplace.puts(review.process_id)) == 1


def test_after_a_lost_answer_the_same_bytes_go_out_though_the_process_is_finished(
    marketplace: Marketplace,
) -> None:
    """The platform processed them, its answer was lost, and its webhook came before our retry."""
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="drops_connection", processes=True, process_id=review.process_id
    )
    submit(marketplace, review)
    marketplace.append_review(review, "FINISHED")
    ended = submit(marketplace, review)
    assert isinstance(ended.result, Sent)
    assert ended.result.outcome == "accepted"
    assert marketplace.outcomes(review.process_id) == ["network_error", "accepted"]


def test_an_expired_process_is_sent(marketplace: Marketplace) -> None:
    review = marketplace.review(days_ago=31)
    assert marketplace.state(review.process_id) == "EXPIRED"
    assert submit(marketplace, review).is_finished


def test_a_process_without_a_readable_customer_is_sent_for_the_seller_that_is_named(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review(is_answered=False)
    [first] = marketplace.inbox.find(process_id=review.process_id)
    unread = json.loads(first.body or b"")
    unread["id"], unread["created_at"] = f"{review.process_id} before", "2026-01-01T00:00:00Z"
    unread["payload"]["object"]["customer_id"] = {"id": review.seller_id}
    marketplace.append(kind="webhook", occurred_at=instants.canonical(instants.now()), body=unread)
    marketplace.collect(review.process_id, review.seller_id, {"revenue": REVENUE})
    with pytest.raises(CallerError, match="Nobody knows whose review"):
        submit(marketplace, review)
    assert submit(marketplace, review, seller_id=review.seller_id).is_finished


def test_a_process_that_nothing_names_cannot_be_submitted_by_its_id_alone(
    marketplace: Marketplace,
) -> None:
    with pytest.raises(CallerError, match="There is no review process"):
        submit(marketplace, Review("prc_typo", "s", payload("prc_typo")))


def test_a_process_without_a_review_event_is_refused(marketplace: Marketplace) -> None:
    marketplace.collect("prc_early", "sel_early", {"revenue": "1000_to_5000"})
    review = Review("prc_early", "sel_early", payload("prc_early"))
    assert ("process_id", "process_unknown") in rules_of(submit(marketplace, review))


def test_the_rules_go_by_the_latest_event_that_was_received(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.append_review(review, "OVERDUE", "address.city")
    assert rules_of(submit(marketplace, review)) == {
        ("revenue", "not_requested"),
        ("address.city", "missing"),
    }


# Evidence


def test_a_collection_is_seen_by_the_next_submission(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    assert rules_of(submit(marketplace, review)) == {("revenue", "field_without_evidence")}
    marketplace.collect(review.process_id, review.seller_id, {"revenue": "1000_to_5000"})
    assert submit(marketplace, review).is_finished


def test_the_latest_answer_counts(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.collect(review.process_id, review.seller_id, {"revenue": "1_to_2"})
    assert rules_of(submit(marketplace, review)) == {("revenue", "field_without_evidence")}
    assert submit(marketplace, review, payload(review.process_id, "1_to_2")).is_finished


def test_an_answer_of_a_clock_a_little_ahead_is_waited_for(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    ahead = instants.now() + 2 * instants.SECOND
    marketplace.collect(
        review.process_id,
        review.seller_id,
        {"revenue": "1000_to_5000"},
        occurred_at=instants.canonical(ahead),
    )
    assert submit(marketplace, review).is_finished
    [start] = marketplace.starts(review.process_id)
    assert start.occurred_at >= ahead


def test_data_from_elsewhere_is_refused(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    marketplace.collect(
        review.process_id, review.seller_id, {"revenue": "1000_to_5000"}, source="bureau"
    )
    assert rules_of(submit(marketplace, review)) == {("revenue", "source_not_seller")}


def test_with_the_gate_on_warn_it_is_sent_and_the_warning_shown(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    ended = submit(marketplace, review, settings={"evidence_gate": "warn"})
    assert isinstance(ended.result, Sent)
    assert [(it.path, it.rule) for it in ended.result.warnings] == [
        ("revenue", "field_without_evidence")
    ]
    assert ended.is_finished


# Overrides


def test_an_override_is_an_entry_before_the_start_and_waives_the_gate(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review(is_answered=False)
    assert submit(marketplace, review, override=MARIA).is_finished
    [override] = marketplace.inbox.find(process_id=review.process_id, kind="override")
    [start] = marketplace.starts(review.process_id)
    assert said_in(override) == {
        "actor": "maria",
        "reason": "the seller confirmed by phone",
        "gates": ["evidence"],
    }
    assert override.attempt_id == start.attempt_id
    assert override.seq < start.seq
    assert override.occurred_at <= start.occurred_at


def test_an_override_that_is_not_needed_is_not_recorded(marketplace: Marketplace) -> None:
    review = marketplace.review()
    assert submit(marketplace, review, override=MARIA).is_finished
    assert marketplace.inbox.find(process_id=review.process_id, kind="override") == []


def test_an_override_waives_nothing_but_the_two_gates(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    ended = submit(marketplace, review, payload(review.process_id, "5_to_1"), override=MARIA)
    assert rules_of(ended) == {("revenue", "wrong_format")}
    assert marketplace.inbox.find(process_id=review.process_id, kind="override") == []


def test_a_process_without_its_webhook_can_be_sent_with_an_override_and_its_seller(
    marketplace: Marketplace,
) -> None:
    """The webhook was lost; the platform knows the process all the same."""
    seller_id = marketplace.platform.adopt_seller()
    process_id = marketplace.platform.require_review(
        seller_id, "ACI", requested_fields=("revenue",)
    )
    review = Review(process_id, seller_id, payload(process_id))
    ended = submit(marketplace, review, seller_id=seller_id, override=MARIA)
    assert ended.is_finished
    [override] = marketplace.inbox.find(process_id=process_id, kind="override")
    assert json.loads(override.body or b"")["gates"] == ["process_unknown", "evidence"]


def test_a_retry_of_an_overridden_submission_needs_no_second_override(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review(is_answered=False)
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    ended = sending.submit(
        marketplace.settings(),
        review.process_id,
        review.payload,
        recorded_by="test",
        override=MARIA,
        patience_seconds=10,
    )
    assert ended.is_finished
    assert len(marketplace.inbox.find(process_id=review.process_id, kind="override")) == 1


# Another payload, and replacements


def test_another_payload_while_a_retry_waits_is_refused(marketplace: Marketplace) -> None:
    review = a_waiting_retry(marketplace)
    other = review.payload + b" "
    assert rules_of(submit(marketplace, review, other)) == {("body", "retry_pending")}
    assert len(marketplace.puts(review.process_id)) == 1


def test_another_payload_goes_with_a_replacement_which_is_an_entry(
    marketplace: Marketplace,
) -> None:
    review = a_waiting_retry(marketplace)
    other = review.payload + b" "
    assert submit(marketplace, review, other, replacement=MARIA).is_finished
    [replacement] = marketplace.inbox.find(process_id=review.process_id, kind="replacement")
    first, second = marketplace.starts(review.process_id)
    assert said_in(replacement) == {
        "actor": "maria",
        "reason": "the seller confirmed by phone",
    }
    assert first.occurred_at <= replacement.occurred_at <= second.occurred_at
    assert replacement.seq < second.seq


def test_a_payload_that_replaced_another_is_retried_too(marketplace: Marketplace) -> None:
    review = a_waiting_retry(marketplace)
    other = review.payload + b" "
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    ended = submit(marketplace, review, other, replacement=MARIA)
    assert isinstance(ended.standing, Waiting)
    assert ended.standing.tried.last.payload_sha256 == hashlib.sha256(other).digest()


def test_a_replacement_by_the_same_bytes_is_none(marketplace: Marketplace) -> None:
    review = a_waiting_retry(marketplace)
    assert submit(marketplace, review, replacement=MARIA).is_finished
    assert marketplace.inbox.find(process_id=review.process_id, kind="replacement") == []


def test_after_a_400_another_payload_goes_without_more_ado(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=400, process_id=review.process_id)
    submit(marketplace, review)
    assert submit(marketplace, review, review.payload + b" ").is_finished


# Resuming by name


def resume(marketplace: Marketplace, review: Review) -> Ended:
    return sending.resume(
        marketplace.settings(), review.process_id, recorded_by="test", patience_seconds=0
    )


def test_a_try_that_ended_in_401_is_sent_again_by_name_alone(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=401, process_id=review.process_id)
    submit(marketplace, review)
    waiting = sending.resume_all(
        marketplace.settings(), recorded_by="test", patience_seconds=2, on_attempt=lambda *_: None
    )
    assert waiting == []
    assert len(marketplace.puts(review.process_id)) == 1
    assert resume(marketplace, review).is_finished
    assert [it.body for it in marketplace.puts(review.process_id)] == [review.payload] * 2


def test_a_gateways_try_is_sent_again_by_name_alone(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    submit(marketplace, review, via="gateway")
    sending.resume_all(
        marketplace.settings(), recorded_by="test", patience_seconds=2, on_attempt=lambda *_: None
    )
    assert len(marketplace.puts(review.process_id)) == 1
    assert resume(marketplace, review).is_finished


def test_by_name_a_backoff_is_skipped_but_not_what_the_platform_asked_for(
    marketplace: Marketplace,
) -> None:
    review = a_waiting_retry(marketplace)
    ended = resume(marketplace, review)
    assert isinstance(ended.result, NotDue)
    assert len(marketplace.puts(review.process_id)) == 1


def test_a_400_is_not_sent_again_even_by_name(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=400, process_id=review.process_id)
    submit(marketplace, review)
    assert isinstance(resume(marketplace, review).result, NotDue)
    assert len(marketplace.puts(review.process_id)) == 1


def test_a_retry_that_the_rules_refuse_by_now_waits_for_a_person(marketplace: Marketplace) -> None:
    """The seller has answered otherwise since: the old value must not go out on its own."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    submit(marketplace, review)
    marketplace.collect(review.process_id, review.seller_id, {"revenue": "1_to_2"})
    for _ in range(2):
        sending.resume_all(
            marketplace.settings(),
            recorded_by="test",
            patience_seconds=3,
            on_attempt=lambda *_: None,
        )
    assert marketplace.outcomes(review.process_id) == ["platform_error", "refused"]
    assert len(marketplace.puts(review.process_id)) == 1


def test_a_process_that_finished_elsewhere_is_not_sent_again(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=500, processes=True, process_id=review.process_id
    )
    submit(marketplace, review)
    marketplace.platform.settle()
    marketplace.append_review(review, "FINISHED")
    sending.resume_all(
        marketplace.settings(), recorded_by="test", patience_seconds=3, on_attempt=lambda *_: None
    )
    assert len(marketplace.puts(review.process_id)) == 1


# Dry runs


def test_a_dry_run_says_what_would_be_decided_and_records_nothing(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review(is_answered=False)
    settings = marketplace.settings()
    refused = sending.dry_run(settings, review.process_id, review.payload)
    assert isinstance(refused, Refused)
    assert isinstance(
        sending.dry_run(settings, review.process_id, review.payload, override=MARIA), Go
    )
    assert marketplace.starts(review.process_id) == []
    assert marketplace.inbox.find(process_id=review.process_id, kind="override") == []


def test_a_dry_run_begins_no_log(tmp_path: Path) -> None:
    """It made a new inbox, also where another machine begins the log or a backup is awaited."""
    with pytest.raises(InboxMissing):
        sending.dry_run(settings_in(tmp_path), "p1", b"{}")
    assert [*tmp_path.iterdir()] == []


def test_while_an_attempt_is_under_way_nothing_else_is_sent(marketplace: Marketplace) -> None:
    review = marketplace.review()
    at = instants.now()
    marketplace.append(
        kind="submission_started",
        occurred_at=instants.canonical(at),
        attempt_id=f"other of {review.process_id}",
        process_id=review.process_id,
        seller_id=review.seller_id,
        timeout_seconds=40,
        body=review.payload.decode(),
    )
    decided = sending.dry_run(marketplace.settings(), review.process_id, review.payload)
    assert decided == Busy(at + 40 * instants.SECOND)
