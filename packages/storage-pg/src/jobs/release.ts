import type { Storage } from "@quotewire/core"
import { Effect } from "effect"
import type { Database } from "../database/Database.ts"
import * as DatabaseFunction from "../rows/DatabaseFunction.ts"
import { leaseColumns } from "../rows/jobs.ts"

const { statement, parameters } = DatabaseFunction.make("release_1", {}, { leases: leaseColumns })

/** Releases leases before they end. */
export const makeRelease =
  (database: Database): Storage.Storage["Service"]["release"] =>
  (leases) =>
    leases.length === 0 ? Effect.void : Effect.asVoid(database.write(statement, parameters({}, { leases })))
