import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { close, listen, textOf } from "../loopback.ts"
import * as Conversation from "./Conversation.ts"
import { chat } from "./chat.ts"
import { gemini } from "./gemini.ts"
import { messages } from "./messages.ts"
import { plainCalls } from "./plainCalls.ts"
import { responses } from "./responses.ts"
import * as Script from "./Script.ts"

const dialects: Readonly<Record<string, Conversation.Dialect>> = { chat, responses, messages, gemini, plainCalls }

/** What one client sent to the model. */
export interface Heard {
  /** The API that the client used; null until it sends a request with our tools. */
  dialect: string | null
  /** The last request with our tools: all tools and all results of the journey. */
  conversation: Conversation.Conversation | null
  /** The first problem; null if there was none. */
  fault: string | null
  /** Paths that the client requested but that are not served. */
  readonly unknown: Set<string>
}

/** A model on the loopback address that follows the script. Every client has its own path. */
export interface Model {
  readonly url: (client: string) => string
  readonly heard: (client: string) => Heard
  readonly close: () => Promise<void>
}

/** Starts the model. `wait` is called when a client begins to wait for quotes. */
export const open = async (wait: () => void): Promise<Model> => {
  const clients = new Map<string, Heard>()
  const heard = (client: string): Heard => {
    const known = clients.get(client) ?? { dialect: null, conversation: null, fault: null, unknown: new Set() }
    clients.set(client, known)
    return known
  }
  let answers = 0
  const earlier = new Map<string, Conversation.Conversation>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? "/", "http://127.0.0.1").pathname
    const [, client = ""] = path.split("/")
    const record = heard(client)
    const body = await textOf(request)
    const [name, dialect] = Object.entries(dialects).find(([, one]) => one.path.test(path)) ?? []
    if (name === undefined || dialect === undefined || request.method !== "POST") {
      record.unknown.add(`${request.method} ${path}`)
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"not served"}}')
      return
    }
    try {
      const conversation = Conversation.after(dialect.read(JSON.parse(body), path), earlier)
      const turn = Script.next(conversation)
      if (Script.toolsOf(conversation).size > 0) {
        record.dialect = name
        record.conversation = conversation
      }
      const id = `scripted${++answers}`
      earlier.set(id, conversation)
      const { body: text, type } = dialect.write(turn, conversation.stream, id)
      response.writeHead(200, { "content-type": type }).end(text)
      if (Script.waits(turn)) wait()
    } catch (error) {
      record.fault ??= error instanceof Error ? error.message : String(error)
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"the script ended"}}')
    }
  }
  const server = createServer((request, response) => void answer(request, response))
  const address = await listen(server)
  return { url: (client) => `${address}/${client}`, heard, close: () => close(server) }
}
