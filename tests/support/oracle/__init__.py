"""An independent answer to every view, in plain Python, written from the rules alone.

`rows(view, history, as_of)` gives the rows that a view must hold. The oracle imports nothing of
the product, so that a misreading of the rules cannot be shared by both. It is slow and plain on
purpose: each function should read like the paragraph of docs/rules.md that it follows.

    reading.py     bytes and text -> instants, JSON, fields
    model.py       a history -> what counts, once
    deliveries.py  deliveries, redeliveries, quarantine, bank accounts
    attempts.py    attempts and their outcomes
    submissions.py lists and counts of attempts
    processes.py   states, clocks, watchlist, calendar
    sellers.py     sellers, onboarding, denials
    payload.py     what a payload had to hold
    evidence.py    collections and coverage
    notices.py     how sellers were notified, what they are asked next, queues
    schedules.py   whom the schedule of notices asks by itself
    tries.py       what is retried, given up, and when a ticket is due
    trends.py      how it goes over time
    alerts.py      what is alarming
    findings/      broken rules, one module for what each is about

Instants are naive `datetime` in UTC, days are `date`, shares are `float` or None. A history is a
list of dicts as in docs/operations.md#files-of-occurrences, in the order of recording; beyond them
a line may carry:

    origin           "live" or "ingested" (the default); only ingested lines are counted once
    recorded_at      an instant; occurred_at where absent, and never before the entry before
    via              on a live submission_started: cli, api or gateway
    timeout_seconds  on submission_started; 60 where absent
    replay_of        on webhook: the seq of the quarantined delivery that it replays; its body may
                     hold what a person supplied

and five kinds more: `override` (process_id, attempt_id, gates, reason, actor), `replacement`
(process_id, reason, actor), `ticket` (process_id, number, actor, step: opened or closed),
`assignment` (process_id, assignee) and `reminded` (process_id).

Readings
--------
Where docs/rules.md leaves room, this is how it is read here.

Bytes and text
 1. An instant needs a date and a time to the minute at least; a date alone is none, nor is a
    number. ISO 8601's basic format, 24:00 (the next midnight) and second 60 (the one after 59)
    are read. An unreadable `created_at` counts as absent.
 2. A readable code is a string that is not empty; an id may be a whole number too, of which 5.0
    is none. An event whose `id` cannot be read has none.
 3. A `body` given as an object has the bytes of its compact JSON, keys sorted, UTF-8: two
    lines that differ in key order or spacing alone are one.
 4. Half of a surrogate pair is not UTF-8: quarantine. A whole number is beyond range below -2**63
    and from 2**64 on, any other where a double is.
 5. An empty list of `requested_fields` is readable, and so is "" in one. Order and repetitions
    stay. What was requested at an attempt's start is worked out likewise.
 6. The same JSON value is the same compact sorted spelling: 1 is not 1.0.

Counting once
 7. Collections, overrides, replacements and tickets have no id: equal in occurred_at and content
    they count once, live ones too, since a repeated request must not change a row.
 8. The content of a submission entry is its line without kind, instant and nulls, and without
    what it says of its recording (`origin`, `recorded_at`, `via`); its body is text. Of equal
    ones a live one's `via` stands, then the smaller.
 9. Versions first seen at one instant: the first is the one of the smaller SHA-256. A version
    that is not a review and not the latest says nothing but in deliveries, redeliveries and
    `event_altered`; an event type that the contract does not list, nothing but deliveries and
    `new_code`.
10. A quarantined delivery is a row of `deliveries` but no delivery of its event. `quarantine`
    and `quarantined` have one row per entry, repeated live ones included. A delivery "seen
    before" is one recorded before, which may not be of the first version; altered is what has
    another content than that.

Processes
11. `finished_at` by submission is the earliest end of any attempt answered 200 (not the end of
    the earliest started one): a later answer must not move a finish.
12. `seller_id` is null where the earliest event does not name one readably. A process that only
    a refusal names has a row (UNKNOWN, no attempts), and a refusal may name its seller. "The
    first attempt" and "the first collection" that name a seller are meant; collections that
    tie: the smaller seller_id.
13. `last_attempt_at` of an attempt whose start is lost is its finish.
14. Without a review event the five flags are null, and `finished_late` is null once finished.
15. An open status is PENDING, OVERDUE or EXPIRED. UNKNOWN processes are in no calendar, no
    watchlist and not in `open_processes`.
16. Worst first: EXPIRED before OVERDUE, then the earlier deadline, then process_id.
17. `state_daily` is `process_state` at each day's end, receipts included: a day between an
    event's `created_at` and its receipt has a row that does not count it. None while the first
    `opened_at` lies after `as_of`'s day.

Attempts
18. A finish with neither a status nor a known error is `unknown`. A status stands before an error.
    `via` is "ingested" for an ingested start, and null where the start is lost.
19. The timeout is over at start + timeout_seconds exactly; one that is not a number >= 0 is 60.
20. `in_flight` is not a failure, but such a process counts as one with an attempt. The first 200 is
    the one that ended first. `submission_outcomes` takes an attempt whose start is lost by the
    day of its finish.
21. A try is a run of attempts with equal bytes. It is given up at the first instant at which a
    retry is pending and 24 h have passed since its first start, or 30 of its attempts have
    ended; not once the process is finished, the payload replaced, or another attempt started.
    What comes later does not undo it.
22. `ticket_due` is false without attempts. A ticket is open where the latest entry says so; at
    one instant a closing stands.

Sellers
23. A record is `payload.object` where it has an id, else `payload` where that has one.
24. "Carries" a field: the key is there and not null; of an instant and of `status`, readable.
25. `analysis_seconds` is from the earliest seller.created to the earliest enabled or denied, by
    `created_at`, negative if they say so. `onboarding_analysis` goes by the day of that
    decision; exactly 180 s is within; p99 is by nearest rank, no interpolation.
26. `retry` that is not a boolean is null. A reason item without a reason is left out.
27. Re-onboarded: created strictly after the first denial. Wasted: by the earliest such creation,
    and the denied seller's own latest denial strictly before it. Taxpayer ids compare by ASCII
    letters and digits. "That seller's earliest event" is by created_at, of any event that
    names it.
28. A bank account's seller is the first readable of `customer_id` and `seller_id` of
    `payload.object`, then of `payload`; one row per event.
29. `metadata` and personal fields are left out of `seller_state` here.

Evidence
30. A try, an attempt or a field is judged by what was received by the attempt's start: also the
    review type, for `acp_incomplete` and `aci_extra_field`. `opened_at` is that at `as_of`.
31. The evidence of a field is the latest `answered` collection with its path at or before the
    start, where that has the value sent; of two at one instant the one with the greater
    SHA-256 (of the line without kind, instant, process and seller). Where there is none:
    `field_without_evidence`; not the seller's: `source_not_seller`; too old:
    `evidence_before_request`. `evidence_recorded_late` is about that same evidence.
32. Without an `opened_at` no answer is too old. An empty object is a field; an array is one.
33. `covered` asks for every sending of the field to be covered: a later one undoes no breach.
    `sent_at` is the latest start, `answered_at` the latest answer whatever its source.
34. A requested `address`, `owner.address` or `owner` stands for the fields of a full address and
    the owner's revenue; `line2` has a row only where it was answered or sent.

Findings
35. Subjects: the process; for the three evidence rules the process and path (its first
    uncovered sending); for `acp_incomplete` and `aci_extra_field` the process and payload
    bytes (the first attempt with them); for `payload_changed_on_retry` the attempt; for
    `retries_exhausted` the try; for `values_reused` the accepted attempt; for
    `evidence_recorded_late` the collection; for `evidence_reused` the journey or artifact and
    each process but the one that had it first; for `event_altered` the version; for
    `attempt_without_start` the attempt; for `status_after_deletion` the event.
36. `found_at` and `seq`: see findings/.
37. `acp_incomplete` asks for `process_id` too, since the rules list it, but not where the
    first attempt with these bytes came by the gateway, nor for a path below `process_id` or
    `type`; a shown field sent as null is missing. A missing requested field of an ACI has no
    rule. An unknown review type is judged by neither.
38. `values_reused`: one earlier submission, started before, for another process of the same
    seller, holds every field sent; whatever became of it. The seller is the one that the attempt's
    entries name, else its process's.
39. `payload_changed_on_retry` compares with the attempt right before; its outcome is that at
    the new start; a replacement entry after the one start and not after the other excuses it.
    One at the instant of a start allowed that start's payload. Lost bytes are not compared.
40. `overdue_unstarted`: OVERDUE since the clock or the first report of the current deadline.
41. `unauthorized`, `tls_refused`: an answer at the very instant of the refusal is not later; an
    answer is a status.
42. `new_code` reads the versions that count. An event without an id, and a seller event
    without a record, are codes of their event type. A known detail under another reason is none.
    Of versions at one instant that of the smaller process_id is the first, then of the seller.
43. `finished_elsewhere`, `answer_lost`: found when the last attempt that started strictly before
    the finish had ended (one without a start: by its finish); only such attempts are looked at.
44. `unreadable_part` is about the versions that count. Its detail is the part's name and what
    came, in one spelling cut to 100 characters, or `missing`; what may be about a person is
    masked. Of a seller event with a record the rules read `record.id`, `record.created_at` and
    `record.status` too; of one without a record, the first id that stands where a record's would;
    of a denial `decision_reasons` and `retry`, which count as unread where they stand beside the
    record. An ACI's empty list is judged by the event's own type, whatever its status.
45. `status_after_deletion`: any of the five status events, after the first `seller.deleted`.
    `deleted_with_open` is found when both are so.

Notices to sellers
46. Results and retractions without a process have a key of their own: of both kinds the earliest
    counts. Content is as in 8; of equal ones the first recorded counts.
47. A contact is one from the instant of its first good result on, also where a notice itself is
    dated later; before that it is none. It is withdrawn at the earliest of its withdrawals.
48. A step is never withdrawn, and nobody's name stands by it. An invitation is a contact whatever
    its source; one whose `expires_at` is null is one without.
49. Where two processes of one message tie for the last contact, the smaller process_id has it.
50. `never_notified` has no alert of its own: its process has one for being EXPIRED, or for
    `finished_late`.
51. `never_notified` has the seq of `expired_unfinished` or `finished_late`, `notified_late` that
    of the first receipt; `contact_recorded_late` is about each message and process.

Over time
52. A step after the finish, or before the opening, is none, also where no other is. A process that
    was finished before it was opened has no step at all.
53. By person and channel: months are those of `deadline_at` for what is due, of `finished_at` for
    phases. An end that is dated after `as_of` has not come.
"""

