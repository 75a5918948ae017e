import { parseArgs } from "node:util"
import { play, type Story } from "./chaos.ts"
import { Disk } from "./Disk.ts"
import { allFaults, countsOf, draw, type Ground, grounds } from "./Plan.ts"

/*
 * npm run chaos -- [--seed N] [--cycles N] [--minutes N] [--ground standby|cells] [--only TEXT] [--without TEXT]
 *
 * Faults strike a service under load, cycle by cycle, and the outcome is judged. See README.md.
 */

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: `${Math.floor(Math.random() * 1e9)}` },
    cycles: { type: "string", default: "300" },
    minutes: { type: "string", default: "180" },
    ground: { type: "string" },
    only: { type: "string", default: "" },
    without: { type: "string" }
  }
})

/** From this number of cycles on, a fault that was never played is a finding. */
const coversAllFrom = 100
const cyclesPerRound = 20

const seed = Number(values.seed)
const cycles = Number(values.cycles)
const isGround = (ground: string): ground is Ground => grounds.some((one) => one === ground)
const on = values.ground !== undefined && isGround(values.ground) ? [values.ground] : grounds
const { canFill } = probeDisk()
const faults = allFaults.filter(({ name, needs }) => {
  if (name === "disk full" && !canFill) return false
  if (values.without !== undefined && name.includes(values.without)) return false
  return name.includes(values.only) && (needs === null || on.some((ground) => ground === needs))
})

console.log(`seed ${seed}, ${cycles} cycles. The seed draws the plan; when its steps meet is up to real time.`)
if (!canFill) console.log("No disk is filled: only root on Linux can mount a small one.")

const endsAt = Date.now() + Number(values.minutes) * 60_000
const stories: Array<Story> = []
for (const round of draw({ seed, cycles, cycles_per_round: cyclesPerRound, grounds: on, faults })) {
  if (Date.now() > endsAt) break
  console.log(`Round ${stories.length + 1}, ${round.ground}`)
  const story = await play(round, { ends_at: endsAt, say: console.log })
  const { cycles: played, ...result } = story
  console.log(JSON.stringify({ cycles: played.length, ...result }))
  stories.push(story)
}

const played = stories.flatMap((story) => story.cycles)
const counts = countsOf(played)
for (const [name, count] of counts) console.log(`${`${count}`.padStart(4)}  ${name}`)
const leftOut = faults.flatMap(({ name }) => (counts.get(name) === 0 ? [`Never played: ${name}`] : []))
const findings = [
  ...stories.flatMap((story, place) => story.findings.map((finding) => `Round ${place + 1}: ${finding}`)),
  ...(played.length >= coversAllFrom ? leftOut : []),
  ...(played.length < cycles
    ? [`Only ${played.length} of ${cycles} cycles were played in ${values.minutes} minutes`]
    : [])
]
for (const finding of findings) console.log(finding)
console.log(`${played.length} cycles, ${findings.length} findings, seed ${seed}`)
if (findings.length > 0) process.exitCode = 1

/** Whether a separate disk can be created and filled here. */
function probeDisk() {
  const disk = Disk.make()
  disk.remove()
  return disk
}
