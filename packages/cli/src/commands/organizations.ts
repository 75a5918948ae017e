import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as Reach from "../remote/Reach.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json } from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"

const nameArgument = Argument.String("name").pipe(
  Argument.filter(
    (text) => text.trim() !== "",
    () => "<name> must not be empty"
  ),
  Argument.withDescription("Name of the organization")
)

const create = Command.make(
  "create",
  reportAllErrors({ name: nameArgument, ...OperatorSettings.reach, json }),
  (settings) =>
    Reach.withAccess(settings, (access) =>
      Effect.gen(function* () {
        const { id: organization_id } = yield* access.createOrganization(settings.name)
        yield* Output.result(settings, { organization_id }, [organization_id])
      })
    )
).pipe(Command.withDescription("Create an organization with a sandbox and a live workspace"))

const list = Command.make("list", reportAllErrors({ ...OperatorSettings.reach, json }), (settings) =>
  Reach.withAccess(settings, (access) =>
    Effect.gen(function* () {
      const all = yield* access.listOrganizations
      const listed = all.map(({ id: organization_id, name }) => ({ organization_id, name }))
      yield* Output.result(
        settings,
        { organizations: listed },
        listed.map(({ organization_id, name }) => `${organization_id}  ${name}`)
      )
    })
  )
).pipe(Command.withDescription("List the organizations, oldest first"))

/** `quotewire organizations` creates and lists the organizations in a database. */
export const organizations = Command.make("organizations").pipe(
  Command.withDescription("Manage the organizations of a database"),
  Command.withSubcommands([create, list])
)
