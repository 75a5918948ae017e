/**
 * A test kit for tests that use the whole service, without a network, a database or waiting.
 *
 * `sandbox()` gives a test its own service in a few milliseconds. Its clock stands still until the test moves it. Use
 * it with any test runner.
 */
export type { AdvanceUntilOptions } from "./Advances.ts"
export type { Inbox, InboxOptions, ReceivedEvent, ReceivedWebhook } from "./Inbox.ts"
export { type Sandbox, type SandboxOptions, type Snapshot, sandbox } from "./sandbox.ts"
