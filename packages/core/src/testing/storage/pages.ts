import { Effect } from "effect"
import { pageScanRecords, type RecordQuery } from "../../storage/Page.ts"
import { expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

const ids = (storage: StorageService, parts: Partial<RecordQuery>) =>
  Effect.map(storage.page(Sample.pageOf(parts)), ({ records }) => records.map(({ id }) => id))

const requests = (...places: ReadonlyArray<number>) => places.map(Sample.requestId)

/** Reads a list to its end, and returns its pages. */
const pages = Effect.fnUntraced(function* (storage: StorageService, parts: Partial<RecordQuery>) {
  const idsOfPages: Array<ReadonlyArray<string>> = []
  let after: string | null = null
  do {
    const page: { readonly records: ReadonlyArray<{ readonly id: string }>; readonly next: string | null } =
      yield* storage.page(Sample.pageOf({ ...parts, after }))
    idsOfPages.push(page.records.map(({ id }) => id))
    expectTrue("a list ends", idsOfPages.length < 1_000)
    after = page.next
  } while (after !== null)
  return idsOfPages
})

/** Cases for lists of records. */
export const pagesOfRecords: ReadonlyArray<Case> = [
  rule(
    "sorts a page by id, whatever the order in which records were stored",
    Effect.fnUntraced(function* (storage) {
      for (const place of [3, 1, 5, 2, 4]) yield* storage.commit(Sample.change({ writes: [Sample.request(place)] }))
      yield* storage.commit(Sample.change({ writes: [Sample.request(2, { version: 2 })] }))
      expectSame("oldest first", yield* ids(storage, { order: "oldest" }), requests(1, 2, 3, 4, 5))
      expectSame("newest first", yield* ids(storage, { order: "newest" }), requests(5, 4, 3, 2, 1))
      expectSame("an empty list", yield* storage.page(Sample.pageOf({ kind: "idempotency_record" })), {
        records: [],
        next: null
      })
    })
  ),
  rule(
    "pages through a list without gaps or repeats, and ends without a next page",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ writes: Sample.range(1, 7).map((place) => Sample.request(place)) }))
      const upwards = yield* pages(storage, { order: "oldest", limit: 3 })
      expectSame("oldest first", upwards, [requests(1, 2, 3), requests(4, 5, 6), requests(7)])
      const downwards = yield* pages(storage, { order: "newest", limit: 3 })
      expectSame("newest first", downwards, [requests(7, 6, 5), requests(4, 3, 2), requests(1)])
      const full = yield* pages(storage, { order: "oldest", limit: 7 })
      expectSame("a last page that is full", full, [requests(1, 2, 3, 4, 5, 6, 7)])
    })
  ),
  rule(
    "continues a list after a given ID, even if no record has that ID",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ writes: [1, 2, 4, 5].map((place) => Sample.request(place)) }))
      expectSame("after a missing record", yield* ids(storage, { after: Sample.requestId(3) }), requests(4, 5))
      yield* storage.commit(Sample.change({ writes: [Sample.request(3)] }))
      expectSame("after it", yield* ids(storage, { after: Sample.requestId(3) }), requests(4, 5))
      expectSame("before it", yield* ids(storage, { after: Sample.requestId(3), order: "newest" }), requests(2, 1))
    })
  ),
  rule(
    "filters records by the latest version's status and line",
    Effect.fnUntraced(function* (storage) {
      const writes = [
        Sample.request(1),
        Sample.request(2, { line: "pet" }),
        Sample.request(3, { status: "complete" }),
        Sample.request(4, { status: null, line: null })
      ]
      yield* storage.commit(Sample.change({ writes }))
      yield* storage.commit(Sample.change({ writes: [Sample.request(1, { version: 2, status: "complete" })] }))
      expectSame("collecting", yield* ids(storage, { status: "collecting" }), requests(2))
      expectSame("complete", yield* ids(storage, { status: "complete" }), requests(1, 3))
      expectSame("renters", yield* ids(storage, { line: "renters" }), requests(1, 3))
      expectSame("both", yield* ids(storage, { line: "pet", status: "complete" }), [])
    })
  ),
  rule(
    "returns only records whose latest version has all requested labels",
    Effect.fnUntraced(function* (storage) {
      const writes = [
        Sample.request(1, { labels: ["status:200", "operation:a"] }),
        Sample.request(2, { labels: ["status:404", "operation:a"] }),
        Sample.request(3, { labels: ["status:404", "operation:b"] }),
        Sample.request(4)
      ]
      yield* storage.commit(Sample.change({ writes }))
      expectSame("one label", yield* ids(storage, { labels: ["status:404"] }), requests(2, 3))
      expectSame("two labels", yield* ids(storage, { labels: ["operation:a", "status:404"] }), requests(2))
      expectSame("no filter", yield* ids(storage, { labels: [] }), requests(1, 2, 3, 4))
      expectSame("part of a label", yield* ids(storage, { labels: ["status:4"] }), [])
      yield* storage.commit(Sample.change({ writes: [Sample.request(2, { version: 2, labels: ["status:500"] })] }))
      expectSame("labels of the latest version", yield* ids(storage, { labels: ["status:404"] }), requests(3))
      const paged = yield* pages(storage, { labels: ["status:404"], limit: 1, order: "newest" })
      expectSame("pages", paged, [requests(3)])
    })
  ),
  rule(
    "filters records by time from an inclusive start to an exclusive end",
    Effect.fnUntraced(function* (storage) {
      const writes = [10, 20, 30, 40].map((moment, index) =>
        Sample.request(index + 1, { created_at: moment, updated_at: 100 - moment })
      )
      yield* storage.commit(Sample.change({ writes }))
      expectSame("created at or after", yield* ids(storage, { created_after: 20 }), requests(2, 3, 4))
      expectSame("created before", yield* ids(storage, { created_before: 20 }), requests(1))
      expectSame("between", yield* ids(storage, { created_after: 20, created_before: 40 }), requests(2, 3))
      expectSame("updated at or after", yield* ids(storage, { updated_since: 80 }), requests(1, 2))
      expectSame("all filters", yield* ids(storage, { created_after: 20, updated_since: 80 }), requests(2))
      const filtered = yield* pages(storage, { created_after: 20, limit: 2, order: "newest" })
      expectSame("filtered pages", filtered, [requests(4, 3), requests(2)])
    })
  ),
  rule(
    "lists only the records of one parent",
    Effect.fnUntraced(function* (storage) {
      const quotes = (...places: ReadonlyArray<number>) => places.map(Sample.quoteId)
      const writes = [1, 2, 3, 4, 5, 6].map((place) => Sample.quote(place, (place % 2) + 1))
      yield* storage.commit(Sample.change({ writes: [...writes, Sample.quote(7, 1, { parent: null })] }))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(4, 1, { version: 2, status: "expired" })] }))
      const queryOf = (place: number, parts: Partial<RecordQuery> = {}) =>
        pages(storage, { kind: "quote", parent: Sample.requestId(place), ...parts })
      expectSame("records of one parent", yield* queryOf(1), [quotes(2, 4, 6)])
      expectSame("records of the other parent", yield* queryOf(2, { order: "newest", limit: 2 }), [
        quotes(5, 3),
        quotes(1)
      ])
      expectSame("with another filter", yield* queryOf(1, { status: "active", limit: 1 }), [quotes(2), quotes(6)])
      expectSame("records of an unknown parent", yield* queryOf(3), [[]])
      expectSame("records of all parents", yield* ids(storage, { kind: "quote" }), quotes(1, 2, 3, 4, 5, 6, 7))
    })
  ),
  rule(
    "finds records by either subject of their latest version",
    Effect.fnUntraced(function* (storage) {
      const abouts = [["q", "r"], ["r"], ["s"], ["p", "r"], [], ["r", "s"], ["q"]]
      const writes = abouts.map((aboutIds, index) => Sample.request(index + 1, { about: aboutIds }))
      yield* storage.commit(Sample.change({ writes: [...writes, Sample.quote(1, 1, { about: ["r"] })] }))
      yield* storage.commit(
        Sample.change({ workspace_id: Sample.elsewhere, writes: [Sample.request(8, { about: ["t"] })] })
      )
      expectSame("one subject, in either position", yield* ids(storage, { about: ["r"] }), requests(1, 2, 4, 6))
      expectSame("two subjects", yield* ids(storage, { about: ["q", "r"] }), requests(1))
      expectSame("two subjects in the other order", yield* ids(storage, { about: ["s", "r"] }), requests(6))
      expectSame("no subject filter", yield* ids(storage, { about: [] }), requests(1, 2, 3, 4, 5, 6, 7))
      expectSame("a subject that only another workspace has", yield* ids(storage, { about: ["t"] }), [])
      const upwards = yield* pages(storage, { about: ["r"], limit: 3, order: "oldest" })
      expectSame("oldest first", upwards, [requests(1, 2, 4), requests(6)])
      const downwards = yield* pages(storage, { about: ["r"], limit: 2, order: "newest" })
      expectSame("newest first", downwards, [requests(6, 4), requests(2, 1)])
      yield* storage.commit(
        Sample.change({
          writes: [
            Sample.request(1, { version: 2, about: ["s"] }),
            Sample.request(4, { version: 2, about: ["r", "p"], status: "complete" })
          ]
        })
      )
      expectSame("a subject that the latest version has lost", yield* ids(storage, { about: ["r"] }), requests(2, 4, 6))
      expectSame(
        "a subject that the latest version has gained",
        yield* ids(storage, { about: ["s"] }),
        requests(1, 3, 6)
      )
      expectSame("with another filter", yield* ids(storage, { about: ["r"], status: "complete" }), requests(4))
      const [record] = (yield* storage.page(Sample.pageOf({ about: ["p"] }))).records
      expectSame(
        "the record as written",
        record,
        Sample.request(4, { version: 2, about: ["r", "p"], status: "complete" })
      )
    })
  ),
  rule(
    "finds one parent's records by subject, and forgets erased records",
    Effect.fnUntraced(function* (storage) {
      const quotes = (...places: ReadonlyArray<number>) => places.map(Sample.quoteId)
      const writes = Sample.range(1, 6).map((place) =>
        Sample.quote(place, (place % 2) + 1, { about: place < 4 ? ["q", "r"] : ["r"], created_at: place })
      )
      yield* storage.commit(Sample.change({ writes }))
      const queryOf = (place: number, parts: Partial<RecordQuery>) =>
        pages(storage, { kind: "quote", parent: Sample.requestId(place), ...parts })
      expectSame("of one", yield* queryOf(1, { about: ["r"], limit: 2 }), [quotes(2, 4), quotes(6)])
      expectSame("records of the other parent", yield* queryOf(2, { about: ["q"], order: "newest" }), [quotes(3, 1)])
      expectSame("of nobody", yield* queryOf(3, { about: ["q"] }), [[]])
      yield* storage.erase({ what: "records", workspace_id: Sample.home, kind: "quote", created_before: 3, limit: 9 })
      expectSame("after an erasure", yield* ids(storage, { kind: "quote", about: ["q"] }), quotes(3))
      yield* storage.erase({
        what: "children",
        workspace_id: Sample.home,
        kind: "quote",
        parent: Sample.requestId(2),
        versions: "all"
      })
      expectSame("after another", yield* ids(storage, { kind: "quote", about: ["r"] }), quotes(4, 6))
      yield* storage.erase({ what: "workspace", workspace_id: Sample.home })
      expectSame("after all", yield* ids(storage, { kind: "quote", about: ["r"] }), [])
    })
  ),
  rule(
    "ends a page early after scanning a limited number of records",
    Effect.fnUntraced(function* (storage) {
      const count = pageScanRecords + 500
      for (let first = 1; first <= count; first += 500) {
        const places = Sample.range(first, first + 499)
        yield* storage.commit(Sample.change({ writes: places.map((place) => Sample.request(place)) }))
      }
      const rare = Sample.request(count, { version: 2, status: "complete", about: ["rare"] })
      yield* storage.commit(Sample.change({ writes: [rare] }))
      const cut = yield* storage.page(Sample.pageOf({ status: "complete", limit: 5 }))
      expectSame("the page that is cut short", cut.records, [])
      expectTrue("it has a next page", cut.next !== null)
      const otherPage = yield* storage.page(Sample.pageOf({ about: ["rare"], limit: 5 }))
      expectSame("what it is about is found without a scan", [otherPage.records, otherPage.next], [[rare], null])
      const remaining = yield* pages(storage, { status: "complete", limit: 5 })
      expectSame("the whole list", remaining.flat(), [rare.id])
      const otherPages = yield* pages(storage, { status: "collecting", limit: 4_000 })
      expectSame("how many others", otherPages.flat().length, count - 1)
    })
  )
]
