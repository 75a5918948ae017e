-- The ID of the last record that a page may scan, and the ID after it, if there is one. The variables are those of
-- page.sql.
select id from (
  :scan
) looked_at
order by id :direction limit 2 offset :page_scan_records - 1;
