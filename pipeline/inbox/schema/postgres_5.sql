-- Webhooks are compressed with the dictionary in `meta` (rows.py). Those from before stay as they are.

alter table prazo.entries add column if not exists is_compressed boolean not null default false;
