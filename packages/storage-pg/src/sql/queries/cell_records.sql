-- The records about cells, which are stored in the workspace $1: the mark of this cell and, in the first cell, the list
-- of all cells.
select kind, body from quotewire.record where workspace_id = $1 and kind = any($2::text[]) order by id;
