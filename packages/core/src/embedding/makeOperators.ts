import { Effect } from "effect"
import type { withoutLimits } from "../access/limits/Allowance.ts"
import * as OperatorCalls from "../operators/OperatorCalls.ts"
import type { OperatorOperation } from "../operators/OperatorOperation.ts"
import { OperatorScope, type OperatorToken } from "../operators/OperatorToken.ts"
import { OperatorTokens } from "../operators/OperatorTokens.ts"
import { type OperatorOperationServices, operatorOperations } from "../operators/operatorOperations.ts"
import { Ids } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import * as checked from "./checkedArguments.ts"
import type {
  ActingOperator,
  AnyOperatorOperation,
  EmbeddedOperatorToken,
  OperatorMethods,
  Operators
} from "./EmbeddedOperators.ts"
import type { Lifetime } from "./Lifetime.ts"

const viewOf = ({ created_at, expires_at, revoked_at, ...token }: OperatorToken): EmbeddedOperatorToken => ({
  ...token,
  created_at: fromMillis(created_at),
  expires_at: fromMillis(expires_at),
  revoked_at: revoked_at === null ? null : fromMillis(revoked_at)
})

/** Makes the operators' methods. `wrapCall` runs a call by the program itself, with or without limits. */
export const makeOperators = (run: Lifetime["call"], wrapCall: typeof withoutLimits): Operators => ({
  createToken: async (options) => {
    const { organization_id, ...rest } = checked.createToken(options)
    return run(
      Effect.gen(function* () {
        const tokens = yield* OperatorTokens
        const organization = organization_id === undefined ? undefined : yield* checked.organizationId(organization_id)
        const { details, token } = yield* tokens.create({ ...rest, organization_id: organization })
        return { token, details: viewOf(details) }
      })
    )
  },
  listTokens: () => run(OperatorTokens.use(({ list }) => Effect.map(list, (tokens) => tokens.map(viewOf)))),
  revokeToken: async (id) =>
    run(OperatorTokens.use((tokens) => Effect.map(Effect.flatMap(checked.operatorTokenId(id), tokens.revoke), viewOf))),
  as: (operator) => methodsOf((operatorCall) => run(wrapCall(operatorCall)), checked.operator(operator))
})

const methodsOf = (run: Lifetime["call"], acting: ActingOperator): OperatorMethods => {
  const method =
    (operation: AnyOperatorOperation) =>
    async (input?: unknown): Promise<unknown> => {
      const inputCopy = checked.snapshot(input ?? {})
      return run(Effect.map(call(operation, acting, inputCopy), Json.decode))
    }
  const entries = operatorOperations.map((operation): readonly [keyof OperatorMethods, unknown] => [
    operation.name,
    method(operation)
  ])
  // The cast is safe: each operation's name is mapped to the method that calls this operation.
  return Object.fromEntries(entries) as OperatorMethods
}

const call = Effect.fnUntraced(function* (
  operation: OperatorOperation<string, unknown, OperatorOperationServices>,
  { name, organization_id, scopes = OperatorScope.literals }: ActingOperator,
  input: unknown
) {
  const ids = yield* Ids
  const tokens = yield* OperatorTokens
  const operator = yield* tokens.admit({
    subject: JSON.stringify(["program", name]),
    name,
    scopes,
    organization_id: organization_id === undefined ? null : yield* checked.organizationId(organization_id)
  })
  return yield* OperatorCalls.call(operation, {
    request_id: ids.request(),
    credentials: { operator },
    input: Effect.succeed(input)
  })
})
