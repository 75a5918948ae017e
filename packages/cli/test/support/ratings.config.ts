import { defineConfig, standardLines } from "@quotewire/core"
import { bicycle, rating } from "../../../../examples/line.ts"

/** What the check of a rate plan for bicycles needs. */
export default defineConfig({ lines: [...standardLines, bicycle], ratings: [rating] })
