import { Schema } from "effect"
import { Callable } from "../wire/Argument.ts"
import { isCalendarDay } from "../wire/CalendarDay.ts"
import type { FieldError } from "../wire/FieldError.ts"
import * as Input from "../wire/Input.ts"

/* Finds the mistakes in a list of revisions that a program configures. */

const byOperation = <A>(value: Schema.Codec<A>) => Schema.optional(Schema.Record(Schema.String, value))

const DifferenceForm = Schema.Struct({
  summary: Schema.String,
  inputs: byOperation(Schema.Struct({ upgrade: Callable, path: Callable })),
  answers: byOperation(Callable),
  event: Schema.optional(Callable),
  quote: Schema.optional(Callable),
  quote_request: Schema.optional(Callable)
})

const ServedForm = Schema.Array(Schema.Struct({ date: Schema.String, differences: Schema.Array(DifferenceForm) }))

const findWrongForm = Input.findings(ServedForm)
const isServed = Schema.is(ServedForm)

/** The mistakes in a list of revisions, with paths relative to the list. Empty if the revisions can be served. */
export const mistakesIn = (value: unknown): ReadonlyArray<FieldError> => {
  const form = findWrongForm(value)
  if (form.length > 0 || !isServed(value)) return form
  if (value.length === 0) return [{ path: "", message: "Must have at least one revision." }]
  const dates = value.map(({ date }) => date)
  return [
    ...dates.flatMap((date, position) => [
      ...(isCalendarDay(date) ? [] : [{ path: `${position}.date`, message: "Must be a date, such as 2026-09-26." }]),
      ...(position > 0 && date >= (dates[position - 1] ?? "")
        ? [
            {
              path: `${position}.date`,
              message:
                "Must be earlier than the date of the previous revision in the list: list the newest revision first."
            }
          ]
        : [])
    ]),
    ...(value[0]?.differences.length === 0
      ? []
      : [
          {
            path: "0.differences",
            message: "Must be empty, because the newest revision is the form that this release serves."
          }
        ])
  ]
}
