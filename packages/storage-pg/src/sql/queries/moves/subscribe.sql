-- Subscribes to the database whose address is in the `move.source` setting, without starting to copy. Catches a failure
-- and raises a new one, because the server would log the failed statement with the password in the address. `others`
-- does not match a cancelled query, so the handler names that condition too.
--
-- By default, a subscription's workers commit asynchronously, so a crash could lose the record of a table's copy long
-- after the table's slot is gone. With local commits, there is only a short moment in which that can happen
-- (`missing_slots`).
do $$
begin
  execute format(
    'create subscription :name connection %L publication :name with (enabled = false, create_slot = false, slot_name = :name, streaming = off, synchronous_commit = local)',
    current_setting('move.source')
  );
exception when query_canceled or others then
  -- Replaces the message about a malformed address, because it quotes from the address. Other messages do not.
  raise exception using errcode = sqlstate,
    message = case when sqlstate = '42601' then 'the address of the old database is malformed' else sqlerrm end;
end $$;
