import { setTimeout } from "node:timers/promises"

/** Asks the receiver at an address how many POSTs have arrived. */
export const arrived = async (url: string): Promise<number> => Number(await (await fetch(url)).text())

const lookEveryMs = 5
const patienceMs = 120_000

/** Waits until this many POSTs have arrived. Fails after two minutes. */
export const arrival = async (url: string, posts: number): Promise<void> => {
  const began = performance.now()
  for (let count = await arrived(url); count < posts; count = await arrived(url)) {
    if (performance.now() - began > patienceMs) throw new Error(`${count} of ${posts} deliveries have arrived`)
    await setTimeout(lookEveryMs)
  }
}
