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
