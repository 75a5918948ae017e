import { assert, describe, it } from "@effect/vitest"
import { operations, Revision } from "@quotewire/core"
import { Effect, Layer } from "effect"
import { newer, older, two } from "../../core/test/calls/inventedRevision.ts"
import { start, type TestAnswer } from "./support/host.ts"
import * as Wire from "./support/wire.ts"

const serving = start({ operations }, Layer.succeed(Revision.ServedRevisions, two))

const versionOf = ({ headers, status }: Pick<TestAnswer, "headers" | "status">) =>
  `${status} ${headers.get("service-version")}`

const named = (date: string) => ({ headers: { "service-version": date } })

describe("the Service-Version header", () => {
  it.live("selects the revision of every response except 401 and 404", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* serving
      const revisionOf = (target: string, options = {}) =>
        Effect.map(send("GET", target, { ...named(older), ...options }), versionOf)
      assert.strictEqual(yield* revisionOf("/v1/sandbox"), `200 ${older}`)
      assert.strictEqual(yield* revisionOf("/v1/sandbox", named(newer)), `200 ${newer}`)
      assert.strictEqual(yield* revisionOf("/v1/events?limit=0"), `422 ${older}`)
      assert.strictEqual(yield* revisionOf("/v1/events?cursor=x"), `400 ${older}`)
      assert.strictEqual(yield* revisionOf("/v1/events", { key: keys.widget }), `403 ${older}`)
      assert.strictEqual(yield* revisionOf("/v1/quotes/qt_x"), `404 ${newer}`)
      assert.strictEqual(yield* revisionOf("/v1/nothing"), `404 ${newer}`)
      assert.strictEqual(yield* revisionOf("/v1/sandbox", { key: null }), `401 ${newer}`)
    })
  )

  it.live("is refused, with a list of the served revisions, if it is empty, repeated or unknown", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* serving
      const head = `GET /v1/sandbox HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.server}\r\nConnection: close\r\n`
      const lines = [
        "Service-Version:",
        `Service-Version: ${older}\r\nService-Version: ${older}`,
        "Service-Version: 2027-01-14"
      ]
      for (const line of lines) {
        const answer = Wire.parse(yield* Wire.exchange(port, `${head}${line}\r\n\r\n`))
        assert.strictEqual(versionOf(answer), `400 ${newer}`)
        const { error } = JSON.parse(answer.text)
        assert.strictEqual(error.code, "invalid_version")
        assert.deepStrictEqual(error.field_errors, [
          { path: "Service-Version", message: "Must be a served revision.", allowed_values: [newer, older] }
        ])
      }
    })
  )

  it.live("is documented as optional on every operation, with the served revisions", () =>
    Effect.gen(function* () {
      const { send } = yield* serving
      const document = JSON.parse((yield* send("GET", "/openapi.json")).text)
      const { parameters, headers, responses } = document.components
      assert.strictEqual(parameters["Service-Version"].required, false)
      assert.deepStrictEqual(parameters["Service-Version"].schema.enum, [newer, older])
      assert.deepStrictEqual(headers["Service-Version"].schema.enum, [newer, older])
      assert.strictEqual(document.info.version, newer)
      const described = Object.values<Record<string, { parameters: Array<{ $ref?: string }>; responses: object }>>(
        document.paths
      ).flatMap((path) => Object.values(path))
      assert.lengthOf(described, operations.length)
      for (const operation of described) {
        assert.include(
          operation.parameters.map(({ $ref }) => $ref),
          "#/components/parameters/Service-Version"
        )
        for (const answer of Object.values<{ $ref?: string; headers?: object }>({ ...operation.responses })) {
          const { headers } = answer.$ref === undefined ? answer : responses[answer.$ref.split("/").at(-1) ?? ""]
          assert.property(headers, "Service-Version")
        }
      }
    })
  )
})
