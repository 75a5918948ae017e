/**
 * How the functions are planned: always by index, whatever the statistics say while a table is still small, and once for
 * each connection.
 */
export const settings =
  "set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan"
