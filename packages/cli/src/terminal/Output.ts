import { PlainText } from "@quotewire/core/program"
import { Console, Effect, Stdio, Terminal } from "effect"
import { fit } from "./fit.ts"

/*
 * Prints to standard output. Characters in text from outside, such as names and carriers' messages, cannot move the
 * cursor, hide or reorder text, or start a new line.
 */

/** Escapes characters that a terminal would interpret or hide, such as `\u{1b}`. Tabs stay. */
const lineOf = (text: string): string => text.replaceAll(/[^\t]+/g, (part) => PlainText.escaped(part))

/** Prints lines for people. At a terminal, wraps long lines to its width; elsewhere, prints them unchanged. */
export const lines = Effect.fnUntraced(function* (
  texts: ReadonlyArray<string>,
  paint: (text: string) => string = (text) => text
) {
  const { stdoutIsTerminal } = yield* Stdio.Stdio
  const width = (yield* stdoutIsTerminal) ? yield* (yield* Terminal.Terminal).columns : 0
  for (const line of texts) yield* Console.log(fit(lineOf(line), width).map(paint).join("\n"))
})

/** Prints a value as one line of JSON, for programs. */
export const json = (value: unknown): Effect.Effect<void> => Console.log(PlainText.escapedInJson(JSON.stringify(value)))

/** Prints a result as JSON if the user asked for it, otherwise as lines for people. */
export const result = (
  settings: { readonly json: boolean },
  value: unknown,
  texts: ReadonlyArray<string>,
  paint?: (text: string) => string
) => (settings.json ? json(value) : lines(texts, paint))
