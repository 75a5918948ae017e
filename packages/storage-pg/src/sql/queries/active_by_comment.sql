-- Returns the names in $1 that appear in the leading comment of a running statement.
select name
from pg_stat_activity
cross join lateral substr(query, 4, 36) as name
where name = any($1::text::text[]) and state = 'active'
