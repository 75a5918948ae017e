/** What the names of the slots, publications and subscriptions of moves begin with. */
export const name_prefix = "quotewire_move_"

/** The name of the slot, the publication and the subscription of a move. */
export const nameOf = (move_id: string): string => `${name_prefix}${move_id}`

/** Text as a literal of SQL. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`
