import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect, isApiError } from "@quotewire/http/client"
import { smallest } from "../../../core/src/testing/Applications.ts"
import { type Serving, serve } from "./serving.ts"

const origin = "https://shop.example"
let serving: Serving

beforeAll(async () => {
  serving = await serve({ cors_origins: [origin] })
})
afterAll(() => serving.close())

/** The headers that a page may send without asking the host. */
const isSafelisted = (name: string) => ["accept", "accept-language", "content-language"].includes(name)

/** The headers of an answer that a page may read even if the host does not expose them. */
const alwaysReadable = ["cache-control", "content-language", "content-length", "content-type", "expires"]

const listOf = (headers: Headers, name: string) => (headers.get(name) ?? "").toLowerCase().split(/, */)

/** As `fetch` does in a page of this origin: it asks the host before, and hides what the host does not expose. */
const fetchOfPage = async (url: string, init: RequestInit): Promise<Response> => {
  const method = init.method ?? "GET"
  const names = [...new Headers(init.headers).keys()].filter((name) => !isSafelisted(name)).sort()
  const asked = await fetch(url, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": names.join(",")
    }
  })
  const isOpen = asked.headers.get("access-control-allow-origin") === origin
  const isAllowed =
    listOf(asked.headers, "access-control-allow-methods").includes(method.toLowerCase()) &&
    names.every((name) => listOf(asked.headers, "access-control-allow-headers").includes(name))
  if (!isOpen || !isAllowed) throw new TypeError("Failed to fetch")
  const answer = await fetch(url, { ...init, headers: { ...init.headers, origin } })
  if (answer.headers.get("access-control-allow-origin") !== origin) throw new TypeError("Failed to fetch")
  const readable = [...alwaysReadable, ...listOf(answer.headers, "access-control-expose-headers")]
  const headers = [...answer.headers].filter(([name]) => readable.includes(name))
  return new Response(answer.body, { status: answer.status, headers })
}

describe("a page with a widget key", () => {
  const newClient = async (kind: "server" | "widget") => {
    const { quotewire, base_url } = serving
    const { id: organization_id } = await quotewire.createOrganization("A shop")
    const keyOf = async (kind: "server" | "widget") =>
      (await quotewire.createKey({ organization_id, environment: "sandbox", kind })).key
    const sandbox = quotewire.client(await keyOf("server"))
    return { sandbox, client: connect({ base_url, key: await keyOf(kind), fetch: fetchOfPage, max_retries: 0 }) }
  }

  it("starts a request, waits for its quotes by its read handle, and cancels", async () => {
    const { client, sandbox } = await newClient("widget")
    const { capabilities } = await client.get_capabilities({ line: "renters" })
    assert.strictEqual(capabilities.line, "renters")
    const { id, read_handle } = await client.start_quote_request({
      line: "renters",
      request_key: "first",
      consent_receipt_id: "receipt-0001",
      application: smallest.renters
    })
    const handle = read_handle === undefined ? {} : { read_handle }
    const waiting = client.wait_for_quotes(id, handle)
    await sandbox.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" })
    const { quotes } = await waiting
    assert.isNotEmpty(quotes)
    const quote = await client.get_quote({ id: String(quotes[0]?.id) }, handle)
    assert.strictEqual(quote.quote_request_id, id)
    assert.strictEqual((await client.cancel_quote_request({ id }, handle)).status, "cannot_stop")
  })

  it("reads a refusal with all that it says", async () => {
    const { client } = await newClient("widget")
    const error: unknown = await client.get_quote({ id: "qt_none" }).catch((error) => error)
    assert.isTrue(isApiError(error, "not_found"))
    assert.propertyVal(error, "status", 404)
  })

  it("does not reach what is not made for pages", async () => {
    const { client } = await newClient("server")
    const error: unknown = await client.list_events({}).catch((error) => error)
    assert.propertyVal(error, "reason", "unreachable")
  })
})
