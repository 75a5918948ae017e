import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect, Fiber } from "effect"
import { connect } from "./clients.ts"
import { AgentHosts, agentHosts } from "./host.ts"

const callers = ["server", "platform", "keyless"] as const
type CallerKind = (typeof callers)[number]

/** The REST response, for comparison with the tool's response. */
const rest = (baseUrl: string, path: string, key: string, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } })
    assert.strictEqual(response.status, 200, path)
    return response.json()
  })

const advance = (baseUrl: string, key: string, seconds: number) =>
  Effect.promise(() =>
    fetch(`${baseUrl}/v1/sandbox/time`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": randomUUID()
      },
      body: JSON.stringify({ seconds })
    })
  )

/** How the person's consent reaches the service. */
const consentOf = (caller: CallerKind, disclosureVersion: unknown) =>
  caller === "keyless"
    ? { quote_disclosure_version: disclosureVersion, quote_disclosure_accepted: true }
    : { consent_receipt_id: "receipt-0001", credit_disclosure_receipt_id: "receipt-0002" }

/**
 * Checks that a tool's response has all fields of another response, with the same values. It may have additional
 * fields.
 */
const holdsAll = (told: unknown, answer: unknown): void => {
  if (typeof answer !== "object" || answer === null) {
    assert.deepStrictEqual(told, answer)
    return
  }
  assert.strictEqual(Array.isArray(told) ? told.length : "object", Array.isArray(answer) ? answer.length : "object")
  for (const [name, value] of Object.entries(answer)) holdsAll(Object(told)[name], value)
}

const facts = ["75201", "1991-04-12", "Honda", "Civic"]

