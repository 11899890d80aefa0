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
