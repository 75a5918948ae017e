/** The latest step of a move. */
export type Progress =
  /** Tables are being copied. Sizes are those on the disk of the old server, which has more dead rows. */
  | {
      readonly step: "copying"
      readonly copied_bytes: number
      readonly total_bytes: number
      readonly tables_left: number
    }
  /** All tables are copied, and changes follow. The lag is what the old server's log still has to send. */
  | { readonly step: "following"; readonly lag_bytes: number }
  /** The cell is held: nobody reads or writes it. */
  | { readonly step: "held" }
  /** The hold was given up, because others locked the tables or the new server was too slow. It is tried again. */
  | { readonly step: "released"; readonly held_ms: number }
  /** The cutover is done: the cell is at its new place. */
  | { readonly step: "switched"; readonly held_ms: number }
  /** The new place does not answer while a move is undone: its schema and its subscription must be dropped by hand. */
  | { readonly step: "unreachable" }
  /** Another step is done. */
  | { readonly step: "begun" | "arriving" | "published" | "subscribed" | "settled" | "unsubscribed" | "cleared" }
