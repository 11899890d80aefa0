-- Every collection of the processes that collections after `after` are about.
with fact_collections as (
    from main.fact_collections where process_id in (
        select process_id from main.fact_collections where seq > getvariable('after')
    )
)
