import { HttpAddress, InvalidArgument } from "@quotewire/core"
import { Effect, Result } from "effect"

/** The settings that contain addresses. */
export interface Addresses {
  readonly base_url: string
  readonly docs_url?: string
  /** The allowed origins. `*` allows every origin. */
  readonly cors_origins?: ReadonlyArray<string>
  readonly mcp_origins?: ReadonlyArray<string>
}

/**
 * Checks and normalizes the addresses in the settings: removes trailing slashes, and spells origins as browsers do.
 *
 * The error for a wrong address is a sentence that names the setting and the rule.
 */
export const read = <S extends Partial<Addresses>>(settings: S): Result.Result<S, InvalidArgument> => {
  const { base_url, cors_origins, docs_url, mcp_origins } = settings
  return Result.map(
    Result.all({
      ...(base_url !== undefined && { base_url: named("base_url", HttpAddress.readBase(base_url)) }),
      ...(docs_url !== undefined && { docs_url: named("docs_url", HttpAddress.readBase(docs_url)) }),
      ...(cors_origins !== undefined && {
        cors_origins: Result.all(
          cors_origins.map((origin) => (origin === "*" ? Result.succeed(origin) : readOrigin("cors_origins", origin)))
        )
      }),
      ...(mcp_origins !== undefined && {
        mcp_origins: Result.all(mcp_origins.map((origin) => readOrigin("mcp_origins", origin)))
      })
    }),
    (addresses) => ({ ...settings, ...addresses })
  )
}

/** Like `read`, but the effect dies on a wrong address, because that is a bug in the program. */
export const checked = <S extends Addresses>(settings: S): Effect.Effect<S> =>
  Effect.suspend(() => Effect.orDie(Effect.fromResult(read(settings))))

/** The path of an address, such as `/insurance`; an empty string if it has none. */
export const pathOf = (baseUrl: string): string => baseUrl.replace(/^https?:\/\/[^/]*/i, "").replace(/\/$/, "")

const readOrigin = (name: keyof Addresses, origin: string) => named(name, HttpAddress.readOrigin(origin))

const named = (name: keyof Addresses, address: Result.Result<string, HttpAddress.Refusal>) =>
  Result.mapError(address, (refusal) => new InvalidArgument({ message: `${name} ${HttpAddress.rules[refusal]}.` }))
