import { Access } from "@quotewire/core"
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as Database from "../Database.ts"
import { json } from "../Settings.ts"
import { database } from "../StorageSettings.ts"

const name = Argument.String("name").pipe(
  Argument.filter(
    (text) => text.trim() !== "",
    () => "<name> must not be empty"
  ),
  Argument.withDescription("Name of the organization")
)

const create = Command.make("create", { name, ...database, json }, (settings) =>
  Effect.gen(function* () {
    const access = yield* Access.Access
    const { id: organization_id } = yield* access.createOrganization(settings.name)
    yield* Console.log(settings.json ? JSON.stringify({ organization_id }) : organization_id)
  }).pipe(Database.withAccess(settings))
).pipe(Command.withDescription("Create an organization with a sandbox and a live workspace"))

const list = Command.make("list", { ...database, json }, (settings) =>
  Effect.gen(function* () {
    const access = yield* Access.Access
    const all = yield* access.listOrganizations
    const organizations = all.map(({ id: organization_id, name }) => ({ organization_id, name }))
    if (settings.json) return yield* Console.log(JSON.stringify({ organizations }))
    for (const { organization_id, name } of organizations) yield* Console.log(`${organization_id}  ${name}`)
  }).pipe(Database.withAccess(settings))
).pipe(Command.withDescription("List the organizations, oldest first"))

/** `quotewire organizations` creates and lists the organizations of a database. */
export const organizations = Command.make("organizations").pipe(
  Command.withDescription("Manage the organizations of a database"),
  Command.withSubcommands([create, list])
)
