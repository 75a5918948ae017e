import { Schema } from "effect"
import * as Json from "../wire/Json.ts"
import type { StoredRecord } from "./Change.ts"
import { LazyRecord } from "./LazyRecord.ts"

/** The periods of the settings after which records are erased (`RetentionPeriods`). */
export type Period = "events" | "facts" | "quotes" | "consents" | "requests" | "feedback"

/** What storages, retention and a reset must know of a kind of record. */
export interface Traits {
  /** Under which name storage keeps it. */
  readonly name: string
  /** Whether every version stays readable; of other kinds only the newest does. */
  readonly keeps_history: boolean
  /** Whether a sandbox reset leaves its records. */
  readonly survives_reset: boolean
  /** After which period its records are erased, and by which clock it is counted; null keeps them. */
  readonly kept_for: { readonly period: Period; readonly clock: "workspace" | "real" } | null
  /**
   * Whether its bodies are sealed at rest, since they can hold facts about a person: applications, labels, words and
   * links of carriers, texts of reports. Bodies of other kinds hold no facts.
   */
  readonly sealed: boolean
  /** Whether the records that name one of these as their parent are erased with it. */
  readonly erases_children: boolean
  /** Whose readers a write wakes: those who wait for the record, for its parent, or nobody. */
  readonly wakes: "itself" | "parent" | null
}

/** What lists can find a record by. */
type Listing = Partial<Pick<StoredRecord, "parent" | "status" | "line" | "labels" | "expires_at">>

/** Where one version of a record belongs, and what the value does not say itself. Times are milliseconds of workspace time. */
export interface Position extends Pick<StoredRecord, "id" | "version" | "created_at" | "updated_at"> {
  readonly parent?: string
  readonly line?: string
}

/** A kind of record: the values that it holds, and how storage treats them. */
export interface Kind<out Name extends string, in out A> extends Traits {
  readonly name: Name
  /** One version of a value as storage is given it. The value must not change: it is encoded when the body is first read. */
  readonly record: (value: A, position: Position) => StoredRecord
  /** Decodes a record; a body that is not a value of this kind is a defect that names the record. */
  readonly value: (record: StoredRecord) => A
  /** The body as it is served: encoded once, when it was written. */
  readonly json: (record: StoredRecord) => Json.Json<A>
}

/**
 * Makes a kind. By default a record keeps its newest version alone, goes with a reset, stays until then, and wakes nobody.
 *
 * The schema must not transform: a body is the JSON text of the value.
 */
export const make = <const Name extends string, A extends object>(
  options: Pick<Traits, "name"> &
    Partial<Traits> & {
      readonly name: Name
      readonly schema: Schema.Schema<A>
      /** What lists find a value by; nothing by default. */
      readonly listing?: (value: A) => Listing
    }
): Kind<Name, A> => {
  const { listing = noListing, name, schema } = options
  const isValue = Schema.is(schema)
  return {
    name,
    keeps_history: options.keeps_history ?? false,
    survives_reset: options.survives_reset ?? false,
    kept_for: options.kept_for ?? null,
    sealed: options.sealed ?? false,
    erases_children: options.erases_children ?? false,
    wakes: options.wakes ?? null,
    record: (value, position) => {
      const found = listing(value)
      return new LazyRecord(
        {
          kind: name,
          id: position.id,
          version: position.version,
          parent: found.parent ?? position.parent ?? null,
          status: found.status ?? null,
          line: found.line ?? position.line ?? null,
          labels: found.labels ?? [],
          created_at: position.created_at,
          updated_at: position.updated_at,
          expires_at: found.expires_at ?? null
        },
        value,
        JSON.stringify
      )
    },
    value: (record) => {
      if (record.kind !== name) throw new Error(`The ${record.kind} ${record.id} was read as ${name}`)
      // Fields that the schema does not know stay: a newer host may have written them.
      const value: unknown = JSON.parse(record.body)
      if (isValue(value)) return value
      throw new Error(`The ${name} ${record.id}, version ${record.version}, does not match its schema`)
    },
    json: (record) => Json.fromText<A>(record.body)
  }
}

const noListing = (): Listing => ({})

/** The kinds that a program stores. */
export interface Kinds {
  readonly all: ReadonlyArray<Traits>
  /** The kind of this name; a defect where it is not listed. */
  readonly named: (name: string) => Traits
}

/** Lists kinds, to be found by their names. */
export const list = (all: ReadonlyArray<Traits>): Kinds => {
  const byName = new Map(all.map((kind) => [kind.name, kind]))
  return {
    all,
    named: (name) => {
      const kind = byName.get(name)
      if (kind === undefined) throw new Error(`There is no kind of record named ${name}`)
      return kind
    }
  }
}
