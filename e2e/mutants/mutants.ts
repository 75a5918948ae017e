import { access } from "./list/access.ts"
import { events } from "./list/events.ts"
import { hosts } from "./list/hosts.ts"
import { quoting } from "./list/quoting.ts"
import { running } from "./list/running.ts"
import { storage } from "./list/storage.ts"
import type { Mutant } from "./Mutant.ts"

/** Every mutant. A name appears once. */
export const mutants: ReadonlyArray<Mutant> = [...quoting, ...events, ...access, ...running, ...storage, ...hosts]
