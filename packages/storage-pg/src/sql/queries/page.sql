-- Up to $11 records of a page. Scans :page_scan_records records after $3 in id order, and returns those that match.
-- There are four variants: :after and :direction for each order, and :parent with and without a parent.
select :record_columns from (
  select * from quotewire.record
  where workspace_id = $1 and kind = $2 and id :after $3 and :parent
  order by id :direction limit :page_scan_records
) looked_at
where ($5::text is null or status = $5) and ($6::text is null or line = $6)
  and ($7::text[] is null or labels @> $7)
  and ($8::bigint is null or created_at >= $8) and ($9::bigint is null or created_at < $9)
  and ($10::bigint is null or updated_at >= $10)
order by id :direction limit $11;
