import { type Choices, holds, wordsOf } from "./Choices.ts"

/** A file of a new project, and the template that it is created from. */
export interface PlannedFile {
  /** The file's path in the project. */
  readonly path: string
  /**
   * The path of the template, relative to `templates/`. Templates below `examples/` are the repository's examples,
   * which the build copies.
   */
  readonly template: string
}

/** A file, and the condition for including it in a project. */
interface Rule extends PlannedFile {
  readonly when?: string
}

const mounted = "fastify|express|hono|nest"

const rules: ReadonlyArray<Rule> = [
  { path: "README.md", template: "README.md" },
  { path: ".gitignore", template: "gitignore" },
  { path: ".env.example", template: "env.example" },
  { path: ".env.development", template: "env.development", when: "!host" },
  { path: "tsconfig.json", template: "tsconfig/plain.json", when: "!nest !next" },
  { path: "tsconfig.json", template: "tsconfig/nest.json", when: "nest" },
  { path: "tsconfig.json", template: "tsconfig/next.json", when: "next" },
  { path: "quotewire.config.ts", template: "quotewire.config.ts" },

  { path: "src/server.ts", template: "examples/frameworks/fastify.ts", when: "fastify" },
  { path: "src/server.ts", template: "examples/frameworks/express.ts", when: "express" },
  { path: "src/server.ts", template: "examples/frameworks/hono.ts", when: "hono" },
  { path: "src/main.ts", template: "examples/frameworks/nest/main.ts", when: "nest" },
  { path: "src/app.module.ts", template: "examples/frameworks/nest/app.module.ts", when: "nest" },
  { path: "src/orders.controller.ts", template: "examples/frameworks/nest/orders.controller.ts", when: "nest" },
  { path: "src/quotewire.ts", template: "service/quotewire.ts", when: mounted },
  { path: "src/service.ts", template: "service/service.ts", when: mounted },
  {
    path: "app/api/insurance/[[...path]]/route.ts",
    template: "examples/frameworks/next/app/api/insurance/[[...path]]/route.ts",
    when: "next"
  },
  { path: "instrumentation.ts", template: "examples/frameworks/next/instrumentation.ts", when: "next" },
  { path: "next.config.ts", template: "next/next.config.ts", when: "next" },
  { path: "lib/quotewire.ts", template: "next/quotewire.ts", when: "next" },
  { path: "lib/start.ts", template: "next/start.ts", when: "next" },
  { path: "lib/service.ts", template: "service/service.ts", when: "next" },

  { path: "carriers/json-polls.ts", template: "examples/carriers/json-polls.ts", when: "json" },
  { path: "carriers/xml.ts", template: "examples/carriers/xml.ts", when: "xml" },
  { path: "carriers/rate-plan.json", template: "examples/rate-plan.json", when: "rate-plan" },
  { path: "practice/main.ts", template: "practice/main.ts", when: "json|xml" },
  { path: "practice/server.ts", template: "examples/carriers/server.ts", when: "json|xml" },
  { path: "practice/apis.ts", template: "examples/carriers/apis.ts", when: "json|xml" },
  { path: "practice/weather.ts", template: "examples/carriers/weather.ts", when: "json|xml" },
  { path: "lines/bicycle.ts", template: "examples/line.ts", when: "line" },
  { path: "receiver/main.ts", template: "receiver/main.ts", when: "receiver" },
  { path: "receiver/inbox.ts", template: "examples/receivers/inbox.ts", when: "receiver" },
  { path: "receiver/node.ts", template: "examples/receivers/node.ts", when: "receiver" },

  { path: "test/quotes.test.ts", template: "testing/quotes.ts" },
  { path: "test/carrier.test.ts", template: "testing/carrier.ts", when: "json|xml|rate-plan" },
  { path: "test/bicycle.test.ts", template: "testing/bicycle.ts", when: "line" },
  { path: "test/receiver.test.ts", template: "testing/receiver.ts", when: "receiver" },

  { path: "Dockerfile", template: "docker/Dockerfile", when: "docker" },
  { path: ".dockerignore", template: "dockerignore", when: "docker" },
  { path: "compose.yaml", template: "docker/compose.yaml", when: "docker" }
]

/** The files of a project, except its `package.json`. */
export const planOf = (choices: Choices): ReadonlyArray<PlannedFile> => {
  const words = wordsOf(choices)
  return rules
    .filter(({ when }) => when === undefined || holds(when, words))
    .map(({ path, template }) => ({ path, template }))
}

/** All templates, without duplicates. */
export const templates: ReadonlyArray<string> = [...new Set(rules.map(({ template }) => template))]
