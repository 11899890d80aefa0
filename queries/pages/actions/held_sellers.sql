-- One row per seller to whom the schedule sends nothing, since a person holds it for them or they wished so themselves
-- (docs/rules.md#seller-notices), and nobody has released it since.
-- key: seller_id
-- by: seller_id
-- column: seller_id | the seller
-- column: step | text | held, or stopped
-- column: wish | text | of their own: not_me, they are not the seller, or stop_writing; null where only a person holds it
-- column: held_at | since when
-- column: held_by | staff | who holds it; null of the seller's own wish
-- column: seq | the entry that says so

with steps as (
    select
        *,
        last_value(is_wish ignore nulls) over (
            partition by seller_id order by occurred_at, seq
        ) as is_wished
    from schedule_steps
    where seller_id is not null
        and process_id is null
),

standing as (
    select *
    from steps
    -- What a file releases ends no wish that was recorded here.
    where step <> 'released' or is_wished is distinct from true
    qualify count(*) filter (where step = 'released') over (
        partition by seller_id order by occurred_at desc, seq desc
    ) = 0
)

select
    seller_id,
    step,
    wish,
    occurred_at as held_at,
    actor as held_by,
    reason,
    seq
from standing
where step in ('held', 'stopped')
-- A person's hold hides no wish, and whoever is not the seller stays so, whatever else they press.
qualify row_number() over (
    partition by seller_id
    order by coalesce(wish = 'not_me', false) desc, wish is not null desc, occurred_at desc, seq desc
) = 1
