/*
 * A mutant: the service with one line broken on purpose, and what must detect it.
 */

/** A way to break the service, and the test or the stories that must detect it. */
export interface Mutant {
  /** A short name, for `--only` and the tables. */
  readonly name: string
  /** The path of the broken file, from the root of the repository. */
  readonly file: string
  /** The text to replace. It occurs in the file exactly once. */
  readonly from: string
  readonly to: string
  readonly found_by: Finder
}

/** What must fail on a mutant: a test, or the simulator within its first seeds. */
export type Finder = TestFinder | StoryFinder

/** A test: its file, and its name or the end of it. */
export interface TestFinder {
  readonly test: string
  readonly name: string
}

/** The simulator. It stops at the first story that breaks a promise. */
export interface StoryFinder {
  readonly seeds: number
}

/** How many requests a story of `stories` has. */
export const requests = 4

/** The simulator's first 200 stories, as many as `npm test` plays. */
export const stories: Finder = { seeds: 200 }

/** The tests of a file whose names end with this text: one, or one for each line or environment. */
export const test = (file: string, name: string): Finder => ({ test: file, name })

/** The mutants of one package, given paths below its `src`. */
export const inPackage =
  (name: string) =>
  (mutants: { readonly [file: string]: ReadonlyArray<Omit<Mutant, "file">> }): ReadonlyArray<Mutant> =>
    Object.entries(mutants).flatMap(([file, all]) =>
      all.map((mutant) => ({ ...mutant, file: `packages/${name}/src/${file}` }))
    )

/** How many times the text that a mutant replaces occurs in its file. */
export const matches = ({ from }: Mutant, text: string): number => text.split(from).length - 1

/** The broken file of a mutant. Null if the mutant is outdated, because its text does not occur exactly once. */
export const applied = (mutant: Mutant, text: string): string | null =>
  matches(mutant, text) === 1 ? text.split(mutant.from).join(mutant.to) : null
