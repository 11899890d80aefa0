-- Small pure functions that several views share.

-- The instant at which every view is evaluated: the reader's variable `as_of`, or now; UTC. DuckDB puts
-- the variable's value in its place before it plans, so that it costs no more than a constant.
create or replace macro as_of() as
    coalesce(cast(getvariable('as_of') as timestamp), make_timestamp(epoch_us(now())));

-- An instant that arithmetic led out of the years 1 to 9999, brought back to their edge: no program
-- that reads our rows has a date beyond them.
create or replace macro in_calendar(instant) as
    least(greatest(instant, timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999999');

-- Whole days of 24 hours between two instants, rounded down (so -1 for one microsecond late).
-- DuckDB rounds towards zero: four million days, more than lie between any two, keep
-- what is divided above zero.
create or replace macro whole_days(later, earlier) as
    (epoch_us(later) - epoch_us(earlier) + 345600000000000000) // 86400000000 - 4000000;

-- Whole seconds between two instants, likewise rounded down: a span of the calendar is less than a trillion of them.
create or replace macro whole_seconds(later, earlier) as
    (epoch_us(later) - epoch_us(earlier) + 1000000000000000000) // 1000000 - 1000000000000;

-- What a review's clock says at an instant (docs/rules.md#state).
create or replace macro clock_state(review_type, overdue_at, deadline_at, instant) as
    case
        when instant >= deadline_at then 'EXPIRED'
        when contract.pending_days(review_type) > 0 and instant < overdue_at then 'PENDING'
        else 'OVERDUE'
    end;

-- A process's deadline: what its events carry, else the contract's total from its opening on
-- (docs/rules.md#review-processes; contract, "Limits").
create or replace macro contract_deadline(carried_at, opened_at, review_type) as
    coalesce(carried_at, in_calendar(opened_at + to_days(contract.total_days(review_type))));

-- When it becomes OVERDUE by the clock: after the days in which it is PENDING, or as long before its deadline as
-- the days after these take, whichever is first; at once where it has none.
create or replace macro overdue_instant(carried_at, opened_at, review_type) as
    case
        when contract.pending_days(review_type) > 0 then greatest(opened_at, in_calendar(least(
            opened_at + to_days(contract.pending_days(review_type)),
            contract_deadline(carried_at, opened_at, review_type)
                - to_days(contract.total_days(review_type) - contract.pending_days(review_type))
        )))
        else opened_at
    end;

-- PENDING < OVERDUE < EXPIRED; any other status ranks nowhere.
create or replace macro gravity(status) as
    case status when 'PENDING' then 1 when 'OVERDUE' then 2 when 'EXPIRED' then 3 end;

-- Whether the body of an entry of the log is what remains of it after somebody was forgotten.
create or replace macro holds_remains(body, salt, record) as
    body is not null and (salt is null or contains(decode(record), '"are_remains":true'));

-- Outcomes after which the same payload is sent again (docs/rules.md#outcomes).
create or replace macro is_retryable(outcome) as
    outcome in ('rate_limited', 'platform_error', 'timeout', 'tls_refused', 'network_error', 'unknown');

-- What the end of an attempt means: the HTTP status of the answer, else the error in place of one
-- (docs/rules.md#outcomes).
create or replace macro outcome_of(status, error) as
    case
        when status = 200 then 'accepted'
        when status = 400 then 'invalid_payload'
        when status = 401 then 'unauthorized'
        when status = 404 then 'not_found'
        when status = 409 then 'conflict'
        when status = 429 then 'rate_limited'
        when status between 500 and 599 then 'platform_error'
        when status is not null then 'unexpected_status'
        when error in ('timeout', 'tls_refused', 'network_error', 'refused') then error
        else 'unknown'
    end;

-- Where in its spread the pause after an attempt lies, from -2^31 to 2^31: drawn from the attempt's
-- id, which is random, so that every reader of the log draws the same.
create or replace macro retry_spread(attempt_id) as
    cast('0x' || left(sha256(attempt_id), 8) as bigint) - 2147483648;

-- Microseconds before the n-th retry (docs/rules.md#tries-and-retries): the wait doubles from 1 s to
-- 15 min (the 900 s below), and is up to a fifth longer or shorter, so that many retries do not come at
-- one instant. The shift stops at 40 only because a bigint ends there.
create or replace macro retry_wait(retry) as
    least(1000000::bigint << least(retry - 1, 40), 900 * 1000000);
create or replace macro retry_pause(retry, spread) as
    retry_wait(retry) + retry_wait(retry) // 5 * spread // 2147483648;

-- Whether a try was given up with its retry still wanted (docs/rules.md#tries-and-retries).
create or replace macro was_retry_given_up(is_retryable, gives_up_at, retry_ended_at, as_of) as coalesce(
    is_retryable and gives_up_at <= as_of
    and (retry_ended_at is null or gives_up_at < retry_ended_at),
    false
);

-- How long a seller who was contacted is given before the next reminder is due.
create or replace macro seller_patience() as
    to_hours(coalesce(cast(getvariable('await_seller_hours') as integer), 72));

-- By which changes are in order of how much they need somebody.
create or replace macro change_order(change) as
    list_position(['expired', 'overdue', 'denied', 'finding', 'alert', 'opened', 'finished'], change);

-- By which unfinished processes are in order of what can still be saved: a deadline ahead, the soonest first;
-- then what has passed, the latest first; none is null, and comes last. No span of the calendar is as long as what
-- parts them.
create or replace macro savable_order(deadline_at, as_of) as
    list_transform(
        [epoch_us(deadline_at) - epoch_us(as_of)],
        lambda left_us: if(left_us > 0, left_us, 400000000000000000 - left_us)
    )[1];

-- Wilson's interval of a share of so many, as wide as so many deviations of a normal distribution: its middle,
-- and half of its width.
create or replace macro wilson_interval(share, among, deviations) as struct_pack(
    middle := (share + deviations * deviations / among / 2) / (1 + deviations * deviations / among),
    half := deviations
        * sqrt((share * (1 - share) + deviations * deviations / among / 4) / among)
        / (1 + deviations * deviations / among)
);

-- Of a normal distribution 80 % lie within so many of its deviations.
create or replace macro deviations_of_forecasts() as cast(1.2815515655446004 as double);

-- How many of some open processes are expected to expire, with its interval (docs/rules.md#forecast): 0 of none,
-- and null where nothing can be said of any.
create or replace macro expected_expiries(of_some) as case
    when of_some.due = 0 or of_some.forecast > 0 then struct_pack(
        expected := of_some.expected,
        low := greatest(of_some.expected - sqrt(of_some.less * of_some.less + of_some.luck), 0),
        high := least(of_some.expected + sqrt(of_some.more * of_some.more + of_some.luck), of_some.forecast)
    )
end;

-- Filters of the Watchlist as an entry has them: before there were queues, pages wrote lanes, which overlapped.
create or replace macro filters_now(query) as replace(
    replace(query, 'lane=EXPIRED', 'queue=all&state=EXPIRED'),
    'lane=savable', 'queue=all&state=OVERDUE&state=PENDING'
);

-- The rungs that a start of the schedule of seller notices names, in hours; without any, ours
-- (docs/notices.md#schedule).
create or replace macro schedules_of(said) as from_json(
    coalesce(said, our_schedules()),
    '[{"review_type": "VARCHAR", "rungs": [{"after": "INTEGER", "before": "INTEGER", "late": "INTEGER",
                                            "channel": "VARCHAR", "if_silent": "BOOLEAN"}]}]'
);

-- Channels by which a person tells a seller themselves (docs/rules.md#seller-notices).
create or replace macro is_by_hand(channel) as channel in ('phone', 'letter');

-- What is least of the latest contact: of those at one instant the first by channel, then by message. What
-- names no message is a step of the seller's, and comes last.
create or replace macro contact_order(contacted_at, channel, message_id) as struct_pack(
    age := -epoch_us(contacted_at),
    channel := channel,
    is_step := message_id is null,
    message_id := coalesce(message_id, '')
);

-- A listed path covers itself and what is under it.
create or replace macro covers(listed, path) as
    listed = path or starts_with(path, listed || '.');

-- The paths that cover a path, itself not among them: an equality on them finds in one pass what
-- `covers` finds by comparing each with each. A body has at most 64 levels.
create or replace macro above(path) as
    [array_to_string(string_split(path, '.')[:level], '.')
        for level in range(1, least(len(string_split(path, '.')), 65))];

-- Personal text: a name's or e-mail's first letter, a number's last two digits, nothing else.
-- Masking twice gives the same, so that a ledger of masked facts reads like any other. What says nothing hides nothing:
-- a mask of it would be taken for a value.
create or replace macro is_blank(value) as trim(value, concat(' ', chr(9), chr(10), chr(13), chr(160))) = '';
create or replace macro mask_text(value) as
    case when value is null then null when is_blank(value) then '' else left(value, 1) || '***' end;
create or replace macro mask_number(value) as
    case when value is null then null when is_blank(value) then '' when length(value) < 5 then '***'
        else '***' || right(value, 2) end;
create or replace macro mask_all(value) as
    case when value is null then null when is_blank(value) then '' else '***' end;

-- What another system wrote in the place of a code for why no answer came (docs/rules.md#outcomes). Words that say
-- what failed stay, also written as one (`ConnectionResetError`); any other word, and each number, may name a person.
-- They are a list, with the empty word that signs leave: DuckDB would compile one pattern of them for each question.
create or replace macro says_what_failed(word) as list_has_all(
    string_split(
        ' a an and after at before by cannot could did during from has in is it of on or the to was while with'
        || ' aborted again alert answer authority bad broken certificate client closed connect connection dns eof error'
        || ' exception exceeded expired failed failure gateway get handshake host http https invalid internal java limit'
        || ' lookup lost name net network no not ok out peer pipe post protocol proxy put rate reach read refused request'
        || ' reset resolution resolve response send sent server service socket ssl status tcp time timed timedout timeout'
        || ' tls unavailable unknown unreachable url verify version write'
        || ' econnrefused econnreset ehostunreach enetunreach enotfound epipe etimedout eai again ***',
        ' '
    ),
    string_split(
        translate(lower(regexp_replace(word, '([a-z])([A-Z])', '\1 \2', 'g')), '()[]:;,.!_-', repeat(' ', 11)), ' '
    )
);
-- It may be megabytes, a word takes some 10 us, and no query is stopped between two words of one text: what follows the
-- first 500 words is ***, and so is a word of more than 100 characters. What is masked is no longer than what is read.
create or replace macro mask_words(words, is_cut) as list_concat(
    [
        if(length(it) <= 100 and says_what_failed(it), it, '***')
        for it in words[:if(is_cut, least(len(words) - 1, 500), 500)]
    ],
    if(is_cut or len(words) > 500, ['***'], [])
);
create or replace macro mask_error(error) as case when error is not null then regexp_replace(
    array_to_string(mask_words(string_split(left(error, 51000), ' '), length(error) > 51000), ' '),
    '\*\*\*( \*\*\*)+', '***', 'g'
) end;

-- Whether the JSON that came in the place of an instant names one in another way than can be read: a date with a time
-- and a zone, in numbers or with the month's name, or seconds, milliseconds or microseconds since 1970. None of it can be
-- a telephone number or a tax id: a year, a month and a day are never so long.
create or replace macro is_like_instant(found) as regexp_full_match(
    lower(found),
    '"?(1[4-9]|2[01])[0-9]{8}([0-9]{3}|[0-9]{6})?"?|"' || replace(
        '((mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?,? )?'
        || '([0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}|(19|20)[0-9]{2}[01][0-9][0-3][0-9]'
        || '|[0-9]{4}-w?[0-9]{2,3}(-[1-7])?|[0-9]{1,2}[- ](de )?MONTH[- ](de )?[0-9]{4}|MONTH [0-9]{1,2},? [0-9]{4})'
        || '([t ,]{1,2}[0-9]{1,2}(:?[0-9]{2}){0,2}([.,][0-9]{1,9})?( ?[ap]m)?)?'
        || '( ?(z|utc|gmt|brt|[+-][0-9:]{1,6}|\[?(america|etc|europe)/[a-z_]{1,20}\]?)){0,2}',
        'MONTH',
        '(jan(uary|eiro)?|feb(ruary)?|fev(ereiro)?|mar(ch|ço)?|apr(il)?|abr(il)?|may|'
        || 'maio?|june?|junho|july?|julho|aug(ust)?|ago(sto)?|sept?(ember)?|set(embro)'
        || '?|oct(ober)?|out(ubro)?|nov(ember|embro)?|dec(ember)?|dez(embro)?)'
    ) || '"'
);

-- What came in the place of a part that cannot be read (docs/rules.md#unreadable-parts). Paths, instants and
-- short numbers, but for tax ids, are about nobody; an object, a list or a text in the place of an id may be a whole person.
create or replace macro mask_found(part, found) as
    case
        when found in ('missing', '[]', '{}', '""', '"true"', '"false"') then found
        when lower(found) in ('"null"', '"none"', '"n/a"', '"nan"', '"undefined"', '"invalid date"') then found
        when part in ('taxpayer_id', 'ein', 'document_number')
            and regexp_full_match(found, '-?[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?') then mask_number(found)
        when part = 'requested_fields' and regexp_full_match(found, '["[][][A-Za-z0-9_.,":-]*')
            and not regexp_matches(found, '[0-9]{3}[.-]?[0-9]{3}') then found
        when starts_with(found, '{') then '{***}'
        when starts_with(found, '[') then '[***]'
        when part in ('created_at', 'record.created_at', 'deadline_at') and is_like_instant(found) then found
        when starts_with(found, '"') then '"***"'
        when regexp_full_match(found, '.*[0-9]{8}.*') then mask_number(found)
        else found
    end;

-- The value itself, for a reader who gave a reason to see it; its mask for everyone else.
create or replace macro personal(value, masked) as
    case when coalesce(getvariable('unmask'), false) then value else masked end;

-- A seller's tax id, and what it is compared by, of the three places that may have it: the first one with a
-- letter or a digit, else what stands in any of them (docs/rules.md#tax-ids).
create or replace macro tax_key_of(taxpayer_key, ein_key, document_key) as coalesce(
    nullif(taxpayer_key, ''::blob), nullif(ein_key, ''::blob), nullif(document_key, ''::blob)
);
create or replace macro tax_id_of(
    taxpayer_id, taxpayer_key, ein, ein_key, document_number, document_key
) as case
    when taxpayer_key <> ''::blob then taxpayer_id
    when ein_key <> ''::blob then ein
    when document_key <> ''::blob then document_number
    else coalesce(taxpayer_id, ein)
end;

-- What a record says, else what a business's record says in its place.
create or replace macro or_of_business(said, of_business) as
    case when is_blank(said) then coalesce(of_business, said) else coalesce(said, of_business) end;

-- What people know a seller by, personal and masked: first and last name, else a business's; null where none says one.
create or replace macro shown_name(first_name, last_name, business_name) as
    nullif(or_of_business(
        trim(concat_ws(
            ' ',
            personal(first_name, mask_text(first_name)),
            personal(last_name, mask_text(last_name))
        )),
        personal(business_name, mask_text(business_name))
    ), '');

-- Of processes whose deadline has come, the share that was finished in time; null over nothing.
create or replace macro on_time_share(fate, is_due) as
    count(*) filter (where is_due and fate = 'finished_in_time') / nullif(count(*) filter (where is_due), 0);

-- Of a seller's events, the value of the latest one that carries it.
create or replace macro carried(value, created_at, occurred_at, event_id) as
    arg_max(value, struct_pack(created_at := created_at, occurred_at := occurred_at, event_id := event_id));

-- A field of two records, and whether it differs, as it does where one of them alone says something there: null where
-- neither does, and where both are one mask, which hides it.
create or replace macro compared(field, earlier, later, mask) as struct_pack(
    field := field,
    is_hidden := coalesce(earlier = later and later = mask and not is_blank(later), false),
    differs := case
        when coalesce(is_blank(earlier), true) and coalesce(is_blank(later), true) then null
        when earlier = later and later = mask then null
        else coalesce(is_blank(earlier) or is_blank(later), true) or earlier <> later
    end
);

-- The reasons of a denial, as its seller event has them in JSON, as a list.
create or replace macro reason_pairs(reasons) as
    from_json(reasons, '[{"reason": "VARCHAR", "detail": "VARCHAR"}]');

-- What is alarming, as `alerts.toml` says; without one, as here (docs/alerts.md#settings). Spans are in hours.
create or replace macro alert_rules() as from_json(
    coalesce(
        getvariable('alert_rules'),
        '{"look_back": 168, "held": 336, "longest_snooze": 1440, "reach": 1944,
          "opened": ' || contract.every_review_type() || ', "overdue": true, "expired": true,
          "before": [{"rung": "before_15d", "hours": 360}, {"rung": "before_7d", "hours": 168},
                     {"rung": "before_3d", "hours": 72}, {"rung": "before_1d", "hours": 24},
                     {"rung": "before_4h", "hours": 4}],
          "risk": 72, "even_while_awaiting": 72, "silence": null,
          "conditions": ' || conditions_in_force() || '}'
    ),
    '{"look_back": "INTEGER", "held": "INTEGER", "longest_snooze": "INTEGER", "reach": "INTEGER",
      "opened": ["VARCHAR"], "overdue": "BOOLEAN", "expired": "BOOLEAN",
      "before": [{"rung": "VARCHAR", "hours": "INTEGER"}], "risk": "INTEGER", "even_while_awaiting": "INTEGER",
      "silence": "INTEGER", "conditions": ["VARCHAR"]}'
);

-- From when on an alert may be due. What nobody has raised is due for the look-back. What was raised is
-- due for longer: it was raised within the look-back, put off for so long at most, and held after that.
create or replace macro alerts_from() as
    as_of() - to_hours(
        if(coalesce(getvariable('unraised'), false), alert_rules().look_back, alert_rules().reach)
    );

-- Whether what became due at an instant may still be an alert: it is not long past.
create or replace macro may_alert(since) as since <= as_of() and since > alerts_from();

-- Whether it may be raised: it became due not long ago.
create or replace macro may_be_raised(since) as
    since > as_of() - to_hours(alert_rules().look_back);

-- Until when an alert is put off, if it is: not for longer than anybody may put it off.
create or replace macro snooze_end(until, raised_at) as
    if(until is null, null, least(until, raised_at + to_hours(alert_rules().longest_snooze)));

-- The name of an alert, the same however often it is worked out.
create or replace macro alert_name(kind, subject) as left(sha256(kind || ':' || subject), 32);
