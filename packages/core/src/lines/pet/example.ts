/** The smallest application for pet insurance that can be priced. */
export const example = {
  residence: { state: "TX", zip: "78701" },
  pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
} as const
