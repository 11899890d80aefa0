-- One row per fact that states another instant or id than its entry.
-- key: seq, fact
-- column: seq | the entry
-- column: fact | the table of the fact

with stated as (
    select seq, 'webhooks' as fact, occurred_at, event_id as id from fact_webhooks
    union all
    select seq, 'reviews' as fact, occurred_at, process_id as id from fact_reviews
    union all
    select seq, 'seller_events' as fact, occurred_at, seller_id as id from fact_seller_events
    union all
    select seq, 'bank_account_events' as fact, occurred_at, seller_id as id
    from fact_bank_account_events
    union all
    select seq, 'attempt_starts' as fact, occurred_at, attempt_id as id from fact_attempt_starts
    union all
    select seq, 'attempt_finishes' as fact, occurred_at, attempt_id as id
    from fact_attempt_finishes
    union all
    select seq, 'collections' as fact, occurred_at, process_id as id from fact_collections
    union all
    select seq, 'quarantined' as fact, occurred_at, null as id from fact_quarantined
)

select stated.seq, stated.fact
from stated
left join log on log.seq = stated.seq
where stated.occurred_at is distinct from log.occurred_at
    or stated.id is distinct from case stated.fact
        when 'webhooks' then log.event_id
        when 'reviews' then log.process_id
        when 'collections' then log.process_id
        when 'attempt_starts' then log.attempt_id
        when 'attempt_finishes' then log.attempt_id
        when 'seller_events' then log.seller_id
        when 'bank_account_events' then log.seller_id
    end
