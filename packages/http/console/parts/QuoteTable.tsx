import type { AnswerOf } from "../../src/client/index.ts"
import { duration, moment, money, title, words } from "../words/format.ts"
import { ofQuote } from "../words/states.ts"
import { Id, Outside, Tag, Wide } from "./basics.tsx"

/** A quote as the API returns it. */
export type Quote = AnswerOf<"get_quote">

interface Row {
  readonly name: string
  readonly note?: string
  readonly cells: ReadonlyArray<string>
}

const coverLabel = (cover: Quote["coverage"]["subjects"][number]["coverages"][number]): string => {
  if (cover.included === false) return "not covered"
  const parts = [
    cover.limit === null ? [] : [`up to ${money(cover.limit)}`],
    cover.deductible === null ? [] : [`${money(cover.deductible)} deductible`]
  ].flat()
  if (parts.length > 0) return parts.join(", ")
  return cover.included === true ? "covered" : "unknown"
}

/** The amounts of a quote's coverages, by the coverage's name, with the insured subject if there are several. */
const coversOf = ({ coverage }: Quote): ReadonlyMap<string, string> =>
  new Map(
    coverage.subjects.flatMap((subject) =>
      subject.coverages.map((cover) => {
        const insured = coverage.subjects.length > 1 ? `, ${subject.label ?? words(subject.subject_id)}` : ""
        return [`${title(cover.code)}${insured}`, coverLabel(cover)] as const
      })
    )
  )

const rowsOf = (quotes: ReadonlyArray<Quote>, now: number): ReadonlyArray<Row> => {
  const covers = quotes.map(coversOf)
  const names = [...new Set(covers.flatMap((all) => [...all.keys()]))]
  return [
    {
      name: "Term",
      cells: quotes.map(({ price }) => (price.term_months === null ? "unknown" : `${price.term_months} months`))
    },
    { name: "Premium", note: "for the term", cells: quotes.map(({ price }) => money(price.premium)) },
    {
      name: "Billed",
      cells: quotes.map(({ price }) => (price.billing_cycle === null ? "unknown" : words(price.billing_cycle)))
    },
    {
      name: "Fees",
      cells: quotes.map(({ price }) =>
        price.fees.length === 0
          ? "none stated"
          : price.fees.map((fee) => `${money(fee.amount)} ${words(fee.code)}`).join(", ")
      )
    },
    ...names.map((name) => ({ name, cells: covers.map((all) => all.get(name) ?? "unknown") })),
    // Responses to partners contain no assumptions, so the row of assumptions is left out.
    ...(quotes.some(({ evidence }) => evidence.assumptions.length > 0)
      ? [{ name: "Assumed", cells: quotes.map(({ evidence }) => `${evidence.assumptions.length} facts`) }]
      : []),
    {
      name: "Expires",
      cells: quotes.map(({ availability }) =>
        availability.expires_at === null
          ? "no end date"
          : `${moment(availability.expires_at)} (${inTime(Date.parse(availability.expires_at) - now)})`
      )
    }
  ]
}

const inTime = (ms: number): string => (ms < 0 ? `${duration(-ms)} ago` : `in ${duration(ms)}`)

/** The rows that are always shown, because they differ for every quote. */
const always: ReadonlyArray<string> = ["Term", "Premium", "Expires"]

/** Whether the quotes differ in this row in a way that is worth comparing. */
const differs = ({ cells, name }: Row): boolean => !["Premium", "Expires"].includes(name) && new Set(cells).size > 1

const Rows = ({ rows }: { readonly rows: ReadonlyArray<Row> }) => (
  <>
    {rows.map((row) => (
      <tr key={row.name} class={differs(row) ? "differs" : ""}>
        <th scope="row">
          <Outside text={row.name} />
          {differs(row) && <span class="state differs-mark">differs</span>}
          {row.note !== undefined && <div class="minor">{row.note}</div>}
        </th>
        {row.cells.map((cell, index) => (
          <td key={index}>
            <Outside text={cell} />
          </td>
        ))}
      </tr>
    ))}
  </>
)

/**
 * Quotes side by side, in the order in which they arrived, which is not a ranking. The monthly price comes first,
 * because the quotes' terms differ. Rows in which all quotes agree are collapsed.
 */
export const QuoteTable = ({ now, quotes }: { readonly quotes: ReadonlyArray<Quote>; readonly now: number }) => {
  const rows = rowsOf(quotes, now)
  const shown = rows.filter((row) => quotes.length === 1 || differs(row) || always.includes(row.name))
  const same = rows.filter((row) => !shown.includes(row))
  return (
    <>
      <Wide label="The quotes side by side">
        <table class="quotes">
          <thead>
            <tr>
              <th scope="col">Carrier</th>
              {quotes.map((quote) => (
                <th scope="col" key={quote.id}>
                  <strong>
                    <Outside text={quote.source.carrier.name} />
                  </strong>
                  <div class="row tight">
                    <Tag {...ofQuote(quote.status)} />
                    {quote.version > 1 && <span class="minor">version {quote.version}</span>}
                  </div>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">
                Per month<div class="minor">to compare</div>
              </th>
              {quotes.map((quote) => (
                <td key={quote.id} class="price">
                  {money(quote.price.comparison?.amount ?? null)}
                </td>
              ))}
            </tr>
            <Rows rows={shown} />
            <tr>
              <th scope="row">Id</th>
              {quotes.map((quote) => (
                <td key={quote.id}>
                  <Id id={quote.id} />
                </td>
              ))}
            </tr>
          </tbody>
        </table>
      </Wide>
      {same.length > 0 && (
        <details>
          <summary>The same in every quote: {same.length}</summary>
          <table class="quotes">
            <tbody>
              {same.map((row) => (
                <tr key={row.name}>
                  <th scope="row">
                    <Outside text={row.name} />
                  </th>
                  <td>
                    <Outside text={row.cells[0] ?? ""} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
      <Assumed quotes={quotes} />
    </>
  )
}

/** The facts that the caller did not send, and what the service assumed instead. */
const Assumed = ({ quotes }: { readonly quotes: ReadonlyArray<Quote> }) => {
  const all = new Map(quotes.flatMap(({ evidence }) => evidence.assumptions.map((one) => [one.path, one] as const)))
  if (all.size === 0) return null
  return (
    <details>
      <summary>Assumed, because it was not sent: {all.size}</summary>
      <ul class="list">
        {[...all.values()].map(({ label, path, value }) => (
          <li key={path}>
            <code>{path}</code> <Outside text={label ?? JSON.stringify(value)} />
          </li>
        ))}
      </ul>
    </details>
  )
}
