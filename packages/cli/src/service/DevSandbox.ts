import { Access, OperatorToken, OperatorTokens, type Storage } from "@quotewire/core"
import { Effect } from "effect"

/*
 * What `quotewire dev` creates for its user: an organization, a sandbox key of each kind, and an operator's token.
 */

/** A sandbox, and the secrets that its user sees. */
export interface DevSandbox {
  readonly organization: Effect.Success<ReturnType<Access.Access["Service"]["createOrganization"]>>
  readonly keys: { readonly server: string; readonly widget: string; readonly platform: string }
  /** A token for the operators' API, with every scope. */
  readonly operator_token: string
}

/** Creates a sandbox. Reuses an organization that an interrupted start left behind. */
export const make: Effect.Effect<
  DevSandbox,
  Storage.StorageUnavailable,
  Access.Access | OperatorTokens.OperatorTokens
> = Effect.gen(function* () {
  const access = yield* Access.Access
  const [leftBehind] = yield* access.listOrganizations
  const organization = leftBehind ?? (yield* access.createOrganization("Development"))
  const keyOf = (kind: "server" | "widget" | "platform") =>
    Effect.map(
      access.createKey({ organization_id: organization.id, environment: "sandbox", kind }),
      (issued) => issued.key
    )
  const keys = yield* Effect.all({ server: keyOf("server"), widget: keyOf("widget"), platform: keyOf("platform") })
  const tokens = yield* OperatorTokens.OperatorTokens
  const { token: operator_token } = yield* tokens.create({
    name: "quotewire dev",
    scopes: OperatorToken.OperatorScope.literals
  })
  return { organization, keys, operator_token }
}).pipe(Effect.catchTags({ not_found: Effect.die, invalid_input: Effect.die }))
