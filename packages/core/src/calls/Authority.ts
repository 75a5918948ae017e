import { Predicate } from "effect"
import type { Caller } from "../access/Caller.ts"
import type { Authority } from "./Operation.ts"

/** Whether a caller may call at all. A partner link may only where an operation says what it must name. */
export const admits = (authority: Authority, caller: Caller): boolean =>
  (caller.kind === "link" ? authority.by_link !== undefined : authority.callers.includes(caller.kind)) &&
  (authority.environment === undefined || authority.environment === caller.environment)

/** Whether an input stays within what a partner link shows. Anything else does not exist for the link. */
export const reaches = ({ by_link }: Authority, { kind, shared_id }: Caller, input: unknown): boolean =>
  kind !== "link" || (by_link !== undefined && Predicate.hasProperty(input, by_link) && input[by_link] === shared_id)
