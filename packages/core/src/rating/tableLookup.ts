import type { StateRule, Table } from "./PlanFormat.ts"
import type { Known, Value } from "./Variable.ts"

/** A value's text in tables and conditions. */
export const keyOf = (value: Value): string => String(value)

/** Whether a part of a plan applies in a state. */
export const appliesIn = ({ states, except_states }: StateRule, state: string): boolean =>
  (states === undefined || states.includes(state)) && !(except_states ?? []).includes(state)

/** A variable's values. The list is empty if the value is unknown, and has several items if the value is a list. */
export const valuesOf = (variables: Known, name: string): ReadonlyArray<Value> => {
  const value = variables[name]
  if (value === undefined) return []
  return typeof value === "object" ? value : [value]
}

/**
 * Finds the entries of a table that apply to a variable: one entry, or one for each value in a list. Entries are
 * multiplied by `scale` to get whole numbers: 1 for cents, 10,000 for factors.
 *
 * A plan that passed the check has an entry for each value that can occur in its states. If there is no entry, the
 * result is empty.
 */
export const lookUp = (table: Table, variables: Known, scale: number): ReadonlyArray<number> => {
  if (table.by === undefined) return []
  const entries =
    variables[table.by] === undefined
      ? [table.unknown]
      : valuesOf(variables, table.by).map((value) => entryOf(table, value, scale))
  return entries.flatMap((entry) => (entry === undefined ? [] : [Math.round(entry * scale)]))
}

const entryOf = (table: Table, value: Value, scale: number): number | undefined => {
  const { bands, otherwise, points, values } = table
  if (values !== undefined) return Object.hasOwn(values, keyOf(value)) ? values[keyOf(value)] : otherwise
  if (typeof value !== "number") return undefined
  if (bands !== undefined)
    return bands.find(({ from, to }) => value >= from && (to === undefined || value <= to))?.value
  return points === undefined ? undefined : interpolate(points, value, scale)
}

/** Interpolates between two points, and drops the fraction. */
const interpolate = (points: NonNullable<Table["points"]>, value: number, scale: number): number | undefined => {
  const above = points.findIndex((point) => value <= point.at)
  const upper = points.at(above)
  const lower = above > 0 ? points[above - 1] : undefined
  if (upper === undefined || lower === undefined) return upper?.value
  const [from, to] = [Math.round(lower.value * scale), Math.round(upper.value * scale)]
  return (from + Math.floor(((to - from) * (value - lower.at)) / (upper.at - lower.at))) / scale
}
