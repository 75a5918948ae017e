import {
  Access,
  ApiError,
  type CarrierStatus,
  type CarrierStatusPage,
  Circuits,
  Connections,
  type ConnectionTestResult,
  type ConsumerStatus,
  Consumers,
  type EmbeddedConnection,
  type EmbeddedKey,
  type EmbeddedOrganization,
  type ErasureReport,
  Erasures,
  type Ids,
  type ParkedEvent,
  type Quotewire,
  Timestamp
} from "@quotewire/core"
import { Effect } from "effect"
import type * as TimelineReport from "../service/TimelineReport.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as OperatorClient from "./OperatorClient.ts"
import type { OperatorHost } from "./OperatorHost.ts"

/*
 * The services that operators' commands use, implemented as calls to a host. So a command's code is the same whether it
 * uses a database or a host.
 *
 * The types of these services have no failure for an unreachable host. Such a failure is therefore a defect here, and
 * `withRemote` turns it into the command's failure.
 */

type Host = OperatorHost

/** Calls an operation. Fails only with the host's refusals. */
const callHost = <Answer>(
  host: Host,
  name: OperatorClient.OperationName,
  input: Readonly<Record<string, unknown>>
): Effect.Effect<Answer, ApiError.ApiError> =>
  Effect.catch(OperatorClient.call<Answer>(host, name, input), (error) =>
    OperatorClient.isRefusal(error) ? Effect.fail(error) : Effect.die(error)
  )

const refused = ({ code, message }: ApiError.ApiError) =>
  Effect.die(new CommandFailed({ message: `The host refused the call (${code}): ${message}` }))

/** Calls an operation that the host must not refuse. */
const callWithoutRefusal = <Answer>(...call: Parameters<typeof callHost>) =>
  Effect.catch(callHost<Answer>(...call), refused)

/** Calls an operation whose only expected refusal is `not_found`. */
const askedAbout = <Answer>(...call: Parameters<typeof callHost>) =>
  Effect.catch(callHost<Answer>(...call), (error) =>
    error._tag === "not_found" ? Effect.fail(ApiError.make("not_found")) : refused(error)
  )

/** Calls an operation whose only expected refusals are `not_found` and `invalid_input`. */
const askedWith = <Answer>(
  ...call: Parameters<typeof callHost>
): Effect.Effect<Answer, ApiError.ApiError<"not_found"> | ApiError.ApiError<"invalid_input">> =>
  Effect.catch(
    callHost<Answer>(...call),
    (error): Effect.Effect<never, ApiError.ApiError<"not_found"> | ApiError.ApiError<"invalid_input">> => {
      if (error._tag === "not_found") return Effect.fail(ApiError.make("not_found"))
      if (error._tag !== "invalid_input") return refused(error)
      const { field_errors, message } = error
      return Effect.fail(ApiError.make("invalid_input", { message, ...(field_errors !== null && { field_errors }) }))
    }
  )

/** Runs a program with a host's services. */
export const withRemote = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E | CommandFailed, R> =>
  Effect.catchDefect(program, (defect) => (defect instanceof CommandFailed ? Effect.fail(defect) : Effect.die(defect)))

/** Stands for a method that no operators' command calls. */
const unused = Effect.suspend(() => Effect.die(new Error("No command calls a host for this")))

const organizationOf = ({ created_at, ...organization }: EmbeddedOrganization) => ({
  ...organization,
  created_at: Timestamp.toMillis(created_at)
})

const keyOf = ({ created_at, revoked_at, ...key }: EmbeddedKey) => ({
  ...key,
  created_at: Timestamp.toMillis(created_at),
  revoked_at: revoked_at === null ? null : Timestamp.toMillis(revoked_at)
})

/** Creates a key through a host. The response includes the host's warnings about the key. */
export const createKey = (host: Host, options: Parameters<Access.Access["Service"]["createKey"]>[0]) =>
  withRemote(askedAbout<Quotewire.CreatedKey>(host, "create_key", { ...options }))

