import { Base64, Hex } from "effect/encoding"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import type { CarrierAdapter, ConnectionValues } from "../Carrier.ts"

/*
 * A secret that was sent to a carrier can come back in many forms: unchanged, escaped for a URL, a form, JSON, XML or
 * HTML, in base64 (even twice), in hex, broken into lines, and in combinations of these. This module finds them all.
 */

/** Finds all forms of the given secrets in a text, in time linear in the length of the text. */
export interface SecretFinder {
  /** Returns the text with every secret replaced, even a secret that is cut off at the end of the text. */
  readonly without: (text: string) => string
  /** Whether the text contains a secret. */
  readonly isIn: (text: string) => boolean
}

/** The text that replaces a secret. */
export const redacted = "[redacted]"

/** Shorter secrets are ignored, because they occur in other texts by chance. */
const minCharacters = 4
/** If a secret is longer than this, only this many characters from its beginning are searched for. */
const maxSearched = 128
/**
 * A secret that is cut off at the end of a text is recognized only if at least this many of its characters are left.
 * Fewer characters could occur in other text by chance.
 */
const minCutCharacters = 8
/** How many levels of nested escapes are undone, such as JSON inside a form inside JSON. */
const maxLevels = 3

/** The finder for no secrets. It finds nothing. */
export const none: SecretFinder = { without: (text) => text, isIn: () => false }

/**
 * The forms of one secret: the forms to find in the text as it is, and the forms to find after the text's escapes are
 * undone.
 */
interface Forms {
  readonly plain: ReadonlyArray<string>
  readonly unescaped: ReadonlyArray<string>
}

const formsOf = (secret: string): Forms => {
  const plain = unique([secret, ...inBase64(secret), ...inBase64Twice(secret), ...inHex(secret)])
  // Undoing the escapes in a text also undoes escapes that belong to a secret, so search for the secret in that form
  // too.
  const unescapedForms = plain.flatMap((form) => {
    const view = viewOf(form)
    return [view, ...levelsOf(view)].map(({ bytes }) => spaced(bytes))
  })
  return { plain, unescaped: unique(unescapedForms) }
}

/** Makes a finder for these secrets. */
export const make = (secrets: Iterable<string>): SecretFinder => finderWith(secrets, formsOf)

/**
 * Makes a finder for the secrets of a carrier: all connection values that the adapter does not declare as a `string`,
 * and the credentials that were sent.
 */
export const ofCarrier = (
  { connection = {} }: Pick<CarrierAdapter, "connection">,
  values: ConnectionValues = {},
  sentSecrets: ReadonlyArray<string> = [],
  makeFinder: typeof make = make
): SecretFinder => {
  const secretValues = Object.entries(values).flatMap(([name, value]) => (connection[name] === "string" ? [] : [value]))
  return makeFinder([...secretValues, ...sentSecrets])
}

const finderWith = (secrets: Iterable<string>, formsIn: typeof formsOf): SecretFinder => {
  const whole = [...new Set(secrets)].map((secret) => secret.toWellFormed()).filter(isLongEnough)
  if (whole.length === 0) return none
  const forms = whole.map(formsIn)
  const findPlain = makeSpanFinder(unique(forms.flatMap(({ plain }) => plain)))
  const findUnescaped = makeSpanFinder(unique(forms.flatMap((form) => form.unescaped)))
  const spansIn = (text: string): ReadonlyArray<Span> => {
    if (text.length < minCharacters) return []
    if (!escapes.test(text)) return findPlain(text)
    const view = viewOf(text)
    const levels = [view, ...levelsOf(view)]
    const spansAt = (level: View) =>
      findUnescaped(spaced(level.bytes)).map(([from, to]): Span => [level.at(from), level.at(to)])
    return [
      ...findPlain(text),
      ...levels.flatMap(spansAt),
      ...levels
        .flatMap(unfolded)
        .flatMap(spansAt)
        .map(([from, to]): Span => [from, endOfLine(text, from, to)])
    ]
  }
  return {
    without: (text) => replaced(text, spansIn(text)),
    isIn: (text) => spansIn(text).length > 0
  }
}

