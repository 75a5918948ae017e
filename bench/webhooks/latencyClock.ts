/** Milliseconds of the machine's own clock, which all its processes have in common and nobody sets. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6
