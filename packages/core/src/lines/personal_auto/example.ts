/** The smallest application for car insurance that can be priced. */
export const example = {
  garaging_address: { state: "TX", zip: "75201" },
  drivers: [{ relationship: "self", date_of_birth: "1991-04-12", license_status: "valid" }],
  vehicles: [{ model_year: 2019, make: "Honda", model: "Civic" }]
} as const
