import { Argument, HttpAddress } from "@quotewire/core"
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
 * Every wrong address is reported with the setting's name and the rule.
 */
export const read = <S extends Partial<Addresses>>(settings: S): Result.Result<S, ReadonlyArray<Argument.Mistake>> => {
  const { base_url, cors_origins, docs_url, mcp_origins } = settings
  return Result.map(
    Argument.every({
      ...(base_url !== undefined && { base_url: named("base_url", HttpAddress.readBase(base_url)) }),
      ...(docs_url !== undefined && { docs_url: named("docs_url", HttpAddress.readBase(docs_url)) }),
      ...(cors_origins !== undefined && {
        cors_origins: readOrigins("cors_origins", cors_origins, (origin) =>
          origin === "*" ? Result.succeed(origin) : HttpAddress.readOrigin(origin)
        )
      }),
      ...(mcp_origins !== undefined && {
        mcp_origins: readOrigins("mcp_origins", mcp_origins, HttpAddress.readOrigin)
      })
    }),
    (addresses) => ({ ...settings, ...addresses })
  )
}

/** Like `read`, but the effect dies on a wrong address, because that is a bug in the program. */
export const checked = <S extends Addresses>(settings: S): Effect.Effect<S> =>
  Effect.suspend(() =>
    Effect.orDie(Effect.fromResult(Result.mapError(read(settings), (mistakes) => Argument.mistaken("Http", mistakes))))
  )

/** The path of an address, such as `/insurance`; an empty string if it has no path. */
export const pathOf = (baseUrl: string): string => baseUrl.replace(/^https?:\/\/[^/]*/i, "").replace(/\/$/, "")

type Read = Result.Result<string, HttpAddress.Refusal>

const readOrigins = (name: keyof Addresses, origins: ReadonlyArray<string>, readOne: (origin: string) => Read) =>
  Argument.every(origins.map((origin, index) => named(`${name}.${index}`, readOne(origin))))

const named = (path: string, address: Read) =>
  Result.mapError(address, (refusal) => [{ path, message: HttpAddress.sentenceOf(refusal) }])
