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
