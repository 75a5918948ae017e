import type { Ids, Operation, Pipeline } from "@quotewire/core"
import { catalogue } from "./catalogue.ts"
import * as OperationTool from "./OperationTool.ts"
import type { RenamedArgument } from "./RenamedArgument.ts"
import type { Tool } from "./Tool.ts"

/**
 * The tools of a host: those of the catalogue whose operations the host has.
 *
 * If a host leaves an operation out, such as feedback, its tool is left out too.
 */
export const of = <R>(
  operations: ReadonlyArray<Operation.Operation<string, unknown, unknown, R>>,
  renamed?: ReadonlyArray<RenamedArgument>
): ReadonlyArray<Tool<R | Pipeline.PipelineServices | Ids.Ids>> =>
  catalogue.flatMap((definition) => {
    const operation = operations.find(({ name }) => name === definition.name)
    return operation === undefined ? [] : [OperationTool.make(definition, operation, renamed)]
  })
