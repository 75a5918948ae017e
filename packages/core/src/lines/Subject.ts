/** An insured subject: a vehicle, a rented home or a pet. */
export interface Subject {
  /** `vehicle-1` is `application.vehicles.0`, `pet-2` is `application.pets.1`, `dwelling-1` is `application.dwelling`. */
  readonly subject_id: string
  readonly kind: string
  /** A label for a person, without street or VIN; null if the facts do not provide one. */
  readonly label: string | null
}

/** The subject of a kind at a place in its list, from 0. */
export const subject = (kind: string, index: number, label: string | null): Subject => ({
  subject_id: `${kind}-${index + 1}`,
  kind,
  label
})
