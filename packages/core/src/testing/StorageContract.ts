import { counts } from "./storage/counts.ts"
import { dueWork } from "./storage/dueWork.ts"
import { erasure } from "./storage/erasure.ts"
import { feed } from "./storage/feed.ts"
import { hints } from "./storage/hints.ts"
import { lanes } from "./storage/lanes.ts"
import { leases } from "./storage/leases.ts"
import { orderedJobs } from "./storage/orderedJobs.ts"
import { pagesOfRecords } from "./storage/pages.ts"
import { reports } from "./storage/reports.ts"
import { rewrites } from "./storage/rewrites.ts"
import type { Case } from "./storage/storageRule.ts"
import { type TwoHostsCase, twoHosts } from "./storage/twoHosts.ts"
import { values } from "./storage/values.ts"
import { versions } from "./storage/versions.ts"

export type { Case, OptionalMember } from "./storage/storageRule.ts"
export type { TwoHostsCase } from "./storage/twoHosts.ts"

/**
 * The contract for storage backends: the rules that every storage backend must follow.
 *
 * Each case needs its own empty storage, and is named after the rule that it checks. If the rule is broken, the case
 * dies with an error that says what happened. Some cases need an optional member of the port: skip them if the storage
 * lacks it. No test runner is needed.
 *
 * @example
 * for (const { name, needs, run } of StorageContract.cases) {
 *   it.effect.skipIf(needs === "cells" || needs === "moving")(name, () => run.pipe(Effect.provide(layer)))
 * }
 */
export const cases: ReadonlyArray<Case> = [
  ...versions,
  ...values,
  ...leases,
  ...dueWork,
  ...orderedJobs,
  ...lanes,
  ...feed,
  ...pagesOfRecords,
  ...erasure,
  ...rewrites,
  ...hints,
  ...counts,
  ...reports
]

/**
 * The rules for two hosts that share one storage: their claims, leases, versions, events and hints.
 *
 * Each case needs its own empty storage, opened once for each host. For a storage that only one process can open, pass
 * the same service twice.
 *
 * @example
 * for (const { name, run } of StorageContract.twoHostsCases) {
 *   it.effect(name, () => Effect.gen(function* () {
 *     yield* run(yield* open, yield* open)
 *   }))
 * }
 */
export const twoHostsCases: ReadonlyArray<TwoHostsCase> = twoHosts
