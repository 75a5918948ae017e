import type { Clock, Semaphore } from "effect"
import type { Workspace, Workspaces } from "../access/Workspaces.ts"
import type { Signal } from "../storage/Hints.ts"
import type { Storage } from "../storage/Storage.ts"
import type { ConsumeSettings } from "./ConsumeOptions.ts"
import type { Lag } from "./ConsumerMetrics.ts"
import type { HandlerLock } from "./HandlerLock.ts"
import type { HandlerRuns } from "./HandlerRuns.ts"

/** The services, settings and state that a running consumer uses in all workspaces. */
export interface ConsumerContext {
  readonly storage: Storage["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly clock: Clock.Clock
  readonly settings: ConsumeSettings
  /** Identifies this process in leases. */
  readonly holder: string
  /** When the consumer's name was first used, in milliseconds of real time. */
  readonly started_at: number
  /** Limits how many workspaces are handled concurrently. */
  readonly slots: Semaphore.Semaphore
  readonly isStopping: () => boolean
  /** The lock that the handlers of all consumers in this process share. */
  readonly handlerLock: HandlerLock
  /** The metric of how far this consumer is behind. */
  readonly lag: Lag
}

/** The services, settings and state that a running consumer uses in one workspace. */
export interface WorkspaceContext extends ConsumerContext {
  readonly workspace: Workspace
  readonly runs: HandlerRuns
  /** Wakes when there may be new events, and when the consumer stops. */
  readonly signal: Signal
}

/** The log annotations for a consumer in a workspace. */
export const annotationsOf = ({ settings, workspace }: Pick<WorkspaceContext, "settings" | "workspace">) => ({
  consumer: settings.name,
  workspace_id: workspace.id
})
