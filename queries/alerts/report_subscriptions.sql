-- One row per scheduled report that somebody subscribed a recipient to on a page, and that nobody
-- ended since (docs/alerts.md#reports).
-- key: report_name
-- column: report_name | text | its name
-- column: recipient | staff | whom it goes to, by the name in the settings
-- column: filters | filters | which processes it lists, as in the Watchlist's address
-- column: at | text | when it is sent, by the recipient's clock, as 08:00
-- column: days | text | business, weekly or month_end
-- column: weekday | text | of a weekly one: mon to sun
-- column: subscribed_at | when somebody subscribed
-- column: actor | staff | who did
-- column: seq | the entry that says so

with steps as (
    select
        content ->> '$.name' as report_name,
        content ->> '$.recipient' as recipient,
        filters_now(content ->> '$.filters') as filters,
        content ->> '$.at' as "at",
        content ->> '$.days' as days,
        content ->> '$.weekday' as weekday,
        step,
        occurred_at as subscribed_at,
        actor,
        seq
    from fact_actions
    where kind = 'report' and occurred_at <= as_of()
)

select report_name, recipient, filters, "at", days, weekday, subscribed_at, actor, seq
from steps
where report_name is not null
qualify row_number() over (partition by report_name order by subscribed_at desc, seq desc) = 1
    and step = 'subscribed'
