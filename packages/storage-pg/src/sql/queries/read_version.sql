-- Version $4 of a record. The newest version is in `record`, all others in `older_version`.
select :record_columns from quotewire.record
where workspace_id = $1 and kind = $2 and id = $3 and version = $4::bigint
union all
select :record_columns from quotewire.older_version
where workspace_id = $1 and kind = $2 and id = $3 and version = $4::bigint;
