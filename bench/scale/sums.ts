import type { Costs } from "./Costs.ts"
import * as F from "./Fleet.ts"

/** What a fleet needs, computed. */
export interface Sums {
  /** Busy cores of all servers. */
  readonly database_cores: number
  readonly host_cores: number
  /** Connections of one server: each host keeps one that listens in every cell that it serves, and opens up to eight more. */
  readonly listening_connections: number
  readonly most_connections: number
  readonly changes_per_statement: number
  readonly claims_per_second: number
  readonly announcements_per_second: number
}

/** What a host opens in each cell at most. */
const connections_per_pair = 9

/** How many changes a statement has: those that came while the statement before was under way, or one. */
const gathered = (change_rate: number, { commit, round_trip_us }: Costs): number => {
  let changes = 1
  // Larger statements take longer, so more changes come meanwhile.
  for (let step = 0; step < 100; step++) {
    const came = (change_rate * (round_trip_us + commit.statement_us + changes * commit.change_us)) / 1e6
    changes = Math.min(F.max_changes, came + Math.exp(-came))
  }
  return changes
}

/** Computes what a fleet needs, for as long as nothing has to queue. */
export const sumsOf = (fleet: F.Fleet, costs: Costs): Sums => {
  const pairs = fleet.hosts * fleet.cells_per_host
  const changes_per_second = fleet.starts_per_second * F.changes_per_request
  const change_rate = changes_per_second / pairs
  const changes_per_statement = gathered(change_rate, costs)
  const statements = changes_per_second / changes_per_statement

  // Starts and choices make jobs, and so announcements, but at most one in so many microseconds from each host.
  const hint_rate = (2 * fleet.starts_per_second) / pairs
  const announcements_per_second = pairs / (1 / hint_rate + F.announce_every_us / 1e6)
  const listeners = F.hostsPerCell(fleet)

  // A host asks a cell after its own commits and after announcements, but one cell after the other.
  const heard_rate = hint_rate + ((listeners - 1) * announcements_per_second) / pairs
  const claim_s = (costs.round_trip_us + costs.claim.statement_us + costs.claim.host_us) / 1e6
  const asked_rate = fleet.cells_per_host * Math.max(1e6 / F.look_again_us, heard_rate)
  const claims_per_host = 1 / (claim_s + Math.exp(-asked_rate * claim_s) / asked_rate)
  const claims_per_second = fleet.hosts * claims_per_host
  const jobs_per_second = fleet.starts_per_second * (1 + F.carriers)

  const counts = fleet.starts_per_second * F.counts_per_start
  // A host sends to each cell in which it has counted something since.
  const starts_between = ((fleet.starts_per_second / pairs) * F.counts_every_us) / 1e6
  const sends = ((pairs * 1e6) / F.counts_every_us) * (1 - Math.exp(-starts_between))
  const count_us = counts * costs.counts.count_us + sends * costs.counts.statement_us
  const database_us =
    count_us +
    statements * costs.commit.statement_us +
    changes_per_second * costs.commit.change_us +
    claims_per_second * costs.claim.statement_us +
    jobs_per_second * costs.claim.job_us +
    announcements_per_second * (costs.hint.statement_us + listeners * costs.hint.listener_us)
  const host_us =
    changes_per_second * costs.commit.host_change_us +
    claims_per_second * costs.claim.host_us +
    announcements_per_second * (listeners - 1) * costs.hint.host_us
  const cells_per_server = fleet.cells / fleet.servers
  return {
    database_cores: database_us / 1e6,
    host_cores: host_us / 1e6,
    listening_connections: listeners * cells_per_server,
    most_connections: listeners * cells_per_server * connections_per_pair,
    changes_per_statement,
    claims_per_second,
    announcements_per_second
  }
}
