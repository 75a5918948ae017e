import type { Costs } from "./Costs.ts"
import * as F from "./Fleet.ts"

/** What a fleet needs, by formulas instead of a simulation. */
export interface Estimate {
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

/** The most connections that a host opens to each cell. */
const connections_per_pair = 9

/** How many changes a statement has: those that arrived while the previous statement was running, and at least one. */
const batchSize = (change_rate: number, { commit, round_trip_us }: Costs): number => {
  let changes = 1
  // The size depends on itself: a larger statement takes longer, so more changes arrive meanwhile. Repeating this finds it.
  for (let step = 0; step < 100; step++) {
    const arrived = (change_rate * (round_trip_us + commit.statement_us + changes * commit.change_us)) / 1e6
    changes = Math.min(F.max_changes, arrived + Math.exp(-arrived))
  }
  return changes
}

/** Estimates what a fleet needs, as long as nothing has to queue. */
export const estimateOf = (fleet: F.Fleet, costs: Costs): Estimate => {
  const pairs = fleet.hosts * fleet.cells_per_host
  const changes_per_second = fleet.starts_per_second * F.changes_per_request
  const change_rate = changes_per_second / pairs
  const changes_per_statement = batchSize(change_rate, costs)
  const statements = changes_per_second / changes_per_statement

  // A start and the choice of carriers create jobs, which are announced. Each host limits how often it announces.
  const hint_rate = (2 * fleet.starts_per_second) / pairs
  const announcements_per_second = pairs / (1 / hint_rate + F.announce_every_us / 1e6)
  const listeners = F.hostsPerCell(fleet)

  // A host claims from a cell after its own commits and after announcements, and from one cell at a time.
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
