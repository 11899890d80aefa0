-- One row per denial: a `seller.denied` event that counts, newest first (docs/rules.md#denials).
-- open to: analysts
-- key: event_id
-- order: denied_at desc, event_id
-- by: seller_id
-- column: seller_id | who was denied
-- column: denied_at | when the platform created the event
-- column: seller_type | text | individual or business, as the event itself says; null where it does not
-- column: retry | whether a new onboarding can succeed; null where the platform does not say
-- column: reasons | text | the sorted distinct list of {reason, detail}; an absent or empty detail is null
-- column: codes | text | the same as a text to look for one in: each reason alone, then with its detail, between bars: `|A|A/B|`

select
    event_id,
    seller_id,
    created_at as denied_at,
    type as seller_type,
    retry,
    reason_pairs(reasons) as reasons,
    '|' || array_to_string(
        list_concat(
            list_sort(list_distinct([pair.reason for pair in reason_pairs(reasons)])),
            [pair.reason || '/' || pair.detail for pair in reason_pairs(reasons) if pair.detail is not null]
        ),
        '|'
    ) || '|' as codes
from seller_events
where event_type = 'seller.denied'
