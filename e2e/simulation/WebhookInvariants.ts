import { createHmac } from "node:crypto"
import type * as Ledger from "./Ledger.ts"
import { attemptOf, isBefore } from "./Ledger.ts"
import type { Reading } from "./Observer.ts"
import { urlOf } from "./Receivers.ts"
import type { Story } from "./Story.ts"
import type { WorkspaceName } from "./World.ts"

/*
 * What must hold for webhooks: each event reaches everyone who was subscribed when it was stored, nobody else, and with
 * the same bytes.
 */

/** How many attempts a delivery gets before it fails (api.md, Retry schedule). */
const attemptsOfSchedule = 8

/** Everything that is wrong with the webhooks of a workspace, in sentences. */
export const findings = (
  name: WorkspaceName,
  workspaceId: string,
  reading: Reading,
  ledger: Ledger.Ledger,
  { actions }: Story
): ReadonlyArray<string> =>
  ledger.subscribed
    .filter(({ workspace }) => workspace === name)
    .flatMap((subscribed) => {
      const isDead = actions.some(
        (action) =>
          action.do === "receiver" && action.how === "fails for good" && urlOf(action.receiver) === subscribed.url
      )
      return ofSubscription(subscribed, workspaceId, reading, ledger, isDead)
    })

const ofSubscription = (
  subscribed: Ledger.Subscribed,
  workspaceId: string,
  { feed }: Reading,
  ledger: Ledger.Ledger,
  isDead: boolean
) => {
  const received = ledger.received.filter(({ url }) => url === subscribed.url)
  const byEvent = Map.groupBy(received, ({ headers }) => headers["webhook-id"])
  const committed = new Map(ledger.committed.map((event) => [event.id, event]))
  const found: Array<string> = []
  const areReplayed = ledger.begun.some(({ about, deed }) => deed === "replay_events" && about === subscribed.workspace)
  for (const { id, type } of feed) {
    const stored = committed.get(id)
    if (stored === undefined || !subscribed.types.includes(type)) continue
    const wasThere = isBefore(subscribed.answered, stored) && subscribed.disabling === null
    // A receiver that fails permanently need not get what is stored after its subscription was turned off.
    const wasTaken = byEvent.get(id)?.some(({ was_taken }) => was_taken) ?? false
    // One advance can make all attempts while the receiver is down, because retries follow the workspace's time.
    const wasGivenUp = (ledger.attempts.get(attemptOf(subscribed.url, id)) ?? 0) >= attemptsOfSchedule
    if (wasThere && !isDead && !wasTaken && !wasGivenUp) found.push(`${id} (${type}) did not reach ${subscribed.url}`)
  }
  for (const [id = "", posts] of byEvent) {
    if (new Set(posts.map(({ body }) => body)).size > 1) found.push(`The bodies of ${id} differ`)
    if (id.startsWith("evt_test")) continue
    const stored = committed.get(id)
    const { type } = JSON.parse(posts[0]?.body ?? "{}")
    if (stored === undefined) found.push(`${subscribed.url} got ${id}, which was not stored`)
    else if (stored.workspace_id !== workspaceId) found.push(`${subscribed.url} got ${id} of ${stored.workspace_id}`)
    else if (!areReplayed && isBefore(stored, subscribed.sent))
      found.push(`${subscribed.url} got ${id}, which was stored before`)
    else if (subscribed.disabled !== null && isBefore(subscribed.disabled, stored))
      found.push(`${subscribed.url} got ${id}, which was stored after it was disabled`)
    if (!subscribed.types.includes(type)) found.push(`${subscribed.url} got ${type}, which it has not chosen`)
  }
  const forged = received.filter((post) => !isSigned(post, subscribed.secrets))
  if (!subscribed.has_unknown_secret && forged.length > 0) {
    found.push(`${subscribed.url} got ${forged.length} POSTs that none of its secrets has signed`)
  }
  return found
}

/** Whether one of the secrets signed a POST (Standard Webhooks). */
const isSigned = ({ body, headers }: Ledger.Received, secrets: ReadonlyArray<string>): boolean => {
  const signatures = headers["webhook-signature"]?.split(" ") ?? []
  return secrets.some((secret) => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64")
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
    return signatures.includes(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`)
  })
}
