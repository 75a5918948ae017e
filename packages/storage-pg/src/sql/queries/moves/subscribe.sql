-- Subscribes to the address in the setting `move.source`, without starting to copy. A failure is raised again from here, because
-- the server would log the statement that failed, with the password in the address. `others` does not include a cancelled query.
do $$
begin
  execute format(
    'create subscription :name connection %L publication :name with (enabled = false, create_slot = false, slot_name = :name, streaming = off)',
    current_setting('move.source')
  );
exception when query_canceled or others then
  -- Only the message about an address that is malformed quotes from it.
  raise exception using errcode = sqlstate,
    message = case when sqlstate = '42601' then 'the address of the old place is malformed' else sqlerrm end;
end $$;