/**
 * Makes finders as `make` does, and caches the latest finders by their secrets.
 *
 * A carrier receives the same credentials again and again, and making a finder takes longer than cleaning most answers.
 * The forms of each secret are cached too. If many organizations have credentials for one carrier, almost every set of
 * secrets is new, but almost every secret in the set is known.
 */
export const cachingFinders = (maxEntries: number): typeof make => {
  const formsIn = cachedResults(formsPerFinder * maxEntries, (secret) => secret, formsOf)
  const finderIn = cachedResults(
    maxEntries,
    (secrets) => JSON.stringify(secrets),
    (secrets: ReadonlyArray<string>) => finderWith(secrets, formsIn)
  )
  return (secrets) => {
    const whole = [...new Set(secrets)].toSorted()
    return whole.length === 0 ? none : finderIn(whole)
  }
}

/** The number of secrets whose forms each cached finder keeps. */
const formsPerFinder = 32

/** Wraps a function so that it caches its latest results. */
const cachedResults = <A, B>(
  maxEntries: number,
  keyOf: (from: A) => string,
  compute: (from: A) => B
): ((from: A) => B) => {
  const values = new BoundedMap<string, B>(maxEntries)
  return (from) => {
    const key = keyOf(from)
    const cached = values.get(key)
    if (cached !== undefined) return cached
    const value = compute(from)
    values.set(key, value)
    return value
  }
}

/** The start and the end of a match in a text. */
type Span = readonly [from: number, to: number]

const isLongEnough = (text: string): boolean => text.length >= minCharacters && text.trim() !== ""

const unique = (forms: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(forms)].filter(isLongEnough)

/**
 * Makes a function that finds forms in a text, including a form that is cut off at the end of the text.
 *
 * It reads the text once, however many forms there are. Many short texts cost no more than one long text.
 */
const makeSpanFinder = (forms: ReadonlyArray<string>): ((text: string) => ReadonlyArray<Span>) => {
  const byHead = new Map<string, Array<number>>()
  const heads = new Uint8Array(headHashes)
  for (const [index, form] of forms.entries()) {
    const head = form.slice(0, minCharacters)
    byHead.set(head, [...(byHead.get(head) ?? []), index])
    heads[headHash(form, 0)] = 1
  }
  return (text) => {
    const spans: Array<Span> = []
    // Most texts contain no secret, so this is made when the first one is found.
    let ends: Map<number, number> | null = null
    for (let at = 0; at + minCharacters <= text.length; at++) {
      if (heads[headHash(text, at)] === 0) continue
      for (const index of byHead.get(text.slice(at, at + minCharacters)) ?? []) {
        if (at < (ends?.get(index) ?? 0)) continue
        const form = forms[index] ?? ""
        const length = sharedLength(text, at, form)
        const end = isFound(form, length) ? at + length : isCut(text, at, length) ? text.length : null
        if (end === null) continue
        spans.push([at, end])
        ends ??= new Map()
        ends.set(index, end)
      }
    }
    return spans
  }
}

const headHashes = 1 << 14

/** A hash of the four characters at this position, to compare with the first four characters of a form. */
const headHash = (text: string, index: number): number =>
  (text.charCodeAt(index) ^
    (text.charCodeAt(index + 1) << 4) ^
    (text.charCodeAt(index + 2) << 8) ^
    (text.charCodeAt(index + 3) * 31)) &
  (headHashes - 1)

/** Where a span ends without its trailing line break. */
const endOfLine = (text: string, from: number, to: number): number =>
  from + text.slice(from, to).replace(/[\r\n]+[ \t]*$/, "").length

/** How many characters of a form the text has from this position on. */
const sharedLength = (text: string, from: number, form: string): number => {
  let length = 0
  while (length < form.length && text[from + length] === form[length]) length += 1
  return length
}

