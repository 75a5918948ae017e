import { createServer, type RequestListener } from "node:http"
import { type EmbedOptions, embed, Hints } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import { vi } from "vitest"

/** A service in this process with a key, closed at the end. */
export const embedded = Effect.fnUntraced(function* (options: Partial<EmbedOptions> = {}) {
  const quotewire = embed({ storage: MemoryStorage.layer, ...options })
  yield* Effect.addFinalizer(() => Effect.promise(() => quotewire.close()))
  const key = yield* Effect.promise(async () => {
    const { id: organization_id } = await quotewire.createOrganization("Test")
    return (await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })).key
  })
  return { quotewire, key }
})

export type Service = Effect.Success<ReturnType<typeof embedded>>

/** Serves a function on a free port, or on a path for a Unix socket. */
export const serving = Effect.fnUntraced(function* (listener: RequestListener, path?: string) {
  const server = createServer(listener)
  yield* Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    if (path === undefined) server.listen(0, "127.0.0.1", done)
    else server.listen(path, done)
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
  const bound = server.address()
  return `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
})

/** The body of a start call whose request stays in its queue. */
export const start = (request_key: string) =>
  JSON.stringify({
    line: "renters",
    consent_receipt_id: "receipt-0001",
    request_key,
    application: ExampleApplications.smallest.renters,
    scenario: "waits_in_queue"
  })

export const json = (key: string) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" })

/** Starts a quote request, and waits until a long poll for its next version has begun. */
export const polling = Effect.fnUntraced(function* (
  { key, quotewire }: Service,
  send: (path: string, init: RequestInit) => Promise<Response>,
  signal?: AbortSignal
) {
  const { id } = yield* Effect.promise(() => quotewire.client(key).start_quote_request(JSON.parse(start("polled"))))
  const headers = json(key)
  const answer = send(`/v1/quote-requests/${id}?since_version=1&wait_seconds=20`, {
    headers,
    ...(signal !== undefined && { signal })
  })
  yield* waiting(quotewire, 1)
  return answer
})

/** Waits until this many long polls are waiting. */
export const waiting = (quotewire: Service["quotewire"], count: number) =>
  Effect.repeat(
    Effect.promise(() => quotewire.run(Effect.flatMap(Hints.LongPolls, (polls) => polls.count))),
    { until: (polls) => polls === count }
  )

/** Captures the lines that the service logs until the test ends, instead of printing them. */
export const capturedLog = Effect.gen(function* () {
  const lines: Array<string> = []
  const spy = vi.spyOn(console, "log").mockImplementation((...parts) => void lines.push(parts.map(String).join(" ")))
  yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
  return lines
})
