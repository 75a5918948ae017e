import { Clock, Effect } from "effect"
import { canonical } from "../../wire/Json.ts"

/**
 * Throws unless both values have the same JSON text, except for the order of members. Undefined members are treated as
 * absent.
 */
export const expectSame = (subject: string, actual: unknown, expected: unknown): void => {
  const [actualText, expectedText] = [canonical(actual), canonical(expected)]
  if (actualText !== expectedText)
    throw new Error(`${subject}: expected ${shorten(expectedText)}, but got ${shorten(actualText)}`)
}

/** Throws unless the error has these fields. The error's message can be any text. */
export const expectError = (error: object, expected: object): void =>
  expectSame("the error", { ...JSON.parse(JSON.stringify(error)), message: undefined }, expected)

/** Throws unless the condition holds. */
export const expectTrue = (subject: string, isTrue: boolean): void => {
  if (!isTrue) throw new Error(`expected that ${subject}`)
}

/** Dies unless the program fails with the named error. Returns the error. */
export const expectRefusal = <E extends { readonly _tag: string }, const Tag extends E["_tag"]>(
  program: Effect.Effect<unknown, E>,
  tag: Tag
): Effect.Effect<E> =>
  Effect.match(program, {
    onSuccess: () => {
      throw new Error(`expected ${tag}, but nothing was refused`)
    },
    onFailure: (error) => {
      if (error._tag !== tag) throw new Error(`expected ${tag}, but got ${error._tag}`)
      return error
    }
  })

const patienceRounds = 400

/** Waits up to two seconds of real time for the condition to hold. Returns whether it holds. */
export const soon = Effect.fnUntraced(function* (holds: () => boolean) {
  for (let round = 0; round < patienceRounds; round++) {
    if (holds()) return true
    yield* live(Effect.sleep("5 millis"))
  }
  return holds()
})

/** Dies unless the condition holds within two seconds of real time. */
export const expectSoon = (subject: string, holds: () => boolean): Effect.Effect<void> =>
  Effect.map(soon(holds), (isTrue) => expectTrue(subject, isTrue))

/** Repeats a query until it finds something. Dies if that takes longer than two seconds of real time. */
export const untilSome = Effect.fnUntraced(function* <A, E>(
  what: string,
  query: Effect.Effect<ReadonlyArray<A>, E>
): Effect.fn.Return<readonly [A, ...Array<A>], E> {
  for (let round = 0; round < patienceRounds; round++) {
    const [first, ...rest] = yield* query
    if (first !== undefined) return [first, ...rest]
    yield* live(Effect.sleep("5 millis"))
  }
  throw new Error(`expected ${what}`)
})

// Hints from other hosts arrive over a network, and promises need turns of the event loop. Moving a test clock causes
// neither, so this waits in real time.
const live = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

const longestText = 2_000

const shorten = (text: string): string =>
  text.length <= longestText ? text : `${text.slice(0, longestText)}… (${text.length} characters)`
