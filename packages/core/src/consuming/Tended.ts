import type { Clock, Semaphore } from "effect"
import type { Workspace, Workspaces } from "../access/Workspaces.ts"
import type * as Signal from "../concurrency/Signal.ts"
import type { Storage } from "../storage/Storage.ts"
import type { Attempts } from "./Attempts.ts"
import type { ConsumeSettings } from "./ConsumeOptions.ts"

/** What all workspaces of one consumer share. */
export interface Tending {
  readonly storage: Storage["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly clock: Clock.Clock
  readonly settings: ConsumeSettings
  /** Identifies this process in leases. */
  readonly holder: string
  /** When the name was first consumed, in milliseconds of real time. */
  readonly started_at: number
  /** Bounds how many workspaces read and handle events at once. */
  readonly slots: Semaphore.Semaphore
  readonly isStopping: () => boolean
}

/** A workspace that is consumed. */
export interface Tended extends Tending {
  readonly workspace: Workspace
  readonly attempts: Attempts
  /** Is woken when there may be new events, and when the consumer stops. */
  readonly signal: Signal.Signal
}

/** What log lines are annotated with. */
export const aboutOf = ({ settings, workspace }: Pick<Tended, "settings" | "workspace">) => ({
  consumer: settings.name,
  workspace_id: workspace.id
})
