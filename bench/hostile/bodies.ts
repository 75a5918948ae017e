import * as starts from "../starts.ts"

/** A request whose body has the maximum size and is meant to keep the host busy. */
export interface Hostile {
  readonly name: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const maxBytes = 256 * 1024

/** Comma-separated pieces that fill a body. `around` is the size of the rest of the body. */
const full = (piece: (index: number) => string, around: number): string => {
  const pieces: Array<string> = []
  let bytes = around
  for (let i = 0; ; i++) {
    const next = piece(i)
    bytes += Buffer.byteLength(next) + 1
    if (bytes > maxBytes) return pieces.join(",")
    pieces.push(next)
  }
}

/** Encodes a value as JSON and replaces its placeholder with pieces until the body is full. */
const filled = (value: unknown, piece: (index: number) => string): string => {
  const [before = "", after = ""] = JSON.stringify(value).split('"{full}"')
  return before + full(piece, before.length + after.length) + after
}

/** Like `filled`, but the pieces are members of an object. */
const filledObject = (value: unknown, piece: (index: number) => string): string => {
  const [before = "", after = ""] = JSON.stringify(value).split('"{full}":0')
  return before + full(piece, before.length + after.length) + after
}

const mark = "{full}"
const member = (i: number) => `"k${i.toString(36)}":0`
const start = starts.household("hostile")
/** Reuses the `request_key` of a stored request, so that the host compares everything that was sent. */
const again = starts.household("hostile-again")
const { application } = start
const [driver] = application.drivers
const subscription = { url: "https://example.com/hook", event_types: [mark] }
const report = { kind: "bug", summary: "s", expected: "e", actual: "a" }
const ids = { ...report, tried: { request_ids: [mark] } }

const restCall = (name: string, path: string, body: string): Hostile => ({
  name,
  path,
  headers: { "idempotency-key": "hostile" },
  body
})
const ofStart = (name: string, body: string): Hostile => restCall(`start: ${name}`, "/v1/quote-requests", body)
const ofTypes = (name: string, piece: (index: number) => string): Hostile =>
  restCall(`event_types: ${name}`, "/v1/event-subscriptions", filled(subscription, piece))
const ofIds = (name: string, piece: (index: number) => string): Hostile =>
  restCall(`request_ids: ${name}`, "/v1/feedback", filled(ids, piece))

const message = (tool: string, args: unknown) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name: tool,
    arguments: args,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {}
    }
  }
})
const ofTool = (name: string, tool: string, body: string): Hostile => ({
  name: `tool: ${name}`,
  path: "/v1/mcp",
  headers: {
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": tool
  },
  body
})

/** A batch with the maximum number of messages, in the MCP revision that has batches. */
const ofBatch = (name: string, args: (index: number) => unknown): Hostile => ({
  name: `tool: a batch ${name}`,
  path: "/v1/mcp",
  headers: { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-03-26" },
  body: JSON.stringify(
    Array.from({ length: 10 }, (_, i) => ({
      jsonrpc: "2.0",
      id: i,
      method: "tools/call",
      params: { name: "start_quote_request", arguments: args(i) }
    }))
  )
})

const drivers = (items: ReadonlyArray<unknown>) => ({ ...start, application: { ...application, drivers: items } })
const address = (garaging_address: unknown) => ({ ...start, application: { ...application, garaging_address } })
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i.toString(36)}`, 0]))
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`
const escapes = "\\u0001".repeat(40_000)
const vins = Array.from({ length: 6 }, () => ({ model_year: 2019, make: "Honda", model: "Civic", [mark]: 0 }))

/** A feedback report with text of 2,000 characters, the longest that is searched for personal numbers. */
const texts = (name: string, unit: string): Hostile => {
  const text = unit.repeat(Math.floor(2_000 / unit.length))
  const named = { name: unit.repeat(Math.floor(200 / unit.length)) }
  return restCall(
    `feedback: ${name}`,
    "/v1/feedback",
    JSON.stringify({ ...report, expected: text, actual: text, agent: named })
  )
}

