import { cloneElement, type VNode } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { usePlaced, Wide } from "./basics.tsx"

/** How many rows are shown or hidden together. */
const chunkRows = 50
/** Lists up to this length are rendered as a whole, so that the browser's own search finds everything. */
const longRows = 1_000
/** How far outside the viewport rows are still rendered. */
const margin = "1500px"

/** A list as a table. In a long list, only the rows near the viewport are rendered, so that scrolling stays smooth. */
export const ListTable = <A,>({
  columns,
  items,
  label,
  row
}: {
  readonly label: string
  readonly columns: ReadonlyArray<string>
  readonly items: ReadonlyArray<A>
  /** Renders one item as a `tr` with a key. */
  readonly row: (item: A, index: number) => VNode
}) => (
  <Wide label={label}>
    <table {...(items.length > longRows && { "aria-rowcount": items.length + 1 })}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      {items.length <= longRows ? (
        <tbody>{items.map(row)}</tbody>
      ) : (
        Array.from({ length: Math.ceil(items.length / chunkRows) }, (_, chunk) => (
          <Chunk key={chunk} columns={columns.length} first={chunk * chunkRows} items={items} row={row} />
        ))
      )}
    </table>
  </Wide>
)

/** A group of rows in a long list: either rendered, or replaced by a gap of the same height. */
const Chunk = <A,>({
  columns,
  first,
  items,
  row
}: {
  readonly columns: number
  readonly first: number
  readonly items: ReadonlyArray<A>
  readonly row: (item: A, index: number) => VNode
}) => {
  const body = useRef<HTMLTableSectionElement>(null)
  const [height, setHeight] = useState<number | null>(null)
  const its = items.slice(first, first + chunkRows)
  useEffect(() => {
    const element = body.current
    if (element === null) return
    const observer = new IntersectionObserver(
      (entries) => {
        const isNear = entries.at(-1)?.isIntersecting === true
        // A group stays rendered while one of its rows has the focus.
        if (isNear) setHeight(null)
        else if (!element.contains(document.activeElement)) setHeight(element.getBoundingClientRect().height)
      },
      { rootMargin: margin }
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return (
    <tbody ref={body}>
      {height === null ? (
        // The heading is row 1, so the first item is row 2.
        its.map((item, index) => cloneElement(row(item, first + index), { "aria-rowindex": first + index + 2 }))
      ) : (
        <Gap columns={columns} height={height} />
      )}
    </tbody>
  )
}

const Gap = ({ columns, height }: { readonly columns: number; readonly height: number }) => {
  const cell = usePlaced<HTMLTableCellElement>({ height: `${height}px` })
  return (
    <tr>
      <td ref={cell} colSpan={columns} class="gap" />
    </tr>
  )
}
