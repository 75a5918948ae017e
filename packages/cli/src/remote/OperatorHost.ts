import { Effect, Option, type Redacted } from "effect"
import { WrongUsage } from "../settings/CommandErrors.ts"
import type { ReachSettings } from "../settings/OperatorSettings.ts"
import { localUrl } from "../settings/Settings.ts"

/** Which host to call, and with which operator's token. */
export interface OperatorHost {
  readonly base_url: string
  readonly operator_token: Redacted.Redacted<string>
}

/** The host to call; null if no token is set, so that the command uses the database. */
export const hostOf = ({
  base_url,
  cells,
  database_url,
  operator_token
}: ReachSettings): Effect.Effect<OperatorHost | null, WrongUsage> => {
  if (Option.isNone(operator_token)) return Effect.succeed(null)
  if (Option.isSome(database_url) || Option.isSome(cells)) return Effect.fail(new WrongUsage({ message: notBoth }))
  return Effect.succeed({
    base_url: Option.getOrElse(base_url, () => localUrl),
    operator_token: operator_token.value
  })
}

const notBoth = "Use either --operator-token, or a database (--database-url or --cells), not both."
