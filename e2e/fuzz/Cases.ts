import fc from "fast-check"
import { at, entries, list, type Node, text } from "../../packages/http/src/documents/JsonNode.ts"
import { type Known, known } from "./Known.ts"
import { fitting, marker, unfitting, unsafe } from "./Values.ts"

/** The expected response: a success, or a refusal with one of these codes that names the field. */
export type Expectation =
  | { readonly tag: "accepted"; readonly besides: ReadonlyArray<number> }
  | { readonly tag: "refused"; readonly codes: ReadonlyArray<string>; readonly field?: string }
  | { readonly tag: "answered" }

/** A request as plain data. Text between `@@` is replaced by what the host knows when the request is sent. */
export interface Case {
  readonly what: string
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly query: ReadonlyArray<readonly [name: string, encoded: string]>
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** The body's members as JSON text, in order, or text for the whole body; null for no body. */
  readonly body: ReadonlyArray<readonly [name: string, json: string]> | string | null
  readonly expect: Expectation
}

/** An operation as the document describes it. */
interface Described {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly query: ReadonlyArray<Node>
  readonly inPath: ReadonlyArray<string>
  readonly takesKey: boolean
  readonly forbids: boolean
  readonly takesBody: boolean
  readonly fields: ReadonlyArray<readonly [string, Node]>
  readonly required: ReadonlyArray<string>
  readonly methods: ReadonlyArray<string>
}

const describe = (document: Node): ReadonlyArray<Described> =>
  entries(document, document, "paths").flatMap(([path, item]) =>
    Object.keys(item).map((method): Described => {
      const call = at(document, item, method)
      const parameters = list(document, call, "parameters")
      const content = at(document, at(document, call, "requestBody"), "content")
      const schema = at(document, at(document, content, "application/json"), "schema")
      // The first alternative of a body: all have the same fields.
      const [body = schema] = list(document, schema, "oneOf")
      const within = (place: string) => parameters.filter((parameter) => parameter.in === place)
      return {
        name: text(call, "operationId"),
        method: method.toUpperCase(),
        path,
        query: within("query"),
        inPath: within("path").map((parameter) => text(parameter, "name")),
        takesKey: within("header").some((parameter) => parameter.name === "Idempotency-Key"),
        forbids: "403" in at(document, call, "responses") && !("security" in call),
        takesBody: method === "post" || method === "patch",
        fields: entries(document, body, "properties"),
        required: Array.isArray(body.required) ? body.required.map(String) : [],
        methods: Object.keys(item).map((one) => one.toUpperCase())
      }
    })
  )

/** Requests to every operation of a document: some valid, more that are wrong in one way. */
export const cases = (document: Node): fc.Arbitrary<Case> =>
  fc.oneof(
    ...describe(document).map((operation) => {
      const right = rightCases(document, operation)
      return fc.oneof(
        { arbitrary: right, weight: 3 },
        ...wrongCases(document, operation, right).map((arbitrary) => ({ arbitrary, weight: 1 }))
      )
    })
  )

const rightCases = (document: Node, operation: Described): fc.Arbitrary<Case> => {
  const it = known(operation.name, operation.path)
  return fc.record({ query: queryOf(document, operation, it), body: bodyOf(document, operation, it) }).map(
    ({ query, body }): Case => ({
      what: "right",
      operation: operation.name,
      method: operation.method,
      path: operation.path
        .replace("{id}", it.id ?? "none")
        .replace("{event_id}", "@@event@@")
        .replace("{recovery_id}", "@@recovery@@")
        .replace("{action}", "stop"),
      query,
      headers: [
        ["authorization", `Bearer @@${it.key}@@`],
        ...(operation.takesKey ? [["idempotency-key", "@@unique@@"] as const] : []),
        ...(body === null ? [] : [["content-type", "application/json"] as const])
      ],
      body,
      expect: { tag: "accepted", besides: it.besides }
    })
  )
}

const queryOf = (document: Node, { query }: Described, it: Known) =>
  fc
    .record(
      Object.fromEntries(
        query.map((parameter) => {
          const name = text(parameter, "name")
          return [name, it.fields?.[name] ?? fitting(document, at(document, parameter, "schema"))]
        })
      ),
      {
        requiredKeys: query
          .filter((parameter) => parameter.required === true)
          .map((parameter) => text(parameter, "name"))
      }
    )
    .map((values) =>
      Object.entries(values)
        // A cursor comes from the service and is never made up.
        .filter(([name]) => name !== "cursor")
        .map(([name, value]) => [name, encodeURIComponent(String(value))] as const)
    )

const bodyOf = (document: Node, { fields, required, takesBody }: Described, it: Known) => {
  if (!takesBody || (fields.length === 0 && it.body === undefined)) return fc.constant(null)
  const values =
    it.body ??
    fc.record(
      Object.fromEntries(fields.map(([name, schema]) => [name, it.fields?.[name] ?? fitting(document, schema)])),
      { requiredKeys: [...required] }
    )
  return values.map((body) => Object.entries(body).map(([name, value]) => [name, JSON.stringify(value)] as const))
}

type Change = (right: Case) => Case

