/** The path of a fact within its application: `application.drivers.0.age` becomes `drivers.0.age`. */
export const factOf = (path: string): string => path.replace(/^application\./, "")

/** The path with `*` for list indexes, as lines name their facts: `drivers.0.age` becomes `drivers.*.age`. */
export const starred = (path: string): string => path.replaceAll(/\b\d+\b/g, "*")

/** Whether a part of a path is a list index. */
export const isIndex = (part: string): boolean => /^\d+$/.test(part)
