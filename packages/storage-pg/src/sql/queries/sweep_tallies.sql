-- Deletes a batch of counts whose time windows had ended at $1. Locked counts are skipped.
delete from quotewire.tally where (workspace_id, name, window_start, window_ms) in (
  select workspace_id, name, window_start, window_ms from quotewire.tally
  where window_start + window_ms <= $1 order by window_start + window_ms limit 1000 for update skip locked
);
