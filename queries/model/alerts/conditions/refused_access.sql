-- One row each while the platform refuses our credentials, or one side the other's certificate.
-- in: alarming_conditions
-- key: kind, subject
--
-- condition: unauthorized
-- place: 20
-- severity: risk
-- role: admin
-- advice: Put the credentials right and try them with `prazo doctor --platform`; then
--   `prazo resume --process ID` for each attempt that ended in 401
--
-- condition: tls_refused
-- place: 30
-- severity: risk
-- role: admin
-- advice: Run `prazo doctor` where Prazo runs: it names the file. If it is the certificate, ask the platform
--   for another

select
    rule as condition,
    rule as kind,
    concat_ws(':', seq, process_id, detail) as subject,
    process_id,
    seller_id,
    found_at as since,
    seq
from rejection_findings
