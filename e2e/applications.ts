import { Line } from "@quotewire/core"
import { Applications } from "@quotewire/core/testing"

/** The smallest application of each line: the one that all tests share. */
export const { smallest } = Applications
/** The lines. */
export const { lines } = Line