/** Changes a valid case into a case that is wrong in one way. */
const wrongly = (right: fc.Arbitrary<Case>, changes: fc.Arbitrary<Change>): fc.Arbitrary<Case> =>
  fc.tuple(right, changes).map(([one, change]) => change(one))

const refused = (what: string, codes: ReadonlyArray<string>, field?: string) => ({
  what,
  expect: { tag: "refused", codes, ...(field === undefined ? {} : { field }) } as const
})

const wrongCases = (
  document: Node,
  operation: Described,
  right: fc.Arbitrary<Case>
): ReadonlyArray<fc.Arbitrary<Case>> =>
  [
    ...wrongCallers(operation),
    ...wrongAddresses(operation),
    ...wrongQueries(document, operation),
    ...wrongHeaders(operation),
    ...(operation.takesBody ? wrongBodies(document, operation) : [])
  ].map((changes) => wrongly(right, changes))

const withHeader = (one: Case, name: string, ...values: ReadonlyArray<string>): Case["headers"] => [
  ...one.headers.filter(([other]) => other !== name),
  ...values.map((value) => [name, value] as const)
]

const wrongCallers = ({ forbids }: Described): ReadonlyArray<fc.Arbitrary<Change>> => [
  fc
    .constantFrom([], [`Bearer ${marker}`], ["Basic QTpC"], ["Bearer"], [""], [`Bearer sandbox_server_${marker}`])
    .map((values) => (one) => ({
      ...one,
      ...refused("a caller who is not known", ["authentication_failed"]),
      headers: withHeader(one, "authorization", ...values)
    })),
  ...(forbids
    ? [
        fc.constantFrom("widget", "platform").map(
          (kind): Change =>
            (one) => ({
              ...one,
              ...refused(`a ${kind} key`, ["forbidden"]),
              headers: withHeader(one, "authorization", `Bearer @@${kind}@@`)
            })
        )
      ]
    : [])
]

const wrongAddresses = ({ methods, inPath, path }: Described): ReadonlyArray<fc.Arbitrary<Change>> => {
  // Actions are a short list, so a suffix turns one into an unknown word.
  const tailCodes = path.endsWith("{action}") ? ["not_found", "invalid_input"] : ["not_found"]
  return [
    fc
      .constantFrom(
        ...["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"].filter((method) => !methods.includes(method))
      )
      .map((method) => (one) => ({ ...one, ...refused(`the method ${method}`, ["not_found"]), method })),
    fc
      .constantFrom("/", "//", "/x/y/z", "%zz", "%ff", ";a=b")
      .map((tail) => (one) => ({ ...one, ...refused(`the tail ${tail}`, tailCodes), path: `${one.path}${tail}` })),
    ...(inPath.length === 0
      ? []
      : [
          fc.constantFrom("%00", "a%00b", "%F0%9F%A6%86%00").map(
            (id): Change =>
              (one) => ({
                ...one,
                ...refused("NUL in an id", ["invalid_input"], "id"),
                path: one.path.replace(/@@\w+@@/, id)
              })
          ),
          fc
            .constantFrom("..%2f..", "__proto__", "qreq_", "%F0%9F%A6%86", "0", "a".repeat(2_000), marker, "%27%22")
            .map(
              (id): Change =>
                (one) => ({
                  ...one,
                  ...refused("an id of nothing", ["not_found"]),
                  path: one.path.replace(/@@\w+@@/, id)
                })
            )
        ])
  ]
}

const wrongQueries = (document: Node, { query }: Described): ReadonlyArray<fc.Arbitrary<Change>> => [
  fc.constantFrom("x", "__proto__", "constructor", "limit%20", "%F0%9F%A6%86", "toString").map((name) => (one) => ({
    ...one,
    ...refused("an unknown parameter", ["invalid_input"], decodeURIComponent(name)),
    query: [...one.query, [name, marker]]
  })),
  ...query.flatMap((parameter): ReadonlyArray<fc.Arbitrary<Change>> => {
    const name = text(parameter, "name")
    const schema = at(document, parameter, "schema")
    const instead = (one: Case, ...values: ReadonlyArray<string>): Case["query"] => [
      ...one.query.filter(([other]) => other !== name),
      ...values.map((value) => [name, value] as const)
    ]
    const isPlain = schema.type === "string" && !["enum", "pattern", "format", "maxLength"].some((key) => key in schema)
    return [
      fitting(document, schema).map((value) => (one) => ({
        ...one,
        ...refused(`${name} twice`, ["invalid_input"], name),
        query: instead(one, encodeURIComponent(String(value)), encodeURIComponent(String(value)))
      })),
      fc.constantFrom("%00", `${marker}%00`, "%zz", "%ff", "%", "%e6%9d").map((value) => (one) => ({
        ...one,
        ...refused(`${name} that is no text`, ["invalid_input"], name),
        query: instead(one, value)
      })),
      ...(name === "cursor"
        ? [
            fc.constantFrom("", "a", marker, "e30", "%F0%9F%A6%86", "a".repeat(4_000)).map(
              (value): Change =>
                (one) => ({ ...one, ...refused("a foreign cursor", ["invalid_cursor"]), query: instead(one, value) })
            )
          ]
        : isPlain
          ? []
          : [
              unfitting(document, schema.type === "string" ? schema : { ...schema, not: { type: "string" } })
                .map((json): unknown => JSON.parse(json))
                .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
                .filter((value) => value.length < 4_000 && !(schema.type === "integer" && isWithin(value, schema)))
                .map(
                  (value): Change =>
                    (one) => ({
                      ...one,
                      ...refused(`${name} that does not fit`, ["invalid_input"], name),
                      query: instead(one, encodeURIComponent(value))
                    })
                )
            ])
    ]
  })
]

