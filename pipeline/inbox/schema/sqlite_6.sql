-- The bytes of an entry may be erased, once, with their salt: what stays of them takes their place. All
-- else stays as it is.

drop trigger entries_no_update;

create trigger entries_no_update before update on entries
when not (
    old.salt is not null and new.salt is null and new.body is not null
    and new.seq is old.seq and new.kind is old.kind and new.occurred_at is old.occurred_at
    and new.recorded_at is old.recorded_at and new.origin is old.origin and new.recorded_by is old.recorded_by
    and new.event_id is old.event_id and new.attempt_id is old.attempt_id and new.process_id is old.process_id
    and new.seller_id is old.seller_id and new.status is old.status and new.process_n is old.process_n
    and new.process_prev is old.process_prev and new.seller_n is old.seller_n and new.seller_prev is old.seller_prev
    and new.is_again is old.is_again and new.record is old.record and new.leaf is old.leaf
    and new.ingest_key is old.ingest_key and new.is_compressed is old.is_compressed
)
begin select raise(abort, 'append-only: entries are never changed'); end;

-- Which entries were erased is asked at each start.
create index entries_erasure on entries (seq) where kind = 'erasure';

-- What commands want sent once more is asked each second: no dead letter is read for that.
create index forward_wishes on forward_waiting (endpoint)
    where tries = 0 and first_tried_at is null and dead_at is null;
