/*
 * Preloaded into a host (`node --import`): its parent sets the offset of the wall clock over IPC.
 */

const Right = Date
let offMs = 0

globalThis.Date = new Proxy(Right, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name))
})

function now(): number {
  return Right.now() + offMs
}

process.on("message", (message) => {
  if (typeof message === "number") offMs = message
})
// Ends together with its parent.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"))
// The channel must not keep an idle host running.
process.channel?.unref()
