-- Which of these names begin, in a comment, the statements that the server runs.
select name
from pg_stat_activity
cross join lateral substr(query, 4, 36) as name
where name = any($1::text::text[]) and state = 'active'
