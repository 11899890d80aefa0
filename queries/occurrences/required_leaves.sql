-- One row per object of the submission body and leaf that it must have (contract, "Submission body
-- fields"; rules.md section 4: `line2` may always be left out).
-- reads:
-- key: path, leaf
-- column: path | dotted path of the object
-- column: leaf | dotted path of the leaf

with address (name) as (
    values ('line1'), ('line3'), ('city'), ('state'), ('postal_code'), ('country_code')
)

select 'address' as path, 'address.' || name as leaf from address
union all
select 'owner.address' as path, 'owner.address.' || name as leaf from address
union all
select 'owner' as path, 'owner.address.' || name as leaf from address
union all
select 'owner' as path, 'owner.revenue' as leaf
