/** The smallest valid application of each line, for tests that are about something else. */
export const smallest = {
  personal_auto: {
    garaging_address: { state: "TX", zip: "75201" },
    drivers: [{ relationship: "self", date_of_birth: "1991-04-12", license_status: "valid" }],
    vehicles: [{ model_year: 2019, make: "Honda", model: "Civic" }]
  },
  renters: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } },
  pet: {
    residence: { state: "TX", zip: "78701" },
    pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
  }
} as const
