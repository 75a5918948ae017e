/*
 * Merges the metrics of several processes, in the Prometheus text format.
 */

/** All samples of one metric. */
export interface Family {
  /** `counter`, `gauge`, `histogram` or `summary`. */
  readonly type: string
  /** The description as it was written, with escapes; null if the metric has no description. */
  readonly help: string | null
  /** Values by name and labels as they were written, such as `requests_total{status="200"}`. */
  readonly samples: ReadonlyMap<string, number>
}

/** Metrics by name. */
export type Families = ReadonlyMap<string, Family>

/** A metric to which samples are being added. */
interface Growing extends Family {
  readonly samples: Map<string, number>
}

/** Parses the metrics of a process. Lines that are neither comments nor samples are dropped. */
export const read = (text: string): Families => {
  const families = new Map<string, Growing>()
  const helps = new Map<string, string>()
  let current: Growing | null = null
  for (const line of text.split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? []
    if (keyword === "HELP") helps.set(name, rest)
    if (keyword === "TYPE") {
      current = { type: rest, help: helps.get(name) ?? null, samples: new Map() }
      families.set(name, current)
    }
    const [, key, value] = /^([^#\s].*) (\S+)$/.exec(line) ?? []
    if (key !== undefined && value !== undefined) current?.samples.set(key, readValue(value))
  }
  return families
}

const readValue = (text: string): number => Number(text.replace("Inf", "Infinity"))

const writeValue = (value: number): string => String(value).replace("Infinity", "Inf").replace(/^Inf/, "+Inf")

type Combine = (one: number, other: number) => number

const sum: Combine = (a, b) => a + b

/**
 * Gauges that are not summed. If each process reports the same fact, such as whether a cell is unavailable, the largest
 * value is used. The start time is the start time of the oldest process.
 */
const gauges: ReadonlyMap<string, Combine> = new Map([
  ["quotewire_oldest_due_job_age_seconds", Math.max],
  ["quotewire_carrier_circuits_open", Math.max],
  ["quotewire_cell_unavailable", Math.max],
  ["process_start_time_seconds", Math.min]
])

/**
 * Merges metrics: sums counters, histograms and most gauges. Drops the quantiles of summaries, which cannot be merged.
 */
export const merge = (metrics: ReadonlyArray<Families>): Families => {
  const merged = new Map<string, Growing>()
  for (const [name, family] of metrics.flatMap((families) => Array.from(families))) {
    const into = merged.get(name) ?? { ...family, samples: new Map<string, number>() }
    merged.set(name, into)
    const combine = gauges.get(name) ?? sum
    for (const [key, value] of family.samples) {
      if (family.type === "summary" && key.includes('quantile="')) continue
      const mergedValue = into.samples.get(key)
      into.samples.set(key, mergedValue === undefined ? value : combine(mergedValue, value))
    }
  }
  return merged
}

/**
 * Selects the metrics that must be kept when their process ends: counters and histograms. A total that decreases would
 * look like a restart.
 */
export const totals = (families: Families): Families =>
  new Map(Array.from(families).filter(([, { type }]) => type === "counter" || type === "histogram"))

/** Formats metrics in the text format. */
export const write = (families: Families): string =>
  Array.from(families, ([name, { type, help, samples }]) =>
    [
      ...(help === null ? [] : [`# HELP ${name} ${help}`]),
      `# TYPE ${name} ${type}`,
      ...Array.from(samples, ([key, value]) => `${key} ${writeValue(value)}`),
      ""
    ].join("\n")
  ).join("")

/** Creates a metric with one sample. */
export const single = (name: string, type: "counter" | "gauge", help: string, value: number): Families =>
  new Map([[name, { type, help, samples: new Map([[name, value]]) }]])
