import { ApiError, Ids, Json, type Line, Lines, Operation, Pipeline } from "@quotewire/core"
import { Clock, Effect, Predicate } from "effect"
import type * as Answer from "../answers/Answer.ts"
import * as Refusal from "../answers/Refusal.ts"
import type * as StartQuestions from "../forms/StartQuestions.ts"
import type { Question } from "../protocol/Form.ts"
import type { View } from "../protocol/View.ts"
import * as LenientArguments from "../tools/LenientArguments.ts"
import * as RenamedArgument from "../tools/RenamedArgument.ts"
import type {
  Annotations,
  Arguments,
  Content,
  Listed,
  Progress,
  Tool,
  ToolAudience,
  ToolCall,
  ToolResult
} from "../tools/Tool.ts"
import * as ToolInput from "../tools/ToolInput.ts"
import * as ToolSchemas from "../tools/ToolSchemas.ts"

/** How an operation is presented to models as a tool. The tool has the operation's name. */
export interface Definition {
  readonly name: string
  readonly title: string
  /** When to use the tool, what to ask the person first, and how to read the response. */
  readonly description: (audience: ToolAudience) => string
  readonly annotations: Annotations
  /** How the tool's arguments map to a call of the operation. */
  readonly arguments: ToolInput.ArgumentMapping
  /** Descriptions of arguments, by name. They replace the operation's own descriptions. */
  readonly notes: Readonly<Record<string, string | ((audience: ToolAudience) => string)>>
  /** Schemas of arguments on a host with these insurance lines, by name. They replace the operation's own schemas. */
  readonly schemas?: (lines: Lines.LineSet) => Readonly<Record<string, object>>
  /** Arguments that this caller must not send. */
  readonly hidden?: (audience: ToolAudience) => ReadonlyArray<string>
  /** Additional arguments that this caller must send. */
  readonly required?: (audience: ToolAudience) => ReadonlyArray<string>
  /** Describes the progress of a waiting call. `answer` was read without waiting. */
  readonly progress?: (answer: Json.Json<unknown>) => string
  /** The forms in which the tool asks the person questions, if the client program can show forms. */
  readonly questions?: Pick<typeof StartQuestions, "begin" | "next">
  /** The page that a client program can show beside the results. */
  readonly view?: View
  /** Prepares the response for a model: the `present` function of a module in `answers/`. */
  readonly present: Answer.Present
}

/** Creates the tool of an operation. */
export const make = <R>(
  definition: Definition,
  operation: Operation.Operation<string, unknown, unknown, R>,
  renamed: ReadonlyArray<RenamedArgument.RenamedArgument> = RenamedArgument.renamedArguments
): Tool<R | Pipeline.PipelineServices | Ids.Ids> => {
  // Lenient parsing depends only on the arguments' types, which are the same for all insurance lines.
  const schemas = schemasOf(definition, ToolSchemas.argumentsOf(operation, Lines.standard).properties, Lines.standard)
  const show = makeLister(definition, operation)
  const renames = renamed.filter(({ tool }) => tool === definition.name)
  const run = makeRunner(definition, operation)
  const split = (args: Arguments): ToolInput.SplitArguments => {
    LenientArguments.read(schemas, args)
    return ToolInput.split(definition.arguments, args)
  }
  return {
    name: definition.name,
    ...(definition.view !== undefined && { view: definition.view }),
    isOffered: Operation.isAvailable(operation),
    list: (audience) => (operation.authority.callers.includes(audience.kind) ? show(audience) : null),
    call: (call) => {
      if (renames.length === 0) return run(call, split(call.args))
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { args, wrong: wrongFields } = RenamedArgument.rename(renames, call.args, now)
        const parts = split(args)
        return run(call, { ...parts, wrong: [...wrongFields, ...parts.wrong] })
      })
    }
  }
}

