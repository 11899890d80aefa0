-- Remembers that a schedule of seller notices was started: before, nothing that follows from one is planned.
update kept_watermark set has_schedule = true
where exists (
    from fact_actions
    where seq > getvariable('after') and kind = 'notice_schedule' and step = 'started'
)
