-- Subscribes to the address in the `move.source` setting, without starting to copy. Reraises a failure from here,
-- because the server would log the failed statement with the password in the address. `others` does not include a
-- cancelled query. By default, a subscription's workers commit asynchronously, so a crash could lose the record of a
-- table's copy long after its slot is gone. Local commits leave only a short moment in which that can happen
-- (`missing_slots`).
do $$
begin
  execute format(
    'create subscription :name connection %L publication :name with (enabled = false, create_slot = false, slot_name = :name, streaming = off, synchronous_commit = local)',
    current_setting('move.source')
  );
exception when query_canceled or others then
  -- Only the message about a malformed address quotes from it.
  raise exception using errcode = sqlstate,
    message = case when sqlstate = '42601' then 'the address of the old database is malformed' else sqlerrm end;
end $$;
