-- The log, its heads, its checkpoints, and the public keys that may sign for it. Identifiers compare
-- byte by byte: an index must not depend on a locale that upgrades change.

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
    pseudonym text collate "C",          -- of who answers for it (actors)
    ingest_key bytea,
    is_compressed boolean not null default false    -- body and leaf of a webhook (rows.py)
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
create index if not exists entries_key_rotation on prazo.entries (kind)
    where kind = 'key_rotation';

-- What was noticed about clocks, for whoever opens the inbox.
create index if not exists entries_clock on prazo.entries (seq) where kind = 'clock';

-- Which artifacts entries name is read from collections alone.
create index if not exists entries_collection on prazo.entries (seq) where kind = 'collection';

-- What was recorded once more after the inbox had lost it.
create index if not exists entries_reconciliation on prazo.entries (seq)
    where kind = 'reconciliation';

-- What was recorded about passing deliveries on.
create index if not exists entries_forwarding on prazo.entries (seq) where kind = 'forwarding';

-- Which entries were erased is asked at each start.
create index if not exists entries_erasure on prazo.entries (seq) where kind = 'erasure';

create or replace function prazo.refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'append-only: entries are never changed or deleted';
end $$;

-- The bytes of an entry may be erased, once, with their salt: what stays of them takes their place. All
-- else stays as it is.
create or replace function prazo.refuse_all_but_erasing() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and old.salt is not null and new.salt is null and new.body is not null
        and to_jsonb(new) - 'body' - 'salt' = to_jsonb(old) - 'body' - 'salt'
    then
        return new;
    end if;
    raise exception 'append-only: entries are never changed or deleted';
end $$;

create or replace trigger entries_append_only
    before update or delete on prazo.entries
    for each row execute function prazo.refuse_all_but_erasing();
alter table prazo.entries enable always trigger entries_append_only;

create or replace trigger entries_no_truncate
    before truncate on prazo.entries
    for each statement execute function prazo.refuse_change();
alter table prazo.entries enable always trigger entries_no_truncate;

create table if not exists prazo.heads (
    id integer primary key check (id = 1),
    size bigint not null,
    root bytea not null
);

create table if not exists prazo.checkpoints (size bigint primary key, note text not null);

create table if not exists prazo.signing_keys (
    number integer primary key,         -- 1 is the first key of the log
    verification_key text collate "C" not null unique,
    registered_at bigint not null
);

create or replace trigger signing_keys_append_only
    before update or delete or truncate on prazo.signing_keys
    for each statement execute function prazo.refuse_change();
alter table prazo.signing_keys enable always trigger signing_keys_append_only;

-- The names of those whom entries hold as pseudonyms (pipeline/log/actors.py). A row that goes takes the name
-- with it; none is changed.

create table if not exists prazo.actors (
    pseudonym text collate "C" primary key,
    name bytea not null,
    salt bytea not null
);

create index if not exists actors_name on prazo.actors (name);

create or replace trigger actors_no_update
    before update or truncate on prazo.actors
    for each statement execute function prazo.refuse_change();
alter table prazo.actors enable always trigger actors_no_update;

-- Who may write or send now, and which parts of the product are well.

create table if not exists prazo.leases (
    name text collate "C" primary key,
    number bigint not null,             -- of the latest holder; it only grows
    holder text not null,
    held_until bigint not null
);

create table if not exists prazo.heartbeats (
    name text collate "C" primary key,
    at bigint not null                  -- when this part of the product last said that it was well
);

-- Which release each part runs, for whoever upgrades (pipeline/inbox/parts.py).
create table if not exists prazo.parts (
    part text collate "C" not null,
    process text collate "C" not null,  -- its machine's name, and its number there
    release text not null,
    version integer not null,           -- of the tables that it knows
    started_at bigint not null,
    seen_at bigint not null,
    primary key (part, process)
);

create table if not exists prazo.probes (
    id integer primary key check (id = 1),
    probed_at bigint not null
);

