import { Effect } from "effect"
import { waitUntil } from "../../test/support/eventually.ts"
import * as Audit from "../chaos/Audit.ts"
import * as Chance from "../chaos/Chance.ts"
import * as Organization from "../chaos/Organization.ts"
import * as Receiver from "../chaos/Receiver.ts"
import { settle } from "../chaos/settle.ts"

/** Lets an organization start requests and follow its feed through any of these hosts. */
export const underLoad = Effect.fnUntraced(function* (base_urls: ReadonlyArray<string>, key: string) {
  const receiver = yield* Effect.acquireRelease(
    Effect.promise(() => Receiver.open()),
    ({ close }) => Effect.sync(close)
  )
  const acme = yield* Effect.promise(() => Organization.begin("acme", key, { base_urls }, [receiver]))
  let over = false
  const load = Promise.all([1, 2].map((lane) => Organization.load(acme, Chance.make(lane), lane, 250, () => over)))
  load.catch(() => undefined)
  return {
    /** Waits until some more requests were accepted. */
    more: Effect.promise(async () => {
      const before = acme.accepted.size
      await waitUntil(() => acme.accepted.size >= before + 3, { unless: load })
    }),
    /** Ends the load, and returns the broken promises and the failed calls. */
    findings: Effect.promise(async () => {
      over = true
      await load
      // The last advance takes as long as there is work; calls that check on it are not failures.
      const failed = [...acme.caller.repeats]
      const sent = { method: "POST", idempotency_key: "end", body: { seconds: 120 }, within_ms: 40_000 } as const
      const { body, status } = await acme.caller.call("/v1/sandbox/time", sent)
      if (status !== 200) throw new Error(`advance_sandbox returned ${status}: ${JSON.stringify(body)}`)
      acme.advanced.push(sent.body.seconds)
      const broken = Audit.findings(await settle(acme, [receiver]))
      return [...broken, ...failed, ...acme.readers.flatMap(({ repeats }) => repeats)]
    })
  }
})
