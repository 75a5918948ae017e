import type { Job } from "@quotewire/core"

/** The lane in which a job waits, as its column says it; null where it waits on its own. */
export const laneName = ({ ordered, lane }: Job.NewJob): string | null =>
  ordered ? "ordered" : lane === undefined ? null : `lane ${lane.name}`

/** The limit of a job's lane: of ordered jobs nobody gets one while any is leased. */
export const laneLimit = ({ ordered, lane }: Job.NewJob): number | null => (ordered ? 1 : (lane?.limit ?? null))

/** Whether the jobs of a job's lane come first. */
export const laneUrgency = ({ ordered, lane }: Job.NewJob): boolean | null => (ordered ? false : (lane?.urgent ?? null))
