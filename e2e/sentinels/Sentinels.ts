import { Buffer } from "node:buffer"

/*
 * Recognizable secrets, and where they were seen: in plain text, percent-encoded, in base64 and in hex.
 */

/** A secret by its name. */
export type Sentinels = Readonly<Record<string, string>>

/** The part of the base64 of a string that does not depend on the surrounding text. */
const base64At = (bytes: Buffer, offset: number): string => {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes])
  const from = Math.ceil((offset * 8) / 6)
  return padded.toString("base64").slice(from, Math.floor((padded.length * 8) / 6))
}

const urlSafe = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_")

const percented = (bytes: Buffer): string => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")

/** The forms of a secret that a search looks for, by name. Letters in hex and in escapes are compared in lower case. */
export const formsOf = (secret: string): Readonly<Record<string, string>> => {
  const bytes = Buffer.from(secret)
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset))
  return {
    plain: secret,
    "a URL component": encodeURIComponent(secret),
    "a form field": new URLSearchParams({ a: secret }).toString().slice(2),
    JSON: JSON.stringify(secret).slice(1, -1),
    "percent-encoded": percented(bytes),
    ...Object.fromEntries(base64.map((text, offset) => [`base64 at ${offset}`, text])),
    ...Object.fromEntries(base64.map((text, offset) => [`base64url at ${offset}`, urlSafe(text)])),
    hex: bytes.toString("hex")
  }
}

/** The names of the secrets in a text, with their forms. */
export const findIn = (sentinels: Sentinels, text: string): ReadonlyArray<string> => {
  const lower = text.toLowerCase()
  return Object.entries(sentinels).flatMap(([name, secret]) =>
    Object.entries(formsOf(secret))
      .filter(([form, wanted]) =>
        form === "hex" || form === "percent-encoded" ? lower.includes(wanted) : text.includes(wanted)
      )
      .map(([form]) => `${name} (${form})`)
  )
}

/** The places that a search looks at, and the text that each has shown. */
export class Places<Name extends string> {
  private readonly seen: Map<Name, Array<string>>

  constructor(names: ReadonlyArray<Name>) {
    this.seen = new Map(names.map((name) => [name, []]))
  }

  /** Records text that a place has shown. */
  note(place: Name, ...texts: ReadonlyArray<unknown>): void {
    for (const text of texts) this.seen.get(place)?.push(typeof text === "string" ? text : JSON.stringify(text))
  }

  /** How many strings and how many characters each place has shown. */
  list(): ReadonlyArray<{ readonly place: Name; readonly texts: number; readonly characters: number }> {
    return Array.from(this.seen, ([place, texts]) => ({
      place,
      texts: texts.length,
      characters: texts.reduce((sum, { length }) => sum + length, 0)
    }))
  }

  /** Everything that a place has shown. */
  textOf(place: Name): string {
    return (this.seen.get(place) ?? []).join("\n")
  }

  /** Where each secret was found. */
  findings(sentinels: Sentinels): ReadonlyArray<string> {
    return Array.from(this.seen.keys(), (place) =>
      findIn(sentinels, this.textOf(place)).map((found) => `${place}: ${found}`)
    ).flat()
  }
}
