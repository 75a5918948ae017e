import { signal } from "@preact/signals"

/** Grows whenever this tab has moved the clock or started something, so that open pages read again. */
export const bump = signal(0)

/** How far the workspace's clock is ahead of real time, in milliseconds; 0 in live. */
export const offsetMs = signal(0)

/** The workspace's time, in milliseconds. */
export const workspaceNow = (): number => Date.now() + offsetMs.value
