-- One row per entry that lacks what its kind has to have beside its one fact, or has it without reason:
-- the review in a review event, the seller record in a seller event of a known shape, the bank account
-- event, fields that belong to no attempt or answer, and unreadable parts of no delivery.
-- key: seq, fact
-- column: seq | the entry
-- column: fact | the table that lacks a row or has one too many

with expected as (
    select
        seq,
        case contract.event_family(event_type)
            when 'review' then 'reviews'
            when 'seller' then if(is_shape_known, 'seller_events', null)
            when 'bank account' then 'bank_account_events'
        end as fact
    from fact_webhooks
),

found as (
    select seq, 'reviews' as fact from fact_reviews
    union all
    select seq, 'seller_events' as fact from fact_seller_events
    union all
    select seq, 'bank_account_events' as fact from fact_bank_account_events
),

orphans as (
    select seq, 'sent_fields' as fact
    from fact_sent_fields
    anti join fact_attempt_starts using (seq)
    union
    select seq, 'answered_fields' as fact
    from fact_answered_fields
    anti join (select seq from fact_collections where step = 'answered') as answers using (seq)
    union
    select seq, 'unreadable_parts' as fact
    from fact_unreadable_parts
    anti join fact_webhooks using (seq)
    union
    select seq, 'artifacts' as fact
    from fact_artifacts
    anti join fact_collections using (seq)
)

select seq, fact
from (
    select seq, fact, 1 as one from expected where fact is not null
    union all
    select seq, fact, -1 as one from found
)
group by seq, fact
having sum(one) <> 0
union all
select seq, fact
from orphans
