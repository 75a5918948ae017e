import { Ids } from "@quotewire/core/program"
import { Effect, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as HostClient from "../../remote/HostClient.ts"
import * as OperatorClient from "../../remote/OperatorClient.ts"
import * as OwnerOrOperator from "../../remote/OwnerOrOperator.ts"
import { reportAllErrors } from "../../settings/Parameters.ts"
import * as Output from "../../terminal/Output.ts"

interface NewLink {
  readonly token: string
  readonly shared_id: string
  readonly expires_at: string
}

const sharedArgument = Argument.String("id").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Schema.Union([Ids.QuoteRequestId, Ids.SubscriptionId])),
    () => "<id> must be the id of a quote request, such as qreq_01…, or of a subscription, such as sub_01…"
  ),
  Argument.withDescription("Id of a quote request, qreq_…, or of an event subscription, sub_…")
)

const days = Flag.Int("days").pipe(
  Flag.filter(
    (count) => count >= 1 && count <= 30,
    () => "--days must be a whole number from 1 to 30"
  ),
  Flag.withDefault(7),
  Flag.withDescription("Number of days until the link expires: 1 to 30; 7 by default")
)

/** `quotewire share` creates a link that shows one request or one endpoint to somebody without a key. */
export const share = Command.make(
  "share",
  reportAllErrors({ shared_id: sharedArgument, days, ...OwnerOrOperator.flags }),
  ({ days: expires_in_days, shared_id, ...settings }) =>
    Effect.gen(function* () {
      const input = { shared_id, expires_in_days }
      const call = yield* OwnerOrOperator.callsOf(settings, {
        owner: (client) => HostClient.call((signal) => client.create_partner_link(input, { signal })),
        operator: (host, place) =>
          OperatorClient.callWithAdvice<NewLink>(host, "create_partner_link", { ...place, ...input })
      })
      const link: NewLink = yield* call
      const url = `${settings.base_url}/console/link/${shared_id}#${link.token}`
      yield* Output.result(settings, { ...link, url }, [url, "", `The link works until ${link.expires_at}.`])
    })
).pipe(Command.withDescription("Create a read-only link to one request or endpoint, valid until it expires"))
