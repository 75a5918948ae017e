import { Predicate } from "effect"

/**
 * JSON text, with the type of the value that it encodes.
 *
 * Quote versions and events never change, so they are encoded once, stored as text, and served as the same text.
 */
export interface Json<out A> {
  readonly text: string
  /** The value, if it is already in memory. It is shared, so do not change it. */
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

/** Wraps text that is known to encode an `A`, such as a stored body. */
export const fromText = <A>(text: string): Json<A> => ({ text })

/** The same JSON with another type. As with `fromText`, the caller must know that the text encodes an `A`. */
export const typed = <A>(json: Json<unknown>): Json<A> => json as Json<A>

/** Decodes text that this library has encoded. Decode text from outside with a `Schema` instead. */
export const decode = <A>(json: Json<A>): A => JSON.parse(json.text)

/** Returns the value, which must not be changed. Decodes the text only if the value is not in memory. */
export const read = <A>(json: Json<A>): A => json.value ?? decode(json)

/**
 * Makes an encoded object from encoded members, without decoding them.
 *
 * @example
 * Json.object<{ quote_request: QuoteRequest }>({ quote_request: stored })
 */
export const object = <A extends object>(members: { readonly [K in keyof A]: Json<A[K]> }): Json<A> => ({
  text: `{${Object.entries<Json<unknown>>(members)
    .map(([name, member]) => `${JSON.stringify(name)}:${member.text}`)
    .join(",")}}`
})

/** Adds members to the end of an encoded object. */
export const extend = <A extends object, B extends object>(json: Json<A>, members: B): Json<A & B> => {
  const added = JSON.stringify(members).slice(1)
  const text = added === "}" ? json.text : `${json.text.slice(0, -1)},${added}`
  return json.value === undefined ? { text } : { text, value: { ...json.value, ...members } }
}

/** Adds encoded members to the beginning of an encoded object. Their names must differ from the names in the object. */
export const begin = <A extends object, B extends object>(
  members: { readonly [K in keyof A]: Json<A[K]> },
  json: Json<B>
): Json<A & B> => {
  const begun = object<A>(members).text.slice(0, -1)
  return { text: json.text === "{}" ? `${begun}}` : `${begun},${json.text.slice(1)}` }
}

/** The same JSON, in which all members with this name are null, at any depth. */
export const withNull = <A>(json: Json<A>, name: string): Json<A> => ({
  text: JSON.stringify(JSON.parse(json.text), (key, value) => (key === name ? null : value))
})

/** Makes an encoded list from encoded items. */
export const array = <A>(items: ReadonlyArray<Json<A>>): Json<ReadonlyArray<A>> => ({
  text: `[${items.map((item) => item.text).join(",")}]`
})

/**
 * Whether a value is nested more than `levels` deep. `JSON.parse` reads any depth, but code that walks a value, such as
 * `JSON.stringify`, overflows the stack after a few thousand levels. Therefore check values from outside before you
 * walk them.
 */
export const isDeeper = (value: unknown, levels: number): boolean =>
  Predicate.isObjectOrArray(value) &&
  (levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1)))

/**
 * The canonical text of a value, with members sorted by name and without white space.
 *
 * Values that differ only in the order of members have the same canonical text.
 */
export const canonical = (value: unknown): string => JSON.stringify(inOrder(value)) ?? "null"

const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return mapChanged(value, inOrder)
  if (!Predicate.isObject(value)) return value
  const ordered: { [name: string]: unknown } = {}
  for (const name of Object.keys(value).sort()) {
    // An assignment to this name would set the prototype instead of a member.
    if (name === "__proto__") Object.defineProperty(ordered, name, { value: inOrder(value[name]), enumerable: true })
    else ordered[name] = inOrder(value[name])
  }
  return ordered
}

/** Maps a list. Returns the list itself if no item changes, to avoid copying long lists. */
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
