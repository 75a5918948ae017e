import { DateTime, Option } from "effect"
import type { MaintenanceWindow } from "./Carrier.ts"

/**
 * When a carrier that is closed at `now` opens again, in milliseconds of real time; null if it is open.
 *
 * Windows that touch or overlap count as one. A window without valid times is ignored.
 */
export const openUntil = (windows: ReadonlyArray<MaintenanceWindow>, now: number): number | null =>
  windows
    .flatMap(({ from, until }) => Option.toArray(Option.all({ from: millisOf(from), until: millisOf(until) })))
    .toSorted((a, b) => a.from - b.from)
    .reduce<number | null>((end, { from, until }) => (from <= (end ?? now) && (end ?? now) < until ? until : end), null)

const millisOf = (text: string): Option.Option<number> => Option.map(DateTime.make(text), DateTime.toEpochMillis)
