/** Hosts, cells and the load on them. */
export interface Fleet {
  readonly hosts: number
  readonly cells: number
  /** Servers of databases. Cells are spread over them evenly. */
  readonly servers: number
  readonly cores_per_server: number
  /** How many cells each host serves. The hosts that serve the same cells are a group, and callers are sent to the right group. */
  readonly cells_per_host: number
  readonly starts_per_second: number
}

/** What a quote request takes: a start, a job that chooses the carriers, and an ask of each carrier. */
export const carriers = 5
/** How many changes a quote request makes. */
export const changes_per_request = 2 + carriers
/** How many shared counts a start adds to: those of its key and of its organization, of a minute and of a day. */
export const counts_per_start = 4
/** How often a host sends its counts (`SharedCounts`), and at least looks for work in a cell (`Claims`). */
export const counts_every_us = 250_000
export const look_again_us = 5_000_000
/** The shortest time between two announcements of a host in a cell (`Announcer`). */
export const announce_every_us = 50_000
/** How many counts a statement has at most. */
export const max_counts = 500
/** How many changes a statement has at most (`ChangeWriter`). */
export const max_changes = 200
/** How many jobs a host claims at once. */
export const max_jobs = 128

/** How many hosts serve one cell. */
export const hostsPerCell = ({ hosts, cells, cells_per_host }: Fleet): number => (hosts * cells_per_host) / cells
