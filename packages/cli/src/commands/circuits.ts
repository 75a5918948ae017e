import type { CarrierStatus, CarrierStatusPage } from "@quotewire/core"
import { Caller } from "@quotewire/core/program"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as CarrierStatusText from "../carriers/CarrierStatusText.ts"
import * as Reach from "../remote/Reach.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { fieldErrors, noOrganization } from "../settings/refusals.ts"
import { config, json, word } from "../settings/Settings.ts"
import { organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"
import * as Style from "../terminal/Style.ts"

const flags = { organization: Flag.optional(organization), config, ...OperatorSettings.reach, json }

const settingsByPath: { readonly [path: string]: string } = {
  line: "--line",
  environment: "--environment",
  organization_id: "--organization"
}

const print = (carriers: ReadonlyArray<CarrierStatus>, settings: { readonly json: boolean }) =>
  settings.json
    ? Output.json({ carriers })
    : Effect.flatMap(Style.style, (style) =>
        Effect.forEach(
          carriers,
          (carrier) => Output.lines(CarrierStatusText.linesOf(carrier), Style.ofStatus(style, carrier.circuit)),
          { discard: true }
        )
      )

const carrierFlag = Flag.String("carrier").pipe(
  Flag.optional,
  Flag.withDescription("Only this carrier, by its id, such as naic:12345; all by default")
)

/** `quotewire carriers status` shows the status of a configuration's carriers. */
export const status = Command.make("status", reportAllErrors({ carrier: carrierFlag, ...flags }), (settings) =>
  Reach.withCircuits(settings, (circuits) =>
    Effect.gen(function* () {
      const filter = {
        carrier_id: Option.getOrUndefined(settings.carrier),
        organization_id: Option.getOrUndefined(settings.organization)
      }
      const carriers: Array<CarrierStatus> = []
      let after: string | null = null
      do {
        const page: CarrierStatusPage = yield* circuits.status({ ...filter, after })
        carriers.push(...page.carriers)
        after = page.next
      } while (after !== null)
      yield* print(carriers, settings)
      if (carriers.length === 0 && !settings.json)
        yield* Console.error("There are no carriers of your own, or no connections.")
    }).pipe(
      Effect.catchTag("not_found", noOrganization),
      Effect.catchTag("invalid_input", fieldErrors({ ...settingsByPath, carrier_id: "--carrier" }))
    )
  )
).pipe(
  Command.withDescription(
    "Show each carrier's circuit, its latest outcomes, its calls in progress and how much of its rate limit is left"
  )
)

const line = Flag.String("line").pipe(Flag.optional, Flag.withDescription("Only this line; all by default"))

const environment = word("environment", Caller.Environment.literals, "Only this environment; both by default").pipe(
  Flag.optional
)

const carrierId = Argument.String("carrier").pipe(Argument.withDescription("Id of the carrier, such as naic:12345"))

/** `quotewire carriers reset` closes a carrier's circuit breakers. */
export const reset = Command.make(
  "reset",
  reportAllErrors({ carrier_id: carrierId, line, environment, ...flags }),
  (settings) =>
    Reach.withCircuits(settings, (circuits) =>
      Effect.gen(function* () {
        const carriers = yield* circuits.reset({
          carrier_id: settings.carrier_id,
          line: Option.getOrUndefined(settings.line),
          environment: Option.getOrUndefined(settings.environment),
          organization_id: Option.getOrUndefined(settings.organization)
        })
        yield* print(carriers, settings)
        if (carriers.length === 0 && !settings.json) yield* Console.error("No circuit was open.")
      }).pipe(
        Effect.catchTag("not_found", noOrganization),
        Effect.catchTag("invalid_input", fieldErrors({ ...settingsByPath, carrier_id: "<carrier>" }))
      )
    )
).pipe(Command.withDescription("Close a carrier's open circuits, so that every host asks it again"))
