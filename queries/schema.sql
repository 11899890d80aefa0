-- The ledger's tables: the append-only log, the typed facts read out of it, and the tree over it.
--
-- One transaction of the follower fills all of them for one batch, so they are always about the same
-- entries. Nothing but what stands in `materialized` is ever updated or deleted; everything but `log` can be
-- rebuilt from the log, and the log from the inbox. Every TIMESTAMP is UTC.

create schema if not exists facts;
create schema if not exists materialized;

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
    leaf blob using compression zstd not null
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

-- --- facts: one row per entry of a kind, typed -----------------------------------------------

-- Deliveries that could be read, of every event type.
create table if not exists facts.webhooks (
    seq bigint not null,
    event_id varchar not null,
    event_type varchar not null,
    created_at timestamp,
    occurred_at timestamp not null,
    recorded_at timestamp not null,
    origin varchar not null,
    is_again boolean not null,
    has_id boolean not null,
    is_shape_known boolean not null,
    replay_of bigint,
    content_sha256 blob not null -- of its JSON value, however it is spelled
);

-- Parts of these that are not as the contract shows them, with the JSON that came, cut.
create table if not exists facts.unreadable_parts (
    seq bigint not null,
    event_id varchar not null,
    occurred_at timestamp not null,
    process_id varchar,
    seller_id varchar,
    part varchar not null,
    found varchar not null
);

-- What a review event says; null where it is absent or cannot be read.
create table if not exists facts.reviews (
    seq bigint not null,
    event_id varchar not null,
    occurred_at timestamp not null,
    created_at timestamp not null,
    process_id varchar not null,
    seller_id varchar,
    object_type varchar,
    status varchar,
    deadline_at timestamp,
    requested_fields varchar[],
    content_sha256 blob not null
);

-- The seller record of a seller event. Personal columns are masked by the views, or here already
-- in a ledger that follows without bodies. `taxpayer_key`, `ein_key` and
-- `document_key` join tax ids without showing them.
create table if not exists facts.seller_events (
    seq bigint not null,
    event_id varchar not null,
    event_type varchar not null,
    occurred_at timestamp not null,
    created_at timestamp not null,
    seller_id varchar not null,
    status varchar,
    resource varchar,
    account_balance double,
    current_balance double,
    first_name varchar,
    last_name varchar,
    email varchar,
    taxpayer_id varchar,
    taxpayer_key blob,
    phone_number varchar,
    birthdate varchar,
    address varchar,
    mcc varchar,
    show_profile_online boolean,
    is_mobile boolean,
    decline_on_fail_security_code boolean,
    decline_on_fail_zipcode boolean,
    delinquent boolean,
    marketplace_id varchar,
    uri varchar,
    metadata varchar,
    record_created_at timestamp,
    record_updated_at timestamp,
    revenue double,
    type varchar,
    document_number varchar,
    document_key blob,
    ein varchar,
    ein_key blob,
    business_name varchar,
    business_email varchar,
    business_phone varchar,
    business_address varchar,
    business_owner varchar,
    retry boolean,
    reasons varchar not null -- sorted distinct pairs as JSON: text is grouped faster than a list
);

create table if not exists facts.bank_account_events (
    seq bigint not null,
    event_id varchar not null,
    event_type varchar not null,
    occurred_at timestamp not null,
    created_at timestamp not null,
    seller_id varchar,
    bank_account_id varchar
);

create table if not exists facts.attempt_starts (
    seq bigint not null,
    attempt_id varchar not null,
    process_id varchar not null,
    seller_id varchar,
    occurred_at timestamp not null,
    is_again boolean not null,
    via varchar,
    marketplace_id varchar,
    idempotency_key varchar,
    timeout_seconds double,
    payload_type varchar,
    is_object boolean not null,
    body_size bigint,
    body_sha256 blob not null,
    content_sha256 blob not null
);

create table if not exists facts.attempt_finishes (
    seq bigint not null,
    attempt_id varchar not null,
    process_id varchar not null,
    seller_id varchar,
    occurred_at timestamp not null,
    is_again boolean not null,
    status integer,
    error varchar,
    retry_after_at timestamp,
    origin varchar not null,
    content_sha256 blob not null
);

-- One row per field of a payload that was sent. Values stand as keyed digests: enough to say whether
-- two are the same, not what they are.
create table if not exists facts.sent_fields (
    seq bigint not null,
    attempt_id varchar not null,
    process_id varchar not null,
    path varchar not null,
    is_null boolean not null,
    value_key blob not null
);

create table if not exists facts.collections (
    seq bigint not null,
    process_id varchar not null,
    seller_id varchar not null,
    occurred_at timestamp not null,
    recorded_at timestamp not null,
    journey_id varchar not null,
    step varchar not null,
    channel varchar not null,
    source varchar not null,
    actor varchar,
    paths varchar[] not null, -- of the fields answered, in order
    artifacts bigint not null,
    body_sha256 blob not null
);

create table if not exists facts.answered_fields (
    seq bigint not null,
    process_id varchar not null,
    path varchar not null,
    value_key blob not null
);

create table if not exists facts.artifacts (
    seq bigint not null,
    process_id varchar not null,
    journey_id varchar not null,
    step varchar not null,
    name varchar not null,
    media_type varchar not null,
    sha256 varchar,
    size_bytes bigint
);

-- Deliveries that could not be read; their bytes are in the log.
create table if not exists facts.quarantined (
    seq bigint not null,
    occurred_at timestamp not null,
    recorded_at timestamp not null,
    origin varchar not null,
    reason varchar not null,
    size_bytes bigint not null
);

-- Deliveries turned away unread, at most one row per minute and reason.
create table if not exists facts.rejections (
    seq bigint not null,
    occurred_at timestamp not null,
    status integer not null,
    reason varchar not null,
    deliveries bigint not null
);

-- Overrides, replacements, unmaskings, exports, notes: what people did, with reason and name.
create table if not exists facts.actions (
    seq bigint not null,
    kind varchar not null,
    occurred_at timestamp not null,
    process_id varchar,
    seller_id varchar,
    attempt_id varchar,
    actor varchar,
    reason varchar,
    step varchar, -- of a ticket, an alert or a calendar: which
    content varchar,
    body_sha256 blob not null
);

-- --- materialized: what the views would work out, one row per subject -------------------------
--
-- The other tables of this schema are made from the views whose headers say `materialized:`.

-- Journeys and artifacts, with the least of the processes that collections name with them.
create table if not exists materialized.subjects (
    subject varchar primary key,
    process_id varchar not null,
    is_shared boolean not null -- with another process: `shared_subjects`
);

-- One row: how many entries the rows above cover. While the follower catches up they wait.
create table if not exists materialized.watermark (
    entries bigint not null, -- the log's
    materialized_entries bigint not null, -- those that the materialized rows cover
    settled_at timestamp not null -- the latest occurrence of these
);
