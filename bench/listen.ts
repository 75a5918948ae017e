/**
 * Measures what `quotewire listen` adds between the feed and a receiver: `npx node bench/listen.ts`, after `npm run build`.
 *
 * Host and receiver are in this process, the command is another one, as shipped. A request is started, its event arrives, and
 * only then the next one is started. "Added" is the time from the end of the feed's answer with the event to the arrival of
 * the event at the receiver. "From the start" also holds the wait until the feed is read again.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { embed, operations, type Quotewire, type Storage } from "@quotewire/core"
import { Http } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { bind } from "./bind.ts"
import { percentile } from "./statistics.ts"

const warm_up = 20
const events = 200

const serve = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await bind(createServer(listener))}`

const quotewire = embed({ storage: MemoryStorage.layer })
const { id: organization_id } = await quotewire.createOrganization("Bench")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)
const { handle } = await quotewire.run(
  Http.handler<Quotewire.Services | Storage.Storage>({ operations, base_url: "http://127.0.0.1" })
)

/** When the feed was answered last. The command handles the events of a page before it reads the next one. */
let answered_at = 0
const base_url = await serve((request, response) => {
  if (request.url?.startsWith("/v1/events") === true) {
    response.on("finish", () => {
      answered_at = performance.now()
    })
  }
  handle(request, response)
})

interface Arrival {
  readonly arrived_at: number
  readonly added_ms: number
}

let onArrival = (_arrival: Arrival): void => {}
const receiver = await serve((request, response) => {
  const arrived_at = performance.now()
  onArrival({ arrived_at, added_ms: arrived_at - answered_at })
  request.resume().on("end", () => response.writeHead(204).end())
})

const program = fileURLToPath(new URL("../packages/cli/bin/quotewire.js", import.meta.url))
const listen = spawn(process.execPath, [program, "listen", "--forward-to", receiver, "--json"], {
  env: { ...process.env, QUOTEWIRE_BASE_URL: base_url, QUOTEWIRE_API_KEY: key },
  stdio: ["ignore", "pipe", "inherit"]
})
// The first line is the secret: the command is ready.
await once(createInterface(listen.stdout), "line")

const added: Array<number> = []
const fromStart: Array<number> = []
for (let index = 0; index < warm_up + events; index++) {
  const arrival = new Promise<Arrival>((arrived) => {
    onArrival = arrived
  })
  const started_at = performance.now()
  await client.start_quote_request({
    line: "renters",
    scenario: "waits_in_queue",
    consent_receipt_id: "receipt-0001",
    request_key: `request-${index}`,
    application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
  })
  const { added_ms, arrived_at } = await arrival
  if (index < warm_up) continue
  added.push(added_ms)
  fromStart.push(arrived_at - started_at)
}

const row = (figures: ReadonlyArray<number>) => ({
  "p50, ms": percentile(Float64Array.from(figures), 0.5).toFixed(1),
  "p99, ms": percentile(Float64Array.from(figures), 0.99).toFixed(1)
})
console.table({ added: row(added), "from the start": row(fromStart) })
listen.kill()
process.exit()
