-- Subscribes to the address in the setting `move.source`. A failure is raised again from here, because the server would log the
-- statement that failed, with the password in the address.
do $$
begin
  execute format(
    'create subscription :name connection %L publication :name with (create_slot = false, slot_name = :name, streaming = off)',
    current_setting('move.source')
  );
exception when others then
  -- Only the message about an address that is malformed quotes from it.
  raise exception using errcode = sqlstate,
    message = case when sqlstate = '42601' then 'the address of the old place is malformed' else sqlerrm end;
end $$;
