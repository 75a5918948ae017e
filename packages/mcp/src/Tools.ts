import { Argument, type Ids, type Operation, type Pipeline } from "@quotewire/core"
import { Schema } from "effect"
import { catalogue } from "./catalogue.ts"
import * as OperationTool from "./OperationTool.ts"
import type { RenamedArgument } from "./RenamedArgument.ts"
import type { Tool } from "./Tool.ts"

const checked = Argument.checker("Tools.of", Schema.Struct({ operations: Schema.Array(Argument.AnyObject) }))

/**
 * The tools of a host: those of the catalogue whose operations the host has.
 *
 * If a host leaves an operation out, such as feedback, its tool is left out too.
 */
export const of = <R>(
  operations: ReadonlyArray<Operation.Operation<string, unknown, unknown, R>>,
  renamed?: ReadonlyArray<RenamedArgument>
): ReadonlyArray<Tool<R | Pipeline.PipelineServices | Ids.Ids>> => {
  checked({ operations })
  return catalogue.flatMap((definition) => {
    const operation = operations.find(({ name }) => name === definition.name)
    return operation === undefined ? [] : [OperationTool.make(definition, operation, renamed)]
  })
}
