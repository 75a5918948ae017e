import { NoSuchPage } from "../parts/basics.tsx"
import type { Call } from "../state/operatorCalls.ts"
import type { Place } from "../state/route.ts"
import { AuditLog } from "./AuditLog.tsx"
import { Carriers } from "./Carriers.tsx"
import { Consumers } from "./Consumers.tsx"
import { Find } from "./Find.tsx"
import { SubscriptionRecoveries } from "./SubscriptionRecoveries.tsx"
import { TimelinePage } from "./TimelinePage.tsx"
import { Work } from "./Work.tsx"

/** The sections of the navigation for operators. */
export const operatorSections = [
  { name: "requests", text: "Requests" },
  { name: "carriers", text: "Carriers" },
  { name: "consumers", text: "Consumers" },
  { name: "work", text: "Work" },
  { name: "audit", text: "Audit log" }
] as const

/** The page that an operator currently sees. */
export const OperatorPage = ({ call, place: { path, query } }: { readonly call: Call; readonly place: Place }) => {
  const [section = "requests", id] = path
  switch (section) {
    case "requests":
      return id === undefined ? (
        <Find call={call} query={query} key={query.toString()} />
      ) : (
        <TimelinePage call={call} id={id} key={id} />
      )
    case "endpoints": {
      const [, organization_id, environment, subscription_id] = path
      return organization_id === undefined || environment === undefined || subscription_id === undefined ? (
        <NoSuchPage />
      ) : (
        <SubscriptionRecoveries
          call={call}
          organization_id={organization_id}
          environment={environment}
          subscription_id={subscription_id}
        />
      )
    }
    case "carriers":
      return <Carriers call={call} />
    case "consumers":
      return <Consumers call={call} name={id} key={id ?? ""} />
    case "work":
      return <Work call={call} />
    case "audit":
      return <AuditLog call={call} />
    default:
      return <NoSuchPage />
  }
}
