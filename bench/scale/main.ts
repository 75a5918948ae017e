import { measured } from "./Costs.ts"
import { type Fleet, hostsPerCell } from "./Fleet.ts"
import { type Simulated, simulate } from "./simulate.ts"
import { type Sums, sumsOf } from "./sums.ts"

/*
 * Simulates fleets of hosts and cells beside the sums of what they need: `npm run simulate`, three minutes. It prints a table
 * and writes nothing.
 */

const cores_per_server = 16

/** Hosts, cells, servers, cells that each host serves, starts a second. */
const fleets = [
  [2, 1, 1, 1, 1_000],
  [8, 2, 2, 2, 5_000],
  [16, 16, 4, 16, 5_000],
  [64, 64, 16, 64, 10_000],
  [250, 250, 63, 250, 25_000],
  [1_000, 1_000, 250, 1_000, 100_000],
  [250, 250, 63, 4, 25_000],
  [1_000, 1_000, 250, 4, 100_000],
  [200, 25, 25, 1, 100_000],
  [400, 50, 50, 1, 100_000]
] as const

const fleetOf = ([hosts, cells, servers, cells_per_host, starts_per_second]: (typeof fleets)[number]): Fleet => ({
  hosts,
  cells,
  servers,
  cores_per_server,
  cells_per_host,
  starts_per_second
})

const whole = (number: number): string => Math.round(number).toLocaleString("en-US")
const percent = (share: number): string => `${Math.round(100 * share)} %`

const columns = [
  "hosts",
  "cells",
  "hosts for a cell",
  "starts/s",
  "database cores: sum",
  "simulated",
  "host cores: sum",
  "simulated",
  "connections of a server",
  "load of the busiest server",
  "start p99",
  "job late, p99",
  "ended"
]

const rowOf = (fleet: Fleet, sums: Sums, seen: Simulated): ReadonlyArray<string> => [
  whole(fleet.hosts),
  whole(fleet.cells),
  whole(hostsPerCell(fleet)),
  whole(fleet.starts_per_second),
  whole(sums.database_cores),
  whole(seen.database_cores),
  whole(sums.host_cores),
  whole(seen.host_cores),
  `${whole(sums.listening_connections)} to ${whole(sums.most_connections)}`,
  percent(seen.server_load),
  `${seen.start_p99_ms.toFixed(1)} ms`,
  `${seen.lag_p99_ms.toFixed(1)} ms`,
  percent(seen.ended)
]

const print = (cells: ReadonlyArray<string>): void => console.log(`| ${cells.join(" | ")} |`)

print(columns)
print(columns.map(() => "---:"))
for (const each of fleets) {
  const fleet = fleetOf(each)
  print(rowOf(fleet, sumsOf(fleet, measured), simulate(fleet, measured, { warm_up_s: 4, measured_s: 2 })))
}
