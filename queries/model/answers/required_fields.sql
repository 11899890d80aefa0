-- One row per object of the submission body and field that it must have
-- (docs/contract.md#submission-body-fields); `line2` may always be left out.
-- reads:
-- key: path, field
-- column: path | dotted path of the object
-- column: field | dotted path of the field

with address (name) as (
    values ('line1'), ('line3'), ('city'), ('state'), ('postal_code'), ('country_code')
)

select 'address' as path, 'address.' || name as field from address
union all
select 'owner.address' as path, 'owner.address.' || name as field from address
union all
select 'owner' as path, 'owner.revenue' as field
union all
select 'owner' as path, 'owner.address.' || name as field from address
