-- The log, its heads and its checkpoints.

create table meta (name text primary key, value blob not null) strict;

create table entries (
    seq integer primary key,
    kind text not null,
    occurred_at integer not null,       -- microseconds since the epoch, UTC, like every instant
    recorded_at integer not null,
    origin text not null,
    recorded_by text not null,
    event_id text,
    attempt_id text,
    process_id text,
    seller_id text,
    status integer,
    process_n integer,
    process_prev integer,
    seller_n integer,
    seller_prev integer,
    is_again integer not null,
    record blob,
    body blob,
    salt blob,
    leaf blob not null,
    ingest_key blob
) strict;

create index entries_process on entries (process_id, process_n) where process_id is not null;
create index entries_seller on entries (seller_id, seller_n) where seller_id is not null;
create index entries_event on entries (event_id) where event_id is not null;
create index entries_attempt on entries (attempt_id) where attempt_id is not null;
create unique index entries_ingest on entries (ingest_key) where ingest_key is not null;
create index entries_quarantine on entries (kind) where kind = 'quarantine';

create trigger entries_no_update before update on entries
begin select raise(abort, 'append-only: entries are never changed'); end;
create trigger entries_no_delete before delete on entries
begin select raise(abort, 'append-only: entries are never deleted'); end;

create table heads (
    id integer primary key check (id = 1),
    size integer not null,
    root blob not null
) strict;

create table checkpoints (size integer primary key, note text not null) strict;

create table probes (id integer primary key check (id = 1), probed_at integer not null) strict;
