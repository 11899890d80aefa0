-- One row per entry of the log and process that it is about, in the order in which things happened: the whole
-- story of a process or a seller, filtered by its id.
-- key: seq, process_id
-- order: occurred_at, seq, process_id

select * exclude (shown_from, shown_until)
from timeline_rows
where shown_from <= as_of()
    and (shown_until is null or shown_until > as_of())
