"""An independent answer to every view, in plain Python, written from the rules alone.

`rows(view, history, as_of)` gives the rows that a view must hold. The oracle imports nothing of
the product, so that a misreading of the rules cannot be shared by both. It is slow and plain on
purpose: each function should read like the paragraph of rules.md that it follows.

    reading.py     bytes and text -> instants, JSON, leaves
    model.py       a history -> what counts, once
    deliveries.py  deliveries, redeliveries, quarantine, bank accounts
    attempts.py    attempts, outcomes, retries
    processes.py   states, clocks, watchlist, calendar
    sellers.py     sellers, onboarding, denials
    payload.py     what a payload had to hold
    evidence.py    collections and coverage
    findings.py    broken rules, from process_findings.py, evidence_findings.py,
                   attempt_findings.py and delivery_findings.py

Instants are naive `datetime` in UTC, days are `date`, shares are `float` or None. A history is a
list of dicts as in interfaces.md "NDJSON occurrences", in the order of recording; beyond them a
line may carry:

    origin           "live" or "ingested" (the default); only ingested lines are counted once
    recorded_at      an instant; occurred_at where absent, and never before the entry before
    via              on a live submission_started: cli, api or gateway
    timeout_seconds  on submission_started; 60 where absent
    replay_of        on webhook: the seq of the quarantined delivery that it replays

and two kinds more: `override` (process_id, attempt_id, gates, reason, actor) and `replacement`
(process_id, reason, actor).

Readings
--------
Where rules.md leaves room, this is how it is read here.

Bytes and text
 1. An instant needs a date and a time to the minute at least; a date alone is none. An
    unreadable `created_at` counts as absent.
 2. A readable identifier or code is a string that is not empty. An `id` or `type` that is a
    number, null or "" is absent.
 3. A `body` given as an object has the bytes of its compact JSON, keys sorted, UTF-8: two
    lines that differ in key order or spacing alone are one.
 4. Half of a surrogate pair is not UTF-8: quarantine. An integer is beyond range where a double
    is (2**64 + 1 is not).
 5. Missing or malformed `requested_fields` are an empty list; items that are no text are left
    out; order and repetitions stay.

Counting once
 6. Collections, overrides and replacements have no id: equal in occurred_at and content they
    count once, live ones too, since a repeated request must not change a row.
 7. Submission entries of one attempt_id and kind that tie in instant and in body bytes: a live
    one counts before an ingested one, then the smaller content (compact sorted JSON of the rest
    of the line).
 8. An altered delivery says nothing anywhere but in deliveries, redeliveries and the finding;
    an event type that the contract does not list, nothing but deliveries and `new_code`.
 9. A quarantined delivery is a row of `deliveries` but no delivery of its event. `quarantine`
    and `quarantined` have one row per entry, repeated live ones included. A delivery "seen
    before" is one recorded before, which may not be the one that counts.

Processes
10. `finished_at` by submission is the earliest end of any attempt answered 200 (not the end of
    the earliest started one): a later answer must not move a finish.
11. A process that only a refusal names has a row (UNKNOWN, no attempts), and a refusal may name
    its seller. "The first attempt" and "the first collection" that name a seller are meant;
    collections that tie: the smaller seller_id.
12. `last_attempt_at` of an attempt whose start is lost is its finish.
13. Without a review event the five flags are null, and `finished_late` is null once finished.
14. An unknown review type has no total deadline: `deadline_mismatch` is false.
15. An open status is PENDING, OVERDUE or EXPIRED. UNKNOWN processes are in no calendar, no
    watchlist and not in `open_processes`.
16. Worst first: EXPIRED before OVERDUE, then the earlier deadline, then process_id.
17. `state_daily` is `process_state` at each day's end, receipts included: a day between an
    event's `created_at` and its receipt has a row that does not count it. None while the first
    `opened_at` lies after `as_of`'s day.

Attempts
18. A finish with neither a status nor a known error is `unknown`. A status stands before an error.
    `via` is "ingested" for an ingested start, and null where the start is lost.
19. The timeout is over at start + timeout_seconds exactly; one that is no number >= 0 is 60.
20. `in_flight` is no failure, but such a process counts as one with an attempt. Accepted "after"
    a failure is by the order of attempts. `submission_outcomes` takes an attempt whose start is
    lost by the day of its finish.

Sellers
21. A record is `payload.object` where it has an id, else `payload` where that has one.
22. "Carries" a field: the key is there and not null.
23. `analysis_seconds` is from the earliest seller.created to the earliest enabled or denied, by
    `created_at`, negative if they say so. `onboarding_analysis` goes by the day of that
    decision; exactly 180 s is within; p99 is by nearest rank, no interpolation.
24. `retry` that is no boolean is null. A reason item without a reason is left out.
25. Re-onboarded: created strictly after the first denial. Wasted: by the earliest such creation,
    and the denied seller's own latest denial strictly before it. Taxpayer ids compare by ASCII
    digits; one without digits is none. "That seller's earliest event" is by created_at, of any
    event that names it.
26. A bank account's seller is `customer_id`, else `seller_id`, of `payload.object`, else of
    `payload`; one row per event.
27. `metadata`, `decision_reasons` and personal fields are left out of `seller_state` here.

Evidence
28. A try, an attempt or a leaf is judged by what was received by the attempt's start: also the
    review type, for `acp_incomplete` and `aci_extra_field`. `opened_at` is that at `as_of`.
29. The evidence of a leaf is the latest `answered` collection with its path and value, at or
    before the start; ties by journey_id, source, value, the greater. Where there is none:
    `field_without_evidence`; not the seller's: `source_not_seller`; too old:
    `evidence_before_request`. Where it is sound, but the seller has answered otherwise since,
    the leaf is not covered (section 4) and is `field_without_evidence` too: section 4 promises
    a finding for every uncovered leaf. `evidence_recorded_late` is about that same evidence,
    from whatever source.
30. Without an `opened_at` no answer is too old. An empty object is a leaf; an array is one.
31. `covered` asks for every sending of the leaf to be covered: a later one mends no breach.
    `sent_at` is the latest start, `answered_at` the latest answer whatever its source.
32. A requested `address`, `owner.address` or `owner` stands for the leaves of a full address and
    the owner's revenue; `line2` has a row only where it was answered or sent.

Findings
33. Subjects: the process; for the three evidence rules the process and leaf path (its first
    uncovered sending); for `acp_incomplete` and `aci_extra_field` the process and payload
    bytes (the first attempt with them); for `payload_changed_on_retry` the attempt; for
    `retries_exhausted` the try; for `values_reused` the accepted attempt; for
    `evidence_recorded_late` the collection; for `evidence_reused` the journey or artifact and
    each process but the one that had it first; for `event_altered` the event.
34. `found_at` and `seq`: see findings.py.
35. `acp_incomplete` asks for `process_id` too, since section 4 lists it; a shown field sent as
    null is missing. A missing requested field of an ACI has no rule. An unknown review type is
    judged by neither.
36. `values_reused`: one earlier submission, started before, for another process of the same
    seller, holds every leaf sent; whatever became of it.
37. `payload_changed_on_retry` compares with the attempt right before; its outcome is that at
    the new start; a replacement entry from the one start to the other, both included, excuses
    it. Lost bytes are not compared.
38. A try is a run of attempts with equal bytes. It is given up at the first instant at which a
    retry is pending and 24 h have passed since its first start, or its 30th attempt has ended;
    not once the process is finished, the payload replaced, or another attempt started. What
    comes later does not undo it.
39. `overdue_unstarted`: OVERDUE since the clock or the first report of the current deadline.
40. `unauthorized`: a 200 at the very instant of the 401 is not later.
41. `new_code` reads the deliveries that count. An event without an id, and a seller event
    without a record, are codes of their event type. A known detail under another reason is none.
"""

from datetime import datetime

from . import attempts, deliveries, evidence, findings, processes, sellers
from .model import Log, entries

VIEWS = {
    "process_state": processes.process_state,
    "watchlist": processes.watchlist,
    "expired_processes": processes.expired_processes,
    "deadline_calendar": processes.deadline_calendar,
    "state_daily": processes.state_daily,
    "submission_attempts": attempts.submission_attempts,
    "submission_outcomes": attempts.submission_outcomes,
    "submission_retries": attempts.submission_retries,
    "seller_state": sellers.seller_state,
    "onboarding_analysis": sellers.onboarding_analysis,
    "denials": sellers.denials,
    "denial_reasons": sellers.denial_reasons,
    "denial_retries": sellers.denial_retries,
    "collections": evidence.collections,
    "evidence_coverage": evidence.evidence_coverage,
    "findings": findings.findings,
    "bank_accounts": deliveries.bank_accounts,
    "deliveries": deliveries.deliveries,
    "redeliveries": deliveries.redeliveries,
    "quarantine": deliveries.quarantine,
}


def rows(view: str, history: list[dict], as_of: datetime) -> list[dict]:
    """The rows of `view` over `history` as of that instant (naive means UTC)."""
    return VIEWS[view](Log(entries(history), as_of))
