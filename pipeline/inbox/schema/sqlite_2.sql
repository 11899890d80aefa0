-- Who may send for a process now, and the public keys that may sign for the log.

create table leases (
    name text primary key,
    number integer not null,            -- of the latest holder; it only grows
    holder text not null,
    held_until integer not null
) strict;

create table signing_keys (
    number integer primary key,         -- 1 is the first key of the log
    verification_key text not null unique,
    registered_at integer not null
) strict;

create index entries_key_rotation on entries (kind) where kind = 'key_rotation';

create trigger signing_keys_no_update before update on signing_keys
begin select raise(abort, 'append-only: signing keys are never changed'); end;
create trigger signing_keys_no_delete before delete on signing_keys
begin select raise(abort, 'append-only: signing keys are never deleted'); end;

create table heartbeats (
    name text primary key,
    at integer not null                 -- when this part of the product last said that it was well
) strict;

-- What was noticed about clocks, for whoever opens the inbox.
create index entries_clock on entries (seq) where kind = 'clock';

-- Which artifacts entries name is read from collections alone.
create index entries_collection on entries (seq) where kind = 'collection';

-- What was recorded once more after the inbox had lost it.
create index entries_reconciliation on entries (seq) where kind = 'reconciliation';
