import { ApiError, Json, Money, Operation } from "@quotewire/core"
import { Context, Deferred, Effect, Layer, Schema } from "effect"

/** What the test's operations record, so that a test can see what happens inside. */
export class Notes extends Context.Service<
  Notes,
  {
    readonly add: (note: string) => Effect.Effect<void>
    readonly all: () => ReadonlyArray<string>
    readonly woken: Deferred.Deferred<void>
  }
>()("test/Notes") {
  static readonly layer = Layer.effect(
    Notes,
    Effect.gen(function* () {
      const notes: Array<string> = []
      const woken = yield* Deferred.make<void>()
      return Notes.of({ add: (note) => Effect.sync(() => void notes.push(note)), all: () => notes, woken })
    })
  )
}

const Thing = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  note: Schema.NullOr(Schema.String),
  price: Schema.NullOr(Money.Money)
}).annotate({ identifier: "Thing" })

const everyone = { callers: ["server", "widget", "platform"] } as const
const servers = { callers: ["server"] } as const
const named = (name: string) => ({
  name,
  summary: `Does ${name}`,
  description: `Does ${name}, for tests.`,
  tag: "Things"
})
const thing = (id: string, name = "Motörhead – 東京 🦆") =>
  Json.encode<typeof Thing.Type>({ id, name, note: null, price: Money.cents(1_250) })

const getThing = Operation.make({
  ...named("get_thing"),
  route: { method: "GET", path: "/v1/things/{id}", query: { version: "integer", label: "string" }, status: 200 },
  authority: { ...everyone, by_handle: true },
  cost: { read: 1 },
  idempotent: false,
  input: Schema.Struct({
    id: Schema.String,
    version: Schema.optionalKey(
      Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({ description: "Which version" })
    ),
    label: Schema.optionalKey(Schema.String)
  }),
  output: Thing,
  errors: ["not_found"],
  run: (_, { id }) => (id.startsWith("th_") ? Effect.succeed(thing(id)) : Effect.fail(ApiError.make("not_found")))
})

const makeThing = Operation.make({
  ...named("make_thing"),
  route: { method: "POST", path: "/v1/things", query: {}, status: 201, location: (id) => `/v1/things/${id}` },
  authority: servers,
  cost: { other: 1 },
  idempotent: true,
  input: Schema.Struct({
    name: Schema.String.check(Schema.isMaxLength(200)),
    count: Schema.optionalKey(Schema.Int),
    application: Schema.optionalKey(
      Schema.Record(Schema.String, Schema.Unknown).annotate({
        description: "Free facts",
        jsonSchema: { type: "object", properties: { pets: { type: "array", items: { type: "string" } } } }
      })
    )
  }),
  output: Thing,
  errors: ["needs_information"],
  run: Effect.fnUntraced(function* (_, { name }) {
    yield* (yield* Notes).add(`made ${name}`)
    if (name === "stuck") yield* Effect.never
    return thing("th_new", name)
  })
})

const changeThing = Operation.make({
  ...named("change_thing"),
  route: { method: "PATCH", path: "/v1/things/{id}", query: {}, status: 200 },
  authority: servers,
  cost: { other: 1 },
  idempotent: false,
  input: Schema.Struct({ id: Schema.String, name: Schema.optionalKey(Schema.String) }),
  output: Thing,
  errors: ["not_found"],
  run: (_, { id, name }) => Effect.succeed(thing(id, name))
})

const pokeThing = Operation.make({
  ...named("poke_thing"),
  route: { method: "POST", path: "/v1/things/{id}/poke", query: {}, status: 202 },
  authority: servers,
  cost: { other: 1 },
  idempotent: false,
  input: Schema.Struct({ id: Schema.String }),
  output: Thing,
  errors: ["not_found", "conflict"],
  run: (_, { id }) => Effect.succeed(thing(id))
})

const waitForThing = Operation.make({
  ...named("wait_for_thing"),
  route: { method: "GET", path: "/v1/things/{id}/wait", query: {}, status: 200 },
  authority: servers,
  cost: { read: 1 },
  idempotent: false,
  input: Schema.Struct({ id: Schema.String }),
  output: Thing,
  errors: [],
  run: Effect.fnUntraced(
    function* (_, { id }) {
      const notes = yield* Notes
      yield* notes.add("waiting")
      yield* id === "th_stuck" ? Effect.never : Deferred.await(notes.woken)
      return thing(id)
    },
    Effect.onInterrupt(() => Effect.flatMap(Notes, (notes) => notes.add("interrupted")))
  )
})

const breakThing = Operation.make({
  ...named("break_thing"),
  route: { method: "DELETE", path: "/v1/things/{id}", query: {}, status: 200 },
  authority: servers,
  cost: { other: 1 },
  idempotent: false,
  input: Schema.Struct({ id: Schema.String }),
  output: Thing,
  errors: [],
  run: () => Effect.die(new Error("a secret inside"))
})

/** A few operations that cover every way to pass input and every way for a call to end. */
export const operations: ReadonlyArray<Operation.Operation<string, unknown, unknown, Notes>> = [
  getThing,
  makeThing,
  changeThing,
  pokeThing,
  waitForThing,
  breakThing
]
