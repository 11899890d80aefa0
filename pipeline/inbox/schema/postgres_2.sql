-- Who may send for a process now, the public keys that may sign for the log, and the bytes of
-- artifacts, where every machine reaches them.

create table if not exists prazo.leases (
    name text collate "C" primary key,
    number bigint not null,             -- of the latest holder; it only grows
    holder text not null,
    held_until bigint not null
);

create table if not exists prazo.signing_keys (
    number integer primary key,         -- 1 is the first key of the log
    verification_key text collate "C" not null unique,
    registered_at bigint not null
);

create index if not exists entries_key_rotation on prazo.entries (kind)
    where kind = 'key_rotation';

create or replace trigger signing_keys_append_only
    before update or delete or truncate on prazo.signing_keys
    for each statement execute function prazo.refuse_change();
alter table prazo.signing_keys enable always trigger signing_keys_append_only;

create table if not exists prazo.artifact_chunks (
    sha256 text collate "C" not null,   -- of the whole artifact, in hex
    position integer not null,          -- of the chunk in its artifact, from 0
    bytes bytea not null,
    primary key (sha256, position)
);
alter table prazo.artifact_chunks alter column bytes set storage external;

create table if not exists prazo.heartbeats (
    name text collate "C" primary key,
    at bigint not null                  -- when this part of the product last said that it was well
);

-- What was noticed about clocks, for whoever opens the inbox.
create index if not exists entries_clock on prazo.entries (seq) where kind = 'clock';

-- Which artifacts entries name is read from collections alone.
create index if not exists entries_collection on prazo.entries (seq) where kind = 'collection';

-- What was recorded once more after the inbox had lost it.
create index if not exists entries_reconciliation on prazo.entries (seq)
    where kind = 'reconciliation';
