import type { HelpDoc } from "effect/cli"

/**
 * Examples of each command, by the command's path without `quotewire`. Their secrets come from the environment, a
 * profile or standard input.
 */
const examples: Readonly<Record<string, ReadonlyArray<HelpDoc.ExampleDoc>>> = {
  create: [
    { command: "quotewire create my-app", description: "Choose the project's parts, then write the project" },
    {
      command: "quotewire create my-app --in fastify --carrier json --receiver",
      description: "Embed the service in Fastify, with a carrier and a webhook receiver"
    }
  ],
  dev: [
    { command: "quotewire dev", description: "Serve a sandbox on http://127.0.0.1:8787" },
    { command: "quotewire dev --data .quotewire", description: "Keep all data across restarts, including the keys" },
    { command: "quotewire dev --config quotewire.config.ts --port 9001", description: "With carriers of your own" }
  ],
  serve: [
    { command: "quotewire serve --base-url https://quotes.example.com", description: "Serve on PostgreSQL" },
    { command: "quotewire serve --processes 4 --migrate", description: "Migrate first, and use four processes" }
  ],
  work: [{ command: "quotewire work", description: "Run jobs for hosts that serve with --no-worker" }],
  mcp: [
    { command: "quotewire mcp", description: "Serve an in-memory sandbox to a local agent" },
    {
      command: "quotewire mcp --base-url https://quotes.example.com",
      description: "Forward the agent's messages to a host"
    }
  ],
  listen: [
    {
      command: "quotewire listen --forward-to http://localhost:3000/webhooks",
      description: "Send each event to a program on this machine"
    }
  ],
  trigger: [
    { command: "quotewire trigger --list --line renters", description: "List the scenarios of a line" },
    {
      command: "quotewire trigger quotes_ready --line renters --advance 60s",
      description: "Play a scenario to its end"
    }
  ],
  "events tail": [{ command: "quotewire events tail --types quote.created", description: "Follow new quotes" }],
  "events list": [
    { command: "quotewire events list --types quote.created --json", description: "Print events as JSON" }
  ],
  "events resend": [
    {
      command: "quotewire events resend evt_01m84v0ff8nrk5ty5ppekmrp7v --forward-to http://localhost:3000/webhooks",
      description: "Resend an event"
    }
  ],
  "quotes list": [
    {
      command: "quotewire quotes list --status completed --limit 20",
      description: "List the latest completed requests"
    }
  ],
  "quotes show": [{ command: "quotewire quotes show qt_01m84v0ff8nrk5ty5ppekmrp7v" }],
  "quotes wait": [
    { command: "quotewire quotes wait qreq_01m84v0ff8nrk5ty5ppekmrp7v", description: "Wait until the request is final" }
  ],
  "requests list": [
    {
      command: "quotewire requests list --quote-request qreq_01m84v0ff8nrk5ty5ppekmrp7v",
      description: "List the calls about a quote request"
    }
  ],
  "requests show": [
    { command: "quotewire requests show qreq_01m84v0ff8nrk5ty5ppekmrp7v --bodies", description: "Show its timeline" },
    { command: "quotewire requests show req_01m84v0ff8nrk5ty5ppekmrp7v", description: "Show one API call" }
  ],
  "requests tail": [{ command: "quotewire requests tail", description: "Follow the calls of your integration" }],
  login: [
    { command: "quotewire login --base-url https://quotes.example.com", description: "Ask for a key, and save it" },
    { command: "quotewire login --profile staging < key.txt", description: "Read the key from standard input" }
  ],
  logout: [{ command: "quotewire logout --profile staging" }],
  "profiles list": [{ command: "quotewire profiles list" }],
  migrate: [
    { command: "quotewire migrate", description: "Update the database of QUOTEWIRE_DATABASE_URL" },
    { command: "quotewire migrate --status", description: "Show which migrations are pending" },
    { command: "quotewire migrate --dry-run", description: "Try the pending migrations, and roll them back" }
  ],
  "organizations create": [{ command: 'quotewire organizations create "Acme"' }],
  "organizations list": [{ command: "quotewire organizations list --json" }],
  "operators create-token": [
    {
      command: 'quotewire operators create-token --name "Support desk" --scopes read,write',
      description: "Create a token for all organizations that expires in 90 days"
    }
  ],
  "operators list": [{ command: "quotewire operators list" }],
  "operators revoke": [{ command: "quotewire operators revoke opt_01m84v0ff8nrk5ty5ppekmrp7v" }],
  status: [{ command: "quotewire status --base-url https://quotes.example.com" }],
  share: [
    {
      command: "quotewire share qreq_01m84v0ff8nrk5ty5ppekmrp7v --days 2",
      description: "Share one of your requests with a partner for two days"
    }
  ],
  "requests find": [
    {
      command: "quotewire requests find --ended without_quotes --since 2026-11-20T00:00:00Z",
      description: "Find requests of all organizations that ended without a quote"
    }
  ],
  audit: [
    {
      command: "quotewire audit --base-url https://quotes.example.com --limit 50",
      description: "Print the last 50 calls"
    },
    { command: "quotewire audit --operation erase_quote_request --json", description: "Print who erased what, as JSON" }
  ],
  "recoveries preview": [
    {
      command: "quotewire recoveries preview sub_01m84v0ff8nrk5ty5ppekmrp7v --after 2026-11-20T08:00:00Z",
      description: "Count failed deliveries of your own subscription"
    }
  ],
  "recoveries start": [
    {
      command: "quotewire recoveries start sub_01m84v0ff8nrk5ty5ppekmrp7v --per-minute 30",
      description: "Resend failed deliveries of your own subscription"
    },
    {
      command:
        "quotewire recoveries start sub_01m84v0ff8nrk5ty5ppekmrp7v --organization org_01m84v0ff8nrk5ty5ppekmrp7v --environment live",
      description: "Resend failed deliveries of an organization, with an operator's token"
    }
  ],
  "recoveries list": [{ command: "quotewire recoveries list sub_01m84v0ff8nrk5ty5ppekmrp7v" }],
  "recoveries show": [
    { command: "quotewire recoveries show sub_01m84v0ff8nrk5ty5ppekmrp7v rcv_01m84v0ff8nrk5ty5ppekmrp7v" }
  ],
  "recoveries pause": [
    { command: "quotewire recoveries pause sub_01m84v0ff8nrk5ty5ppekmrp7v rcv_01m84v0ff8nrk5ty5ppekmrp7v" }
  ],
  "recoveries resume": [
    { command: "quotewire recoveries resume sub_01m84v0ff8nrk5ty5ppekmrp7v rcv_01m84v0ff8nrk5ty5ppekmrp7v" }
  ],
  "recoveries stop": [
    { command: "quotewire recoveries stop sub_01m84v0ff8nrk5ty5ppekmrp7v rcv_01m84v0ff8nrk5ty5ppekmrp7v" }
  ],
  "keys create": [
    {
      command: "quotewire keys create --organization org_01m84v0ff8nrk5ty5ppekmrp7v --environment sandbox --kind server"
    }
  ],
  "keys list": [{ command: "quotewire keys list --organization org_01m84v0ff8nrk5ty5ppekmrp7v" }],
  "keys revoke": [{ command: "quotewire keys revoke key_01m84v0ff8nrk5ty5ppekmrp7v" }],
  "connections set": [
    {
      command:
        "quotewire connections set --organization org_01m84v0ff8nrk5ty5ppekmrp7v --carrier naic:12345 --environment live < acme.json",
      description: "Read the values as JSON from standard input"
    }
  ],
  "connections test": [
    {
      command:
        "quotewire connections test --organization org_01m84v0ff8nrk5ty5ppekmrp7v --carrier naic:12345 --environment live"
    }
  ],
  "connections list": [{ command: "quotewire connections list --organization org_01m84v0ff8nrk5ty5ppekmrp7v" }],
  "connections remove": [
    {
      command:
        "quotewire connections remove --organization org_01m84v0ff8nrk5ty5ppekmrp7v --carrier naic:12345 --environment live"
    }
  ],
  "consumers list": [{ command: "quotewire consumers list", description: "Show how far each consumer is behind" }],
  "consumers parked": [{ command: "quotewire consumers parked crm --limit 20" }],
  "consumers retry": [
    {
      command:
        "quotewire consumers retry crm evt_01m84v0ff8nrk5ty5ppekmrp7v --organization org_01m84v0ff8nrk5ty5ppekmrp7v --environment live"
    }
  ],
  "consumers drop": [
    {
      command:
        "quotewire consumers drop crm evt_01m84v0ff8nrk5ty5ppekmrp7v --organization org_01m84v0ff8nrk5ty5ppekmrp7v --environment live"
    }
  ],
  "carriers check": [{ command: "quotewire carriers check plan.json", description: "Find every error in a rate plan" }],
  "carriers test": [
    { command: "quotewire carriers test quotewire.config.ts --environment sandbox" },
    {
      command: "quotewire carriers test quotewire.config.ts --cassette acme.json",
      description: "Test with a cassette, without a network"
    }
  ],
  "carriers ask": [
    { command: "quotewire carriers ask quotewire.config.ts --carrier naic:12345 --environment sandbox" }
  ],
  "seal status": [{ command: "quotewire seal status", description: "Show which seal keys are still in use" }],
  "seal rotate": [{ command: "quotewire seal rotate", description: "Seal everything with the newest key" }],
  "seal give-up": [{ command: "quotewire seal give-up b2xkIGtl", description: "Let hosts start without a lost key" }],
  "carriers status": [{ command: "quotewire carriers status --carrier naic:12345" }],
  "carriers reset": [{ command: "quotewire carriers reset naic:12345 --line renters" }],
  erase: [
    { command: "quotewire erase qreq_01m84v0ff8nrk5ty5ppekmrp7v --dry-run", description: "Show what would be erased" },
    { command: "quotewire erase qreq_01m84v0ff8nrk5ty5ppekmrp7v --by support@example.com" }
  ],
  "cells list": [{ command: "quotewire cells list --cells cells.json" }],
  "cells check": [{ command: "quotewire cells check --cells cells.json" }],
  "cells add": [{ command: "quotewire cells add cell-2 --cells cells.json" }],
  "cells move": [
    { command: "quotewire cells move cell-2 --cells cells.json --dry-run", description: "Check without moving" }
  ]
}

/** The examples that `--help` shows for a command. */
export const examplesOf = ([, ...path]: ReadonlyArray<string>): ReadonlyArray<HelpDoc.ExampleDoc> =>
  examples[path.join(" ")] ?? []