from datetime import datetime

from . import deliveries, evidence, findings, notices, processes, sellers, submissions, trends
from .model import Log, entries

VIEWS = {
    "process_state": processes.process_state,
    "watchlist": processes.watchlist,
    "expired_processes": processes.expired_processes,
    "deadline_calendar": processes.deadline_calendar,
    "state_daily": processes.state_daily,
    "submission_attempts": submissions.submission_attempts,
    "submission_outcomes": submissions.submission_outcomes,
    "submission_retries": submissions.submission_retries,
    "seller_state": sellers.seller_state,
    "onboarding_analysis": sellers.onboarding_analysis,
    "denials": sellers.denials,
    "denial_reasons": sellers.denial_reasons,
    "denial_retries": sellers.denial_retries,
    "returned_sellers": sellers.returned_sellers,
    "collections": evidence.collections,
    "evidence_coverage": evidence.evidence_coverage,
    "findings": findings.findings,
    "bank_accounts": deliveries.bank_accounts,
    "deliveries": deliveries.deliveries,
    "redeliveries": deliveries.redeliveries,
    "quarantine": deliveries.quarantine,
    "seller_notices": notices.seller_notices,
    "seller_watchlist": notices.seller_watchlist,
    "on_time_by_month": trends.on_time_by_month,
    "on_time_by_week": trends.on_time_by_week,
    "on_time_by_person": trends.on_time_by_person,
    "on_time_by_channel": trends.on_time_by_channel,
    "phase_durations": trends.phase_durations,
    "phases_by_person": trends.phases_by_person,
    "phases_by_channel": trends.phases_by_channel,
    "denials_by_month": trends.denials_by_month,
    "denial_changes": trends.denial_changes,
    "denial_fields": trends.denial_fields,
    "on_time_by_seller_type": trends.on_time_by_seller_type,
    "phases_by_seller_type": trends.phases_by_seller_type,
    "after_expiry": trends.after_expiry,
    "outcomes_by_week": submissions.outcomes_by_week,
    "outcomes_by_hour": submissions.outcomes_by_hour,
    "failures_by_day": submissions.failures_by_day,
    "retries_by_outcome": submissions.retries_by_outcome,
    "failure_times": submissions.failure_times,
    "failure_time_by_month": submissions.failure_time_by_month,
    "forecast": trends.forecast,
}


def rows(view: str, history: list[dict], as_of: datetime) -> list[dict]:
    """The rows of `view` over `history` as of that instant (naive means UTC)."""
    return VIEWS[view](Log(entries(history), as_of))
