-- One row per seller seen in any event, attempt or collection (docs/rules.md#seller-state), as at as_of.
-- Each field of the seller record comes from the latest event that carries it.
-- key: seller_id
-- order: seen.seller_id
-- by: seller_id
-- column: seller_id | the platform's id of the seller
-- column: status | text | enabled, denied, disabled, deleted, pending_analysis, the record's own, or unknown; deletion is final
-- column: open_processes | review processes that are PENDING, OVERDUE or EXPIRED
-- column: denials | times the seller was denied
-- column: analysis_seconds | from seller.created to the first enabled or denied; null if either is missing
-- column: last_event_at | when the platform created the latest seller event
-- column: email | personal | the record's, else a business's own: personal, masked
-- column: taxpayer_id | personal | the record's, else its ein, else its document number: personal, masked
-- column: phone_number | personal | the record's, else a business's own: personal, masked
-- column: created_at | when the platform created the seller, by its record
-- column: updated_at | when the platform last changed it, by its record
-- column: decision_reasons | text | of the latest denial that names any: its sorted distinct {reason, detail} pairs
-- column: retry | of the latest denial that says: whether a new onboarding can succeed

with events as (
    select
        *,
        -- A number: each of the thirty aggregates below would build a key of its own from a struct.
        row_number() over (order by created_at, occurred_at, event_id) as place,
        contract.seller_status(event_type) as decided
    from seller_events
),

records as (
    select
        seller_id,
        coalesce(
            max('deleted') filter (where decided = 'deleted'),  -- final, whatever comes later
            arg_max(decided, place),
            max('pending_analysis') filter (where event_type = 'seller.created'),
            arg_max(status, place),
            'unknown'
        ) as status,
        count(*) filter (where event_type = 'seller.denied') as denials,
        (epoch_us(min(created_at) filter (where decided in ('enabled', 'denied')))
            - epoch_us(min(created_at) filter (where event_type = 'seller.created'))) / 1e6
            as analysis_seconds,
        max(created_at) as last_event_at,
        arg_max(resource, place) as resource,
        arg_max(account_balance, place) as account_balance,
        arg_max(current_balance, place) as current_balance,
        arg_max(first_name, place) as first_name,
        arg_max(last_name, place) as last_name,
        arg_max(email, place) as email,
        arg_max(taxpayer_id, place) as taxpayer_id,
        arg_max(taxpayer_key, place) as taxpayer_key,
        arg_max(phone_number, place) as phone_number,
        arg_max(birthdate, place) as birthdate,
        arg_max(address, place) as address,
        arg_max(mcc, place) as mcc,
        arg_max(show_profile_online, place) as show_profile_online,
        arg_max(is_mobile, place) as is_mobile,
        arg_max(decline_on_fail_security_code, place) as decline_on_fail_security_code,
        arg_max(decline_on_fail_zipcode, place) as decline_on_fail_zipcode,
        arg_max(delinquent, place) as delinquent,
        arg_max(marketplace_id, place) as marketplace_id,
        arg_max(uri, place) as uri,
        arg_max(metadata, place) as metadata,
        arg_max(record_created_at, place) as created_at,
        arg_max(record_updated_at, place) as updated_at,
        arg_max(revenue, place) as revenue,
        arg_max(type, place) as type,
        arg_max(document_number, place) as document_number,
        arg_max(document_key, place) as document_key,
        arg_max(ein, place) as ein,
        arg_max(ein_key, place) as ein_key,
        arg_max(business_name, place) as business_name,
        arg_max(business_email, place) as business_email,
        arg_max(business_phone, place) as business_phone,
        arg_max(business_address, place) as business_address,
        arg_max(business_owner, place) as business_owner,
        arg_max(reasons, place) filter (where event_type = 'seller.denied' and reasons <> '[]')
            as decision_reasons,
        arg_max(retry, place) filter (where event_type = 'seller.denied') as retry
    from events
    group by seller_id
),

identified as (
    select * replace (
        tax_id_of(
            taxpayer_id, taxpayer_key, ein, ein_key, document_number, document_key
        ) as taxpayer_id,
        or_of_business(email, business_email) as email,
        or_of_business(phone_number, business_phone) as phone_number
    )
    from records
),

seen as (
    select seller_id from records
    union
    select seller_id from review_events where seller_id is not null
    union
    select seller_id from bank_account_events where seller_id is not null
    union
    select seller_id from attempts where seller_id is not null
    union
    select seller_id from fact_collections where occurred_at <= as_of()
),

open_processes as (
    select seller_id, count(*) as processes
    from clocked_processes
    where state in ('PENDING', 'OVERDUE', 'EXPIRED')
    group by seller_id
)

select
    seen.seller_id,
    coalesce(records.status, 'unknown') as status,
    coalesce(open_processes.processes, 0) as open_processes,
    coalesce(records.denials, 0) as denials,
    records.analysis_seconds,
    records.last_event_at,
    records.resource,
    records.account_balance,
    records.current_balance,
    personal(records.first_name, mask_text(records.first_name)) as first_name,
    personal(records.last_name, mask_text(records.last_name)) as last_name,
    personal(records.email, mask_text(records.email)) as email,
    personal(records.taxpayer_id, mask_number(records.taxpayer_id)) as taxpayer_id,
    personal(records.phone_number, mask_number(records.phone_number)) as phone_number,
    personal(records.birthdate, mask_all(records.birthdate)) as birthdate,
    personal(records.address, mask_all(records.address)) as address,
    records.mcc,
    records.show_profile_online,
    records.is_mobile,
    records.decline_on_fail_security_code,
    records.decline_on_fail_zipcode,
    records.delinquent,
    records.marketplace_id,
    records.uri,
    personal(records.metadata, mask_all(records.metadata)) as metadata,
    records.created_at,
    records.updated_at,
    records.revenue,
    records.type,
    personal(records.document_number, mask_number(records.document_number)) as document_number,
    personal(records.ein, mask_number(records.ein)) as ein,
    personal(records.business_name, mask_text(records.business_name)) as business_name,
    personal(records.business_email, mask_text(records.business_email)) as business_email,
    personal(records.business_phone, mask_number(records.business_phone)) as business_phone,
    personal(records.business_address, mask_all(records.business_address)) as business_address,
    personal(records.business_owner, mask_all(records.business_owner)) as business_owner,
    reason_pairs(records.decision_reasons) as decision_reasons,
    records.retry
from seen
left join identified as records using (seller_id)
left join open_processes using (seller_id)
