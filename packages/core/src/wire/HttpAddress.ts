import { Result } from "effect"

/** Why text is not a valid URL. */
export type Refusal = "scheme" | "credentials" | "malformed" | "query" | "fragment" | "path"

/** The rule behind each refusal. It completes a sentence that begins with the setting's name. */
export const rules: { readonly [R in Refusal]: string } = {
  scheme: "must be an absolute http or https address",
  credentials: "must not contain a user or a password",
  malformed: "must be a valid address, without quotes, blanks, line breaks or other characters that must be encoded",
  query: "must not have a query",
  fragment: "must not have a fragment",
  path: "must not have a path"
}

/** The rule behind a refusal as a sentence: `Must not have a query.` */
export const sentenceOf = (refusal: Refusal): string => `M${rules[refusal].slice(1)}.`

/** Characters that a parser would drop or encode, and `'`, which can end a string in HTML, scripts and shells. */
const unsafe = /[\s\p{C}"'<>\\`{}|^]/u

/**
 * Parses an absolute http or https URL without credentials.
 *
 * Refuses text that a URL parser would have to repair, for example by dropping a line break.
 */
export const read = (text: string): Result.Result<URL, Refusal> => {
  const [start, authority = ""] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? []
  if (start === undefined) return Result.fail("scheme")
  if (authority.includes("@")) return Result.fail("credentials")
  const url = unsafe.test(text) ? null : URL.parse(text)
  return url === null || authority === "" ? Result.fail("malformed") : Result.succeed(url)
}

/** Parses a base URL and removes its trailing slashes. The URL may have a path. */
export const readBase = (text: string): Result.Result<string, Refusal> =>
  Result.flatMap(read(text), ({ origin, pathname }) => {
    if (text.includes("#")) return Result.fail("fragment")
    if (text.includes("?")) return Result.fail("query")
    return Result.succeed(origin + pathname.replace(/\/+$/, ""))
  })

/** Parses the origin of a web page, such as `https://app.example.com`. */
export const readOrigin = (text: string): Result.Result<string, Refusal> =>
  Result.flatMap(readBase(text), (base) => (base === new URL(base).origin ? Result.succeed(base) : Result.fail("path")))
