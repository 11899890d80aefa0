-- Older results and retractions without a process, of the messages that notices after `after` are about.
select seq
from fact_notice_results
where seq <= getvariable('after')
    and process_id is null
    and message_id in (select message_id from fact_notices where seq > getvariable('after'))
