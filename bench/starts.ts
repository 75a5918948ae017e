/** The smallest possible start call, to fill a storage backend cheaply. */
export const smallest = (request_key: string) => ({
  line: "renters",
  request_key,
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
})

/** A start call for a household of two drivers and two cars. Its body is 1 kB. */
export const household = (request_key: string) => ({
  line: "personal_auto",
  request_key,
  consent_receipt_id: "receipt-000000000001",
  application: {
    garaging_address: { line1: "2101 Main Street", city: "Dallas", state: "TX", zip: "75201" },
    residence_ownership: "own",
    drivers: [
      {
        relationship: "self",
        date_of_birth: "1991-04-12",
        license_status: "valid",
        license_state: "TX",
        years_licensed: 14,
        marital_status: "married",
        incidents: []
      },
      {
        relationship: "spouse",
        date_of_birth: "1992-11-02",
        license_status: "valid",
        license_state: "TX",
        years_licensed: 12,
        marital_status: "married",
        incidents: [{ type: "minor_violation", month: "2025-11" }]
      }
    ],
    vehicles: [
      { model_year: 2019, make: "Honda", model: "Civic", ownership: "financed", annual_miles: 11000 },
      { model_year: 2021, make: "Toyota", model: "RAV4", ownership: "owned", annual_miles: 9000 }
    ],
    coverage: { level: "standard" }
  }
})
