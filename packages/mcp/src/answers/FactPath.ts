/** The path of a fact relative to its application: `application.drivers.0.age` becomes `drivers.0.age`. */
export const factOf = (path: string): string => path.replace(/^application\./, "")

/**
 * A path with `*` instead of list indexes, as insurance lines name their facts: `drivers.0.age` becomes
 * `drivers.*.age`.
 */
export const starred = (path: string): string => path.replaceAll(/\b\d+\b/g, "*")

/** Whether a part of a path is a list index. */
export const isIndex = (part: string): boolean => /^\d+$/.test(part)
