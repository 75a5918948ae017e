import * as Child from "../Child.ts"
import type { ListeningAddress, Loop, SharedSettings } from "../peers/Peer.ts"
import type { Table } from "../report.ts"
import { median } from "../statistics.ts"
import type { Cost } from "./answerReader.ts"
import { answers } from "./answers.ts"
import { bodies, type Hostile } from "./bodies.ts"

/** The longest time for which a call may block the host, in milliseconds. */
const floorMs = 30

/** The cost of one body for the host, in milliseconds: the median and the maximum over all calls. */
export interface Row {
  readonly name: string
  readonly status: number
  readonly answer_bytes: number
  readonly held_ms: number
  readonly held_max_ms: number
  readonly cpu_ms: number
  /** The cost of `JSON.parse` alone, measured in this process. */
  readonly parse_ms: number
}

/** Sends each body `calls` times in sequence, and asks the host how long its event loop was busy with each call. */
export const run = async (shared: SharedSettings, calls: number): Promise<ReadonlyArray<Row>> => {
  const server = Child.start("peers/quotewire.ts", Child.cores.server)
  try {
    const at = await server.ask<ListeningAddress>({ ask: "listen", shared })
    // V8 optimizes code only after it has run often, so each body is sent twice before any is measured.
    for (const body of [...bodies, ...bodies]) await send(at, body)
    const rows: Array<Row> = []
    for (const body of bodies) rows.push(await measure(server, at, body, calls))
    return rows
  } finally {
    await server.stop()
  }
}

const measure = async (server: Child.Child, address: ListeningAddress, body: Hostile, calls: number): Promise<Row> => {
  const heldMs: Array<number> = []
  const cpu: Array<number> = []
  let answer = await send(address, body)
  for (let i = 0; i < calls; i++) {
    const loopBefore = await server.ask<Loop>({ ask: "loop" })
    answer = await send(address, body)
    const loopAfter = await server.ask<Loop>({ ask: "loop" })
    heldMs.push(loopAfter.busy_ms - loopBefore.busy_ms)
    cpu.push(loopAfter.cpu_ms - loopBefore.cpu_ms)
  }
  return {
    name: body.name,
    ...answer,
    held_ms: median(heldMs),
    held_max_ms: Math.max(...heldMs),
    cpu_ms: median(cpu),
    parse_ms: median(Array.from({ length: calls }, () => parsing(body.body)))
  }
}

const send = async ({ key, port }: ListeningAddress, { body, headers, path }: Hostile) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body
  })
  return { status: response.status, answer_bytes: (await response.arrayBuffer()).byteLength }
}

const parsing = (text: string): number => {
  const cpuBefore = process.threadCpuUsage()
  JSON.parse(text)
  const { user, system } = process.threadCpuUsage(cpuBefore)
  return (user + system) / 1e3
}

/** Formats the bodies as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): Table => {
  const ms = (number: number): string => `${number.toFixed(1)} ms`
  const over = rows.filter(({ cpu_ms }) => cpu_ms > floorMs).length
  return {
    name: "hostile",
    title: `Bodies of 256 KiB that are meant to hold the host: ${over} of ${rows.length} hold it for more than ${floorMs} ms`,
    columns: ["body", "status", "answer", "host held, p50", "host held, max", "CPU of its thread", "JSON.parse alone"],
    rows: rows.map((row) => [
      row.name,
      String(row.status),
      `${row.answer_bytes} bytes`,
      ms(row.held_ms),
      ms(row.held_max_ms),
      ms(row.cpu_ms),
      ms(row.parse_ms)
    ]),
    how: "one after another, medians of the calls",
    numbers: rows
  }
}

/** The maximum cost of a carrier's answer. */
const answerFloor = { cpu_ms: 100, memory_mb: 50 } as const

/** The cost of one hostile answer from a carrier. */
export interface AnswerRow extends Cost {
  readonly name: string
}

/** Reads each answer in its own process. */
export const runAnswers = async (): Promise<ReadonlyArray<AnswerRow>> => {
  const rows: Array<AnswerRow> = []
  for (const { name } of answers) {
    const reader = Child.start("hostile/answerReader.ts", Child.cores.server, { node: ["--expose-gc"] })
    try {
      rows.push({ name, ...(await reader.ask<Cost>(name)) })
    } finally {
      await reader.stop()
    }
  }
  return rows
}

/** The answers that cost more than the maximum. */
export const tooCostly = (rows: ReadonlyArray<AnswerRow>): ReadonlyArray<AnswerRow> =>
  rows.filter((row) => row.cpu_ms > answerFloor.cpu_ms || row.memory_mb > answerFloor.memory_mb)

/** Formats the answers as a table. */
export const tableOfAnswers = (rows: ReadonlyArray<AnswerRow>): Table => {
  const { cpu_ms, memory_mb } = answerFloor
  const over = tooCostly(rows).length
  return {
    name: "hostile_answers",
    title: `Answers of a carrier of 1 MiB that are meant to end the process: ${over} of ${rows.length} cost more than ${cpu_ms} ms or ${memory_mb} MB`,
    columns: ["answer", "refused as", "CPU", "memory"],
    rows: rows.map((row) => [row.name, row.reason, `${row.cpu_ms.toFixed(0)} ms`, `${row.memory_mb.toFixed(0)} MB`]),
    how: "each read once, by a process of its own",
    numbers: rows
  }
}
