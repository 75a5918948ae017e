-- Up to $2 workspaces that have data, after an ID.
select workspace_id from quotewire.workspace w
where workspace_id > $1 and (
  exists (select from quotewire.record r where r.workspace_id = w.workspace_id)
  or exists (select from quotewire.event e where e.workspace_id = w.workspace_id)
  or exists (select from quotewire.job j where j.workspace_id = w.workspace_id)
) order by workspace_id limit $2;