/** The most expensive bodies that we know of. The host refuses each. */
export const bodies: ReadonlyArray<Hostile> = [
  ofStart("unknown fields at the top", filledObject({ ...start, [mark]: 0 }, member)),
  ofStart(
    "unknown fields in application",
    filledObject({ ...start, application: { ...application, [mark]: 0 } }, member)
  ),
  ofStart("unknown fields in a driver", filledObject(drivers([{ ...driver, [mark]: 0 }]), member)),
  ofStart(
    "unknown fields in the last of six cars",
    filledObject({ ...start, application: { ...application, vehicles: vins.slice(0, 1) } }, member)
  ),
  ofStart("unknown fields in contact_consent", filledObject({ ...start, contact_consent: { [mark]: 0 } }, member)),
  ofStart(
    "fields with long names",
    filledObject({ ...start, [mark]: 0 }, (i) => `"${"n".repeat(2_000)}${i}":0`)
  ),
  ofStart(
    "drivers without facts",
    filled(drivers([mark]), () => "{}")
  ),
  ofStart(
    "drivers with wrong facts",
    filled(drivers([mark]), () => '{"relationship":1}')
  ),
  ofStart(
    "drivers that are numbers",
    filled(drivers([mark]), () => "1")
  ),
  ofStart(
    "incidents without facts",
    filled(drivers([{ ...driver, incidents: [mark] }]), () => "{}")
  ),
  ofStart(
    "drivers with a list each",
    filled(drivers([mark]), () => '{"incidents":[{}]}')
  ),
  ofStart(
    "channels that are numbers",
    filled({ ...start, contact_consent: { receipt_id: "receipt-0002", channels: [mark] } }, (i) => `${i}`)
  ),
  ofStart(
    "channels, all the same",
    filled({ ...start, contact_consent: { receipt_id: "receipt-0002", channels: [mark] } }, () => '"sms"')
  ),
  ofStart(
    "texts that no storage holds",
    filled({ ...start, application: [mark] }, () => '"\\u0000"')
  ),
  ofStart(
    "texts that no storage holds, below long names",
    filled({ ...start, application: { ["n".repeat(100_000)]: [mark] } }, () => '"\\u0000"')
  ),
  ofStart("lists in lists", `{"line":"pet","application":${deep(130_000)}}`),
  ofStart(
    "many lists in lists",
    filled({ ...start, application: [mark] }, () => deep(30))
  ),
  ofStart("objects in objects", `{"line":"pet","application":${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}}`),
  ofStart("escapes", `{"line":"pet","application":"${escapes}"}`),
  ofStart("a name of escapes", `{"line":"pet","application":{"${escapes}":1}}`),
  ofStart("one long number", `{"line":"pet","application":${"9".repeat(260_000)}}`),
  ofStart(
    "empty objects",
    filled({ ...start, application: [mark] }, () => "{}")
  ),
  ofStart(
    "many objects in objects",
    filled({ ...start, application: [mark] }, () => nested(30))
  ),
  ofStart(
    "many lists in lists in an address",
    filled(address([mark]), () => deep(28))
  ),
  ofStart(
    "many lists in lists in an unknown field",
    filled({ ...start, application: { ...application, unknown: [mark] } }, () => deep(28))
  ),
  ofStart(
    "many lists in lists beside a wrong line",
    filled({ ...start, line: "boat", application: [mark] }, () => deep(30))
  ),
  ofStart(
    "many lists in lists beside a wrong consent",
    filled({ ...start, consent_receipt_id: 1, application: [mark] }, () => deep(30))
  ),
  ofStart(
    "unknown fields in every incident",
    JSON.stringify(
      drivers(
        Array.from({ length: 6 }, () => ({ ...driver, incidents: Array.from({ length: 10 }, () => members(520)) }))
      )
    )
  ),
  ofStart(
    "unknown fields in a driver, beside a wrong consent",
    filledObject({ ...drivers([{ ...driver, [mark]: 0 }]), consent_receipt_id: 1 }, member)
  ),
  ofStart("an object where a text should be", filledObject(address({ state: "TX", zip: { [mark]: 0 } }), member)),
  ofStart(
    "unknown fields with numbers for names",
    filledObject(drivers([{ ...driver, [mark]: 0 }]), (i) => `"${i}":0`)
  ),
  ofStart(
    "unknown fields with far numbers for names",
    filledObject(drivers([{ ...driver, [mark]: 0 }]), (i) => `"${i * 100_003}":0`)
  ),
  ofStart(
    "unknown fields with names beyond ASCII",
    filledObject(drivers([{ ...driver, [mark]: 0 }]), (i) => `"\u{1F600}${i.toString(36)}":0`)
  ),
  ofStart(
    "names that no storage holds",
    filledObject(drivers([{ ...driver, [mark]: 0 }]), (i) => `"\\u0000${i.toString(36)}":0`)
  ),
  ofStart(
    "one field again and again",
    filledObject(drivers([{ ...driver, [mark]: 0 }]), () => '"relationship":1')
  ),
  ofStart("unknown fields in contact_channels", filledObject({ ...start, contact_channels: { [mark]: 0 } }, member)),
  ofStart(
    "a long text beyond ASCII",
    JSON.stringify(address({ state: "TX", zip: "75201", city: "\u{1F600}".repeat(65_000) }))
  ),
  restCall("feedback: unknown fields", "/v1/feedback", filledObject({ ...report, tried: { [mark]: 0 } }, member)),
  restCall(
    "feedback: a long text beyond ASCII",
    "/v1/feedback",
    JSON.stringify({ ...report, expected: "\u{1F600}".repeat(65_000) })
  ),
  ofTypes("many lists in lists", () => deep(30)),
  ofTypes("numbers, all the same", () => "1"),
  ofTypes("numbers, all different", (i) => `${i}`),
  ofTypes("unknown", (i) => `"t${i.toString(36)}"`),
  ofTypes("unknown, all the same", () => '""'),
  ofTypes("one, again and again", () => '"quote.ready"'),
  ofIds("numbers", (i) => `${i}`),
  ofIds("unknown", (i) => `"r${i.toString(36)}"`),
  ofIds("empty", () => '""'),
  texts("digits", "1"),
  texts("groups of digits", "123-45 "),
  texts("words of licenses", "dl# a1234 "),
  texts("characters that are eighteen in plain", "\ufdfa"),
  texts("marks", "a\u0301\u0327\u0323"),
  ofTool(
    "unknown arguments",
    "start_quote_request",
    filledObject(message("start_quote_request", { ...start, [mark]: 0 }), member)
  ),
  ofTool(
    "unknown arguments beside a request_key",
    "send_test_event",
    filledObject(message("send_test_event", { subscription_id: "sub", request_key: "k", [mark]: 0 }), member)
  ),
  ofTool(
    "unknown fields in application",
    "start_quote_request",
    filledObject(message("start_quote_request", { ...start, application: { ...application, [mark]: 0 } }), member)
  ),
  ofTool(
    "nulls in application",
    "start_quote_request",
    filledObject(
      message("start_quote_request", { ...start, request_key: "nulls", application: { ...application, [mark]: 0 } }),
      (i) => `"k${i.toString(36)}":null`
    )
  ),
  ofTool(
    "many lists in lists",
    "start_quote_request",
    filled(message("start_quote_request", { ...start, application: [mark] }), () => deep(30))
  ),
  ofTool(
    "an application as text",
    "start_quote_request",
    JSON.stringify(message("start_quote_request", { ...start, application: JSON.stringify(members(6_000)) }))
  ),
  ofTool(
    "request ids",
    "send_feedback",
    filled(message("send_feedback", ids), () => '""')
  ),
  { ...ofTool("a batch", "start_quote_request", `[${full(() => '{"jsonrpc":"2.0","id":1,"method":"ping"}', 2)}]`) },
  ofBatch("of ten with unknown arguments", (i) => ({ ...start, request_key: `batch-${i}`, ...members(2_300) })),
  ofTool(
    "a message with unknown members",
    "start_quote_request",
    filledObject({ ...message("start_quote_request", again), [mark]: 0 }, member)
  ),
  ofStart(
    "used key, unknown fields in application",
    filledObject({ ...again, application: { ...application, [mark]: 0 } }, member)
  ),
  ofStart(
    "used key, an object where a text should be",
    filledObject({ ...address({ state: "TX", zip: { [mark]: 0 } }), request_key: again.request_key }, member)
  ),
  ofStart(
    "used key, empty objects",
    filled({ ...again, application: [mark] }, () => "{}")
  ),
  ofStart(
    "used key, many lists in lists",
    filled({ ...again, application: [mark] }, () => deep(30))
  ),
  ofStart(
    "used key, numbers",
    filled({ ...again, application: [mark] }, () => "1")
  )
]
