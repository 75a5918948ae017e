import { Data, Effect, Option } from "effect"
import { CliError, Flag, Param } from "effect/cli"

/** Several parameters of a command are missing or wrong. */
export class WrongParameters extends Data.TaggedError("WrongParameters")<{
  readonly errors: ReadonlyArray<CliError.CliError>
}> {}

/** Copies a parameter, but replaces its parser. */
export const parsedAs = <P extends Param.Any>(param: P, parse: P["parse"]): P =>
  new Proxy(param, { get: (target, name) => (name === "parse" ? parse : Reflect.get(target, name)) })

/**
 * Makes a command report all missing or wrong parameters together. By default, parsing stops at the first error.
 *
 * Parameters are parsed in order. The first parameter that fails also parses all later parameters, and fails with all
 * their errors.
 */
export const reportAllErrors = <Params extends { readonly [name: string]: Param.Any }>(params: Params): Params => {
  const ordered = Object.values(params)
  return new Proxy(params, {
    get: (target, name) => {
      const param: unknown = Reflect.get(target, name)
      if (!Param.isParam(param)) return param
      const following = ordered.slice(ordered.indexOf(param) + 1)
      return parsedAs(param, (args) =>
        Effect.catch(param.parse(args), (error) =>
          Effect.flatMap(errorsOf(following, restOf(args, error)), failWithAll(error))
        )
      )
    }
  })
}

const failWithAll = (first: CliError.CliError) => (others: ReadonlyArray<CliError.CliError>) =>
  Effect.fail(
    others.length === 0 ? first : new CliError.UserError({ cause: new WrongParameters({ errors: [first, ...others] }) })
  )

/** The errors from parsing these parameters in order. */
const errorsOf = Effect.fnUntraced(function* (params: ReadonlyArray<Param.Any>, parsedArgs: Param.ParsedArgs) {
  const errors: Array<CliError.CliError> = []
  let args = parsedArgs
  for (const param of params) {
    const parsed = yield* Effect.result(param.parse(args))
    if (parsed._tag === "Success") args = { ...args, arguments: parsed.success[0] }
    else {
      errors.push(parsed.failure)
      args = restOf(args, parsed.failure)
    }
  }
  return errors
})

/** The arguments that are left to parse after an error, without the wrong argument. */
const restOf = (args: Param.ParsedArgs, error: CliError.CliError): Param.ParsedArgs =>
  error._tag === "InvalidValue" && error.kind === "argument" ? { ...args, arguments: args.arguments.slice(1) } : args

/** Creates a flag that is required unless one of the others is given. */
export const requiredUnless = <A>(
  flag: Flag.Flag<A>,
  ...otherFlags: ReadonlyArray<Param.AnyFlag>
): Flag.Flag<Option.Option<A>> => {
  const optional = Flag.optional(flag)
  const required = Flag.map(flag, Option.some)
  const isGiven = (otherFlag: Param.AnyFlag, args: Param.ParsedArgs) =>
    // A wrong value is treated as given, because its own flag reports the error.
    Effect.match(otherFlag.parse(args), { onFailure: ({ _tag }) => _tag !== "MissingOption", onSuccess: () => true })
  return parsedAs(optional, (args) =>
    Effect.flatMap(
      Effect.forEach(otherFlags, (otherFlag) => isGiven(otherFlag, args)),
      (areGiven) => (areGiven.includes(true) ? optional : required).parse(args)
    )
  )
}
