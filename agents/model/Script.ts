import { randomUUID } from "node:crypto"
import { ExampleApplications } from "@quotewire/core/testing"
import type { Conversation, Tool, Turn } from "./Conversation.ts"

/*
 * A model that follows a script: it reads the capabilities of car insurance in a state, starts without a required fact,
 * starts again with it, waits until every carrier has answered, and reads one quote. Like a real model, it knows only
 * what it reads in the results.
 */

/** The journey cannot continue, because a result did not say what comes next. */
export class Lost extends Error {}

/** The host's tools by their names on the host. Clients add their own prefixes. */
export const toolsOf = ({ tools }: Conversation): ReadonlyMap<string, Tool> => {
  const names = [
    "get_capabilities",
    "start_quote_request",
    "get_quote_request",
    "list_quote_requests",
    "get_quote",
    "send_feedback"
  ]
  return new Map(
    names.flatMap((name) => {
      const tool = tools.find(
        (one) => one.name === name || one.name.endsWith(`_${name}`) || one.name.endsWith(`.${name}`)
      )
      return tool === undefined ? [] : [[name, tool] as const]
    })
  )
}

/** Whether the script has to wait: the sandbox's clock must advance before the next result can arrive. */
export const waits = (turn: Turn): boolean => turn._tag === "call" && turn.call.name.endsWith("get_quote_request")

/** How many reads the script makes before it gives up. */
const mostResults = 20

/** What the model does next. */
export const next = (conversation: Conversation): Turn => {
  const { results } = conversation
  const tools = toolsOf(conversation)
  const { search } = conversation
  if (tools.size === 0 && search !== null && search.names.length > 0) {
    const query = `select:${search.names.join(",")}`
    return { _tag: "call", call: { name: search.name, namespace: null, args: { query, max_results: 10 } } }
  }
  if (tools.size === 0) return { _tag: "text", text: "Car insurance" }
  const call = (name: string, args: Readonly<Record<string, unknown>>): Turn => {
    const tool = tools.get(name)
    if (tool === undefined) throw new Lost(`The model was not told of ${name}.`)
    return { _tag: "call", call: { name: tool.name, namespace: tool.namespace, args } }
  }
  const last = results.at(-1) ?? ""
  if (results.length === 0) return call("get_capabilities", { line: "personal_auto", state: "TX" })
  if (results.length > mostResults) throw new Lost(`${mostResults} results, and no end.`)
  if (results.length <= 2) {
    if (results.length === 2 && !last.includes("needs_information"))
      throw new Lost(`No missing fact was named: ${last}`)
    const { vehicles, ...facts } = ExampleApplications.smallest.personal_auto
    return call("start_quote_request", {
      line: "personal_auto",
      request_key: randomUUID(),
      quote_disclosure_version: found(/quote_disclosure_version (\d{4}-\d\d-\d\d)/, results[0]),
      quote_disclosure_accepted: true,
      application: { ...facts, vehicles: results.length === 1 ? [{}] : vehicles }
    })
  }
  const opened = { id: found(/qreq_[a-z0-9]+/, results[2]), read_handle: found(/rh_[\w-]+/, results[2]) }
  const since = /since_version (\d+)/.exec(last)?.[1]
  if (since !== undefined) {
    return call("get_quote_request", { ...opened, since_version: Number(since), only_changes: true, wait_seconds: 20 })
  }
  const before = results.at(-2) ?? ""
  if (!/since_version \d/.test(before)) return { _tag: "text", text: `Done: ${found(/\$[\d,]+\.\d\d/, last)}` }
  return call("get_quote", { id: found(/qt_[a-z0-9]+/, last), read_handle: opened.read_handle })
}

/** The part of a result that a pattern captures, or the whole match if there is no capture group. */
const found = (pattern: RegExp, result = ""): string => {
  const match = pattern.exec(result)
  if (match === null) throw new Lost(`A result does not say ${pattern.source}: ${result.slice(0, 2_000)}`)
  return match[1] ?? match[0]
}
