/** How requests to a carrier are authorized. STAND-IN: replaced on merge. */
export interface Auth {
  readonly kind: string
}
