/** A part of the suite: the release of the suite, and what of it is run. */
export type Suite = "0.1.16" | "2025-11-25" | "2026-07-28"

const noResources = "The service has tools and no resources: there is nothing to read but through an operation."
const noPrompts = "The service has tools and no prompts."
const noLogging = "The service writes no log messages to clients."
const noCompletion = "Completion is for prompts and resource templates, of which there are none."
const asksNothing = "The service asks its clients nothing: what it needs to know is an argument of a tool."
const noProgress = "The service reports no progress: answers are plain JSON, and get_quote_request waits for a change."
const noTasks = "The tasks extension is not served: a quote request is the task, and get_quote_request waits for it."
const noDiagnostics = "The check needs a diagnostic tool that asks the client something, streams or logs."
const noParameterHeaders = "No tool asks for arguments in headers (x-mcp-header)."

const all = (reason: string, ...names: ReadonlyArray<string>): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, reason]))

const resources = ["list", "read-text", "read-binary", "templates-read"].map((name) => `resources-${name}`)
const prompts = ["list", "get-simple", "get-with-args", "get-embedded-resource", "get-with-image"].map(
  (name) => `prompts-${name}`
)

const handshake = {
  ...all(noLogging, "logging-set-level", "tools-call-with-logging"),
  ...all(noCompletion, "completion-complete"),
  ...all(noProgress, "tools-call-with-progress"),
  ...all(asksNothing, "tools-call-sampling", "tools-call-elicitation"),
  ...all(asksNothing, "elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
  ...all(noResources, ...resources, "resources-subscribe", "resources-unsubscribe"),
  ...all(noPrompts, ...prompts)
}

const inputRequired = [
  ...["basic-elicitation", "basic-sampling", "basic-list-roots", "request-state", "multiple-input-requests"],
  ...[
    "multi-round",
    "missing-input-response",
    "ignore-extra-params",
    "non-tool-request",
    "result-type",
    "tampered-state",
    "capability-check"
  ]
].map((name) => `input-required-result-${name}`)

const tasks = [
  ...["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input"],
  ...["request-headers", "dispatch-and-envelope", "required-task-error", "mrtr-composition"]
].map((name) => `tasks-${name}`)

/**
 * What a server of tools cannot pass, and why.
 *
 * `scenario` excuses every check of a scenario, `scenario:check` one of them. What is listed and passes is an error too.
 */
export const expectedFailures: Readonly<Record<Suite, Readonly<Record<string, string>>>> = {
  "0.1.16": handshake,
  "2025-11-25": handshake,
  "2026-07-28": {
    ...all(noCompletion, "completion-complete"),
    ...all(noProgress, "tools-call-with-progress"),
    ...all(noResources, ...resources, "sep-2164-resource-not-found"),
    ...all(noResources, "caching:sep-2549-resources-list-caching-hints"),
    ...all(noResources, "caching:sep-2549-resources-templates-list-caching-hints"),
    ...all(noPrompts, ...prompts, "caching:sep-2549-prompts-list-caching-hints"),
    ...all(asksNothing, ...inputRequired),
    ...all(noTasks, ...tasks),
    ...all(noParameterHeaders, "http-custom-header-server-validation"),
    ...all(
      noDiagnostics,
      ...[
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-server-no-log-without-loglevel"
      ].map((check) => `server-stateless:${check}`)
    )
  }
}
