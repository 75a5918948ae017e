import { Predicate } from "effect"

/**
 * JSON text, with the type that it decodes to.
 *
 * Quote versions and events never change, so they are encoded once, stored as text and served as that text.
 */
export interface Json<out A> {
  readonly text: string
  /** The value, if it is already in memory. It is shared, so it must not be changed. */
  readonly value?: A
}

/** Any JSON value. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | ReadonlyArray<JsonValue>
  | { readonly [key: string]: JsonValue }

/** Encodes a value. */
export const encode = <A>(value: A): Json<A> => ({ text: JSON.stringify(value), value })

/** Wraps text that is known to be the encoded form of an `A`, such as a stored body. */
export const fromText = <A>(text: string): Json<A> => ({ text })

/** The same JSON, typed as the encoded form of an `A`. As with `fromText`, the caller must know what was encoded. */
export const typed = <A>(json: Json<unknown>): Json<A> => json as Json<A>

/** Decodes text that this library has encoded. Text from outside must be decoded with a `Schema` instead. */
export const decode = <A>(json: Json<A>): A => JSON.parse(json.text)

/**
 * The value, for reading only: the one in memory, or else the decoded text.
 *
 * With storage in memory, the summary of an answer then needs no decoding.
 */
export const read = <A>(json: Json<A>): A => json.value ?? decode(json)

/**
 * Encodes an object from members that are already encoded, without decoding them.
 *
 * @example
 * Json.object<{ quote_request: QuoteRequest }>({ quote_request: stored })
 */
export const object = <A extends object>(members: { readonly [K in keyof A]: Json<A[K]> }): Json<A> => ({
  text: `{${Object.entries<Json<unknown>>(members)
    .map(([name, member]) => `${JSON.stringify(name)}:${member.text}`)
    .join(",")}}`
})

/** Adds members to an encoded object. */
export const extend = <A extends object, B extends object>(json: Json<A>, members: B): Json<A & B> => {
  const added = JSON.stringify(members).slice(1)
  const text = added === "}" ? json.text : `${json.text.slice(0, -1)},${added}`
  return json.value === undefined ? { text } : { text, value: { ...json.value, ...members } }
}

/** Inserts encoded members at the beginning of an encoded object. Their names must differ from those in the object. */
export const begin = <A extends object, B extends object>(
  members: { readonly [K in keyof A]: Json<A[K]> },
  json: Json<B>
): Json<A & B> => {
  const begun = object<A>(members).text.slice(0, -1)
  return { text: json.text === "{}" ? `${begun}}` : `${begun},${json.text.slice(1)}` }
}

/** The same text, with null as the value of every member with this name, at any depth. */
export const withNull = <A>(json: Json<A>, name: string): Json<A> => ({
  text: JSON.stringify(JSON.parse(json.text), (key, value) => (key === name ? null : value))
})

/** Encodes a list of encoded items. */
export const array = <A>(items: ReadonlyArray<Json<A>>): Json<ReadonlyArray<A>> => ({
  text: `[${items.map((item) => item.text).join(",")}]`
})

/**
 * Whether a value is nested more deeply than this. `JSON.parse` reads any depth, but code that walks a value, such as
 * `JSON.stringify`, overflows the stack after a few thousand levels. So run this check first on a value from outside.
 */
export const isDeeper = (value: unknown, levels: number): boolean =>
  Predicate.isObjectOrArray(value) &&
  (levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1)))

/**
 * The canonical text of a value: members sorted by name, no white space.
 *
 * Inputs that differ only in the order of members have the same canonical text.
 */
export const canonical = (value: unknown): string => JSON.stringify(inOrder(value)) ?? "null"

const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return mapChanged(value, inOrder)
  if (!Predicate.isObject(value)) return value
  const ordered: { [name: string]: unknown } = {}
  for (const name of Object.keys(value).sort()) {
    // Assigning to this name would set the prototype instead of a member.
    if (name === "__proto__") Object.defineProperty(ordered, name, { value: inOrder(value[name]), enumerable: true })
    else ordered[name] = inOrder(value[name])
  }
  return ordered
}

/** Maps a list. Returns the list itself if no item changes, so that long lists are not copied needlessly. */
export const mapChanged = (items: ReadonlyArray<unknown>, map: (item: unknown) => unknown): ReadonlyArray<unknown> => {
  let changed: Array<unknown> | null = null
  for (let at = 0; at < items.length; at++) {
    const item = map(items[at])
    if (item === items[at]) continue
    changed ??= [...items]
    changed[at] = item
  }
  return changed ?? items
}
