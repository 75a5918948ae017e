/** What a move has done last. */
export type Progress =
  /** Tables are being copied. Sizes are those on the disk of the old server, which has more dead rows. */
  | {
      readonly step: "copying"
      readonly copied_bytes: number
      readonly total_bytes: number
      readonly tables_left: number
    }
  /** All tables are copied, and changes follow: what is still to be sent, by the old server's log. */
  | { readonly step: "following"; readonly lag_bytes: number }
  /** The cell is held: nobody reads or writes it. */
  | { readonly step: "held" }
  /** The hold was given up, because others held the tables or the new server was too slow; it is tried again. */
  | { readonly step: "released"; readonly held_ms: number }
  /** The cell is at its new place. */
  | { readonly step: "switched"; readonly held_ms: number }
  /** The new place does not answer while a move is undone: its schema and its subscription must be dropped by hand. */
  | { readonly step: "unreachable" }
  /** Another step has ended. */
  | { readonly step: "begun" | "arriving" | "published" | "subscribed" | "settled" | "unsubscribed" | "cleared" }
