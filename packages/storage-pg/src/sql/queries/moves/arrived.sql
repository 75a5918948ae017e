-- Checks whether mark $1, and therefore everything before it, has arrived. The commit makes the result durable.
update quotewire.place set mark = $1
where state = 'arriving' and exists (select from quotewire.move_mark m where m.id = $1)
returning mark;
