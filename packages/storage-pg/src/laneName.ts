import type { Job } from "@quotewire/core"

/** The lane in which a job waits, as its column says it; null where it waits on its own. */
export const laneName = ({ ordered, lane }: Job.NewJob): string | null =>
  ordered ? "ordered" : lane === undefined ? null : `lane ${lane.name}`

/** The limit of a job's lane: of ordered jobs nobody gets one while any is leased. */
export const laneLimit = ({ ordered, lane }: Job.NewJob): number => (ordered ? 1 : (lane?.limit ?? 0))
