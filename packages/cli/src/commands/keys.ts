import { Access, Ids } from "@quotewire/core"
import { Console, Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Database from "../Database.ts"
import { Failed } from "../Failed.ts"
import { json } from "../Settings.ts"
import { database_url } from "../StorageSettings.ts"

const organization = Flag.String("organization").pipe(
  Flag.filterMap(Schema.decodeUnknownOption(Ids.OrganizationId), () => "--organization must be an id such as org_01…"),
  Flag.withDescription("Id of the organization, org_…")
)

const create = Command.make(
  "create",
  {
    organization,
    environment: Flag.Literals("environment", ["sandbox", "live"]).pipe(Flag.withDescription("Where the key acts")),
    kind: Flag.Literals("kind", ["server", "widget", "platform"]).pipe(Flag.withDescription("What the key may do")),
    database_url,
    json
  },
  ({ organization: organization_id, environment, kind, ...settings }) =>
    Effect.gen(function* () {
      const access = yield* Access.Access
      const issued = yield* access.createKey({ organization_id, environment, kind })
      yield* Console.log(settings.json ? JSON.stringify({ key_id: issued.key_id, key: issued.key }) : shown(issued))
    }).pipe(
      Effect.catchTag("not_found", () => Effect.fail(new Failed({ message: "There is no such organization." }))),
      Database.withAccess(settings.database_url)
    )
).pipe(Command.withDescription("Make a key; it is shown this once"))

const shown = ({ key_id, key }: Access.IssuedKey): string => `${key}\n\n${key_id}; the key is not shown again.`

/** `quotewire keys`: the API keys of organizations. */
export const keys = Command.make("keys").pipe(
  Command.withDescription("Manage the API keys of organizations"),
  Command.withSubcommands([create])
)
