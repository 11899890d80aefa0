-- Refuses any change to what is recorded. Stops accidents; the tree shows anything else.

create trigger if not exists log_no_update after update on log for each statement
    insert into guard select error('append-only: entries of the log are never changed');
create trigger if not exists log_no_delete after delete on log for each statement
    insert into guard select error('append-only: entries of the log are never deleted');
