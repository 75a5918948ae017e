import { createHash } from "node:crypto"
import { installedFor, type Lockfile, neededBy, placeOf } from "./lockedTree.ts"
import type { Packed } from "./packing.ts"

/**
 * Something that is shipped: a package of this release, a package that is installed with it, or a script inside a
 * package.
 */
export interface Component {
  readonly name: string
  readonly version: string
  readonly license: string
  /** The SHA-512 hash of the component's tarball or script, in the format of lockfiles. */
  readonly integrity: string
  /** Whether the component is a copy inside another component, and so has no tarball of its own. */
  readonly isCopy: boolean
  /** The components that this component needs, by name and version. */
  readonly dependsOn: ReadonlyArray<string>
  /** The components that this component contains copies of. */
  readonly contains: ReadonlyArray<string>
}

/** A component's unique name. */
export const keyOf = ({ name, version }: { readonly name: string; readonly version: string }): string =>
  `${name}@${version}`

/** The script that renders the API reference. `scripts/vendor.ts` downloads it. */
const vendoredScript = (packed: Packed): ReadonlyArray<Component> => {
  const script = packed.files.get("vendor/scalar/standalone.js")
  const versionFile = packed.files.get("vendor/scalar/version.json")
  if (script === undefined || versionFile === undefined) return []
  const integrity = `sha512-${createHash("sha512").update(script).digest("base64")}`
  const { version } = JSON.parse(versionFile)
  return [
    { name: "@scalar/api-reference", version, license: "MIT", integrity, isCopy: true, dependsOn: [], contains: [] }
  ]
}

/**
 * Everything that a user gets: the packages of a release, and their dependencies in the locked versions that were
 * tested. `licenseOf` reads the license of an installed package by its folder; it returns null if the package is not
 * installed here.
 */
export const shippedComponents = (
  released: ReadonlyArray<Packed>,
  locked: Lockfile,
  licenseOf: (place: string) => string | null
): ReadonlyArray<Component> => {
  const components = new Map<string, Component>()
  const add = (component: Component) => components.set(keyOf(component), component)
  const releasedKeys = new Map(released.map(({ manifest }) => [manifest.name, keyOf(manifest)]))
  const keyAt = (fromPlace: string, dependency: string): string => {
    const place = placeOf(locked, fromPlace, dependency)
    return releasedKeys.get(dependency) ?? keyOf({ name: dependency, version: locked[place]?.version ?? "" })
  }
  for (const packed of released) {
    const { license = "NONE", name, version } = packed.manifest
    const vendored = vendoredScript(packed)
    for (const component of vendored) add(component)
    const needed = neededBy(packed.manifest)
    const dependsOn = needed.map((dependency) => keyAt(`packages/${name.replace("@quotewire/", "")}`, dependency))
    add({
      name,
      version,
      license,
      integrity: packed.integrity,
      isCopy: false,
      dependsOn,
      contains: vendored.map(keyOf)
    })
    for (const [place, entry] of installedFor(locked, name.replace("@quotewire/", ""))) {
      const [, installed] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(place) ?? []
      if (installed === undefined || releasedKeys.has(installed)) continue
      add({
        name: installed,
        version: entry.version ?? "",
        license: licenseOf(place) ?? entry.license ?? "NONE",
        integrity: entry.integrity ?? "",
        isCopy: false,
        dependsOn: neededBy(entry)
          .filter((dependency) => placeOf(locked, place, dependency) in locked)
          .map((dependency) => keyAt(place, dependency)),
        contains: []
      })
    }
  }
  return [...components.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}
