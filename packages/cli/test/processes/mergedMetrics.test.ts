import { assert, describe, it } from "@effect/vitest"
import * as MergedMetrics from "../../src/processes/MergedMetrics.ts"

const merged = (...texts: ReadonlyArray<string>) =>
  MergedMetrics.write(MergedMetrics.merge(texts.map(MergedMetrics.read)))

const requests = (ok: number, more = "") => `# HELP requests_total Requests, "all" of them.
# TYPE requests_total counter
requests_total{operation="GET /a b",status="200"} ${ok}
${more}`

const histogram = (low: number, all: number, sum: number) => `# TYPE duration_seconds histogram
duration_seconds_bucket{le="0.1"} ${low}
duration_seconds_bucket{le="+Inf"} ${all}
duration_seconds_sum ${sum}
duration_seconds_count ${all}
`

const gauge = (name: string, value: number | string) => `# TYPE ${name} gauge\n${name} ${value}\n`

describe("merged metrics", () => {
  it("stay unchanged if they come from one process", () => {
    const text =
      requests(3) + histogram(1, 2, 0.25) + gauge("limit", "+Inf") + gauge("least", "-Inf") + gauge("none", "NaN")
    assert.strictEqual(merged(text), text)
  })

  it("add up counters with equal labels across processes", () => {
    const other = 'requests_total{operation="GET /a b",status="500"} 1\n'
    assert.strictEqual(merged(requests(3), requests(4, other)), requests(7, other))
    assert.strictEqual(merged(requests(3, other), requests(4)), requests(7, other))
  })

  it("add up the buckets, sums and counts of histograms", () => {
    assert.strictEqual(merged(histogram(1, 2, 0.25), histogram(3, 5, 0.5)), histogram(4, 7, 0.75))
  })

  it.each([
    { name: "quotewire_jobs_running", is: 5, why: "add up gauges" },
    { name: "process_resident_memory_bytes", is: 5, why: "add up memory" },
    { name: "quotewire_oldest_due_job_age_seconds", is: 3, why: "take the maximum of a shared value" },
    { name: "quotewire_carrier_circuits_open", is: 3, why: "take the maximum of a shared value" },
    { name: "quotewire_cell_unavailable", is: 3, why: "take the maximum of a shared value" },
    { name: "process_start_time_seconds", is: 2, why: "take the earliest start time" }
  ])("$why: $name", ({ is, name }) => {
    assert.strictEqual(merged(gauge(name, 3), gauge(name, 2)), gauge(name, is))
  })

  it("omit quantiles, which cannot be merged", () => {
    const summary = (quantile: string) => `# TYPE waits summary\n${quantile}waits_sum 2\nwaits_count 1\n`
    const one = summary('waits{quantile="0.5"} 2\n')
    assert.strictEqual(merged(one, one), "# TYPE waits summary\nwaits_sum 4\nwaits_count 2\n")
  })

  it("keep the totals of an exited process, but not its gauges", () => {
    const families = MergedMetrics.read(requests(3) + gauge("jobs_running", 2) + histogram(1, 2, 0.25))
    assert.strictEqual(MergedMetrics.write(MergedMetrics.totals(families)), requests(3) + histogram(1, 2, 0.25))
  })
})
