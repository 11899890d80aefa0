-- Small pure functions that several views share.

-- Whole days of 24 hours between two instants, rounded down (so -1 for one microsecond late).
-- DuckDB rounds towards zero: four million days, more than lie between any two, keep
-- what is divided above zero.
create or replace macro whole_days(later, earlier) as
    (epoch_us(later) - epoch_us(earlier) + 345600000000000000) // 86400000000 - 4000000;

-- What an ACP's or another review's clock says at an instant (rules.md section 2).
create or replace macro clock_state(review_type, overdue_at, deadline_at, instant) as
    case
        when instant >= deadline_at then 'EXPIRED'
        when review_type = 'ACP' and instant < overdue_at then 'PENDING'
        else 'OVERDUE'
    end;

-- PENDING < OVERDUE < EXPIRED; any other status ranks nowhere.
create or replace macro gravity(status) as
    case status when 'PENDING' then 1 when 'OVERDUE' then 2 when 'EXPIRED' then 3 end;

-- Outcomes after which the same payload is sent again (rules.md section 3).
create or replace macro is_retryable(outcome) as
    outcome in ('rate_limited', 'platform_error', 'timeout', 'network_error', 'unknown');

-- A listed path covers itself and what is under it.
create or replace macro covers(listed, path) as
    listed = path or starts_with(path, listed || '.');

-- Personal text: a name's or e-mail's first letter, a number's last two digits, nothing else.
-- Masking twice gives the same, so that a ledger of masked facts reads like any other.
create or replace macro mask_text(value) as
    case when value is null then null when value = '' then '' else left(value, 1) || '***' end;
create or replace macro mask_number(value) as
    case when value is null then null when length(value) < 5 then '***'
        else '***' || right(value, 2) end;
create or replace macro mask_all(value) as
    case when value is null then null else '***' end;

-- The value itself, for a reader who gave a reason to see it; its mask for everyone else.
create or replace macro personal(value, masked) as
    case when coalesce(getvariable('unmask'), false) then value else masked end;

-- The reasons of a denial, as its seller event has them in JSON, as a list.
create or replace macro reason_pairs(reasons) as
    from_json(reasons, '[{"reason": "VARCHAR", "detail": "VARCHAR"}]');

-- An instant that arithmetic led out of the years 1 to 9999, brought back to their edge: no program
-- that reads our rows has a date beyond them.
create or replace macro in_calendar(instant) as
    least(greatest(instant, timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999999');
