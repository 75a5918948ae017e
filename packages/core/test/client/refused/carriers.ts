import { defineCarrier, Reply } from "../../../src/index.ts"

/*
 * What carriers must not be able to declare. The compiler must refuse exactly the lines below "refused:".
 */

const carrier = { id: "naic:12345", name: "Acme Mutual", ask: () => Reply.decline("prior_claims") } as const
const poll = () => Reply.decline("prior_claims")
const callback = () => null

export const misspelled = [
  // refused: no such state
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY", "ZZ"] } } }),
  // refused: states are required
  defineCarrier({ ...carrier, lines: { renters: {} } }),
  // refused: a misspelled field, for states
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"], statez: ["TX"] } } }),
  // refused: no such fact of renters
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"], needs: ["applicant.e_mail"] } } }),
  // refused: a fact of another line
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"], wants: ["drivers.*.first_name"] } } }),
  // refused: a misspelled field, for needs
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"], need: ["applicant.email"] } } })
]

export const unanswered = [
  // refused: poll is required
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"], mode: "poll" } } }),
  // refused: callback is required
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"], mode: "callback" } } }),
  // refused: poll is required for one of the lines
  defineCarrier({
    ...carrier,
    callback,
    lines: { pet: { states: ["NY"] }, renters: { states: ["NY"], mode: "poll" } }
  }),
  // refused: callback is required for one of the lines
  defineCarrier({
    ...carrier,
    poll,
    lines: { pet: { states: ["NY"], mode: "poll" }, renters: { states: ["NY"], mode: "callback" } }
  })
]

export const right = [
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"] } } }),
  defineCarrier({ ...carrier, poll, lines: { renters: { states: ["NY"], mode: "poll" } } }),
  defineCarrier({
    ...carrier,
    callback,
    lines: { personal_auto: { states: ["NY"], mode: "callback", wants: ["drivers.*.first_name"] } }
  }),
  defineCarrier({ ...carrier, poll, callback, lines: { renters: { states: ["NY"], mode: "sync" } } }),
  defineCarrier({ ...carrier, lines: { bicycle: { states: ["NY"], needs: ["bicycle.frame_number"] } } }),
  defineCarrier({ ...carrier, lines: { renters: { states: ["NY"] }, bicycle: { states: ["TX"] } } })
]
