/*
 * Preloaded into the host that is watched (`node --expose-gc --import`): tells over IPC how large its heap is.
 */

process.on("message", () => {
  globalThis.gc?.()
  process.send?.(process.memoryUsage().heapUsed)
})
// The host ends by signals, as it does without a probe.
process.channel?.unref()