/** The schemas of a tool's arguments: the operation's fields, under the tool's names. */
const schemasOf = (
  { arguments: mapping, schemas }: Definition,
  properties: ToolSchemas.ArgumentSchemas["properties"],
  lines: Lines.LineSet
): LenientArguments.Schemas => ({
  ...Object.fromEntries(
    Object.entries(properties).map(([field, schema]) => [ToolInput.toolPath(mapping, field), schema])
  ),
  ...(mapping.read_handle && { read_handle: { type: "string" } }),
  ...(mapping.request_key && { request_key: { type: "string", minLength: 1, maxLength: 255 } }),
  ...schemas?.(lines)
})

/** Creates the function that describes the tool to a caller in `tools/list`. */
const makeLister = (definition: Definition, operation: Pick<Operation.Operation, "input">) => {
  const { name, title, annotations, notes } = definition
  const mapping = definition.arguments
  return (audience: ToolAudience): Listed => {
    const { properties, required } = ToolSchemas.argumentsOf(operation, audience.lines)
    const always = [
      ...required.map((field) => ToolInput.toolPath(mapping, field)),
      ...(mapping.request_key ? ["request_key"] : [])
    ]
    const hidden = definition.hidden?.(audience) ?? []
    const shown = Object.entries(schemasOf(definition, properties, audience.lines))
      .filter(([field]) => !hidden.includes(field))
      .map(([field, schema]) => {
        const note = notes[field]
        const description = typeof note === "function" ? note(audience) : note
        return [field, description === undefined ? schema : { ...schema, description }]
      })
    return {
      name,
      title,
      description: definition.description(audience),
      inputSchema: {
        type: "object",
        properties: Object.fromEntries(shown),
        required: [...always, ...(definition.required?.(audience) ?? [])]
      },
      outputSchema: ToolSchemas.result,
      annotations
    }
  }
}

/** Runs the operation with the arguments of a call, and creates the result. */
type RunCall<R> = (
  call: ToolCall,
  args: ToolInput.SplitArguments
) => Effect.Effect<ToolResult | Question, ApiError.ApiError, R | Pipeline.PipelineServices | Ids.Ids>

const makeRunner = <R>(
  { arguments: mapping, progress, questions, present }: Definition,
  operation: Operation.Operation<string, unknown, unknown, R>
): RunCall<R> => {
  const refused = (
    call: ToolCall,
    wrongFields: ToolInput.SplitArguments["wrong"],
    error: ApiError.ApiError,
    line: Line.Line | undefined
  ) => {
    if (error._tag === "authentication_failed") return Effect.fail(error)
    // Errors about arguments already use the tool's names, so only the operation's errors must be translated.
    const named = wrongFields.length > 0 ? error : withToolNames(mapping, error)
    const refusal = call.caller.kind === "keyless" && named._tag === "forbidden" ? needsKey : named
    const envelope = ApiError.envelope(refusal, call.request_id, call.docs_url)
    const summary = Json.encode(Refusal.summaryOf(envelope, error.retry_after_seconds, line))
    return Effect.succeed(resultOf(summary, Json.encode(envelope), true))
  }
  return (call, { idempotency_key, input, read_handle, shaping, wrong }) =>
    Lines.Lines.use((lines) => {
      const { caller, round } = call
      const line = Predicate.isString(call.args.line) ? lines.get(call.args.line) : undefined
      const begun =
        questions === undefined || round === undefined
          ? null
          : questions.begin(input, round, caller.kind === "keyless", line)
      const request: Pipeline.Request = {
        request_id: call.request_id,
        credentials: { ...call.credentials, read_handle },
        // Agents always get the current revision, even if the workspace is pinned to an older one (api.md, Choosing a
        // revision).
        revision: "current",
        idempotency_key,
        transport: call.transport,
        ...(begun?.person !== undefined && { person: begun.person }),
        ...(call.is_paid !== undefined && { is_paid: call.is_paid }),
        input: wrong.length > 0 ? Effect.fail(ApiError.invalidInput(wrong)) : Effect.succeed(begun?.input ?? input)
      }
      const toResult = ({ json }: Pipeline.Reply): ToolResult => {
        const canElicit = round !== undefined
        const reader = {
          ...caller,
          elicits: canElicit,
          lines,
          shows_views: call.shows_views,
          input: { ...input, ...shaping }
        }
        const { answer, card, summary } = present(json, reader)
        const result = resultOf(summary, answer, false)
        return card === undefined ? result : { ...result, meta: { "quotewire/card": card } }
      }
      const onRefusal = (error: ApiError.ApiError): Effect.Effect<ToolResult | Question, ApiError.ApiError> => {
        const next = questions === undefined || begun === null ? error : questions.next(error, begun, line)
        return "form" in next ? Effect.succeed(next) : refused(call, wrong, next, line)
      }
      const answered = Pipeline.call(operation, request)
      const waited =
        progress === undefined || call.progress === undefined
          ? answered
          : reporting(answered, call.progress, readNow(operation, request, progress))
      return Effect.matchEffect(waited, {
        onSuccess: (reply) => Effect.sync(() => toResult(reply)),
        onFailure: onRefusal
      })
    })
}