const isWithin = (value: string, { minimum, maximum }: Node): boolean =>
  /^-?\d+$/.test(value) && Number(value) >= Number(minimum ?? -Infinity) && Number(value) <= Number(maximum ?? Infinity)

const wrongHeaders = ({ takesKey }: Described): ReadonlyArray<fc.Arbitrary<Change>> => [
  fc
    .constantFrom(["2020-01-01"], [""], [marker], ["2026-09-26, 2026-09-26"], ["2026-09-26", "2026-09-26"], ["latest"])
    .map((values) => (one) => ({
      ...one,
      ...refused("a revision that is not served", ["invalid_version"], "Service-Version"),
      headers: withHeader(one, "service-version", ...values)
    })),
  ...(takesKey
    ? [
        fc.constantFrom([], [""], [`${marker} with blanks`], ["k".repeat(256)], ["k\tk"], ["k", "k l"]).map(
          (values): Change =>
            (one) => ({
              ...one,
              ...refused("an Idempotency-Key that is none", ["invalid_input"], "Idempotency-Key"),
              headers: withHeader(one, "idempotency-key", ...values)
            })
        )
      ]
    : [])
]

const membersOf = (one: Case): ReadonlyArray<readonly [string, string]> => (Array.isArray(one.body) ? one.body : [])

/** The case with a body, and a header that declares it as JSON. */
const withBody = (one: Case, body: Case["body"], type = "application/json"): Case => ({
  ...one,
  body,
  headers: withHeader(one, "content-type", type)
})

const wrongBodies = (document: Node, { fields, required }: Described): ReadonlyArray<fc.Arbitrary<Change>> => [
  fc
    .constantFrom("{", "{'a':1}", '{"a":NaN}', '{"a":1,}', '{"a":01}', "{}{}", " ", "undefined", '{"a":"\t"}')
    .map((body) => (one) => ({ ...withBody(one, body), ...refused("what is not JSON", ["invalid_json"]) })),
  fc
    .constantFrom("text/plain", "application/xml", "application/json; charset=latin1", "multipart/form-data", marker)
    .map((type) => (one) => ({ ...withBody(one, "{}", type), ...refused("another type", ["invalid_json"]) })),
  fc.constantFrom("gzip", "br", marker).map((encoding) => (one) => ({
    ...withBody(one, "{}"),
    ...refused("a packed body", ["invalid_json"]),
    headers: [...withHeader(one, "content-type", "application/json"), ["content-encoding", encoding]]
  })),
  fc.constantFrom("[]", "null", `"${marker}"`, "1", "true", "1e400", '[{"a":1}]').map((body) => (one) => ({
    ...withBody(one, body),
    ...refused("no object", ["invalid_input"], "")
  })),
  fc.constant((one) => ({
    ...withBody(one, [...membersOf(one), ["x", `"${"x".repeat(262_144)}"`]]),
    ...refused("a body that is too large", ["request_too_large"])
  })),
  fc
    .tuple(fc.constantFrom("x", "__proto__", "constructor", "a.b", "Limit", "東"), fc.constantFrom("1", `"${marker}"`))
    .map(([name, json]) => (one) => ({
      ...withBody(one, [...membersOf(one), [name, json]]),
      ...refused("an unknown field", ["invalid_input"], name)
    })),
  ...required.map((name) =>
    fc.constant<Change>((one) => ({
      ...withBody(
        one,
        membersOf(one).filter(([other]) => other !== name)
      ),
      ...refused(`no ${name}`, ["invalid_input"], name)
    }))
  ),
  ...fields.flatMap(([name, schema]): ReadonlyArray<fc.Arbitrary<Change>> => {
    const instead = (one: Case, json: string) => [
      ...membersOf(one).filter(([other]) => other !== name),
      [name, json] as const
    ]
    return [
      unsafe.map((json) => (one) => ({
        ...withBody(one, instead(one, json)),
        ...refused(`${name} that no storage holds`, ["invalid_input"], name)
      })),
      unfitting(document, schema).map((json) => (one) => ({
        ...withBody(one, instead(one, json)),
        ...refused(`${name} that does not fit`, ["invalid_input", "needs_information"], name)
      })),
      // Of two members with the same name, the last one wins.
      unfitting(document, schema).map((json) => (one) => ({
        ...withBody(one, [[name, json], ...membersOf(one)]),
        what: `${name} twice`,
        expect: membersOf(one).some(([other]) => other === name) ? one.expect : { tag: "answered" }
      }))
    ]
  })
]
