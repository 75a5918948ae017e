import { Result } from "effect"
import * as HttpAddress from "../../wire/HttpAddress.ts"
import type { Auth } from "./Auth.ts"

/** The options of an adapter's HTTP client. STAND-IN: replaced on merge. */
export interface CarrierHttpOptions {
  readonly base_url: string | { readonly sandbox: string; readonly live: string }
  readonly auth?: Auth
  readonly headers?: Readonly<Record<string, string>>
  readonly redact?: ReadonlyArray<string>
  readonly max_bytes?: number
}

/** The mistakes in an adapter's HTTP options, given the names of its connection fields. STAND-IN: replaced on merge. */
export const faultsOf = (
  { base_url }: CarrierHttpOptions,
  _fields: ReadonlyArray<string>
): ReadonlyArray<{ readonly path: string; readonly message: string }> =>
  (typeof base_url === "string" ? [["base_url", base_url]] : Object.entries(base_url)).flatMap(
    ([path = "", url = ""]) =>
      Result.match(HttpAddress.readBase(url), {
        onFailure: (refusal) => [{ path, message: `It ${HttpAddress.rules[refusal]}.` }],
        onSuccess: (base) =>
          base.startsWith("https:") || new URL(base).hostname === "localhost"
            ? []
            : [{ path, message: "Must begin with https." }]
      })
  )
