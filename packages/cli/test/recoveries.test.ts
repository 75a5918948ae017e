import { assert, describe, it } from "@effect/vitest"
import { embed, OperatorTokens, WebhookAddress } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { NodeWebhookSender, nodeHandler } from "@quotewire/http"
import { connect } from "@quotewire/http/client"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import { runInProcess } from "./support/inProcess.ts"
import { server } from "./support/servedHost.ts"

const policy = { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }

/** A host with a subscription whose endpoint refused every delivery, its owner's key, and an operator's token. */
const start = Effect.gen(function* () {
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() => embed({ storage: MemoryStorage.layer, webhooks: NodeWebhookSender.layer({ policy }) })),
    ({ close }) => Effect.promise(close)
  )
  const { address } = yield* server(nodeHandler(quotewire, { operators: true }))
  const endpoint = yield* server((_, response) => void response.writeHead(500).end())
  return yield* Effect.promise(async () => {
    const { id: organization } = await quotewire.createOrganization("Acme")
    const { key } = await quotewire.createKey({ organization_id: organization, environment: "sandbox", kind: "server" })
    const { token } = await quotewire.run(
      OperatorTokens.OperatorTokens.use((tokens) => tokens.create({ name: "desk", scopes: ["read", "write"] }))
    )
    const client = connect({ base_url: address, key })
    const { id: subscription } = await client.create_event_subscription({
      url: `${endpoint.address}/hooks`,
      event_types: ["quote.created"]
    })
    await client.start_quote_request({
      line: "renters",
      request_key: "first",
      consent_receipt_id: "receipt-0001",
      application: ExampleApplications.smallest.renters
    })
    const haveFailed = async () => {
      const { deliveries } = await client.list_event_deliveries({ id: subscription })
      return deliveries.length === 3 && deliveries.every(({ status }) => status === "failed")
    }
    // Each retry needs the response to the one before it.
    while (!(await haveFailed())) await client.advance_time({ seconds: 86_400 })
    const owner = { QUOTEWIRE_BASE_URL: address, QUOTEWIRE_API_KEY: key }
    const operator = { QUOTEWIRE_BASE_URL: address, QUOTEWIRE_OPERATOR_TOKEN: token }
    return { subscription, organization, owner, operator }
  })
})

