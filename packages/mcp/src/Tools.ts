import type { Operation, Pipeline } from "@quotewire/core"
import { catalogue } from "./catalogue.ts"
import * as OperationTool from "./OperationTool.ts"
import type { RenamedArgument } from "./RenamedArgument.ts"
import type { Tool } from "./Tool.ts"

/**
 * The tools of a host: those of the catalogue whose operation it has.
 *
 * A host that leaves an operation out, such as feedback where none is taken, leaves out its tool.
 */
export const of = <R>(
  operations: ReadonlyArray<Operation.Operation<string, unknown, unknown, R>>,
  renamed?: ReadonlyArray<RenamedArgument>
): ReadonlyArray<Tool<R | Pipeline.PipelineServices>> =>
  catalogue.flatMap((definition) => {
    const operation = operations.find(({ name }) => name === definition.name)
    return operation === undefined ? [] : [OperationTool.make(definition, operation, renamed)]
  })
