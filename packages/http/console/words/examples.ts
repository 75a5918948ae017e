import { smallest } from "../../../core/src/lines/ExampleApplications.ts"

/** Small example applications of the standard insurance lines, for the user to start with. */
export const applications: Readonly<Record<string, object>> = smallest
