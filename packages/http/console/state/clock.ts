import { signal } from "@preact/signals"

/** Incremented whenever this tab moves the clock or starts a request, so that open pages reload. */
export const bump = signal(0)

/** How far the workspace's clock is ahead of real time, in milliseconds; 0 in the live environment. */
export const offsetMs = signal(0)

/** The current workspace time, in milliseconds. */
export const workspaceNow = (): number => Date.now() + offsetMs.value
