import { useState } from "preact/hooks"
import { type Acting, useAction } from "./loading.ts"

/** A page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null
}

/** A list with its older pages, as far as the user has loaded them. */
export interface Older<A> extends Pick<Acting, "busy" | "error"> {
  readonly items: ReadonlyArray<A>
  /** Loads the next page; null if there is no next page. */
  readonly more: (() => void) | null
}

/**
 * Adds older pages to the first page, which reloads regularly. Keeps the items that newer items push off the first page,
 * so that the list has no gap.
 */
export const useOlder = <A>(
  first: Page<A>,
  idOf: (item: A) => string,
  read: (cursor: string) => Promise<Page<A>>
): Older<A> => {
  const [kept, setKept] = useState<Page<A> | null>(null)
  const { busy, error, run } = useAction()
  // A page can be empty even if more pages follow.
  const next = kept === null ? first.next : kept.next
  const more = (cursor: string) => () =>
    run(async () => {
      const page = await read(cursor)
      setKept((before) => ({ items: [...(before?.items ?? first.items), ...page.items], next: page.next }))
    })
  const ids = new Set(first.items.map(idOf))
  return {
    items: [...first.items, ...(kept?.items ?? []).filter((item) => !ids.has(idOf(item)))],
    more: next === null ? null : more(next),
    busy,
    error
  }
}
