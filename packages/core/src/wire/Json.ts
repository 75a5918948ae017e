import { Predicate } from "effect"

declare const type: unique symbol

/**
 * The encoded form of a value: its JSON text, and at compile time the type that the text decodes to.
 *
 * A quote version and an event never change, so they are encoded once, stored as text and answered with that text.
 */
export interface Json<out A> {
  readonly text: string
  readonly [type]?: A
}

/** Any value that JSON can hold. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | ReadonlyArray<JsonValue>
  | { readonly [key: string]: JsonValue }

/** Encodes a value. */
export const encode = <A>(value: A): Json<A> => ({ text: JSON.stringify(value) })

/** Takes text that is known to be the encoded form of an `A`, such as what storage gives back. */
export const fromText = <A>(text: string): Json<A> => ({ text })

/** Decodes text that this library has encoded itself; text from outside goes through a `Schema` instead. */
export const decode = <A>(json: Json<A>): A => JSON.parse(json.text)

/**
 * Decodes these members of an object and passes over all others, which takes half the time where they are few.
 *
 * The text is one that this library has encoded itself, and the names are such as JSON writes as they are.
 */
export const pick = <A extends object, Name extends keyof A & string>(
  { text }: Json<A>,
  names: ReadonlyArray<Name>
): Pick<A, Name> => {
  const wanted: ReadonlyArray<string> = names
  const members: Array<string> = []
  let at = 1
  while (members.length < wanted.length && text.charCodeAt(at) === quotation_mark) {
    const end_of_name = endOfString(text, at)
    const end = endOfValue(text, end_of_name + 2)
    if (wanted.includes(text.slice(at + 1, end_of_name))) members.push(text.slice(at, end))
    at = end + 1
  }
  return JSON.parse(`{${members.join(",")}}`)
}

/**
 * Whether an object anywhere in it has a member of this name and this text: found without decoding.
 *
 * Nothing else can look like it: inside a text every quotation mark has a backslash before it.
 */
export const holds = ({ text }: Json<unknown>, name: string, value: string): boolean => {
  const member = JSON.stringify({ [name]: value }).slice(1, -1)
  return text.includes(`{${member}`) || text.includes(`,${member}`)
}

const quotation_mark = 0x22
const backslash = 0x5c

/** Where the string that begins here ends: at its second quotation mark. */
const endOfString = (text: string, begin: number): number => {
  let end = text.indexOf('"', begin + 1)
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end
}

/** Whether what stands here is escaped: behind an odd number of backslashes. */
const isEscaped = (text: string, at: number): boolean => {
  let first = at
  while (text.charCodeAt(first - 1) === backslash) first -= 1
  return (at - first) % 2 === 1
}

/** Where the member that has its value here ends: at the comma or the brace behind it. */
const endOfValue = (text: string, begin: number): number => {
  let depth = 0
  for (let at = begin; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quotation_mark:
        at = endOfString(text, at)
        break
      case 0x7b: // {
      case 0x5b: // [
        depth += 1
        break
      case 0x7d: // }
      case 0x5d: // ]
        if (depth === 0) return at
        depth -= 1
        break
      case 0x2c: // ,
        if (depth === 0) return at
    }
  }
  return text.length
}

/**
 * The text of a value as a JSON string, as `JSON.stringify` would write it, in little more than half the time.
 *
 * In text that this library has encoded only quotation marks and backslashes are left to escape, and in UTF-8 no other
 * letter holds their bytes.
 */
export const quoted = ({ text }: Json<unknown>): string => {
  if (text.length > most_quoted) return JSON.stringify(text)
  const { written } = encoder.encodeInto(text, plain)
  let end = 1
  for (let at = 0; at < written; at++) {
    const byte = plain[at] ?? 0
    // Written in any case, and written over where the byte is not to be escaped: this needs no branch.
    escaped[end] = backslash
    end += Number(byte === quotation_mark) + Number(byte === backslash)
    escaped[end++] = byte
  }
  escaped[end++] = quotation_mark
  return decoder.decode(escaped.subarray(0, end))
}

/** Longer text is rare, and written by `JSON.stringify`. */
const most_quoted = 32_768
const encoder = new TextEncoder()
const decoder = new TextDecoder()
/** Room for the text in UTF-8, and for the string that it becomes. */
const plain = new Uint8Array(3 * most_quoted)
const escaped = new Uint8Array(2 * plain.length + 2).fill(quotation_mark, 0, 1)

/**
 * Encodes an object whose members are encoded already, without decoding them.
 *
 * @example
 * Json.object<{ quote_request: QuoteRequest }>({ quote_request: stored })
 */
export const object = <A extends object>(members: { readonly [K in keyof A]: Json<A[K]> }): Json<A> => ({
  text: `{${Object.entries<Json<unknown>>(members)
    .map(([name, member]) => `${JSON.stringify(name)}:${member.text}`)
    .join(",")}}`
})

/**
 * The `id` of an encoded resource, which is its first member: read without decoding the rest of it.
 *
 * Null where the text begins otherwise.
 */
export const idOf = (json: Json<unknown>): string | null => leadingId.exec(json.text)?.[1] ?? null

const leadingId = /^\{"id":"([0-9a-z_]+)"/

/** Adds members to an object that is encoded already. */
export const extend = <A extends object, B extends object>(json: Json<A>, members: B): Json<A & B> => {
  const added = JSON.stringify(members).slice(1)
  return { text: added === "}" ? json.text : `${json.text.slice(0, -1)},${added}` }
}

/** The same text with null in the place of every member of this name. */
export const withNull = <A>(json: Json<A>, name: string): Json<A> => ({
  text: JSON.stringify(JSON.parse(json.text), (key, value) => (key === name ? null : value))
})

/** Encodes a list whose items are encoded already. */
export const array = <A>(items: ReadonlyArray<Json<A>>): Json<ReadonlyArray<A>> => ({
  text: `[${items.map((item) => item.text).join(",")}]`
})

/**
 * The canonical text of a value: members in the order of their names, no blanks.
 *
 * Two inputs that mean the same have the same canonical text, whatever order their members came in.
 */
export const canonical = (value: unknown): string => JSON.stringify(inOrder(value)) ?? "null"

const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  if (!Predicate.isObject(value)) return value
  const ordered: { [name: string]: unknown } = {}
  for (const name of sorted(Object.keys(value))) {
    // Assigned to, this name would set the prototype, and be lost.
    if (name === "__proto__") Object.defineProperty(ordered, name, { value: inOrder(value[name]), enumerable: true })
    else ordered[name] = inOrder(value[name])
  }
  return ordered
}

/** So many names are faster put in order one by one than by `sort`, which copies them twice. */
const few_names = 16

const sorted = (names: Array<string>): ReadonlyArray<string> => {
  if (names.length > few_names) return names.sort()
  for (let at = 1; at < names.length; at++) {
    const name = names[at] ?? ""
    let place = at
    for (let before = names[place - 1]; before !== undefined && before > name; before = names[place - 1]) {
      names[place] = before
      place -= 1
    }
    names[place] = name
  }
  return names
}