layer(agentHosts(), { excludeTestServices: true })("an agent's journeys", (it) => {
  it.effect.each(callers)("an agent goes from a line's capabilities to a quote's next actions: %s", (caller) =>
    Effect.gen(function* () {
      const { base_urls, keys } = yield* AgentHosts
      const [base_url] = base_urls
      const client = yield* connect("2.4.0, auto", base_urls, caller === "keyless" ? null : keys[caller])
      yield* client.tools

      // The agent reads the same capabilities as over REST.
      const offered = yield* client.call("get_capabilities", { line: "personal_auto" })
      const { capabilities, quote_disclosure } = offered.structured
      assert.strictEqual(quote_disclosure === undefined, caller !== "keyless")
      const { capabilities: same } = yield* rest(base_url, "/v1/capabilities?line=personal_auto", keys.server)
      holdsAll(capabilities, same)

      // A start call without all facts is refused, and says which are missing.
      const { vehicles, ...incomplete } = ExampleApplications.smallest.personal_auto
      const start = {
        line: "personal_auto",
        request_key: randomUUID(),
        ...consentOf(caller, quote_disclosure?.version),
        scenario: "quotes_ready"
      }
      const refused = yield* client.call("start_quote_request", { ...start, application: incomplete })
      assert.strictEqual(refused.structured.error.code, "needs_information")
      assert.include(
        refused.structured.error.field_errors.map(({ path }: { path: string }) => path),
        "application.vehicles.0.make"
      )
      assert.include(refused.texts[0], "application.vehicles.0.make")

      // With all facts, the request starts.
      const started = yield* client.call("start_quote_request", { ...start, application: { ...incomplete, vehicles } })
      const { id, read_handle, version } = started.structured
      assert.strictEqual(started.structured.status, "in_progress")
      assert.strictEqual(read_handle === undefined, caller === "server")
      assert.strictEqual(started.structured.quote_consent?.kind, caller === "keyless" ? "quote_disclosure" : undefined)
      const opened = { id, ...(read_handle !== undefined && { read_handle }) }

      // A read with `since_version` waits for a change.
      const waiting = yield* Effect.forkChild(
        client.call("get_quote_request", { ...opened, since_version: version, wait_seconds: 20 })
      )
      yield* advance(base_url, keys.server, 2)
      const changed = yield* Fiber.join(waiting)
      assert.isAbove(changed.structured.quote_request.version, version)
      assert.strictEqual(changed.structured.quote_request.status, "in_progress")
      assert.include(changed.texts[0], `since_version ${changed.structured.quote_request.version}`)

      // When the request is completed, the summary has the prices.
      yield* advance(base_url, keys.server, 60)
      const done = yield* client.call("get_quote_request", opened)
      const { quote_request, quotes } = done.structured
      assert.strictEqual(quote_request.status, "completed")
      assert.isAtLeast(quotes.length, 4)
      assert.match(done.texts[0] ?? "", /\$\d[\d,]*\.\d\d for (6|12) months/)
      assert.include(done.texts[0], "not coverage")
      assert.strictEqual(done.structured.summary, done.texts[0])
      holdsAll(done.structured, yield* rest(base_url, `/v1/quote-requests/${id}`, keys.server))

      // A quote says how the person continues on the carrier's site.
      const quote = yield* client.call("get_quote", { ...opened, id: quotes[0].id })
      holdsAll(quote.structured, quotes[0])
      holdsAll(quote.structured, yield* rest(base_url, `/v1/quotes/${quotes[0].id}`, keys.server))
      const onward = quote.structured.next_actions.find(
        ({ type }: { type: string }) => type === "continue_on_carrier_site"
      )
      assert.match(onward.url, /\/go\//)
      assert.include(quote.texts[0], `the person opens this link themselves: ${onward.url}\n`)

      // No summary for a model contains what the person said.
      for (const fact of facts) {
        assert.include(JSON.stringify(ExampleApplications.smallest.personal_auto), fact)
        for (const { texts } of [refused, started, changed, done, quote]) assert.notInclude(texts[0], fact)
      }
    })
  )

  it.effect.each(["platform", "keyless"] as const)(
    "an agent can read a request only with that request's read handle: %s",
    (caller) =>
      Effect.gen(function* () {
        const { base_urls, keys } = yield* AgentHosts
        const client = yield* connect("2.4.0, default", base_urls, caller === "keyless" ? null : keys[caller])
        const { structured } = yield* client.call("get_capabilities", { line: "renters" })
        const start = () =>
          client.call("start_quote_request", {
            line: "renters",
            request_key: randomUUID(),
            application: ExampleApplications.smallest.renters,
            ...(caller === "keyless"
              ? {
                  quote_disclosure_version: structured.quote_disclosure.version,
                  quote_disclosure_accepted: true
                }
              : { consent_receipt_id: "receipt-0003" })
          })
        const mine = (yield* start()).structured
        const other = (yield* start()).structured
        const read = (read_handle: string) =>
          Effect.map(
            client.call("get_quote_request", { id: mine.id, read_handle, wait_seconds: 0 }),
            ({ structured }) => structured.quote_request?.id ?? structured.error.code
          )
        assert.strictEqual(yield* read(mine.read_handle), mine.id)
        assert.strictEqual(yield* read(other.read_handle), "not_found")
        assert.strictEqual(yield* read("rh_wrong"), "not_found")
      })
  )

  it.effect("an agent without a key cannot start with false consent, a receipt or a non-UUID request key", () =>
    Effect.gen(function* () {
      const { base_urls } = yield* AgentHosts
      const client = yield* connect("1.32.2", base_urls, null)
      const { structured } = yield* client.call("get_capabilities", { line: "renters" })
      const refused = yield* client.call("start_quote_request", {
        line: "renters",
        request_key: "not-a-uuid",
        application: ExampleApplications.smallest.renters,
        consent_receipt_id: "receipt-0004",
        quote_disclosure_version: structured.quote_disclosure.version,
        quote_disclosure_accepted: false
      })
      assert.sameMembers(
        refused.structured.error.field_errors.map(({ path }: { path: string }) => path),
        ["request_key", "consent_receipt_id", "quote_disclosure_accepted"]
      )
    })
  )
})
