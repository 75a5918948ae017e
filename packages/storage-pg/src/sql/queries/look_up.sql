-- Finds the newest versions of many records in one statement: some by key, others as the first children of a parent
-- after an ID. `place` is the position of the lookup that found a record.
--
-- The limits make the planner use an index lookup for each key and parent, even while a table is small and has no
-- statistics.
select k.place::integer, r.* from unnest($1::integer[], $2::text[], $3::text[], $4::text[])
  k (place, workspace_id, kind, id)
cross join lateral (
  select :record_columns from quotewire.record r
  where r.workspace_id = k.workspace_id and r.kind = k.kind and r.id = k.id limit 1
) r
union all
select c.place::integer, r.*
from unnest($5::integer[], $6::text[], $7::text[], $8::text[], $9::text[], $10::integer[])
  c (place, workspace_id, kind, parent, after, most)
cross join lateral (
  select :record_columns from quotewire.record r
  where r.workspace_id = c.workspace_id and r.kind = c.kind and r.parent = c.parent and r.id > c.after
  order by r.id limit c.most
) r
order by place, id;
