import { Argument, operations, Quotewire, type Storage } from "@quotewire/core"
import { Schema } from "effect"
import * as Tools from "./catalogue/Tools.ts"
import type * as RequestState from "./forms/RequestState.ts"
import type * as StreamedForm from "./forms/StreamedForm.ts"
import * as Endpoint from "./serving/AgentEndpoint.ts"
import * as Tool from "./tools/Tool.ts"

/** The services that the endpoint needs: everything that `Quotewire.layer` and a storage layer provide. */
type Services = Quotewire.Services | Storage.Storage

/** Options of the agent endpoint. */
export interface McpOptions {
  /** Tools in addition to the service's own. */
  readonly tools?: ReadonlyArray<Tool.Tool<Services>>
  /** The version that the server reports; by default the version of this package. */
  readonly version?: string
}

/** The version of this package. A test compares it with package.json. */
const packageVersion = "0.1.0"

/**
 * Lets tools show forms. Signs and seals the state of a call that asks the person, with the seal keys that all hosts
 * share.
 */
export const asking: RequestState.Crypto<Quotewire.Services> = {
  sign: (text) => Quotewire.sign("mcp_state", text),
  isSigned: (text, signature) => Quotewire.isSigned("mcp_state", text, signature),
  seal: (text) => Quotewire.seal("mcp_state", text),
  open: (sealed) => Quotewire.unseal("mcp_state", sealed)
}

/**
 * Passes the answer to a form through storage, from the host that receives the answer to the host that waits for it.
 */
export const mailboxes: StreamedForm.Mailboxes<Quotewire.Services> = {
  send: Quotewire.sendMessage,
  receive: Quotewire.receiveMessage
}

/** Separates session signatures from state signatures, so that a signature for one is not valid for the other. */
const sessionPurpose = "mcp_session"

const checked = Argument.checker(
  "mcp",
  Schema.Struct({ tools: Schema.optional(Schema.Array(Tool.Shape)), version: Schema.optional(Schema.String) })
)

/**
 * Creates the MCP endpoint, which serves the whole service to agents. Pass this function to `nodeHandler`, `webHandler`
 * or `ServiceApi.of`.
 *
 * @example
 * app.use(nodeHandler(quotewire, { mcp }))
 */
export const mcp = (options: McpOptions = {}): Endpoint.Endpoint<Services> => {
  const { tools = [], version = packageVersion } = checked(options)
  return Endpoint.make<Services>({
    tools: [...Tools.of<Services>(operations), ...tools],
    version,
    asking,
    mailboxes,
    sign: (text) => Quotewire.sign(sessionPurpose, text),
    isSigned: (text, signature) => Quotewire.isSigned(sessionPurpose, text, signature)
  })
}
