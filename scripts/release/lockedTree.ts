/** The fields of a package in the lockfile that are used here. */
export interface Locked {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly hasInstallScript?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** The packages in a lockfile, by the folders into which npm installs them. */
export type Lockfile = Readonly<Record<string, Locked>>

/**
 * Finds the packages that npm would install for one of this repository's packages, by their folders in the lockfile.
 */
export const installedFor = (locked: Lockfile, name: string): ReadonlyMap<string, Locked> => {
  const packages = new Map<string, Locked>()
  const visit = (place: string): void => {
    const entry = locked[place]
    if (entry === undefined || packages.has(place)) return
    packages.set(place, entry)
    if (entry.resolved !== undefined && entry.link === true) visit(entry.resolved)
    for (const needed of neededBy(entry)) visit(placeOf(locked, place, needed))
  }
  visit(`packages/${name}`)
  return packages
}

/** The names of a package's required and optional dependencies. */
export const neededBy = (entry: Locked): ReadonlyArray<string> => {
  const optional = Object.keys(entry.peerDependenciesMeta ?? {})
  const peers = Object.keys(entry.peerDependencies ?? {}).filter((peer) => !optional.includes(peer))
  return [...Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }), ...peers]
}

/** Finds the folder in which Node finds a package that another package imports: the nearest `node_modules`. */
export const placeOf = (locked: Lockfile, place: string, name: string): string => {
  const nested = `${place}/node_modules/${name}`
  if (place === "" || nested in locked) return nested.replace(/^\//, "")
  return placeOf(
    locked,
    place.includes("/node_modules/") ? place.replace(/\/node_modules\/(?!.*\/node_modules\/).*$/, "") : "",
    name
  )
}
