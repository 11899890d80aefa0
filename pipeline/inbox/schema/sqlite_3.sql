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

-- What was recorded about passing deliveries on.
create index entries_forwarding on entries (seq) where kind = 'forwarding';
