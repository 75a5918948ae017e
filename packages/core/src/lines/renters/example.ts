/** The smallest application for renters insurance that can be priced. */
export const example = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
