import { Effect } from "effect"
import * as OperatorCalls from "../../src/operators/OperatorCalls.ts"
import type { OperatorOperation } from "../../src/operators/OperatorOperation.ts"
import { OperatorTokens, type TokenOptions } from "../../src/operators/OperatorTokens.ts"
import { Ids } from "../../src/wire/Ids.ts"
import * as Json from "../../src/wire/Json.ts"

/** A token with all scopes. */
export const everything: TokenOptions = { name: "Support desk", scopes: ["read", "write", "facts"] }

/** Makes a token, by default with all scopes. */
export const tokenOf = (options: Partial<TokenOptions> = {}) =>
  OperatorTokens.use((tokens) => tokens.create({ ...everything, ...options })).pipe(
    Effect.catchTag("StorageUnavailable", Effect.die)
  )

/** Calls an operation as a host does, and decodes the response. */
export const callWith = <Output, R>(
  token: string | null,
  operation: OperatorOperation<string, Output, R>,
  input: unknown = {}
) =>
  Effect.flatMap(Ids, (ids) =>
    OperatorCalls.call(operation, {
      request_id: ids.request(),
      credentials: { token, address: "192.0.2.1" },
      input: Effect.succeed(input)
    })
  ).pipe(Effect.map(Json.decode))
