-- Every collection of the processes that collections after `after` are about.
with asked_collections as (
    from facts.collections where process_id in (
        select process_id from facts.collections where seq > getvariable('after')
    )
)

from asked_collections
