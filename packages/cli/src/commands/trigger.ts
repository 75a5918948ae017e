import { randomUUID } from "node:crypto"
import { standardLines } from "@quotewire/core"
import { Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Advance from "../remote/Advance.ts"
import { closest } from "../remote/closest.ts"
import * as HostClient from "../remote/HostClient.ts"
import * as QuoteText from "../remote/QuoteText.ts"
import * as ScenarioText from "../remote/ScenarioText.ts"
import { WrongUsage } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { config } from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"
import * as Trial from "../trials/Trial.ts"

const scenarioArgument = Argument.String("scenario").pipe(
  Argument.optional,
  Argument.withDescription("Name of the scenario, such as quotes_ready")
)

const list = Flag.Boolean("list").pipe(Flag.withDefault(false), Flag.withDescription("Only print the scenarios"))

const lineFlag = Flag.String("line").pipe(
  Flag.optional,
  Flag.withDescription("Insurance line; by default the first line that plays the scenario")
)

const unitSeconds = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3_600],
  ["d", 86_400]
])
const maxSeconds = 365 * 86_400

/** Parses a duration such as `90s` or `1h`, in seconds. */
const readSeconds = (text: string): Option.Option<number> => {
  const [, amount = "", unit = ""] = /^([1-9]\d{0,7})([smhd])$/.exec(text) ?? []
  const seconds = Number(amount) * (unitSeconds.get(unit) ?? 0)
  return seconds > 0 && seconds <= maxSeconds ? Option.some(seconds) : Option.none()
}

const advance = Flag.String("advance").pipe(
  Flag.filterMap(readSeconds, () => "--advance must be a time such as 90s, 10m, 1h or 2d, at most 365d"),
  Flag.withMetavar("time"),
  Flag.withDescription(
    "After starting the request, advance the sandbox clock by this time, such as 1h, so that everything due by then happens"
  ),
  Flag.optional
)

const flags = {
  scenario: scenarioArgument,
  list,
  line: lineFlag,
  facts: Trial.facts,
  advance,
  config,
  ...HostClient.flags
}

interface TriggerSettings extends HostClient.HostSettings {
  readonly scenario: Option.Option<string>
  readonly list: boolean
  readonly line: Option.Option<string>
  readonly facts: Option.Option<string>
  readonly config: Option.Option<string>
  readonly advance: Option.Option<number>
}

type Scenario = ScenarioText.Scenario

const unknown = (sentence: string, typed: string, words: ReadonlyArray<string>) =>
  new WrongUsage({ message: `${sentence}${closest(typed, words)}. See quotewire trigger --list.` })

/** Finds the scenario and the insurance line that the user chose. */
const chosen = Effect.fnUntraced(function* (settings: TriggerSettings, scenarios: ReadonlyArray<Scenario>) {
  if (Option.isNone(settings.scenario)) {
    return yield* new WrongUsage({ message: "Name a scenario, or print all of them with --list." })
  }
  const scenarioName = settings.scenario.value
  const scenario = scenarios.find(({ name }) => name === scenarioName)
  if (scenario === undefined) {
    return yield* unknown(
      "There is no such scenario",
      scenarioName,
      scenarios.map(({ name }) => name)
    )
  }
  const line = Option.getOrElse(settings.line, () => scenario.lines[0] ?? "")
  const scenarioLine = scenario.lines.find((candidate) => candidate === line)
  if (scenarioLine === undefined) return yield* unknown("None of these lines plays this scenario", line, scenario.lines)
  return { scenario: scenario.name, line: scenarioLine }
})

/** The scenarios that an insurance line can play; all scenarios if no line is given. */
const playedBy = (line: Option.Option<string>, scenarios: ReadonlyArray<Scenario>) => {
  if (Option.isNone(line)) return Effect.succeed(scenarios)
  const matching = scenarios.filter(({ lines }) => lines.includes(line.value))
  const knownLines = [...new Set(scenarios.flatMap(({ lines }) => lines))]
  return matching.length === 0
    ? Effect.fail(unknown("None of these lines plays a scenario", line.value, knownLines))
    : Effect.succeed(matching)
}

/**
 * The facts for an insurance line: the facts in the file, or the line's example. Custom lines come from the
 * configuration.
 */
const applicationOf = Effect.fnUntraced(function* (settings: TriggerSettings, line: string) {
  const factsOfLine = new Map(Object.entries(yield* Trial.factsOf(settings.facts))).get(line)
  const standard = standardLines.find(({ name }) => name === line)?.example
  const application = factsOfLine ?? standard ?? (yield* ownExample(settings, line))
  if (application === undefined) {
    return yield* new WrongUsage({
      message: `There is no example for ${line}: pass an application with --facts, or the configuration file that defines the line with --config.`
    })
  }
  return application
})

/** The example of a custom line. Loads the configuration, which most calls do not need. */
const ownExample = (settings: TriggerSettings, line: string) =>
  Effect.map(ConfigFile.load(settings.config), ({ lines = [] }) => lines.find(({ name }) => name === line)?.example)

const run = Effect.fnUntraced(function* (settings: TriggerSettings) {
  if (!Redacted.value(settings.api_key).startsWith("sandbox_server_")) {
    return yield* new WrongUsage({
      message: "trigger plays scenarios, so it needs a sandbox server key, sandbox_server_…."
    })
  }
  const client = HostClient.make(settings)
  const { scenarios } = yield* HostClient.call((signal) => client.list_sandbox_scenarios({}, { signal }))
  if (settings.list) {
    const listed = yield* playedBy(settings.line, scenarios)
    return yield* Output.result(settings, { scenarios: listed }, ScenarioText.rows(listed))
  }
  const { line, scenario } = yield* chosen(settings, scenarios)
  const application = yield* applicationOf(settings, line)
  // No retries: some scenarios refuse the first start and accept a retry, and the developer wants to see that refusal.
  const once = HostClient.make(settings, { max_retries: 0 })
  const request_key = `trigger-${randomUUID()}`
  const input = { line, scenario, request_key, consent_receipt_id: request_key, application }
  const started = yield* HostClient.call((signal) => once.start_quote_request(input, { signal }))
  if (Option.isNone(settings.advance)) {
    return yield* Output.result(settings, { quote_request: started, quotes: [] }, [QuoteText.started(started)])
  }
  const { id } = started
  yield* Advance.advance(client, settings.advance.value, id)
  const answer = yield* HostClient.call((signal) => client.get_quote_request({ id, wait_seconds: 0 }, { signal }))
  yield* Output.result(settings, answer, QuoteText.request(answer))
})

/** `quotewire trigger` starts a quote request in a sandbox, which plays a scenario for it. */
export const trigger = Command.make("trigger", reportAllErrors(flags), run).pipe(
  Command.withDescription("Start a sandbox quote request that plays a scenario")
)
