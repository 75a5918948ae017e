-- Up to $12 records of a page. Looks at the first :page_scan_records records after $3 that :scan finds, in ID order,
-- and returns those that match the filters. There are variants for each order and for each way to scan.
select :record_columns from (
  :scan
) looked_at
where ($5::text[] is null or about @> $5)
  and ($6::text is null or status = $6) and ($7::text is null or line = $7)
  and ($8::text[] is null or labels @> $8)
  and ($9::bigint is null or created_at >= $9) and ($10::bigint is null or created_at < $10)
  and ($11::bigint is null or updated_at >= $11)
order by id :direction limit $12;
