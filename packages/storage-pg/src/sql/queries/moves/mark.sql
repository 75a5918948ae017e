-- The mark of a cell that is held.
select mark from quotewire.place where state = 'held';
