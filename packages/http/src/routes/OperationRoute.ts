import { ApiError, Json, type Operation, Pipeline } from "@quotewire/core"
import { Effect, Predicate, Result, Schema } from "effect"
import * as InputShape from "../documents/InputShape.ts"
import * as Answer from "../host/Answer.ts"
import * as Body from "../host/Body.ts"
import * as RequestInfo from "../host/RequestInfo.ts"
import type { Incoming, Route } from "../host/Route.ts"
import * as Query from "./Query.ts"

/** Which fields of an operation's input are sent in the path, and which in the body. */
interface Places {
  readonly path: ReadonlySet<string>
  readonly body: ReadonlySet<string>
  readonly isBodyRequired: boolean
  /** Whether all fields are sent in the body. */
  readonly isBodyAll: boolean
}

/**
 * Creates an operation's route: it builds one input from path, query and body, makes the call and sends the response.
 */
export const make = <R>(
  operation: Operation.Operation<string, unknown, unknown, R>
): Route<R | Pipeline.PipelineServices> => {
  const inputOf = inputReader(operation)
  const transportOf = RequestInfo.cachedTransports(Pipeline.loggedPath(operation.route.path))
  const answerOf = answering(operation.route)
  return {
    name: operation.name,
    method: operation.route.method,
    path: operation.route.path,
    // Web pages may call an operation only if it accepts widget keys, because no other keys are meant for web pages.
    cors: operation.authority.callers.includes("widget"),
    handle: (incoming) => {
      const request = RequestInfo.of(incoming, transportOf(incoming), inputOf(incoming))
      return Effect.map(Pipeline.call(operation, request), (reply) => answerOf(reply, incoming.public_path))
    }
  }
}

/**
 * Creates the function that builds an operation's responses. It caches the headers that responses in the latest used
 * revision share.
 */
const answering = (route: Operation.Route) => {
  let last: { readonly revision: string; readonly headers: Answer.Answer["headers"] } | null = null
  return (reply: Pipeline.Reply, publicPath: string): Answer.Answer => {
    const { revision, text } = reply
    if (last?.revision !== revision) last = { revision, headers: Answer.json(route.status, text, revision).headers }
    const routeHeaders = ownHeaders(route, publicPath, reply)
    const headers = routeHeaders === null ? last.headers : { ...last.headers, ...routeHeaders }
    return { status: route.status, headers, body: text }
  }
}

/** Creates the function that reads an operation's input: one object from a request's path, query and body. */
export const inputReader = (
  operation: Pick<Operation.Operation, "input" | "route">
): ((incoming: Incoming) => Effect.Effect<unknown, ApiError.ApiError>) => {
  const places = placesOf(operation)
  const hasBody = operation.route.method !== "GET"
  return (incoming) => {
    if (!hasBody) return Effect.fromResult(assemble(operation.route, places, incoming, noFields))
    return Effect.flatMap(bodyOf(incoming, places.isBodyRequired), (body) =>
      Effect.fromResult(assemble(operation.route, places, incoming, body))
    )
  }
}

type Fields = Readonly<Record<string, unknown>>

const placesOf = ({ input, route }: Pick<Operation.Operation, "input" | "route">): Places => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(input)
  const shape = InputShape.of(schema, definitions)
  const body = InputShape.bodyFields(route, shape)
  return {
    path: new Set(InputShape.pathFields(route)),
    body: new Set(body),
    isBodyRequired: body.some((name) => shape.required.includes(name)),
    isBodyAll: body.length === Object.keys(shape.properties).length
  }
}

/**
 * The headers that differ between responses: whether the response is a replay, and the address of the created resource.
 */
const ownHeaders = (
  route: Operation.Route,
  publicPath: string,
  reply: Pipeline.Reply
): Record<string, string> | null => {
  if (!reply.replayed && route.location === undefined) return null
  const headers: Record<string, string> = {}
  if (reply.replayed) headers["idempotent-replayed"] = "true"
  if (route.location !== undefined) {
    const answer = Json.read(reply.json)
    if (Predicate.hasProperty(answer, "id")) headers.location = `${publicPath}${route.location(String(answer.id))}`
  }
  return headers
}

/**
 * Parses the body as a JSON object. An empty body is treated as an object without fields, unless the operation requires
 * a field.
 */
const bodyOf = (incoming: Incoming, isRequired: boolean): Effect.Effect<Fields, ApiError.ApiError> =>
  Effect.flatMap(incoming.read(Body.maxBytes), (bytes) => {
    if (bytes.length === 0) return isRequired ? invalidJson : Effect.succeed(noFields)
    return Effect.fromResult(Result.flatMap(RequestInfo.json(bytes, incoming.header), asObject))
  })

const noFields: Fields = {}
const invalidJson = Effect.fail(ApiError.make("invalid_json"))

const asObject = (value: unknown): Result.Result<Fields, ApiError.ApiError> =>
  Predicate.isObject(value)
    ? Result.succeed(value)
    : Result.fail(ApiError.invalidInput([{ path: "", message: "Must be an object." }]))

/**
 * Joins the parts of a request into one input.
 *
 * A field is accepted only where it belongs. Anywhere else it is treated as unknown, even if the input has a field with
 * that name.
 */
const assemble = (
  route: Operation.Route,
  places: Places,
  incoming: Incoming,
  body: Fields
): Result.Result<Fields, ApiError.ApiError> => {
  if (incoming.query === "" && body === noFields) return Result.succeed(incoming.params)
  if (incoming.query === "" && places.isBodyAll) return Result.succeed(body)
  const { values, refused } = Query.read(incoming.query, route.query)
  const misplaced = [
    ...Array.from(values.keys()).filter((name) => places.path.has(name) || places.body.has(name)),
    ...Object.keys(body).filter((name) => places.path.has(name) || Object.hasOwn(route.query, name))
  ]
  const wrongFields = [...refused, ...misplaced.map((path) => ({ path, message: "This field is not known." }))]
  if (wrongFields.length > 0) return Result.fail(ApiError.invalidInput(wrongFields))
  return Result.succeed({ ...body, ...Object.fromEntries(values), ...incoming.params })
}
