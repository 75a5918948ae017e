import * as Answer from "./Answer.ts"
import { count, joinFirst, more } from "./phrases.ts"

/** An accepted feedback report and its status. */
export const feedback = Answer.summarized(
  ({ feedback_id, status }: { readonly feedback_id: string; readonly status: string }) =>
    `Report ${feedback_id} is ${status}. It changes no quote; you need to do nothing more.`
)

interface LoggedRequests {
  readonly requests: ReadonlyArray<{
    readonly request_id: string
    readonly method: string
    readonly route: string
    readonly operation: string | null
    readonly status: number
    readonly error_code: string | null
  }>
  readonly next_cursor: string | null
}

/** A page of the request log. The summary mentions only the refused calls. */
export const apiRequests = Answer.summarized(({ next_cursor, requests }: LoggedRequests) => {
  const refused = requests.filter(({ error_code }) => error_code !== null)
  return [
    `${count(requests.length, "call")}, newest first; ${refused.length === 0 ? "none was" : `${refused.length} were`} refused.`,
    ...(refused.length === 0
      ? []
      : [
          joinFirst(
            refused.map(
              (call) => `${call.request_id}: ${call.operation ?? call.route} ${call.status} ${call.error_code}`
            ),
            "\n"
          )
        ]),
    more(next_cursor)
  ].join("\n")
})
