import type { Change, NewEvent, StoredRecord } from "./Change.ts"
import type { NewJob } from "./Job.ts"
import type { Kinds } from "./Kind.ts"
import type { CountAddition } from "./Storage.ts"

/*
 * The rules for stored values. Every storage backend checks these rules before it stores anything, so that all storage
 * backends accept the same values. A value that breaks a rule is a mistake in the program.
 */

// A PostgreSQL index entry has room for two strings of this length. Only ASCII is allowed, because all storage backends
// sort ASCII in the same order.
const maxTextLength = 1_000
const printableAscii = /^[ -~]+$/
const isText = (text: string): boolean => text.length <= maxTextLength && printableAscii.test(text)
const isTextOrNull = (text: string | null): boolean => text === null || isText(text)

// With this limit, the sum of a time and a clock offset is still an exact number.
const maxTime = 2 ** 51
const isTime = (time: number): boolean => Number.isInteger(time) && Math.abs(time) <= maxTime
const isTimeOrNull = (time: number | null): boolean => time === null || isTime(time)

const maxCount = 2 ** 31 - 1
const isCount = (count: number): boolean => Number.isInteger(count) && count >= 0 && count <= maxCount

const isAbout = (ids: ReadonlyArray<string>): boolean =>
  ids.every(isText) && (ids.length < 2 || (ids.length === 2 && ids[0] !== ids[1]))

const countRule = "must be a whole number from 0 to 2^31 - 1"
const textRule = `must have 1 to ${maxTextLength} printable ASCII characters`
const timeRule = "must be a whole number of milliseconds, at most 2^51 before or after zero"
const aboutRule = `may have at most two IDs, which must differ; each ${textRule}`

/** The rule that a record breaks; null if it breaks none. */
const brokenByRecord = (record: StoredRecord): string | null => {
  if (!isText(record.id)) return `id ${textRule}`
  if (!isCount(record.version)) return `version ${countRule}`
  if (!isTextOrNull(record.parent)) return `parent ${textRule}`
  if (!isTextOrNull(record.status)) return `status ${textRule}`
  if (!isTextOrNull(record.line)) return `line ${textRule}`
  if (!record.labels.every(isText)) return `each label ${textRule}`
  if (!isAbout(record.about)) return `about ${aboutRule}`
  if (!isTime(record.created_at)) return `created_at ${timeRule}`
  if (!isTime(record.updated_at)) return `updated_at ${timeRule}`
  return isTimeOrNull(record.expires_at) ? null : `expires_at ${timeRule}`
}

/** The rule that an event breaks; null if it breaks none. */
const brokenByEvent = ({ about, id, occurred_at }: NewEvent): string | null => {
  if (!isText(id)) return `id ${textRule}`
  if (!isAbout(about)) return `about ${aboutRule}`
  return isTime(occurred_at) ? null : `occurred_at ${timeRule}`
}

/** The rule that a job breaks; null if it breaks none. */
const brokenByJob = ({ due_at, lane, ordered }: NewJob): string | null => {
  if (!isTime(due_at)) return `due_at ${timeRule}`
  if (lane === undefined) return null
  if (ordered) return "an ordered job must not have a lane"
  if (!isText(lane.name)) return `the lane's name ${textRule}`
  return isCount(lane.limit) && lane.limit > 0 ? null : "the lane's limit must be a whole number from 1 to 2^31 - 1"
}

/** The rule that another part of a change breaks; null if no other part breaks a rule. */
const brokenByChange = ({ expects, finishes, clock_offset_ms, none_due_before }: Change): string | null => {
  if (!expects.every(({ id }) => isText(id))) return `the id of an expectation ${textRule}`
  if (!expects.every(({ version }) => isCount(version))) return `the version of an expectation ${countRule}`
  if (!finishes.every(({ lease }) => isCount(lease))) return `the lease of a finished job ${countRule}`
  if (!finishes.every(({ number }) => Number.isSafeInteger(number))) return "a finished job must have a whole number"
  if (!isTimeOrNull(clock_offset_ms)) return `clock_offset_ms ${timeRule}`
  return isTimeOrNull(none_due_before) ? null : `none_due_before ${timeRule}`
}

/**
 * The error for a broken rule. It leaves out an ID that breaks the rules for strings, because such an ID could contain
 * anything.
 */
const mistake = (what: string, id: string, rule: string): Error =>
  new Error(`${what}${isText(id) ? ` ${id}` : ""} cannot be stored: ${rule}`)

/**
 * Throws if a change breaks a rule. The error names the record, event or job and the rule, but no content.
 *
 * Does not read bodies and payloads, which must be JSON text: reading a body would encode it.
 */
export const change = (parts: Change, kinds: Pick<Kinds, "byName">): void => {
  const { events, expects, jobs, workspace_id, writes } = parts
  for (const record of writes) {
    kinds.byName(record.kind)
    const rule = brokenByRecord(record)
    if (rule !== null) throw mistake(`The ${record.kind}`, record.id, rule)
  }
  for (const { kind } of expects) kinds.byName(kind)
  for (const event of events) {
    const rule = brokenByEvent(event)
    if (rule !== null) throw mistake("The event", event.id, rule)
  }
  for (const job of jobs) {
    const rule = brokenByJob(job)
    if (rule !== null) throw mistake(`The ${job.kind} job of`, workspace_id, rule)
  }
  const rule = brokenByChange(parts)
  if (rule !== null) throw mistake("A change of", workspace_id, rule)
}

/** The rule that a count breaks; null if it breaks none. */
const brokenByCount = ({ added, name, window_ms, window_start }: CountAddition): string | null => {
  if (!isText(name)) return `name ${textRule}`
  if (!isTime(window_start)) return `window_start ${timeRule}`
  if (!isTime(window_ms) || window_ms <= 0) return "window_ms must be a whole number from 1 to 2^51"
  return isTime(added) ? null : "added must be a whole number, at most 2^51 above or below zero"
}

/** Throws if an addition to a count breaks a rule, or if a count is named twice. */
export const counts = (additions: ReadonlyArray<CountAddition>): void => {
  const named = new Set<string>()
  for (const addition of additions) {
    const { name, window_ms, window_start, workspace_id } = addition
    const rule = brokenByCount(addition)
    if (rule !== null) throw mistake("The count", name, rule)
    named.add([workspace_id, window_start, window_ms, name].join(" "))
  }
  if (named.size < additions.length) throw new Error("A call cannot add to the same count twice")
}
