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
