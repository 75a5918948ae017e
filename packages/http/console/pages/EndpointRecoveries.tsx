import { useMemo } from "preact/hooks"
import { Id } from "../parts/basics.tsx"
import { Recoveries, type RecoveryCalls } from "../parts/Recoveries.tsx"
import { to } from "../state/route.ts"
import { idempotently, type Session } from "../state/session.ts"

/** Resends deliveries to one of the organization's endpoints. */
export const EndpointRecoveries = ({ id, session: { client } }: { readonly session: Session; readonly id: string }) => {
  const calls = useMemo<RecoveryCalls>(
    () => ({
      id,
      maxPerMinute: 60,
      list: (signal) => client.list_event_recoveries({ id }, { signal }),
      preview: (choice) => client.preview_event_recovery({ id, ...choice }),
      start: (choice) => client.start_event_recovery({ id, ...choice }, idempotently()),
      change: (recovery_id, action) => client.change_event_recovery({ id, recovery_id, action })
    }),
    [client, id]
  )
  return (
    <section class="page">
      <nav class="minor row tight" aria-label="Where you are">
        <a href={to(["webhooks"])}>Webhooks</a> / <a href={to(["webhooks", id])}>Endpoint</a> / <Id id={id} />
      </nav>
      <h1 tabIndex={-1}>Send again</h1>
      <Recoveries calls={calls} />
    </section>
  )
}
