-- The log, its heads and its checkpoints. Identifiers compare byte by byte: an index must not depend
-- on a locale that upgrades change.

create schema if not exists prazo;

create table if not exists prazo.meta (name text primary key, value bytea not null);

create table if not exists prazo.entries (
    seq bigint primary key,
    kind text collate "C" not null,
    occurred_at bigint not null,        -- microseconds since the epoch, UTC, like every instant
    recorded_at bigint not null,
    origin text collate "C" not null,
    recorded_by text collate "C" not null,
    event_id text collate "C",
    attempt_id text collate "C",
    process_id text collate "C",
    seller_id text collate "C",
    status integer,
    process_n bigint,
    process_prev bigint,
    seller_n bigint,
    seller_prev bigint,
    is_again boolean not null,
    record bytea,
    body bytea,
    salt bytea,
    leaf bytea not null,
    ingest_key bytea
);

create index if not exists entries_process on prazo.entries (process_id, process_n)
    where process_id is not null;
create index if not exists entries_seller on prazo.entries (seller_id, seller_n)
    where seller_id is not null;
create index if not exists entries_event on prazo.entries (event_id) where event_id is not null;
create index if not exists entries_attempt on prazo.entries (attempt_id)
    where attempt_id is not null;
create unique index if not exists entries_ingest on prazo.entries (ingest_key)
    where ingest_key is not null;
create index if not exists entries_quarantine on prazo.entries (kind) where kind = 'quarantine';

create or replace function prazo.refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'append-only: entries are never changed or deleted';
end $$;

create or replace trigger entries_append_only
    before update or delete or truncate on prazo.entries
    for each statement execute function prazo.refuse_change();
alter table prazo.entries enable always trigger entries_append_only;

create table if not exists prazo.heads (
    id integer primary key check (id = 1),
    size bigint not null,
    root bytea not null
);

create table if not exists prazo.checkpoints (size bigint primary key, note text not null);

create table if not exists prazo.probes (
    id integer primary key check (id = 1),
    probed_at bigint not null
);
