import { operations, operatorOperations } from "@quotewire/core"
import { Effect } from "effect"
import type { MetricsHooks } from "./Measuring.ts"

const names: ReadonlySet<string> = new Set([...operations, ...operatorOperations].map(({ name }) => name))

/**
 * Extends hooks so that they also log each operation call: its status, name and duration, but no facts about a person.
 */
export const logging = ({ onAnswered }: MetricsHooks): Effect.Effect<Required<MetricsHooks>> =>
  Effect.map(Effect.context<never>(), (context) => {
    const fork = Effect.runForkWith(context)
    return {
      onAnswered: (answered) => {
        onAnswered?.(answered)
        const { duration_ms, name, status } = answered
        if (!names.has(name)) return
        fork(Effect.annotateLogs(Effect.logInfo(`${name}  ${Math.round(duration_ms)} ms`), { status }))
      }
    }
  })
