import { Argument, type Ids, type Operation, type Pipeline } from "@quotewire/core"
import { Schema } from "effect"
import type { RenamedArgument } from "../tools/RenamedArgument.ts"
import type { Tool } from "../tools/Tool.ts"
import { catalogue } from "./catalogue.ts"
import * as OperationTool from "./OperationTool.ts"

const checked = Argument.checker("Tools.of", Schema.Struct({ operations: Schema.Array(Argument.AnyObject) }))

/**
 * The tools of a host: the tools in the catalogue whose operations the host offers.
 *
 * If a host does not offer an operation, such as feedback, it does not offer its tool either.
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