const isFound = (form: string, length: number): boolean => length === form.length || length >= maxSearched

/** An escape that is cut off at the end of a text. */
const cutEscape = /(?:%[\da-f]?|\\(?:u[\da-f]{0,3}|x[\da-f]?)?|&[#\w]{0,7})$/i
const maxEscapeCharacters = 8

/** Whether the text ends after this many characters, or only a cut-off escape follows them. */
const isCut = (text: string, from: number, length: number): boolean => {
  if (length < minCutCharacters) return false
  if (from + length === text.length) return true
  const tail = text.slice(-maxEscapeCharacters)
  return from + length >= text.length - (cutEscape.exec(tail)?.[0].length ?? 0)
}

const replaced = (text: string, spans: ReadonlyArray<Span>): string => {
  if (spans.length === 0) return text
  let redactedText = ""
  let end = 0
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    if (to <= end) continue
    if (from > end || end === 0) redactedText += text.slice(end, from) + redacted
    end = to
  }
  return redactedText + text.slice(end)
}

/**
 * A secret in base64. Base64 encodes three bytes at a time, and a secret can begin at any of these bytes, so each
 * secret has three forms in each alphabet. Each form has only the characters that the secret fully determines.
 */
const inBase64 = (secret: string): ReadonlyArray<string> => unique(writtenForms(secret)).flatMap(encodedForms)

/** A secret in base64 of base64. To keep the number of forms small, the secret is not also escaped. */
const inBase64Twice = (secret: string): ReadonlyArray<string> => unique(encodedForms(secret)).flatMap(encodedForms)

const encodedForms = (text: string): ReadonlyArray<string> => {
  const bytes = encoder.encode(text)
  return [0, 1, 2].flatMap((offset) => {
    const shifted = new Uint8Array(offset + bytes.length)
    shifted.set(bytes, offset)
    const encoded = Base64.encode(shifted).slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6))
    return [encoded, encoded.replaceAll("+", "-").replaceAll("/", "_")]
  })
}

/** A text in hex, in lower and upper case. */
const inHex = (secret: string): ReadonlyArray<string> => {
  const digits = Hex.encode(secret)
  return [digits, digits.toUpperCase()]
}

/** A secret unchanged, and escaped for a form, a URL and JSON. */
const writtenForms = (secret: string): ReadonlyArray<string> => [
  secret,
  new URLSearchParams([["", secret]]).toString().slice(1),
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1)
]

const encoder = new TextEncoder()
/** Decodes each byte to one character, so that a position in the text is also a position in the bytes. */
const decoder = new TextDecoder("latin1")

/** A text in UTF-8, with each byte's position in the original text. */
interface View {
  readonly bytes: Uint8Array
  readonly at: (byte: number) => number
}

/** The bytes as text, with plus signs as spaces, because forms encode spaces that way. */
const spaced = (bytes: Uint8Array): string => decoder.decode(bytes).replaceAll("+", " ")

const viewOf = (text: string): View => {
  const bytes = encoder.encode(text)
  if (bytes.length === text.length) return { bytes, at: (index) => index }
  const places = new Int32Array(bytes.length + 1)
  let byte = 0
  let place = 0
  for (const character of text) {
    const size = byteLength(character.codePointAt(0) ?? 0)
    places.fill(place, byte, byte + size)
    byte += size
    place += character.length
  }
  places[byte] = place
  return { bytes, at: (index) => places[index] ?? place }
}

const byteLength = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4)

/** A text without these characters has no escapes and no line breaks. */
const escapes = /[%\\&+\r\n]/

/** The break between two lines of base64, or of a folded header. */
const lineBreak = /[\r\n]+[ \t]*/g