/** A host's organizations and keys. */
export const access = (host: Host): Access.Access["Service"] =>
  Access.Access.of({
    createOrganization: (name) =>
      Effect.map(callWithoutRefusal<EmbeddedOrganization>(host, "create_organization", { name }), organizationOf),
    listOrganizations: Effect.map(
      callWithoutRefusal<{ readonly organizations: ReadonlyArray<EmbeddedOrganization> }>(
        host,
        "list_organizations",
        {}
      ),
      ({ organizations }) => organizations.map(organizationOf)
    ),
    createKey: (options) => askedAbout<Access.IssuedKey>(host, "create_key", { ...options }),
    listKeys: (organization_id) =>
      Effect.map(
        askedAbout<{ readonly keys: ReadonlyArray<EmbeddedKey> }>(host, "list_keys", { organization_id }),
        ({ keys }) => keys.map(keyOf)
      ),
    revokeKey: (id) => Effect.map(askedAbout<EmbeddedKey>(host, "revoke_key", { id }), keyOf),
    hasKeyIn: () => unused,
    admit: () => unused,
    mayBeGuessed: () => true,
    authenticate: () => unused
  })

const connectionOf = ({ last_test, set_at, ...connection }: EmbeddedConnection) => ({
  ...connection,
  set_at: Timestamp.toMillis(set_at),
  last_test: last_test === null ? null : { ...last_test, at: Timestamp.toMillis(last_test.at) }
})

/** A host's connections. */
export const connections = (host: Host): Connections.Connections["Service"] =>
  Connections.Connections.of({
    set: (connection) =>
      Effect.map(askedWith<EmbeddedConnection>(host, "set_connection", { ...connection }), connectionOf),
    list: (organization_id) =>
      Effect.map(
        askedAbout<{ readonly connections: ReadonlyArray<EmbeddedConnection> }>(host, "list_connections", {
          organization_id
        }),
        (answer) => answer.connections.map(connectionOf)
      ),
    test: (place) => askedAbout<ConnectionTestResult>(host, "test_connection", { ...place }),
    remove: (place) => Effect.asVoid(askedAbout<unknown>(host, "remove_connection", { ...place })),
    of: () => unused
  })

/** The status of a host's carriers. */
export const circuits = (host: Host): Circuits.Circuits["Service"] =>
  Circuits.Circuits.of({
    status: (options = {}) => askedWith<CarrierStatusPage>(host, "get_carrier_status", { ...options }),
    reset: (place) =>
      Effect.map(
        askedWith<{ readonly carriers: ReadonlyArray<CarrierStatus> }>(host, "reset_carrier", { ...place }),
        ({ carriers }) => carriers
      )
  })

interface TimelinePage extends TimelineReport.WholeTimeline {
  readonly next: number | null
}

/** Reads a quote request's whole timeline. If bodies are read, the host's audit log records the token. */
export const timeline = (
  host: Host,
  id: Ids.QuoteRequestId,
  hasBodies: boolean
): Effect.Effect<TimelineReport.WholeTimeline, CommandFailed> =>
  Effect.gen(function* () {
    const name = hasBodies ? "read_quote_request_exchanges" : "get_quote_request_timeline"
    let page = yield* askedAbout<TimelinePage>(host, name, { id })
    const entries = [...page.entries]
    while (page.next !== null) {
      page = yield* askedAbout<TimelinePage>(host, name, { id, after: page.next })
      entries.push(...page.entries)
    }
    const { next: _, ...whole } = page
    return { ...whole, entries }
  }).pipe(
    Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such quote request." }))),
    withRemote
  )

/** The event consumers of a host. */
export const consumers = (host: Host): Consumers["Service"] =>
  Consumers.of({
    consume: () => unused,
    list: (filter = {}) =>
      Effect.map(
        callWithoutRefusal<{ readonly consumers: ReadonlyArray<ConsumerStatus> }>(host, "list_consumers", {
          ...filter
        }),
        (answer) => answer.consumers
      ),
    listParked: (name, filter = {}) =>
      Effect.map(
        callWithoutRefusal<{ readonly events: ReadonlyArray<ParkedEvent> }>(host, "list_parked_events", {
          name,
          ...filter
        }),
        ({ events }) => events
      ),
    retryParked: (name, place) => Effect.asVoid(askedAbout<unknown>(host, "retry_parked_event", { name, ...place })),
    dropParked: (name, place) => Effect.asVoid(askedAbout<unknown>(host, "drop_parked_event", { name, ...place }))
  })

/** A host's erasures. */
export const erasures = (host: Host): Erasures.Erasures["Service"] =>
  Erasures.Erasures.of({
    erase: (target, options) =>
      "consent_receipt_id" in target
        ? askedWith<ErasureReport>(host, "erase_receipt", { ...target, ...options })
        : askedWith<ErasureReport>(host, "erase_quote_request", { id: target.quote_request_id, ...options })
  })
