-- One row per seller of an open review of whom whoever got the messages said that they are not that person, until
-- somebody lets messages go on (docs/notices.md#by-itself). The alert is about the review that is open for longest.
-- in: alarming_conditions
-- key: kind, subject
--
-- condition: not_me
-- place: 80
-- severity: risk
-- role: officer
-- name: Whoever got the messages is not the seller
-- advice: Call the seller by another way, correct the address with the platform, then let messages go on

select
    'not_me' as condition,
    'not_me' as kind,
    concat_ws(':', seq, process_id) as subject,
    process_id,
    seller_id,
    since,
    seq
from (
    select
        held.seq,
        arg_min(process_id, struct_pack(opened_at, process_id)) as process_id,
        held.seller_id,
        greatest(held_at, min(opened_at)) as since
    from held_sellers as held
    join unfinished_processes on unfinished_processes.seller_id = held.seller_id
    where wish = 'not_me'
    group by held.seq, held.seller_id, held_at
)
