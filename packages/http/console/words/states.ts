/*
 * The label and the color of each state. A color never appears without a label.
 */

/** How a state looks: good, odd (waiting, or worth a look), bad, or neutral. */
export type Tone = "good" | "odd" | "bad" | "none"

/** How to show a state: its tone and its text. */
export interface State {
  readonly tone: Tone
  readonly text: string
}

const requests: Readonly<Record<string, State>> = {
  in_progress: { tone: "none", text: "In progress" },
  action_required: { tone: "odd", text: "Needs an answer" },
  completed: { tone: "good", text: "Completed" },
  failed: { tone: "bad", text: "Failed" }
}

/** The state of a quote request. */
export const ofRequest = (status: string): State => requests[status] ?? { tone: "none", text: status }

const outcomes: Readonly<Record<string, State>> = {
  pending: { tone: "none", text: "Asked" },
  quoted: { tone: "good", text: "Quoted" },
  declined: { tone: "none", text: "Declined" },
  needs_information: { tone: "odd", text: "Has a question" },
  no_answer: { tone: "odd", text: "No answer" },
  not_asked: { tone: "none", text: "Not asked" }
}

/** The outcome of asking a carrier. */
export const ofOutcome = (outcome: string): State => outcomes[outcome] ?? { tone: "none", text: outcome }

/** The state of a quote. */
export const ofQuote = (status: string): State =>
  status === "active" ? { tone: "good", text: "Active" } : { tone: "none", text: "Inactive" }

const deliveries: Readonly<Record<string, State>> = {
  pending: { tone: "none", text: "Waiting" },
  retrying: { tone: "odd", text: "Retrying" },
  succeeded: { tone: "good", text: "Delivered" },
  failed: { tone: "bad", text: "Failed" },
  cancelled: { tone: "none", text: "Cancelled" }
}

/** The state of a delivery or of one attempt. */
export const ofDelivery = (status: string): State => deliveries[status] ?? { tone: "none", text: status }

const failures: Readonly<Record<string, string>> = {
  timeout: "no response in time",
  busy: "no free connection",
  refused_address: "its address is not allowed",
  dns_failed: "its host name does not resolve",
  connection_failed: "no connection",
  tls_failed: "its certificate is not trusted",
  too_large: "its response is too large",
  bad_response: "its response is not HTTP"
}

/** Why an attempt to reach an endpoint got no complete response. */
export const ofFailure = (failure: string): string => failures[failure] ?? failure.replaceAll("_", " ")

const recoveries: Readonly<Record<string, State>> = {
  running: { tone: "none", text: "Running" },
  paused: { tone: "odd", text: "Paused" },
  stopped: { tone: "none", text: "Stopped" },
  done: { tone: "good", text: "Done" }
}

/** The state of a recovery. */
export const ofRecovery = (state: string): State => recoveries[state] ?? { tone: "none", text: state }

const endpoints: Readonly<Record<string, State>> = {
  no_endpoint: { tone: "none", text: "No endpoint" },
  healthy: { tone: "good", text: "Healthy" },
  failing: { tone: "odd", text: "Failing" },
  disabled: { tone: "bad", text: "Off" }
}

/** The health of an endpoint. */
export const ofEndpoint = (state: string): State => endpoints[state] ?? { tone: "none", text: state }

/** The status of an HTTP response; null if there was no response. */
export const ofHttp = (status: number | null): State => {
  if (status === null) return { tone: "bad", text: "no response" }
  return { tone: status < 300 ? "good" : status < 500 ? "odd" : "bad", text: `${status}` }
}

const dues: Readonly<Record<string, string>> = {
  carriers_asked: "Ask the carriers",
  carrier_answer: "Next carrier answers",
  request_deadline: "Deadline of a request",
  action_deadline: "Deadline for the person",
  quote_expiry: "Next quote expires",
  quote_update: "Next price update",
  webhook_attempt: "Next webhook attempt"
}

/** What happens when the sandbox's clock reaches its next job. */
export const ofDue = (what: string): string => dues[what] ?? "Next thing due"
