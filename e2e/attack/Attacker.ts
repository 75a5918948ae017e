import { connect } from "node:net"
import { setTimeout as after } from "node:timers/promises"
import { shapes } from "./Shapes.ts"

/*
 * A process that attacks a host: `Attacker.ts PORT SHAPE CONNECTIONS SECONDS`. It ends with the attack.
 */

const [port = "", name = "", connections = "", seconds = ""] = process.argv.slice(2)
const shape = shapes.find((one) => one.name === name)
if (shape === undefined) throw new Error(`There is no shape of the name ${name}`)
const { half_closes = false, pause_ms, pieces, reads, reopens = false } = shape
const endsAt = performance.now() + Number(seconds) * 1_000

const attack = async (): Promise<void> => {
  const socket = connect(Number(port), "127.0.0.1").on("error", () => {})
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
  if (reads) socket.resume()
  else socket.pause()
  for (const piece of pieces()) {
    if (socket.destroyed || performance.now() > endsAt) break
    socket.write(piece)
    if (pause_ms > 0) await Promise.race([after(pause_ms), closed])
  }
  if (half_closes) socket.end()
  await closed
}

const attacks = Array.from({ length: Number(connections) }, async () => {
  do await attack()
  while (reopens && performance.now() < endsAt)
})
setTimeout(() => process.exit(), Number(seconds) * 1_000)
await Promise.all(attacks)
