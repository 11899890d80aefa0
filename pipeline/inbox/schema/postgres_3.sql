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

-- What was recorded about passing deliveries on.
create index if not exists entries_forwarding on prazo.entries (seq) where kind = 'forwarding';
