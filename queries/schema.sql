-- The ledger's tables: the append-only log and the tree over it. Those of the typed facts read out of it are
-- made beside them, from `pipeline/ledger/facts/rows.py`.
--
-- One transaction of the follower fills all of them for one batch, so they are always about the same
-- entries. Nothing but `kept_` tables is ever updated or deleted; everything but `log` can be
-- rebuilt from the log, and the log from the inbox. Every TIMESTAMP is UTC.

create table if not exists meta (name varchar primary key, value varchar not null);

-- Every entry, whole, as the inbox recorded it. `leaf` is what the tree hashes. Bodies and leaves say
-- mostly the same from entry to entry, which ZSTD finds, over 2,048 at once, and what DuckDB chooses by
-- itself does not.
create table if not exists log (
    seq bigint not null,
    kind varchar not null,
    occurred_at timestamp not null,
    recorded_at timestamp not null,
    origin varchar not null,
    recorded_by varchar not null,
    event_id varchar,
    attempt_id varchar,
    process_id varchar,
    seller_id varchar,
    status integer,
    process_n bigint,
    process_prev bigint,
    seller_n bigint,
    seller_prev bigint,
    is_again boolean not null,
    record blob,
    body blob using compression zstd,
    salt blob,
    leaf blob using compression zstd not null,
    pseudonym varchar,
    person blob,
    person_salt blob
);

-- By which the inbox records these entries once. Not in a ledger without bodies: of a line of a file it is a
-- digest of what the line says. Should the inbox lose entries, it gets them back with their keys.
create table if not exists ingest_keys (seq bigint not null, key blob not null);

-- A trigger needs DML as its body; the insert never happens, since its select always fails.
create table if not exists guard (reason varchar);

-- --- the tree ------------------------------------------------------------------------------

-- One row per commit: the tree's size and root then, and the peaks it grows from.
create table if not exists tree_heads (
    size bigint not null,
    root blob not null,
    peaks blob[] not null,
    recorded_at timestamp not null
);

-- Roots of full subtrees of 256, 65,536 ... leaves, so that a proof need not hash the whole log.
create table if not exists tree_nodes (
    level integer not null,
    position bigint not null,
    hash blob not null
);

-- --- kept: what the views would work out, one row per subject -------------------------
--
-- The other tables named `kept_` are made from the views that `pipeline/ledger/views/kept.py` lists.

-- Journeys and artifacts, with the least of the processes that collections name with them.
create table if not exists kept_subjects (
    subject varchar primary key,
    process_id varchar not null,
    is_shared boolean not null -- with another process: `shared_subjects`
);

-- One row: how many entries the rows above cover. While the follower catches up they wait.
create table if not exists kept_watermark (
    entries bigint not null, -- the log's
    materialized_entries bigint not null, -- those that the materialized rows cover
    settled_at timestamp not null -- the latest occurrence of these
);
