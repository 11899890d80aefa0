-- The bytes of an entry may be erased, once, with their salt: what stays of them takes their place. All
-- else stays as it is.

create or replace function prazo.refuse_all_but_erasing() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and old.salt is not null and new.salt is null and new.body is not null
        and to_jsonb(new) - 'body' - 'salt' = to_jsonb(old) - 'body' - 'salt'
    then
        return new;
    end if;
    raise exception 'append-only: entries are never changed or deleted';
end $$;

create or replace trigger entries_append_only
    before update or delete on prazo.entries
    for each row execute function prazo.refuse_all_but_erasing();
alter table prazo.entries enable always trigger entries_append_only;

create or replace trigger entries_no_truncate
    before truncate on prazo.entries
    for each statement execute function prazo.refuse_change();
alter table prazo.entries enable always trigger entries_no_truncate;

-- Which entries were erased is asked at each start.
create index if not exists entries_erasure on prazo.entries (seq) where kind = 'erasure';

-- What commands want sent once more is asked each second: no dead letter is read for that.
create index if not exists forward_wishes on prazo.forward_waiting (endpoint)
    where tries = 0 and first_tried_at is null and dead_at is null;