-- How far deliveries were passed on to each endpoint of the marketplace, and what waits for one.

create table if not exists prazo.forward_endpoints (
    name text collate "C" primary key,
    generation bigint not null,         -- it grows with each holder and rewind, and fences writes
    position bigint not null,           -- entries up to it are settled, or stand in forward_waiting
    leaf bytea,                         -- of the entry there; null at the beginning of the log
    paused_at bigint,
    last_success_at bigint,
    failing_since bigint,               -- the first failure since the last success
    reported_at bigint not null,        -- of the last entry in the log that says all this
    reported_position bigint not null
);

-- A seller's later deliveries wait behind the one that stands here, and need no rows of their own.
create table if not exists prazo.forward_waiting (
    endpoint text collate "C" not null,
    lane text collate "C" not null,     -- `seller <id>`, or `entry <seq>` of one that waits alone
    seq bigint not null,
    tries bigint not null,
    first_tried_at bigint,
    due_at bigint not null,
    error text,
    dead_at bigint,                     -- it was given up: the dead-letter list
    primary key (endpoint, lane)
);

-- What commands want sent once more is asked each second: no dead letter is read for that.
create index if not exists forward_wishes on prazo.forward_waiting (endpoint)
    where tries = 0 and first_tried_at is null and dead_at is null;

-- Links by which sellers answer a review, who has opened one, and what they did there.

create table if not exists prazo.journeys (
    ref text collate "C" primary key,               -- the number that the seller sees; it opens nothing
    token_sha256 text collate "C" not null unique,  -- of the secret in the link, which is kept nowhere
    process_id text collate "C" not null,
    seller_id text collate "C" not null,
    channel text not null,              -- by which the link goes to the seller
    email text,                         -- where a code is sent; forgotten at the end
    return_url text,
    only_paths text,                    -- JSON: fields to be corrected; null: all that is asked
    review text not null,               -- JSON: what the process asked for when the link was made
    minted_at bigint not null,
    expires_at bigint not null,
    revoked_at bigint,
    opened_at bigint,
    confirmed_at bigint,
    code_sha256 text,
    code_sent_at bigint,
    code_tries bigint not null default 0,
    codes_sent bigint not null default 0,
    submitting_until bigint not null default 0,
    settled_at bigint                  -- nothing is left to be sent of its answers
);

create index if not exists journeys_process on prazo.journeys (process_id);
create index if not exists journeys_unsettled on prazo.journeys (confirmed_at)
    where confirmed_at is not null and settled_at is null;

create table if not exists prazo.journey_sessions (
    session_sha256 text collate "C" primary key,    -- of the secret in the cookie
    ref text collate "C" not null,
    began_at bigint not null,
    seen_at bigint not null
);

create table if not exists prazo.journey_flow (
    ref text collate "C" not null,
    at bigint not null,
    event text not null,
    screen text,
    detail text
);

create index if not exists journey_flow_ref on prazo.journey_flow (ref, at);

create table if not exists prazo.journey_refusals (
    hour bigint not null,              -- its first microsecond
    reason text collate "C" not null,
    refusals bigint not null,
    primary key (hour, reason)
);

-- The bytes of artifacts, where every machine reaches them.

create table if not exists prazo.artifact_chunks (
    sha256 text collate "C" not null,   -- of the whole artifact, in hex
    position integer not null,          -- of the chunk in its artifact, from 0
    bytes bytea not null,
    primary key (sha256, position)
);
alter table prazo.artifact_chunks alter column bytes set storage external;

-- Whose the bytes of an artifact are, from before they are stored: an entry that names them may never
-- come, and they are found all the same where that seller is forgotten.

create table if not exists prazo.artifact_owners (
    sha256 text collate "C" not null,   -- of the whole artifact, in hex
    seller_id text collate "C" not null,
    process_id text collate "C" not null,           -- for which they came first
    at bigint not null,                 -- when they were about to be stored, the last time
    primary key (sha256, seller_id)
);

create index if not exists artifact_owners_seller on prazo.artifact_owners (seller_id);
