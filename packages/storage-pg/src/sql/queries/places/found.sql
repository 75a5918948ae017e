-- Which tables exist at a place.
select to_regclass('quotewire.place') is not null as has_place,
  to_regclass('quotewire.migration') is not null as has_tables;