describe("quotewire recoveries", () => {
  it.live("previews, starts, shows and pauses a recovery with a server key", () =>
    Effect.gen(function* () {
      const { owner, subscription } = yield* start
      const run = (...args: ReadonlyArray<string>) => runInProcess(["recoveries", ...args], owner)
      const { out } = yield* run("preview", subscription, "--per-minute", "1")
      assert.match(out, /^3 deliveries match; sending them takes 180 s at 1 per minute\. Nothing was sent\.$/)
      const later = yield* run("preview", subscription, "--after", "2999-01-01T00:00:00Z")
      assert.match(later.out, /^0 deliveries match/)
      const started = yield* run("start", subscription, "--per-minute", "1")
      assert.match(started.out, /^rcv_\w+ {2}running {2}\d of 3 sent again {2}1 per minute/)
      const [id = ""] = started.out.split("  ")
      assert.match((yield* run("pause", subscription, id)).out, new RegExp(`^${id} {2}paused\\b`))
      assert.match((yield* run("show", subscription, id)).out, new RegExp(`^${id} {2}paused\\b`))
      const { recoveries } = JSON.parse((yield* run("list", subscription, "--json")).out)
      assert.deepStrictEqual([recoveries.length, recoveries[0].id, recoveries[0].state], [1, id, "paused"])
    })
  )

  it.live("starts, resumes and stops a recovery with an operator's token, and adds each step to the audit log", () =>
    Effect.gen(function* () {
      const { operator, organization, subscription } = yield* start
      const place = ["--organization", organization, "--environment", "sandbox"]
      const run = (...args: ReadonlyArray<string>) => runInProcess(["recoveries", ...args, ...place], operator)
      const wrong = yield* run("start", subscription, "--statuses", "lost")
      assert.match(
        wrong.err,
        /^quotewire: The host refused the call \(invalid_input\): "statuses\.0" is not valid\. Must be one of .*failed/
      )
      const [id = ""] = (yield* run("start", subscription, "--per-minute", "1")).out.split("  ")
      const paused = yield* run("pause", subscription, id)
      assert.match(paused.out, / {2}paused\b/, paused.err + id)
      assert.match((yield* run("resume", subscription, id)).out, / {2}running {2}/)
      assert.match((yield* run("stop", subscription, id)).out, / {2}stopped\b/)

      const audit = (...args: ReadonlyArray<string>) => runInProcess(["audit", ...args], operator)
      const { out } = yield* audit("--operation", "change_recovery")
      assert.lengthOf(out.split("\n"), 3)
      assert.include(out, `succeeded  change_recovery  by desk `)
      assert.include(out, id)
      const refused = JSON.parse((yield* audit("--outcome", "refused", "--json")).out)
      assert.deepInclude(refused, { operation: "start_recovery", error_code: "invalid_input" })
    })
  )

  it.live("fails with a usage error that names a missing setting", () =>
    Effect.gen(function* () {
      const { operator, organization, owner, subscription } = yield* start
      const said = (args: ReadonlyArray<string>, env: Record<string, string>) =>
        Effect.map(runInProcess(["recoveries", "list", subscription, ...args], env), ({ err, how }) => `${how}: ${err}`)
      const own = { QUOTEWIRE_BASE_URL: owner.QUOTEWIRE_BASE_URL }
      assert.match(yield* said([], own), /^wrong usage: .*QUOTEWIRE_API_KEY/)
      assert.match(yield* said(["--organization", organization], owner), /^wrong usage: .*QUOTEWIRE_OPERATOR_TOKEN/)
      assert.match(yield* said(["--organization", organization], operator), /^wrong usage: .*--environment/)
      assert.match((yield* runInProcess(["audit"], own)).err, /QUOTEWIRE_OPERATOR_TOKEN/)
    })
  )
})

describe("an operator without database access", () => {
  it.live("can find quote requests, check for overdue jobs, and share partner links", () =>
    Effect.gen(function* () {
      const { operator, organization, owner, subscription } = yield* start
      const found = yield* runInProcess(["requests", "find", "--line", "renters"], operator)
      assert.match(found.out, /completed \(quotes_ready\) {2}3 quotes {2}renters, sandbox {2}org_\w+ {2}qreq_\w+$/)
      assert.strictEqual((yield* runInProcess(["requests", "find", "--status", "failed"], operator)).out, "")
      const [id = ""] = /qreq_\w+/.exec(found.out) ?? []
      assert.match((yield* runInProcess(["status"], operator)).out, /^No jobs are overdue\./)

      const place = ["--organization", organization, "--environment", "sandbox"]
      for (const [shared, env, args] of [
        [id, owner, []],
        [subscription, owner, []],
        [id, operator, place],
        [subscription, operator, place]
      ] as const) {
        const { out } = yield* runInProcess(["share", shared, "--days", "2", ...args], env)
        const [, path, link = ""] = /^http:\S+(\/console\/link\/\w+)#(link_\S+)/.exec(out) ?? []
        assert.strictEqual(path, `/console/link/${shared}`)
        const reads = connect({ base_url: owner.QUOTEWIRE_BASE_URL, key: link })
        const read: Promise<unknown> =
          shared === id ? reads.get_quote_request({ id }) : reads.get_event_subscription_health({ id: shared })
        assert.isDefined(yield* Effect.promise(() => read))
      }
      assert.match((yield* runInProcess(["share", "x"], owner)).err, /<id> must be the id/)
      assert.match((yield* runInProcess(["share", id, "--days", "31"], owner)).err, /--days must be .* 1 to 30/)
    })
  )
})
