/*
 * Makes text from outside, such as a name or a carrier's message, safe to show to a person or a model. Such text can
 * contain invisible characters that hide or reorder text or act as commands: terminal sequences, bidirectional
 * controls, tags and joiners.
 */

/**
 * Invisible characters that are not text: control characters and line separators; characters that Unicode allows
 * programs to ignore, such as bidirectional controls, tags, zero-width characters and variation selectors; annotation
 * marks; and lone surrogates.
 */
const invisible = String.raw`\p{Cc}\u2028\u2029\p{DI}\ufff9-\ufffb\p{Cs}`

/** Letters that joiners can shape: letters in scripts without case, such as Arabic and Devanagari, and their marks. */
const shaped = String.raw`[[\p{Lo}\p{M}]--[\p{DI}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]]`

/**
 * Invisible characters where a script or an emoji needs them: joiners between letters and between emoji, and one
 * variation selector per character.
 */
const needed = [
  String.raw`(?<=${shaped})[\u200c\u200d](?=${shaped})`,
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\p{Emoji}\ufe0f)\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]`,
  String.raw`(?<=\p{Script=Han})[\u{e0100}-\u{e01ef}]`,
  String.raw`(?<=[\p{Script=Mongolian}&&\p{Lo}])[\u180b-\u180d\u180f]`
].join("|")

const hidden = new RegExp(`(${needed})|[${invisible}]`, "gv")

/** Whether a character separates words, so that it must be replaced by a space. */
const separates = (character: string): boolean => /[\p{Cc}\u2028\u2029]/u.test(character)

/**
 * The text on one line, without characters that hide or reorder text or act as commands. Lone surrogates become
 * `\ufffd`.
 */
export const plain = (text: string): string =>
  text.replaceAll(hidden, (character: string, keptCharacters: string | undefined) => {
    if (keptCharacters !== undefined) return keptCharacters
    return separates(character) ? " " : character.isWellFormed() ? "" : "\ufffd"
  })

/**
 * JSON text with its invisible characters escaped. It parses to the same value, and is readable in terminals and logs.
 */
export const escapedInJson = (json: string): string =>
  json.replaceAll(
    hidden,
    (character: string, keptCharacters: string | undefined) => keptCharacters ?? unitsOf(character)
  )

const unitsOf = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
  ).join("")

/**
 * The text with its invisible characters written like `\u{1b}`, for terminals and logs, where people must see every
 * character.
 */
export const escaped = (text: string): string =>
  text.replaceAll(
    hidden,
    (character: string, keptCharacters: string | undefined) =>
      keptCharacters ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  )
