import { OperatorCalls, type OperatorOperation, operatorOperations, type Quotewire } from "@quotewire/core"
import { Effect } from "effect"
import * as Asset from "../documents/Asset.ts"
import * as OperatorsDocument from "../documents/OperatorsDocument.ts"
import * as Answer from "../host/Answer.ts"
import * as RequestInfo from "../host/RequestInfo.ts"
import * as Route from "../host/Route.ts"
import type { OAuthSettings } from "../oauth/OAuthOptions.ts"
import * as OperatorGate from "../oauth/OperatorGate.ts"
import * as OperationRoute from "./OperationRoute.ts"

/**
 * The routes for operators, below `/operator/v1`, and their OpenAPI document. They accept operators' tokens, and the
 * issuer's tokens if `oauth` is set. They refuse an API key like any other wrong token.
 */
export const routes = (
  baseUrl: string,
  oauth: OAuthSettings | null
): ReadonlyArray<Route.Route<Quotewire.Services>> => {
  const identify = oauth === null ? OperatorGate.tokensOnly : OperatorGate.make(oauth, baseUrl)
  return [...operatorOperations.map((operation) => routeOf<Quotewire.Services>(operation, identify)), document(baseUrl)]
}

const routeOf = <R>(
  operation: OperatorOperation.OperatorOperation<string, unknown, R>,
  identify: OperatorGate.Identify<OperatorCalls.OperatorCallServices>
): Route.Route<R | OperatorCalls.OperatorCallServices> => {
  const { method, path, status } = operation.route
  const inputOf = OperationRoute.inputReader(operation)
  return {
    name: operation.name,
    method,
    path,
    cors: false,
    handle: (incoming) => {
      const { address, header, request_id } = incoming
      const called = Effect.flatMap(identify(RequestInfo.key(header("authorization")), address), (credentials) =>
        OperatorCalls.call(operation, { request_id, credentials, input: inputOf(incoming) })
      )
      return Effect.map(called, ({ text }) => Answer.unversioned(status, text))
    }
  }
}

/** `GET /operator/openapi.json`. */
const document = (baseUrl: string): Route.Route => {
  const asset = Asset.make({
    type: "application/json",
    cache: "no-cache",
    read: async () => JSON.stringify(OperatorsDocument.document(operatorOperations, baseUrl))
  })
  return Route.make("GET", "/operator/openapi.json", ({ header }) => asset(header))
}
