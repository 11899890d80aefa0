-- One row each where the platform refuses our credentials (unauthorized), or our certificate, or we refuse
-- its (tls_refused): about no process, since it concerns them all.
-- in: other_findings
-- key: rule
--
-- rule: unauthorized
-- place: 230
-- severity: risk
-- name: Credentials refused
-- means: No submission can succeed until this is fixed, and deadlines keep running.
-- remedy: Check credentials and mTLS set-up, then resume what is waiting.
--
-- rule: tls_refused
-- place: 240
-- severity: risk
-- name: Certificate refused
-- means: No secure connection to the platform comes about, so no submission can succeed, and deadlines keep
--   running.
-- remedy: Ask whoever runs Prazo to check the client certificate and the platform's: see *Before real use* in
--   the guide *Operations*. What is waiting is then sent by itself.

with rejected as (
    -- Whatever else the platform answers later, on any process, clears them.
    select outcome, attempt_id, finished_at, finish_seq
    from attempt_facts
    where outcome in ('unauthorized', 'tls_refused')
        and finished_at >= coalesce(
            case outcome
                when 'unauthorized'
                    then (select max(finished_at) from attempt_facts where status <> 401)
                else (select max(finished_at) from attempt_facts where status is not null)
            end,
            finished_at
        )
)

select
    outcome as rule,
    'risk' as severity,
    null as process_id,
    null as seller_id,
    arg_min(finish_seq, struct_pack(finished_at, attempt_id)) as seq,
    '' as detail,
    min(finished_at) as found_at
from rejected
group by outcome
