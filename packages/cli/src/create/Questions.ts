import { Effect, type Terminal } from "effect"
import { Prompt } from "effect/cli"
import { CommandFailed } from "../settings/CommandErrors.ts"
import type { CarrierChoice, Choices, Place } from "./Choices.ts"

const place = Prompt.Select<Place>({
  message: "Where does it run?",
  choices: [
    { title: "Fastify", value: "fastify" },
    { title: "Express", value: "express" },
    { title: "Hono", value: "hono" },
    { title: "Next", value: "next" },
    { title: "Nest", value: "nest" },
    { title: "a program of its own", value: "host", description: "the quotewire command, with a configuration" }
  ]
})

const carrier = Prompt.Select<CarrierChoice>({
  message: "Which kind of custom carrier should the project include?",
  choices: [
    { title: "none", value: "none", description: "the sandbox has fictional ones" },
    { title: "a JSON API", value: "json" },
    { title: "an XML API", value: "xml" },
    { title: "a rate plan", value: "rate-plan", description: "prices from a file" }
  ]
})

const line = Prompt.Confirm({ message: "Add an insurance line of your own (bicycles)?" })
const receiver = Prompt.Confirm({ message: "Add a webhook receiver?" })
const docker = Prompt.Confirm({ message: "Add files for Docker, with PostgreSQL?" })

const orQuit = <A, R>(answer: Effect.Effect<A, Terminal.QuitError, R>): Effect.Effect<A, CommandFailed, R> =>
  Effect.mapError(answer, () => new CommandFailed({ message: "Nothing was written." }))

/** Asks for the folder. */
export const askFolder = Prompt.run(Prompt.String({ message: "In which folder?", default: "." })).pipe(orQuit)

/** Asks for every choice, one by one. */
export const askChoices = Effect.gen(function* () {
  const chosen: Choices = {
    place: yield* Prompt.run(place),
    carrier: yield* Prompt.run(carrier),
    line: yield* Prompt.run(line),
    receiver: yield* Prompt.run(receiver),
    docker: yield* Prompt.run(docker)
  }
  return chosen
}).pipe(orQuit)
