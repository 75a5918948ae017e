-- Which tables exist at a location.
select to_regclass('quotewire.place') is not null as has_place,
  to_regclass('quotewire.migration') is not null as has_tables;