/** How often a waiting call reports its progress, in milliseconds. */
const reportMs = 5_000

/**
 * Runs a call and reports its progress until it ends. The progress is read only once, because it cannot change while
 * the call waits: a waiting call ends at the next change.
 */
const reporting = <A, E, R>(
  call: Effect.Effect<A, E, R>,
  report: Progress,
  read: Effect.Effect<string | null, never, R>
) =>
  Effect.raceFirst(
    call,
    Effect.gen(function* () {
      yield* Effect.sleep(reportMs)
      const message = yield* read
      if (message === null) return yield* Effect.never
      for (let reports = 1; ; reports++) {
        yield* report((reports * reportMs) / 1_000, message)
        yield* Effect.sleep(reportMs)
      }
    })
  )

/** Reads a call's response without waiting and describes its progress; null if it cannot be read. */
const readNow = <R>(
  operation: Operation.Operation<string, unknown, unknown, R>,
  request: Pipeline.Request,
  progress: (answer: Json.Json<unknown>) => string
) => {
  const input = Effect.map(request.input, (value) => ({ ...Object(value), wait_seconds: 0 }))
  return Ids.Ids.use((ids) =>
    Pipeline.call(operation, { ...request, request_id: ids.request(), input }).pipe(
      Effect.match({ onSuccess: ({ json }) => progress(json), onFailure: () => null })
    )
  )
}

/** Replaces the `forbidden` error for callers without a key, because that error's message refers to a key. */
const needsKey = ApiError.make("forbidden", {
  message: "This tool needs a server key, but this call has no key. See tools/list for the tools that need none."
})

/** Translates a refusal, so that it refers to the tool's arguments instead of headers and paths. */
const withToolNames = (mapping: ToolInput.ArgumentMapping, error: ApiError.ApiError): ApiError.ApiError => {
  const { _tag, field_errors, message, retry_action, retry_after_seconds } = ApiError.withPaths(error, (path) =>
    ToolInput.toolPath(mapping, path)
  )
  const translated = (text: string) =>
    mapping.request_key ? text.replaceAll("Idempotency-Key", "request_key").replace("this header", "this field") : text
  return ApiError.make(_tag, {
    message: translated(message),
    retry_action,
    ...(field_errors !== null && {
      field_errors: field_errors.map((fieldError) => ({ ...fieldError, message: translated(fieldError.message) }))
    }),
    ...(retry_after_seconds !== null && { retry_after_seconds })
  })
}

/** Creates a result: the summary and the response as text, and the response as an object. */
const resultOf = (summary: Json.Json<string>, answer: Json.Json<unknown>, isError: boolean): ToolResult => ({
  content: Json.fromText<ReadonlyArray<Content>>(
    `[{"type":"text","text":${summary.text}},{"type":"text","text":${JSON.stringify(answer.text)}}]`
  ),
  structuredContent: answer,
  isError
})
