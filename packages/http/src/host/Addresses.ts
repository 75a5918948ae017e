import { HttpAddress } from "@quotewire/core"
import { Effect, Result } from "effect"

/** The settings that are addresses. */
export interface Addresses {
  readonly base_url: string
  readonly docs_url?: string
  /** `*` allows every origin. */
  readonly cors_origins?: ReadonlyArray<string>
}

/**
 * Checks and normalizes the addresses in the settings: no trailing slash, and origins as browsers write them.
 *
 * A wrong address is a bug of the program, so it dies with a sentence that names the setting and the rule.
 */
export const checked = <S extends Addresses>(settings: S): Effect.Effect<S & Addresses> =>
  Effect.suspend(() => {
    const { base_url, cors_origins, docs_url } = settings
    const read = {
      base_url: named("base_url", HttpAddress.readBase(base_url)),
      ...(docs_url !== undefined && { docs_url: named("docs_url", HttpAddress.readBase(docs_url)) }),
      ...(cors_origins !== undefined && {
        cors_origins: Result.all(
          cors_origins.map((origin) =>
            origin === "*" ? Result.succeed(origin) : named("cors_origins", HttpAddress.readOrigin(origin))
          )
        )
      })
    }
    return Effect.map(Effect.orDie(Effect.fromResult(Result.all(read))), (addresses) => ({ ...settings, ...addresses }))
  })

const named = (name: keyof Addresses, address: Result.Result<string, HttpAddress.Refusal>) =>
  Result.mapError(address, (refusal) => new Error(`${name} ${HttpAddress.rules[refusal]}.`))
