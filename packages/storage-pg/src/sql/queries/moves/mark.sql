-- The mark of a held cell.
select mark from quotewire.place where state = 'held';
