-- The ledger's tables: the append-only log, the typed facts read out of it, and the tree over it.
--
-- One transaction of the follower fills all of them for one batch, so they always tell of the same
-- entries. Nothing but what stands in `kept` is ever updated or deleted; everything but `log` can be
-- made anew from the log, and the log from the inbox. Every TIMESTAMP is UTC.

create schema if not exists facts;
create schema if not exists kept;

create table if not exists meta (name varchar primary key, value varchar not null);

-- Every entry, whole, as the inbox recorded it. `leaf` is what the tree hashes.
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
    body blob,
    salt blob,
    leaf blob not null
);

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
    body_sha256 blob not null
);

create table if not exists facts.reviews (
    seq bigint not null,
    event_id varchar not null,
    occurred_at timestamp not null,
    created_at timestamp not null,
    process_id varchar not null,
    seller_id varchar not null,
    object_type varchar not null,
    status varchar,
    deadline_at timestamp not null,
    requested_fields varchar[] not null
);

-- The seller record of a seller event. Personal columns are masked by the views, or here already
-- in a ledger that follows without bodies. `taxpayer_key` joins tax ids without telling them.
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
    body_sha256 blob not null
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
    body_sha256 blob not null
);

-- One row per leaf of a payload that was sent. Values stand as keyed digests: enough to say whether
-- two are the same, not what they are.
create table if not exists facts.sent_leaves (
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
    paths varchar[] not null, -- of the leaves answered, in order
    artifacts bigint not null,
    body_sha256 blob not null
);

create table if not exists facts.answered_leaves (
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

-- Deliveries turned away unread, at most one row a minute and reason.
create table if not exists facts.rejections (
    seq bigint not null,
    occurred_at timestamp not null,
    status integer not null,
    reason varchar not null,
    deliveries bigint not null
);

-- Overrides, replacements, unmaskings, exports, notes: what people did, with reason and name.
create table if not exists facts.acts (
    seq bigint not null,
    kind varchar not null,
    occurred_at timestamp not null,
    process_id varchar,
    seller_id varchar,
    attempt_id varchar,
    actor varchar,
    reason varchar,
    content varchar,
    body_sha256 blob not null
);

-- --- kept: what the views would work out, one row per subject ---------------------------------

-- `process_facts` at the end of time. Of a process whose every entry belongs to another one after all
-- (an event told again with another process, say) a row stays that is not `is_known`: at some instant
-- the log knew it. Lists would make an update a deletion and an insertion, so this one is JSON.
create table if not exists kept.processes (
    process_id varchar primary key,
    settled_at timestamp not null, -- the latest occurrence that says anything about it
    is_known boolean not null,
    seller_id varchar,
    review_type varchar,
    opened_at timestamp,
    overdue_at timestamp,
    deadline_at timestamp,
    overdue_from timestamp,
    expired_from timestamp,
    requested_fields varchar,
    reported_status varchar,
    reported_at timestamp,
    finished_at timestamp,
    finished_by varchar,
    attempts bigint,
    last_outcome varchar,
    last_attempt_at timestamp,
    in_flight_until timestamp,
    collected_at timestamp,
    journey_opened_at timestamp,
    answered_at timestamp,
    overdue_found_at timestamp,
    overdue_found_seq bigint,
    expired_found_at timestamp,
    expired_found_seq bigint,
    first_received_at timestamp,
    overdue_since timestamp,
    expired_since timestamp,
    finished_known_at timestamp,
    deadline_mismatch boolean,
    deadline_changed boolean,
    status_disagrees boolean,
    open_after_finish boolean,
    identity_changed boolean
);

-- `attempt_facts` at the end of time: an attempt without an end is `unknown` there.
create table if not exists kept.attempts (
    attempt_id varchar primary key,
    process_id varchar not null,
    seller_id varchar,
    via varchar,
    started_at timestamp,
    finished_at timestamp,
    ordered_at timestamp not null,
    timeout_at timestamp,
    status integer,
    error varchar,
    outcome varchar not null,
    outcome_at timestamp,
    retry_after_at timestamp,
    payload_type varchar,
    has_payload boolean not null,
    payload_sha256 blob,
    start_seq bigint,
    finish_seq bigint,
    attempt_number bigint,
    try_number bigint,
    attempt_of_try bigint,
    previous_attempt_id varchar,
    is_last boolean,
    retry_ended_at timestamp,
    gives_up_at timestamp,
    is_refused boolean
);

-- `settled_findings` at the end of time.
create table if not exists kept.findings (
    rule varchar not null,
    severity varchar not null,
    process_id varchar not null,
    seller_id varchar,
    seq bigint,
    detail varchar not null,
    found_at timestamp
);

-- `seller_records` at the end of time.
create table if not exists kept.sellers (
    seller_id varchar primary key,
    taxpayer_key blob,
    created_at timestamp not null,
    first_denied_at timestamp,
    was_enabled boolean not null,
    denials bigint not null,
    retryable_denials bigint not null,
    final_denials bigint not null
);

-- Journeys and artifacts, with the least of the processes that collections name with them.
create table if not exists kept.subjects (
    subject varchar primary key,
    process_id varchar not null,
    is_shared boolean not null -- with another process: `shared_subjects`
);

-- `unlisted_codes`: an entry's rows never change.
create table if not exists kept.unlisted_codes (
    seq bigint not null,
    event_id varchar not null,
    occurred_at timestamp not null,
    process_id varchar,
    seller_id varchar,
    kind varchar not null,
    code varchar not null
);

-- `repeated_collections`: likewise.
create table if not exists kept.repeated_collections (seq bigint not null);

-- `superseded_deliveries`: a few among millions, and hardly any view goes without them.
create table if not exists kept.superseded (
    seq bigint not null,
    event_id varchar not null,
    is_altered boolean not null
);

-- `timeline` at the end of time: an entry's row never changes.
create table if not exists kept.timeline (
    seq bigint not null,
    occurred_at timestamp not null,
    recorded_at timestamp not null,
    kind varchar not null,
    process_id varchar,
    seller_id varchar,
    event_id varchar,
    event_type varchar,
    reported_status varchar,
    deadline_at timestamp,
    attempt_id varchar,
    status integer,
    error varchar,
    step varchar,
    channel varchar,
    source varchar,
    actor varchar,
    reason varchar,
    is_again boolean not null,
    origin varchar not null,
    recorded_by varchar not null,
    leaf_hash blob not null
);

-- One row: of how many entries the rows above tell. While the follower catches up they wait.
create table if not exists kept.progress (
    entries bigint not null, -- the log's
    kept bigint not null, -- those that the kept rows tell of
    settled_at timestamp not null -- the latest occurrence of these
);
