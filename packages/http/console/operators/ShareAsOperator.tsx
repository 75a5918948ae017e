import { Share } from "../parts/Share.tsx"
import type { Call } from "../state/operatorCalls.ts"

/** Creates a partner link for a resource of any organization. Requires the `write` scope. */
export const ShareAsOperator = ({
  call,
  of: { environment, organization_id },
  sharedId
}: {
  readonly call: Call
  readonly of: { readonly organization_id: string; readonly environment: string }
  readonly sharedId: string
}) => (
  <Share
    id={sharedId}
    make={(expires_in_days) =>
      call("create_partner_link", { organization_id, environment, shared_id: sharedId, expires_in_days })
    }
  />
)
