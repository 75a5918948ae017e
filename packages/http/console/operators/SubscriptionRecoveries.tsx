import { useMemo } from "preact/hooks"
import { Id } from "../parts/basics.tsx"
import { Recoveries, type RecoveryCalls } from "../parts/Recoveries.tsx"
import type { Call } from "../state/operatorCalls.ts"
import { to } from "../state/route.ts"
import { ShareAsOperator } from "./ShareAsOperator.tsx"

/** Resends deliveries to an endpoint of any organization. */
export const SubscriptionRecoveries = ({
  call,
  environment,
  organization_id,
  subscription_id
}: {
  readonly call: Call
  readonly organization_id: string
  readonly environment: string
  readonly subscription_id: string
}) => {
  const calls = useMemo<RecoveryCalls>(() => {
    const place = { organization_id, environment, subscription_id }
    return {
      id: subscription_id,
      maxPerMinute: 600,
      list: (signal) => call("list_recoveries", place, signal),
      preview: (choice) => call("preview_recovery", { ...place, ...choice }),
      start: (choice) => call("start_recovery", { ...place, ...choice }),
      change: (recovery_id, action) => call("change_recovery", { ...place, recovery_id, action })
    }
  }, [call, organization_id, environment, subscription_id])
  return (
    <section class="page">
      <nav class="minor row tight" aria-label="Where you are">
        <a href={to(["requests"], { organization_id })}>Requests</a> / {environment} endpoint{" "}
        <Id id={subscription_id} />
      </nav>
      <h1 tabIndex={-1}>Send again</h1>
      <Recoveries calls={calls} />
      <ShareAsOperator call={call} of={{ organization_id, environment }} sharedId={subscription_id} />
    </section>
  )
}
