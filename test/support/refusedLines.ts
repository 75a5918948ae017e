/*
 * Files with lines that must not compile. The comment above each line begins with "refused:" and says why. A test runs the
 * compiler over the file: a line that compiles, and a mistake in any other line, make it fail.
 */

/** The places in which the compiler must find a mistake, as it prints them: `name(line)`. */
export const expected = (name: string, text: string): ReadonlyArray<string> =>
  text.split("\n").flatMap((line, index) => (/^\s*\/\/ refused: /.test(line) ? [`${name}(${index + 2})`] : []))

/** The places in which the compiler has found mistakes, of what it has printed. */
export const found = (printed: string): ReadonlyArray<string> =>
  printed
    .split("\n")
    .filter((line) => /^\S.*\(\d+,\d+\): error/.test(line))
    .map((line) => line.replace(/,\d+\).*/, ")"))
