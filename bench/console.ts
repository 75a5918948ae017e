/*
 * Measures the console in Chromium, on a host in this process: `npx node bench/console.ts`, after `npm run build`. It
 * takes four minutes and writes nothing.
 */
import { createServer } from "node:http"
import { setTimeout } from "node:timers/promises"
import { Allowance, embed } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { nodeHandler } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { startBrowser } from "../test/support/browser.ts"
import { bind } from "./bind.ts"
import { median } from "./statistics.ts"

/** The number of events in an hour with 20 events per second. Here they arrive as fast as the bench can create them. */
const hourEvents = 72_000
/** How many events the console keeps. */
const longList = 10_000
const eventsPerSecond = 20
const firstViews = 7
const watchMs = 10_000

const quotewire = embed({
  storage: MemoryStorage.layer,
  limits: Allowance.noLimits,
  public_url: "https://quotes.example"
})
const server = createServer(nodeHandler(quotewire, { console: true }))
const address = `http://127.0.0.1:${await bind(server)}/console`
const { id: organization_id } = await quotewire.createOrganization("Bench")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)

let stories = 0

/** Starts a quote request and lets its carriers answer. */
const story = async (): Promise<void> => {
  const name = `bench-${stories++}`
  const application = ExampleApplications.smallest.renters
  await client.start_quote_request({
    line: "renters",
    request_key: name,
    consent_receipt_id: `receipt-${name}`,
    application
  })
  await client.advance_time({ seconds: 60 }, { idempotency_key: name })
}

await story()
const eventsPerStory = (await client.list_events({ limit: 100 })).events.length

const makeEvents = async (eventCount: number): Promise<void> => {
  while (stories * eventsPerStory < eventCount) await story()
}

const browser = await startBrowser()
const page = await browser.newPage()
const devtools = await page.context().newCDPSession(page)

const signIn = async (): Promise<void> => {
  await page.goto(address)
  await page.getByLabel("Server key or operator token").fill(key)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor()
}

/** Measures the time from the last byte of the page's HTML to the first view, in milliseconds. */
const firstView = async (): Promise<number> => {
  await page.reload()
  await page.getByRole("heading", { level: 1 }).waitFor()
  await setTimeout(500)
  return page.evaluate<number>(
    `performance.getEntriesByName("first-contentful-paint")[0].startTime - performance.getEntriesByType("navigation")[0].responseEnd`
  )
}

/** Measures the times between frames, in milliseconds. Each frame runs `step`, which returns whether to continue. */
const frames = (step: string): Promise<Array<number>> =>
  page.evaluate<Array<number>>(`new Promise((resolve) => {
    const times = []
    const draw = (time) => {
      times.push(time)
      if ((() => { ${step} })()) requestAnimationFrame(draw)
      else resolve(times.slice(1).map((next, index) => next - times[index]))
    }
    requestAnimationFrame(draw)
  })`)

const showFrames = (label: string, durations: ReadonlyArray<number>): void => {
  const late = durations.filter((ms) => ms > 34).length
  const [longest = 0] = durations.toSorted((a, b) => b - a)
  console.log(
    `${label}: ${durations.length} frames, ${late} took longer than two, the longest ${longest.toFixed(0)} ms`
  )
}

/** Waits until the page shows the newest event. */
const caughtUp = async (): Promise<void> => {
  const newest = (await client.list_events({ from: "newest", limit: 1 })).events[0]?.id ?? ""
  await page.locator(`code[title="${newest}"]`).first().waitFor({ timeout: 120_000 })
}

/** The memory that the page's script uses, in MB. */
const heap = async (): Promise<number> => {
  await devtools.send("HeapProfiler.collectGarbage")
  return (await devtools.send("Runtime.getHeapUsage")).usedSize / 1e6
}

await signIn()
const views: Array<number> = []
for (let nth = 0; nth < firstViews; nth++) views.push(await firstView())
console.log(`first view after the page's HTML, of ${firstViews}: ${median(views).toFixed(0)} ms`)

await page.goto(`${address}/events`)
const arriving = (async () => {
  const ends = performance.now() + watchMs
  while (performance.now() < ends) {
    const started = performance.now()
    await story()
    await setTimeout(Math.max(0, (1000 * eventsPerStory) / eventsPerSecond - (performance.now() - started)))
  }
})()
showFrames(`${eventsPerSecond} events a second`, await frames(`return performance.now() - times[0] < ${watchMs}`))
await arriving

await makeEvents(longList)
await caughtUp()
// Gives the console time to read the remaining pages of the event feed.
await setTimeout(2_000)
const heapBefore = await heap()
const rows = await page.evaluate<string>(`document.querySelector("table").getAttribute("aria-rowcount")`)
showFrames(
  `scrolling ${Number(rows) - 1} rows`,
  await frames(`scrollBy(0, 500); return innerHeight + scrollY < document.documentElement.scrollHeight - 1`)
)
await page.evaluate("scrollTo(0, 0)")
await makeEvents(hourEvents)
await caughtUp()
await setTimeout(2_000)
console.log(
  `memory of the page after ${longList} events: ${heapBefore.toFixed(1)} MB; after ${hourEvents}: ${(await heap()).toFixed(1)} MB`
)

await browser.close()
server.closeAllConnections()
server.close()
await quotewire.close()
