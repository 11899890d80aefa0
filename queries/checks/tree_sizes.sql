-- One row per part of the tree that does not stand over exactly the entries of the log.
-- key: part
-- column: part | head, or the level of stored nodes
-- column: found | leaves of the newest head, or nodes stored at the level
-- column: expected | entries of the log, or full subtrees of that level among them

with size as (
    select count(*) as entries from log
),

levels as (
    select level, power(2, level) as leaves
    from (values (8), (16), (24), (32)) as stored (level)
),

nodes as (
    select level, count(distinct position) as found
    from tree_nodes
    group by level
)

select 'head' as part, max(tree_heads.size) as found, any_value(size.entries) as expected
from size
left join tree_heads on true
having coalesce(max(tree_heads.size), 0) <> any_value(size.entries)
union all
select
    'level ' || levels.level as part,
    coalesce(nodes.found, 0) as found,
    cast(floor(size.entries / levels.leaves) as bigint) as expected
from levels
cross join size
left join nodes on nodes.level = levels.level
where coalesce(nodes.found, 0) <> floor(size.entries / levels.leaves)
