import { Predicate } from "effect"
import type { Caller } from "../access/Caller.ts"
import type { Authority } from "./Operation.ts"

/**
 * Whether a caller may call an operation. A partner link may call only operations that declare the field that names its
 * resource.
 */
export const admits = (authority: Authority, caller: Caller): boolean =>
  (caller.kind === "link" ? authority.by_link !== undefined : authority.callers.includes(caller.kind)) &&
  (authority.environment === undefined || authority.environment === caller.environment)

/** Whether an input names the resource of a partner link. For the link, nothing else exists. */
export const reaches = ({ by_link }: Authority, { kind, shared_id }: Caller, input: unknown): boolean =>
  kind !== "link" || (by_link !== undefined && Predicate.hasProperty(input, by_link) && input[by_link] === shared_id)
