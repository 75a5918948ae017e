import { setTimeout } from "node:timers/promises"

/** How many POSTs have arrived at the receiver of an address. */
export const arrived = async (url: string): Promise<number> => Number(await (await fetch(url)).text())

const lookEveryMs = 5
const patienceMs = 120_000

/** Waits until this many POSTs have arrived; fails if they do not within two minutes. */
export const arrival = async (url: string, posts: number): Promise<void> => {
  const began = performance.now()
  for (let count = await arrived(url); count < posts; count = await arrived(url)) {
    if (performance.now() - began > patienceMs) throw new Error(`${count} of ${posts} deliveries have arrived`)
    await setTimeout(lookEveryMs)
  }
}
