import { Empty, Failure, Show, Tag, Time, Wide } from "../parts/basics.tsx"
import { useAction, useLive } from "../state/loading.ts"
import type { Call, OperatorAnswer } from "../state/operatorCalls.ts"
import { count, title } from "../words/format.ts"
import { ofOutcome, type State } from "../words/states.ts"

type Status = OperatorAnswer<"get_carrier_status">["carriers"][number]

const circuits: Readonly<Record<Status["circuit"], State>> = {
  closed: { tone: "good", text: "Asked" },
  half_open: { tone: "odd", text: "Trial ask next" },
  open: { tone: "bad", text: "Not asked" }
}

/** The carriers, their circuit breakers, their latest outcomes, and how much of their rate limits is left. */
export const Carriers = ({ call }: { readonly call: Call }) => {
  const page = useLive("carriers", { read: (signal) => call("get_carrier_status", {}, signal), next: () => 5_000 })
  const { busy, error, run } = useAction()
  const reset = ({ carrier_id, environment, line, organization_id }: Status) =>
    run(async () => {
      const place = { carrier_id, environment, line, ...(organization_id !== null && { organization_id }) }
      await call("reset_carrier", place)
      page.reload()
    })
  return (
    <section class="page">
      <h1 tabIndex={-1}>Carriers</h1>
      <Failure error={error} />
      <div class="card">
        <Show of={page}>
          {({ carriers }) =>
            carriers.length === 0 ? (
              <Empty>
                This host has no carriers of its own. The fictional ones of the sandbox have no limits and no circuits.
              </Empty>
            ) : (
              <Wide label="Carriers">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Carrier</th>
                      <th scope="col">Circuit</th>
                      <th scope="col">Latest outcomes</th>
                      <th scope="col">In progress</th>
                      <th scope="col">Calls left this minute</th>
                      <th scope="col">
                        <span class="hidden">What to do</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {carriers.map((carrier) => (
                      <Row
                        key={`${carrier.carrier_id} ${carrier.line} ${carrier.environment} ${carrier.organization_id}`}
                        carrier={carrier}
                        busy={busy}
                        reset={() => reset(carrier)}
                      />
                    ))}
                  </tbody>
                </table>
              </Wide>
            )
          }
        </Show>
      </div>
    </section>
  )
}

const Row = ({
  busy,
  carrier,
  reset
}: {
  readonly carrier: Status
  readonly busy: boolean
  readonly reset: () => void
}) => (
  <tr>
    <td>
      <code>{carrier.carrier_id}</code>
      <div class="minor">
        {title(carrier.line)}, {carrier.environment}
        {carrier.organization_id !== null && `, ${carrier.organization_id}`}
      </div>
    </td>
    <td>
      <Tag {...circuits[carrier.circuit]} />
      {carrier.why !== null && <div class="minor">{title(carrier.why)}</div>}
      {carrier.until !== null && (
        <div class="minor">
          until <Time at={carrier.until} />
        </div>
      )}
    </td>
    <td>
      {carrier.outcomes.length === 0 ? "none" : carrier.outcomes.map((outcome) => ofOutcome(outcome).text).join(", ")}
    </td>
    <td class="number">
      {count(carrier.in_flight, "call")}
      {carrier.max_concurrent === null ? "" : ` of ${carrier.max_concurrent}`}
    </td>
    <td class="number">
      {carrier.rate_per_minute === null ? "no limit" : `${carrier.rate_left} of ${carrier.rate_per_minute}`}
    </td>
    <td>
      {carrier.circuit !== "closed" && (
        <button type="button" onClick={reset} disabled={busy}>
          Ask again
        </button>
      )}
    </td>
  </tr>
)
