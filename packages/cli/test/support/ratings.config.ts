import { defineConfig, standardLines } from "@quotewire/core"
import { bicycle, rating } from "../../../../examples/line.ts"

/** The configuration needed to check a rate plan for bicycles. */
export default defineConfig({ lines: [...standardLines, bicycle], ratings: [rating] })
