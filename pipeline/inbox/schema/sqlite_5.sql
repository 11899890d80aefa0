-- Webhooks are compressed with the dictionary in `meta` (rows.py). Those from before stay as they are.

alter table entries add column is_compressed integer not null default 0;