/** The XML and HTML names of ASCII characters. */
const entities: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", AMP: "&", LT: "<", GT: ">", QUOT: '"' },
  ...{ Tab: "\t", NewLine: "\n", excl: "!", num: "#", dollar: "$", percnt: "%", lpar: "(", rpar: ")", ast: "*" },
  ...{ plus: "+", comma: ",", period: ".", sol: "/", colon: ":", semi: ";", equals: "=", quest: "?", commat: "@" },
  ...{ lsqb: "[", lbrack: "[", bsol: "\\", rsqb: "]", rbrack: "]", Hat: "^", lowbar: "_", UnderBar: "_", grave: "`" },
  ...{ lcub: "{", lbrace: "{", verbar: "|", vert: "|", rcub: "}", rbrace: "}" }
}

const escape = new RegExp(
  [
    "(?:%|\\\\x)([\\da-fA-F]{2})",
    "\\\\u([dD][89abAB][\\da-fA-F]{2})\\\\u([dD][c-fC-F][\\da-fA-F]{2})",
    "\\\\u([\\da-fA-F]{4})",
    "\\\\([\"'\\\\/bfnrt])",
    "&#x0*([\\da-fA-F]{1,6});",
    "&#0*(\\d{1,7});",
    `&(${Object.keys(entities).join("|")});`
  ].join("|"),
  "g"
)

const controls: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

/** The views of a text after one, two and more levels of escapes are undone. */
const levelsOf = (view: View): ReadonlyArray<View> => {
  const levels: Array<View> = []
  for (let last: View | null = unescaped(view); last !== null && levels.length < maxLevels; last = unescaped(last)) {
    levels.push(last)
  }
  return levels
}

/** The view with one level of escapes undone; null if it has no escapes. */
const unescaped = (view: View): View | null => rewritten(view, escape, writeUnescaped)

/** The view without line breaks; empty if it has no line breaks. */
const unfolded = (view: View): ReadonlyArray<View> => {
  const line = rewritten(view, lineBreak, () => 0)
  return line === null ? [] : [line]
}

/**
 * The view with each match replaced by the bytes that `write` writes; null if nothing matches. `write` returns how many
 * bytes it wrote, which must be fewer than the match has.
 */
const rewritten = (
  { at, bytes }: View,
  pattern: RegExp,
  write: (match: RegExpExecArray, into: Uint8Array) => number
): View | null => {
  const text = decoder.decode(bytes)
  const output = new Uint8Array(bytes.length)
  const places = new Int32Array(bytes.length + 1)
  let length = 0
  let read = 0
  const copyTo = (end: number) => {
    output.set(bytes.subarray(read, end), length)
    for (; read < end; read++, length++) places[length] = read
  }
  for (const match of text.matchAll(pattern)) {
    copyTo(match.index)
    const written = write(match, output.subarray(length))
    places.fill(match.index, length, length + written)
    length += written
    read += match[0].length
  }
  // Every replacement is shorter than its match, so an equal length means that nothing matched.
  if (length === read) return null
  copyTo(bytes.length)
  places[length] = bytes.length
  return { bytes: output.subarray(0, length), at: (byte) => at(places[byte] ?? bytes.length) }
}

/** Writes the bytes that an escape stands for, and returns their number. */
const writeUnescaped = ([, byte, ...match]: RegExpExecArray, into: Uint8Array): number => {
  const code = byte === undefined ? codeOf(match) : hexOf(byte)
  if (byte === undefined && code > 0x7f) return encoder.encodeInto(String.fromCodePoint(code), into).written
  into[0] = code
  return 1
}

/** The code point that an escape names. */
const codeOf = ([high, low, unit, control, hex, decimal, entity]: ReadonlyArray<string | undefined>): number => {
  if (high !== undefined && low !== undefined) {
    return 0x10000 + (hexOf(high) - 0xd800) * 0x400 + (hexOf(low) - 0xdc00)
  }
  if (unit !== undefined) return hexOf(unit)
  if (control !== undefined) return (controls[control] ?? control).charCodeAt(0)
  if (entity !== undefined) return (entities[entity] ?? "").charCodeAt(0)
  return Math.min(hex === undefined ? Number(decimal) : hexOf(hex), 0x10ffff)
}

const hexOf = (digits: string): number => Number.parseInt(digits, 16)
