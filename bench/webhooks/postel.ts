/*
 * Postel, an outbox of webhooks, where somebody has made a bundle of it: it is not on npm. See the README of the bench.
 */

const bundle = process.env.QUOTEWIRE_BENCH_POSTEL

/** Whether there is a bundle. */
export const isThere = bundle !== undefined

/**
 * How many workers it has: as it comes, four that each send what they have claimed side by side, sixteen at the most; or as
 * many as others may have POSTs under way.
 */
export const settings = [
  { name: "as it comes", workers: null },
  { name: "64 workers", workers: 64 }
] as const

/** What is used of the bundle. */
interface Bundle {
  readonly Postel: (options: object) => Outbox
  readonly InMemoryStorage: () => object
  readonly InProcess: (options: object) => object
  readonly pgStorage: { readonly PgStorage: (options: object) => object }
}

interface Outbox {
  readonly migrate?: () => Promise<unknown>
  readonly start: () => Promise<unknown>
  readonly stop?: () => Promise<unknown>
  readonly outbound: {
    readonly endpoints: { readonly create: (endpoint: object) => Promise<unknown> }
    readonly send: (message: object) => Promise<unknown>
  }
}

/** How it is set up. */
export interface Settings {
  /** Null for as many as it comes with. */
  readonly workers: number | null
  /** One endpoint for each. */
  readonly types: ReadonlyArray<string>
  /** Null for its storage in memory. */
  readonly database: string | null
}

/** Messages that are sent side by side. */
const sendsAtOnce = 32
// So much makes its payloads as long as ours.
const padding = "x".repeat(330)

/** Starts it with an endpoint for each type. It tells nobody when a delivery is over: the receiver's count has to. */
export const start = async (url: string, { workers, types, database }: Settings) => {
  const { Postel, InMemoryStorage, InProcess, pgStorage }: Bundle = await import(bundle ?? "")
  const storage = database === null ? InMemoryStorage() : pgStorage.PgStorage({ connectionString: database })
  const http = { ssrf: { blockPrivateRanges: false } }
  const outbox = Postel({
    outbound: { storage, workers: InProcess(workers === null ? {} : { concurrency: workers }), http }
  })
  await outbox.migrate?.()
  for (const type of types) {
    await outbox.outbound.endpoints.create({ url: `${url}/${type}`, types: [type], allowHttp: true })
  }
  await outbox.start()
  const send = async (messages: number): Promise<void> => {
    let sent = 0
    const lane = async () => {
      while (sent < messages) await outbox.outbound.send({ type: types[sent++ % types.length], data: { padding } })
    }
    await Promise.all(Array.from({ length: sendsAtOnce }, lane))
  }
  return { send, stop: async () => outbox.stop?.() }
}
