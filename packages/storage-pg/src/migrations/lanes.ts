/** Puts lanes where their jobs now say; the caller holds their locks. */
export const lanes: ReadonlyArray<string> = [
  `create function quotewire.refresh_lanes_1(l_workspace text[], l_name text[]) returns void
  language plpgsql as $body$
  begin
    update quotewire.lane l
    set ready_at = case when leased.count < l.max_leased then waiting.due_at - w.clock_offset_ms end,
      lapses_at = leased.lapses_at
    from unnest(l_workspace, l_name) t (workspace_id, name)
    join quotewire.workspace w on w.workspace_id = t.workspace_id
    cross join lateral (
      select count(*) as count, min(j.leased_until) as lapses_at from quotewire.job j
      where j.workspace_id = t.workspace_id and j.lane = t.name and j.leased_until is not null
    ) leased
    left join lateral (
      select j.due_at from quotewire.job j
      where j.workspace_id = t.workspace_id and j.lane = t.name and j.leased_until is null
      order by j.due_at, j.number limit 1
    ) waiting on true
    where l.workspace_id = t.workspace_id and l.name = t.name;
  end $body$`
]
