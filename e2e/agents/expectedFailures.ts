/** A part of the suite: its release, and the part that is run. */
export type Suite = "0.1.16" | "2025-11-25" | "2026-07-28"

const noResources = "The only resources are pages, for programs that declare that they show them."
const noPrompts = "The service has tools and no prompts."
const noLogging = "The service writes no log messages to clients."
const noCompletion = "Completion is for prompts and resource templates, of which there are none."
const plainForms =
  "Forms have no default values, which a person could agree to unread, and ask for one choice, not for several."
const asksPersonOnly = "The service asks for nothing but forms: no sampling, no roots, and not for prompts."
const needsState = "An answer counts only with the state that came with its question."
const needsNoCapability = "No tool needs a capability of the client: without forms, the person's answers are arguments."
const noTasks = "The tasks extension is not served: a quote request is the task, and get_quote_request waits for it."
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
  ...all(asksPersonOnly, "tools-call-sampling"),
  ...all(plainForms, "elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
  ...all(noResources, ...resources, "resources-subscribe", "resources-unsubscribe"),
  ...all(noPrompts, ...prompts)
}

const inputs = [
  "basic-sampling",
  "basic-list-roots",
  "multiple-input-requests",
  "non-tool-request",
  "capability-check"
].map((name) => `input-required-result-${name}`)

const tasks = [
  ...["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input"],
  ...["request-headers", "dispatch-and-envelope", "required-task-error", "mrtr-composition"]
].map((name) => `tasks-${name}`)

/**
 * What a tool server cannot pass, and why.
 *
 * `scenario` excuses every check of a scenario, `scenario:check` a single check. A listed check that passes is also an
 * error.
 */
export const expectedFailures: Readonly<Record<Suite, Readonly<Record<string, string>>>> = {
  "0.1.16": handshake,
  "2025-11-25": handshake,
  "2026-07-28": {
    ...all(noCompletion, "completion-complete"),
    ...all(noResources, ...resources, "sep-2164-resource-not-found"),
    ...all(noResources, "caching:sep-2549-resources-list-caching-hints"),
    ...all(noResources, "caching:sep-2549-resources-templates-list-caching-hints"),
    ...all(noPrompts, ...prompts, "caching:sep-2549-prompts-list-caching-hints"),
    ...all(asksPersonOnly, ...inputs),
    ...all(needsState, "input-required-result-ignore-extra-params"),
    ...all(noTasks, ...tasks),
    ...all(noParameterHeaders, "http-custom-header-server-validation"),
    ...all(
      needsNoCapability,
      "server-stateless:sep-2575-server-rejects-undeclared-capability",
      "server-stateless:sep-2575-missing-capability-http-400"
    )
  }
}
