-- One row per seller event that counts and carries a seller record, occurred by as_of.
-- Personal columns stand here as they came; only views that mask them are shown to readers.
-- reads: superseded_deliveries, facts.seller_events
-- key: event_id
-- column: seq | the entry that counts for this event
-- column: event_id | the platform's id of the event
-- column: event_type | as the contract lists it
-- column: occurred_at | when it was received
-- column: created_at | when the platform created it; without that, when it was received
-- column: seller_id | the seller
-- column: status | the record's own status
-- column: resource | constant `seller`
-- column: account_balance | as the platform reports it
-- column: current_balance | as the platform reports it
-- column: first_name | personal | personal
-- column: last_name | personal | personal
-- column: email | personal | personal
-- column: taxpayer_id | personal | personal
-- column: taxpayer_key | equal for equal letters and digits of the taxpayer id; empty without any, null without an id
-- column: phone_number | personal | personal
-- column: birthdate | personal | personal
-- column: address | personal | personal
-- column: mcc | merchant category code
-- column: show_profile_online | as the platform reports it
-- column: is_mobile | as the platform reports it
-- column: decline_on_fail_security_code | as the platform reports it
-- column: decline_on_fail_zipcode | as the platform reports it
-- column: delinquent | as the platform reports it
-- column: marketplace_id | the marketplace the seller belongs to
-- column: uri | path of the seller in the platform's API
-- column: metadata | personal | may hold anything: personal
-- column: record_created_at | when the platform created the seller, by its record
-- column: record_updated_at | when the platform last changed it, by its record
-- column: revenue | as the platform reports it
-- column: type | individual or business
-- column: document_number | personal | personal
-- column: document_key | as taxpayer_key, of the number of the document
-- column: ein | personal | of a business: personal
-- column: ein_key | as taxpayer_key, of the ein
-- column: business_name | personal | personal
-- column: business_email | personal | personal
-- column: business_phone | personal | personal
-- column: business_address | personal | personal
-- column: business_owner | personal | the record's `owner`, may hold anything: personal
-- column: retry | of a denial: whether a new onboarding can succeed
-- column: reasons | of a denial: its sorted distinct {reason, detail} pairs, as JSON in one spelling

select
    seq,
    event_id,
    event_type,
    occurred_at,
    created_at,
    seller_id,
    status,
    resource,
    account_balance,
    current_balance,
    first_name,
    last_name,
    email,
    taxpayer_id,
    taxpayer_key,
    phone_number,
    birthdate,
    address,
    mcc,
    show_profile_online,
    is_mobile,
    decline_on_fail_security_code,
    decline_on_fail_zipcode,
    delinquent,
    marketplace_id,
    uri,
    metadata,
    record_created_at,
    record_updated_at,
    revenue,
    type,
    document_number,
    document_key,
    ein,
    ein_key,
    business_name,
    business_email,
    business_phone,
    business_address,
    business_owner,
    retry,
    reasons
from facts.seller_events
anti join superseded_deliveries using (seq)
where occurred_at <= as_of()
