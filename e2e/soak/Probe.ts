/*
 * Preloaded into the watched host (`node --expose-gc --import`): reports its memory over IPC.
 */

process.on("message", () => {
  globalThis.gc?.()
  process.send?.(process.memoryUsage())
})
// Lets signals end the host, as without a probe.
process.channel?.unref()
