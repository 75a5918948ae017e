/** The path of a fact within its application: `application.drivers.0.age` becomes `drivers.0.age`. */
export const factOf = (path: string): string => path.replace(/^application\./, "")

/** The path for every item of its lists: `drivers.0.age` becomes `drivers.*.age`, as lines name their facts. */
export const starred = (path: string): string => path.replaceAll(/\b\d+\b/g, "*")

/** Whether a part of a path is the index of an item in a list. */
export const isIndex = (part: string): boolean => /^\d+$/.test(part)
