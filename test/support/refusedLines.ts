/*
 * Files with lines that must not compile. The comment above each line begins with "refused:" and says why. A test runs
 * the compiler over the file and fails if such a line compiles, or if any other line does not.
 */

/** The places where the compiler must find a mistake, as it prints them: `name(line)`. */
export const expected = (name: string, text: string): ReadonlyArray<string> =>
  text.split("\n").flatMap((line, index) => (/^\s*\/\/ refused: /.test(line) ? [`${name}(${index + 2})`] : []))

/** The places where the compiler found mistakes, from its output. */
export const found = (printed: string): ReadonlyArray<string> =>
  printed
    .split("\n")
    .filter((line) => /^\S.*\(\d+,\d+\): error/.test(line))
    .map((line) => line.replace(/,\d+\).*/, ")"))
