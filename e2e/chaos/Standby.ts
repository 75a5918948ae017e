import { Wire } from "../../packages/storage-pg/test/support/Wire.ts"
import type { PostgresServer } from "../../test/support/PostgresServer.ts"
import { statements } from "../../test/support/TestDatabase.ts"
import type { Disk } from "./Disk.ts"
import { after } from "./Hosts.ts"
import type { Server } from "./Server.ts"

const inStepWithinMs = 60_000

/** A synchronous standby: commits of its primary wait for it. */
export class Standby {
  private readonly primary: Server
  private wire: Wire
  private copy: { readonly postgres: PostgresServer; readonly disk: Disk }

  private constructor(primary: Server, wire: Wire, copy: Standby["copy"]) {
    this.primary = primary
    this.wire = wire
    this.copy = copy
  }

  static async of(primary: Server): Promise<Standby> {
    const standby = new Standby(primary, ...(await follow(primary)))
    await standby.isInStep()
    return standby
  }

  /** Makes commits wait for this long. */
  async stall(ms: number): Promise<void> {
    this.wire.freeze("both")
    await after(ms)
    this.wire.thaw()
    await this.isInStep()
  }

  /**
   * Stalls, and after some time replaces its primary, which crashes. Then it gets its own standby.
   *
   * It is in sync before that: a crashing primary shows commits that wait for the standby as done, and nothing undoes
   * that.
   */
  async promote(stalledMs: number): Promise<void> {
    await this.isInStep()
    this.wire.freeze("both")
    await after(stalledMs)
    await this.primary.stop("immediate")
    this.wire.close()
    await statements(this.copy.postgres.url("postgres"), "select pg_promote(true, 60)")
    await this.primary.replaceBy(this.copy)
    ;[this.wire, this.copy] = await follow(this.primary)
    await this.isInStep()
  }

  async remove(): Promise<void> {
    this.wire.close()
    await this.copy.postgres.remove()
    this.copy.disk.remove()
  }

  /** Waits until the standby has everything that the primary committed and commits wait for it. */
  private async isInStep(): Promise<void> {
    const url = this.primary.url("postgres")
    const lag = "select from pg_stat_replication where sync_state = 'sync' and flush_lsn >= $lsn$"
    const [row] = await statements(url, "select pg_current_wal_insert_lsn()::text as lsn")
    const endsAt = Date.now() + inStepWithinMs
    while ((await statements(url, lag.replace("$lsn$", `'${row?.lsn}'`))).length === 0) {
      if (Date.now() > endsAt) throw new Error("The standby does not follow")
      await after(50)
    }
  }
}

const follow = async (primary: Server) => {
  const wire = await Wire.to(primary.port)
  const copy = await primary.copy(wire)
  await statements(
    primary.url("postgres"),
    "alter system set synchronous_standby_names = '*'",
    "select pg_reload_conf()"
  )
  return [wire, copy] as const
}
