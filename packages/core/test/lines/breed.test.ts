import { assert, describe, it } from "@effect/vitest"
import * as Breed from "../../src/lines/pet/Breed.ts"
import breeds from "../../src/lines/pet/data/breeds.json" with { type: "json" }

const groupsOf = (species: Breed.Species) => Object.entries(breeds[species])

describe("Breed", () => {
  it.each<readonly [Breed.Species, string, Breed.BreedGroup]>([
    ["dog", "French Bulldog", "brachycephalic"],
    ["dog", "frenchie", "brachycephalic"],
    ["dog", "FRENCH-BULLDOGS", "brachycephalic"],
    ["dog", "french_bulldog", "brachycephalic"],
    ["dog", "  Golden   Retriever ", "retriever"],
    ["dog", "lab", "retriever"],
    ["dog", "Labradors", "retriever"],
    ["dog", "German Shepherd Dog", "shepherd"],
    ["dog", "Bichon Frisé", "purebred_small"],
    ["dog", "Beagle puppy", "purebred_medium"],
    ["dog", "St. Bernard", "giant"],
    ["dog", "Goldendoodle", "mixed_large"],
    ["dog", "unknown", "unknown"],
    ["cat", "domestic_shorthair", "domestic_cat"],
    ["cat", "domestic_longhair", "domestic_cat"],
    ["cat", "DSH", "domestic_cat"],
    ["cat", "mixed", "domestic_cat"],
    ["cat", "Persian", "purebred_cat"],
    ["cat", "Persian cat", "purebred_cat"],
    ["cat", "Maine Coon", "large_purebred_cat"],
    ["cat", "unknown", "unknown"]
  ])("maps the %s breed %j to the group %s", (species, breed, group) =>
    assert.strictEqual(Breed.groupOf(species, breed), group)
  )

  it.each<readonly [Breed.PetSize, Breed.BreedGroup]>([
    ["small", "mixed_small"],
    ["medium", "mixed_medium"],
    ["large", "mixed_large"],
    ["giant", "giant"]
  ])("maps a mixed-breed dog of the size %s to the group %s", (size, group) => {
    for (const breed of ["mixed", "Mixed Breed", "mutt", "Lab mix", "husky cross"]) {
      assert.strictEqual(Breed.groupOf("dog", breed, size), group, breed)
    }
  })

  it("maps every listed breed name and alias to that breed's group", () => {
    for (const species of ["dog", "cat"] as const) {
      for (const [group, names] of groupsOf(species)) {
        for (const [name, aliases] of Object.entries<ReadonlyArray<string>>(names)) {
          for (const text of [name, ...aliases]) assert.strictEqual(Breed.groupOf(species, text), group, text)
        }
      }
    }
  })

  it("lists at least 150 dog breeds and 50 cat breeds", () => {
    const count = (species: Breed.Species) =>
      groupsOf(species).reduce((sum, [, names]) => sum + Object.keys(names).length, 0)
    assert.isAtLeast(count("dog"), 150)
    assert.isAtLeast(count("cat"), 50)
  })

  it("requires a size only for dogs of mixed or unknown breed", () => {
    assert.isTrue(Breed.needsSize("dog", "mixed"))
    assert.isTrue(Breed.needsSize("dog", "Mutt"))
    assert.isTrue(Breed.needsSize("dog", "unknown"))
    assert.isFalse(Breed.needsSize("dog", "Pug"))
    assert.isFalse(Breed.needsSize("cat", "mixed"))
  })

  it.each<readonly [Breed.Species, string, string]>([
    ["dog", "Labrador Retreiver", "Labrador Retriever"],
    ["dog", "frensh bulldog", "French Bulldog"],
    ["dog", "Rotweiler", "Rottweiler"],
    ["cat", "Main Coon", "Maine Coon"],
    ["cat", "siamease", "Siamese"]
  ])("suggests near matches for the %s breed %j, with %s first", (species, breed, first) => {
    assert.isNull(Breed.groupOf(species, breed))
    const near = Breed.nearMatches(species, breed)
    assert.strictEqual(near[0], first)
    assert.isAtMost(near.length, 10)
    for (const name of near) assert.isNotNull(Breed.groupOf(species, name), name)
  })

  it("suggests `mixed` and `unknown` if no breed name is similar", () => {
    assert.deepStrictEqual(Breed.nearMatches("cat", "0"), ["mixed", "unknown"])
    assert.isNull(Breed.groupOf("dog", "--"))
    assert.isNull(Breed.groupOf("dog", "Persian"))
    assert.isNull(Breed.groupOf("dog", "zebra mix"))
  })

  it("returns the group of an accepted pet", () => {
    assert.strictEqual(Breed.breedGroup({ species: "dog", breed: "mixed", size: "large" }), "mixed_large")
  })
})
