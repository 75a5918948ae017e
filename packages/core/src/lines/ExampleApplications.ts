const personalAuto = {
  garaging_address: { state: "TX", zip: "75201" },
  drivers: [{ relationship: "self", date_of_birth: "1991-04-12", license_status: "valid" }],
  vehicles: [{ model_year: 2019, make: "Honda", model: "Civic" }]
} as const

const renters = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const

const pet = {
  residence: { state: "TX", zip: "78701" },
  pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
} as const

/** The smallest application of each standard line that can be priced. */
export const smallest = { personal_auto: personalAuto, renters, pet }
