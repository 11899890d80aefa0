-- The log, its heads, its checkpoints, and the public keys that may sign for it.

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
    pseudonym text,                     -- of who answers for it (actors)
    ingest_key blob,
    is_compressed integer not null default 0    -- body and leaf of a webhook (rows.py)
) strict;

create index entries_process on entries (process_id, process_n) where process_id is not null;
create index entries_seller on entries (seller_id, seller_n) where seller_id is not null;
create index entries_event on entries (event_id) where event_id is not null;
create index entries_attempt on entries (attempt_id) where attempt_id is not null;
create unique index entries_ingest on entries (ingest_key) where ingest_key is not null;

create index entries_quarantine on entries (kind) where kind = 'quarantine';
create index entries_key_rotation on entries (kind) where kind = 'key_rotation';

-- What was noticed about clocks, for whoever opens the inbox.
create index entries_clock on entries (seq) where kind = 'clock';

-- Which artifacts entries name is read from collections alone.
create index entries_collection on entries (seq) where kind = 'collection';

-- What was recorded once more after the inbox had lost it.
create index entries_reconciliation on entries (seq) where kind = 'reconciliation';

-- What was recorded about passing deliveries on.
create index entries_forwarding on entries (seq) where kind = 'forwarding';

-- Which entries were erased is asked at each start.
create index entries_erasure on entries (seq) where kind = 'erasure';

-- The bytes of an entry may be erased, once, with their salt: what stays of them takes their place. All
-- else stays as it is.
create trigger entries_no_update before update on entries
when not (
    old.salt is not null and new.salt is null and new.body is not null
    and new.seq is old.seq and new.kind is old.kind and new.occurred_at is old.occurred_at
    and new.recorded_at is old.recorded_at and new.origin is old.origin and new.recorded_by is old.recorded_by
    and new.event_id is old.event_id and new.attempt_id is old.attempt_id and new.process_id is old.process_id
    and new.seller_id is old.seller_id and new.status is old.status and new.process_n is old.process_n
    and new.process_prev is old.process_prev and new.seller_n is old.seller_n and new.seller_prev is old.seller_prev
    and new.is_again is old.is_again and new.record is old.record and new.leaf is old.leaf
    and new.pseudonym is old.pseudonym and new.ingest_key is old.ingest_key
    and new.is_compressed is old.is_compressed
)
begin select raise(abort, 'append-only: entries are never changed'); end;
create trigger entries_no_delete before delete on entries
begin select raise(abort, 'append-only: entries are never deleted'); end;

create table heads (
    id integer primary key check (id = 1),
    size integer not null,
    root blob not null
) strict;

create table checkpoints (size integer primary key, note text not null) strict;

create table signing_keys (
    number integer primary key,         -- 1 is the first key of the log
    verification_key text not null unique,
    registered_at integer not null
) strict;

create trigger signing_keys_no_update before update on signing_keys
begin select raise(abort, 'append-only: signing keys are never changed'); end;
create trigger signing_keys_no_delete before delete on signing_keys
begin select raise(abort, 'append-only: signing keys are never deleted'); end;

-- The names of those whom entries hold as pseudonyms (pipeline/log/actors.py). A row that goes takes the name
-- with it; none is changed.

create table actors (
    pseudonym text primary key,
    name blob not null,
    salt blob not null
) strict;

create index actors_name on actors (name);

create trigger actors_no_update before update on actors
begin select raise(abort, 'append-only: names are never changed'); end;

-- Who may write or send now, and which parts of the product are well.

create table leases (
    name text primary key,
    number integer not null,            -- of the latest holder; it only grows
    holder text not null,
    held_until integer not null
) strict;

create table heartbeats (
    name text primary key,
    at integer not null                 -- when this part of the product last said that it was well
) strict;

-- Which release each part runs, for whoever upgrades (pipeline/inbox/parts.py).
create table parts (
    part text not null,
    process text not null,              -- its machine's name, and its number there
    release text not null,
    version integer not null,           -- of the tables that it knows
    started_at integer not null,
    seen_at integer not null,
    primary key (part, process)
) strict;

create table probes (id integer primary key check (id = 1), probed_at integer not null) strict;

-- How far deliveries were passed on to each endpoint of the marketplace, and what waits for one.

create table forward_endpoints (
    name text primary key,
    generation integer not null,        -- it grows with each holder and rewind, and fences writes
    position integer not null,          -- entries up to it are settled, or stand in forward_waiting
    leaf blob,                          -- of the entry there; null at the beginning of the log
    paused_at integer,
    last_success_at integer,
    failing_since integer,              -- the first failure since the last success
    reported_at integer not null,       -- of the last entry in the log that says all this
    reported_position integer not null
) strict;

-- A seller's later deliveries wait behind the one that stands here, and need no rows of their own.
create table forward_waiting (
    endpoint text not null,
    lane text not null,                 -- `seller <id>`, or `entry <seq>` of one that waits alone
    seq integer not null,
    tries integer not null,
    first_tried_at integer,
    due_at integer not null,
    error text,
    dead_at integer,                    -- it was given up: the dead-letter list
    primary key (endpoint, lane)
) strict;

-- What commands want sent once more is asked each second: no dead letter is read for that.
create index forward_wishes on forward_waiting (endpoint)
    where tries = 0 and first_tried_at is null and dead_at is null;

-- Links by which sellers answer a review, who has opened one, and what they did there.

create table journeys (
    ref text primary key,               -- the number that the seller sees; it opens nothing
    token_sha256 text not null unique,  -- of the secret in the link, which is kept nowhere
    process_id text not null,
    seller_id text not null,
    channel text not null,              -- by which the link goes to the seller
    email text,                         -- where a code is sent; forgotten at the end
    return_url text,
    only_paths text,                    -- JSON: fields to be corrected; null: all that is asked
    review text not null,               -- JSON: what the process asked for when the link was made
    minted_at integer not null,
    expires_at integer not null,
    revoked_at integer,
    opened_at integer,
    confirmed_at integer,
    code_sha256 text,
    code_sent_at integer,
    code_tries integer not null default 0,
    codes_sent integer not null default 0,
    submitting_until integer not null default 0,
    settled_at integer                  -- nothing is left to be sent of its answers
) strict;

create index journeys_process on journeys (process_id);
create index journeys_unsettled on journeys (confirmed_at)
    where confirmed_at is not null and settled_at is null;

create table journey_sessions (
    session_sha256 text primary key,    -- of the secret in the cookie
    ref text not null,
    began_at integer not null,
    seen_at integer not null
) strict;

create table journey_flow (
    ref text not null,
    at integer not null,
    event text not null,
    screen text,
    detail text
) strict;

create index journey_flow_ref on journey_flow (ref, at);

create table journey_refusals (
    hour integer not null,              -- its first microsecond
    reason text not null,
    refusals integer not null,
    primary key (hour, reason)
) strict;

-- Whose the bytes of an artifact are, from before they are stored: an entry that names them may never
-- come, and they are found all the same where that seller is forgotten.

create table artifact_owners (
    sha256 text not null,               -- of the whole artifact, in hex
    seller_id text not null,
    process_id text not null,           -- for which they came first
    at integer not null,                -- when they were about to be stored, the last time
    primary key (sha256, seller_id)
) strict;

create index artifact_owners_seller on artifact_owners (seller_id);
