import { Function, Schema } from "effect"
import breedsFile from "./data/breeds.json" with { type: "json" }
import type { Pet } from "./facts.ts"

type Animal = Pet["pets"][number]

/** The species that can be insured. */
export type Species = Animal["species"]
/** The size of a dog. */
export type PetSize = NonNullable<Animal["size"]>

/** The breed groups that rate plans use. */
export const breedGroups = [
  "mixed_small",
  "mixed_medium",
  "mixed_large",
  "purebred_small",
  "purebred_medium",
  "retriever",
  "shepherd",
  "giant",
  "brachycephalic",
  "domestic_cat",
  "purebred_cat",
  "large_purebred_cat",
  "unknown"
] as const
/** A group of breeds with similar costs. */
export type BreedGroup = (typeof breedGroups)[number]

/** What a text about a breed can mean: a breed group, which may be `unknown`, or a mixed breed. */
type Meaning = BreedGroup | "mixed"

const Names = Schema.Record(Schema.String, Schema.Array(Schema.String))
const Groups = Schema.Record(Schema.String, Names)
const File = Schema.Struct({ dog: Groups, cat: Groups })
const isBreedGroup = Schema.is(Schema.Literals(breedGroups))

const mixedTexts = ["mixed", "mixed breed", "mix", "mutt", "mongrel", "crossbreed", "cross breed", "cross", "mixed cat"]
const unknownTexts = ["unknown", "unknown breed", "not known", "not sure", "other"]

/** A text's letters and digits in lower case, without accents, spaces and hyphens. Used as a key for comparisons. */
const keyOf = (text: string): string =>
  text
    .normalize("NFD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "")

/**
 * The breeds of a species: what each accepted text means, by its key, and the spellings to suggest for similar texts.
 */
interface Catalog {
  readonly meanings: ReadonlyMap<string, Meaning>
  readonly spellings: ReadonlyArray<{ readonly name: string; readonly pairs: ReadonlySet<string> }>
}

/** The pairs of adjacent characters in a key. Similar texts have many pairs in common. */
const pairsOf = (key: string): ReadonlySet<string> => {
  const pairs = new Set<string>()
  for (let i = 0; i + 1 < key.length; i++) pairs.add(key.slice(i, i + 2))
  return pairs
}

const catalogOf = (groups: typeof Groups.Type): Catalog => {
  const meanings = new Map<string, Meaning>()
  const spellings: Array<{ name: string; pairs: ReadonlySet<string> }> = []
  for (const [group, names] of Object.entries(groups)) {
    if (!isBreedGroup(group)) throw new Error(`breeds.json names a group that no rate plan has: ${group}`)
    for (const [name, aliases] of Object.entries(names)) {
      for (const spelling of [name, ...aliases]) {
        meanings.set(keyOf(spelling), group)
        spellings.push({ name, pairs: pairsOf(keyOf(spelling)) })
      }
    }
  }
  for (const text of mixedTexts) meanings.set(keyOf(text), "mixed")
  for (const text of unknownTexts) meanings.set(keyOf(text), "unknown")
  return { meanings, spellings }
}

const catalogsIn = Function.memoize((file: object): { readonly [S in Species]: Catalog } => {
  const { cat, dog } = Schema.decodeUnknownSync(File)(file)
  return { dog: catalogOf(dog), cat: catalogOf(cat) }
})

// Accepts "Persian cat" and "beagles" for the breed alone, and "lab mix" and "husky cross" for a mixed breed.
const speciesWords = /(?:dogs?|pupp(?:y|ies)|cats?|kittens?)$/
const mixWords = /(?:mix|mixed|mixedbreed|cross)$/

const meaningOf = (species: Species, text: string): Meaning | null => {
  const { meanings } = catalogsIn(breedsFile)[species]
  const key = keyOf(text)
  const plain = key.replace(speciesWords, "")
  const meaning =
    meanings.get(key) ??
    meanings.get(plain) ??
    meanings.get(key.replace(/s$/, "")) ??
    meanings.get(plain.replace(/s$/, ""))
  if (meaning !== undefined) return meaning
  return plain !== "" && mixWords.test(plain) && meanings.has(plain.replace(mixWords, "")) ? "mixed" : null
}

const groupOfSize: { readonly [S in PetSize]: BreedGroup } = {
  small: "mixed_small",
  medium: "mixed_medium",
  large: "mixed_large",
  giant: "giant"
}

/**
 * The breed group of an animal; null if the text is not a known breed.
 *
 * Case, spaces, hyphens, accents and plurals are ignored, and common names are known (`frenchie`, `lab`, `DSH`).
 * `mixed` and `unknown` always have a group. The group of a mixed dog depends on its size, and is `unknown` if the size
 * is unknown.
 */
export const groupOf = (species: Species, breed: string, size?: PetSize): BreedGroup | null => {
  const meaning = meaningOf(species, breed)
  if (meaning !== "mixed") return meaning
  if (species === "cat") return "domestic_cat"
  return size === undefined ? "unknown" : groupOfSize[size]
}

/** The breed group of a pet whose breed is known to be valid. */
export const breedGroup = (pet: Pick<Animal, "species" | "breed" | "size">): BreedGroup =>
  groupOf(pet.species, pet.breed, pet.size) ?? "unknown"

/** Whether the size is required in addition to the breed, as it is for a dog whose breed is mixed or unknown. */
export const needsSize = (species: Species, breed: string): boolean => {
  if (species === "cat") return false
  const meaning = meaningOf(species, breed)
  return meaning === "mixed" || meaning === "unknown"
}

const alwaysAccepted = ["mixed", "unknown"]
const maxNearMatches = 10
const minLikeness = 0.3

/** The Dice coefficient of two sets of pairs: 1 if they are equal, 0 if they have no pair in common. */
const likeness = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  let shared = 0
  for (const pair of a) if (b.has(pair)) shared += 1
  return (2 * shared) / Math.max(1, a.size + b.size)
}

/**
 * Suggests up to ten accepted texts to replace a breed text that is not accepted: the most similar texts first.
 *
 * The ten include `mixed` and `unknown` at the end, so that every caller can continue.
 */
export const nearMatches = (species: Species, breed: string): ReadonlyArray<string> => {
  const pairs = pairsOf(keyOf(breed))
  const best = new Map<string, number>()
  for (const spelling of catalogsIn(breedsFile)[species].spellings) {
    const score = likeness(pairs, spelling.pairs)
    if (score >= Math.max(minLikeness, best.get(spelling.name) ?? 0)) best.set(spelling.name, score)
  }
  const ranked = [...best].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([name]) => name)
  return [...ranked.slice(0, maxNearMatches - alwaysAccepted.length), ...alwaysAccepted]
}
