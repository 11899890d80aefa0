-- One row per reason and detail of denials and field of the seller's record: of the denied sellers that were cured, in
-- how many the accepted record differs from the denied one (docs/rules.md#over-time). It names fields, never values.
-- open to: analysts
-- key: reason, detail, field
-- order: reason, detail nulls first, differing desc, field nulls last
-- column: reason | text | category of the denial
-- column: detail | text | the specific detail; null where there is none
-- column: field | word | of the record, as `seller_state` names it; null for the sellers in whose records no field differs
-- column: cured | sellers that were denied so and cured since, nobody forgotten among them
-- column: compared | those of them of whose two records one or both carry the field; of a null field, those with any such field
-- column: differing | those of these in which it differs or one of the two lacks it; of a null field, those in which none does
-- column: share | differing / compared; null over nothing

with returned as (
    select
        returned_sellers.seller_id,
        any_value(came_back_at) as came_back_at,
        any_value(cured_at) as cured_at,
        min(successors.seller_id) as cured_as
    from returned_sellers
    join seller_records as denied on denied.seller_id = returned_sellers.seller_id
    join seller_records as successors
        on successors.taxpayer_key = denied.taxpayer_key
        and successors.seller_id <> denied.seller_id
        and successors.created_at > denied.first_denied_at
        and successors.first_enabled_at = cured_at
    group by returned_sellers.seller_id
),

last_denials as (
    select
        returned.seller_id,
        any_value(cured_as) as cured_as,
        any_value(cured_at) as cured_at,
        max(created_at) as denied_at,
        arg_max(reasons, struct_pack(created_at, occurred_at, event_id)) as reasons
    from returned
    join seller_events on seller_events.seller_id = returned.seller_id
    where event_type = 'seller.denied' and created_at < came_back_at
    group by returned.seller_id
),

sides as (
    select
        seller_id,
        reasons,
        unnest([
            struct_pack(is_accepted := false, record_of := seller_id, until_at := denied_at),
            struct_pack(is_accepted := true, record_of := cured_as, until_at := cured_at)
        ], recursive := true)
    from last_denials
),

records as (
    select
        sides.seller_id,
        is_accepted,
        any_value(sides.reasons) as reasons,
        bool_or(
            (taxpayer_key is not null and taxpayer_id is null)
            or (ein_key is not null and ein is null)
            or (document_key is not null and document_number is null)
        ) as is_forgotten,
        carried(first_name, created_at, occurred_at, event_id) as first_name,
        carried(last_name, created_at, occurred_at, event_id) as last_name,
        carried(email, created_at, occurred_at, event_id) as email,
        carried(phone_number, created_at, occurred_at, event_id) as phone_number,
        carried(birthdate, created_at, occurred_at, event_id) as birthdate,
        carried(address, created_at, occurred_at, event_id) as address,
        carried(mcc, created_at, occurred_at, event_id) as mcc,
        carried(cast(show_profile_online as varchar), created_at, occurred_at, event_id) as show_profile_online,
        carried(cast(is_mobile as varchar), created_at, occurred_at, event_id) as is_mobile,
        carried(cast(decline_on_fail_security_code as varchar), created_at, occurred_at, event_id)
            as decline_on_fail_security_code,
        carried(cast(decline_on_fail_zipcode as varchar), created_at, occurred_at, event_id)
            as decline_on_fail_zipcode,
        carried(cast(revenue as varchar), created_at, occurred_at, event_id) as revenue,
        carried(type, created_at, occurred_at, event_id) as type,
        carried(hex(taxpayer_key), created_at, occurred_at, event_id) as taxpayer_id,
        carried(hex(document_key), created_at, occurred_at, event_id) as document_number,
        carried(hex(ein_key), created_at, occurred_at, event_id) as ein,
        carried(business_name, created_at, occurred_at, event_id) as business_name,
        carried(business_email, created_at, occurred_at, event_id) as business_email,
        carried(business_phone, created_at, occurred_at, event_id) as business_phone,
        carried(business_address, created_at, occurred_at, event_id) as business_address,
        carried(business_owner, created_at, occurred_at, event_id) as business_owner
    from sides
    join seller_events on seller_events.seller_id = record_of and created_at <= until_at
    group by sides.seller_id, is_accepted
),

-- Both records side by side, a field a row.
fields as (
    select
        denied.seller_id,
        denied.reasons,
        unnest([
            compared('first_name', denied.first_name, accepted.first_name, mask_text(accepted.first_name)),
            compared('last_name', denied.last_name, accepted.last_name, mask_text(accepted.last_name)),
            compared('email', denied.email, accepted.email, mask_text(accepted.email)),
            compared('phone_number', denied.phone_number, accepted.phone_number, mask_number(accepted.phone_number)),
            compared('birthdate', denied.birthdate, accepted.birthdate, mask_all(accepted.birthdate)),
            compared('address', denied.address, accepted.address, mask_all(accepted.address)),
            compared('mcc', denied.mcc, accepted.mcc, null),
            compared('show_profile_online', denied.show_profile_online, accepted.show_profile_online, null),
            compared('is_mobile', denied.is_mobile, accepted.is_mobile, null),
            compared(
                'decline_on_fail_security_code',
                denied.decline_on_fail_security_code,
                accepted.decline_on_fail_security_code,
                null
            ),
            compared(
                'decline_on_fail_zipcode', denied.decline_on_fail_zipcode, accepted.decline_on_fail_zipcode, null
            ),
            compared('revenue', denied.revenue, accepted.revenue, null),
            compared('type', denied.type, accepted.type, null),
            compared('taxpayer_id', denied.taxpayer_id, accepted.taxpayer_id, null),
            compared('document_number', denied.document_number, accepted.document_number, null),
            compared('ein', denied.ein, accepted.ein, null),
            compared('business_name', denied.business_name, accepted.business_name, mask_text(accepted.business_name)),
            compared('business_email', denied.business_email, accepted.business_email, mask_text(accepted.business_email)),
            compared('business_phone', denied.business_phone, accepted.business_phone, mask_number(accepted.business_phone)),
            compared('business_address', denied.business_address, accepted.business_address, mask_all(accepted.business_address)),
            compared('business_owner', denied.business_owner, accepted.business_owner, mask_all(accepted.business_owner))
        ], recursive := true)
    from records as denied
    join records as accepted on accepted.seller_id = denied.seller_id and accepted.is_accepted
    where not denied.is_accepted and not denied.is_forgotten and not accepted.is_forgotten
),

-- What a mask hides may differ, so that nobody can say that nothing does.
told as (
    select seller_id, reasons, field, differs
    from fields
    union all
    select
        seller_id,
        any_value(reasons) as reasons,
        null as field,
        if(count(differs) > 0, not bool_or(coalesce(differs, false) or is_hidden), null) as differs
    from fields
    group by seller_id
),

pairs as (
    select seller_id, unnest(reason_pairs(reasons)) as pair, field, differs
    from told
)

select
    pair.reason as reason,
    pair.detail as detail,
    field,
    count(*) as cured,
    count(differs) as compared,
    count(*) filter (where differs) as differing,
    count(*) filter (where differs) / nullif(count(differs), 0) as share
from pairs
group by all
having count(differs) > 0
