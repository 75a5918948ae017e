import { Schema } from "effect"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import type { StoredRecord } from "./Change.ts"

/** The names of the retention periods in the settings (`RetentionPeriods`). */
export type Period = "events" | "facts" | "quotes" | "consents" | "requests" | "feedback" | "exchanges"

/** How long records are kept: for a retention period from the settings, or for a number of minutes. */
export type KeptFor = ({ readonly period: Period } | { readonly minutes: number }) & {
  readonly clock: "workspace" | "real"
}

/** The sealed texts in a record, and a function to reseal them. */
export interface SealedTexts {
  readonly purpose: string
  readonly texts: ReadonlyArray<string>
  /**
   * Makes the record's next version, with every sealed text replaced by its resealed form. The content stays the same.
   */
  readonly resealed: (reseal: (text: string) => string) => StoredRecord
}

/** How storage, retention and a reset treat a kind of record. */
export interface Traits {
  /** The name of the kind in storage. */
  readonly name: string
  /** Whether all versions stay readable; if false, only the newest version does. */
  readonly keeps_history: boolean
  /** Whether records of this kind survive a sandbox reset. */
  readonly survives_reset: boolean
  /** How long records of this kind are kept, and by which clock; null keeps them forever. */
  readonly kept_for: KeptFor | null
  /**
   * Whether bodies are sealed at rest, because they can contain facts about a person (applications; labels, text and
   * links from carriers; the text of reports) or an organization's values for a carrier. Bodies of other kinds contain
   * neither. Sealed records whose parent is a quote request or its application are erased with the person's data.
   */
  readonly sealed: boolean
  /**
   * Finds the sealed texts in a record whose body is not sealed as a whole; null if bodies of this kind contain no
   * sealed text.
   */
  readonly sealed_texts: ((workspace_id: WorkspaceId, record: StoredRecord) => SealedTexts) | null
  /**
   * Whether records contain keyed hashes. A keyed hash names its seal key, and cannot be recomputed with a newer key.
   */
  readonly has_hashes: boolean
  /** Whether erasing a record also erases its children. */
  readonly erases_children: boolean
  /**
   * Which readers a write wakes: readers that wait for the record itself, readers that wait for its parent, or no
   * readers.
   */
  readonly wakes: "itself" | "parent" | null
}

/** The fields by which lists find records. */
type Listing = Partial<Pick<StoredRecord, "parent" | "status" | "line" | "labels" | "about" | "expires_at">>

/** The fields of a record version that are not part of its value. Times are milliseconds of workspace time. */
export interface RecordMeta extends Pick<StoredRecord, "id" | "version" | "created_at" | "updated_at"> {
  readonly parent?: string
  readonly line?: string
}

/** A kind of record: the type of its values, and how storage treats its records. */
export interface Kind<out Name extends string, in out A> extends Traits {
  readonly name: Name
  /**
   * Makes the stored record for a version. Do not change the value afterwards: it is encoded only when the body is
   * first read.
   */
  readonly record: (value: A, meta: RecordMeta) => StoredRecord
  /**
   * Returns the value of a record. Decodes a body that was read from storage; if the body does not match the kind's
   * schema, throws an error that names the record.
   */
  readonly value: (record: StoredRecord) => A
  /** The encoded body, exactly as it was written. */
  readonly json: (record: StoredRecord) => Json.Json<A>
}

/**
 * A record whose body is serialized only when it is first read.
 *
 * In-memory storage returns the very objects that were committed, and few of their bodies are ever read. Copy the
 * fields one by one, or spread the record and set `body`: the body is a getter of the class, so spreading alone loses
 * it.
 */
export abstract class LazyRecord implements StoredRecord {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly parent: string | null
  readonly status: string | null
  readonly line: string | null
  readonly labels: ReadonlyArray<string>
  readonly about: ReadonlyArray<string>
  readonly created_at: number
  readonly updated_at: number
  readonly expires_at: number | null
  private text: string | null = null

  constructor(fields: Omit<StoredRecord, "body">) {
    this.kind = fields.kind
    this.id = fields.id
    this.version = fields.version
    this.parent = fields.parent
    this.status = fields.status
    this.line = fields.line
    this.labels = fields.labels
    this.about = fields.about
    this.created_at = fields.created_at
    this.updated_at = fields.updated_at
    this.expires_at = fields.expires_at
  }

  get body(): string {
    this.text ??= this.write()
    return this.text
  }

  /** The approximate length of the body. Reading this does not serialize the body. */
  get rough_length(): number {
    return this.text?.length ?? this.measure()
  }

  protected abstract write(): string

  protected measure(): number {
    return this.body.length
  }
}

/** The approximate length of a record's body. This does not serialize a body that has not been read yet. */
export const roughLengthOf = (record: StoredRecord): number =>
  record instanceof LazyRecord ? record.rough_length : record.body.length

/** The approximate length of a value in JSON. */
const lengthInJson = (value: unknown): number => {
  if (typeof value === "string") return value.length + 3
  if (typeof value !== "object" || value === null) return 6
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + lengthInJson(item), 2)
  return Object.entries(value).reduce((sum, [name, member]) => sum + name.length + 3 + lengthInJson(member), 2)
}

/**
 * A record whose value is encoded when its body is first read (docs/decisions/tuning.md).
 *
 * With storage in memory, most bodies are never encoded, and a response can use the value itself (`Json.read`). The
 * value must not change.
 */
class LazilyEncodedRecord<A> extends LazyRecord {
  readonly value: A
  readonly encode: (value: A) => string

  constructor(fields: Omit<StoredRecord, "body">, value: A, encode: (value: A) => string) {
    super(fields)
    this.value = value
    this.encode = encode
  }

  protected write(): string {
    return this.encode(this.value)
  }

  protected override measure(): number {
    return lengthInJson(this.value)
  }
}

/**
 * Makes a kind. By default storage keeps only the newest version, a reset erases the records, and writes wake no
 * reader.
 *
 * The schema must not transform values: a body is the JSON text of the value.
 */
export const make = <const Name extends string, A extends object>(
  options: Pick<Traits, "name"> &
    Partial<Traits> & {
      readonly name: Name
      readonly schema: Schema.Schema<A>
      /** Returns the fields by which lists find a value; by default no fields. */
      readonly listing?: (value: A) => Listing
    }
): Kind<Name, A> => {
  const { listing = noListing, name, schema } = options
  const isValue = Schema.is(schema)
  const encode = (value: A): string => JSON.stringify(value)
  const isAtHand = (record: StoredRecord): record is LazilyEncodedRecord<A> =>
    record instanceof LazilyEncodedRecord && record.encode === encode
  return {
    name,
    keeps_history: options.keeps_history ?? false,
    survives_reset: options.survives_reset ?? false,
    kept_for: options.kept_for ?? null,
    sealed: options.sealed ?? false,
    sealed_texts: options.sealed_texts ?? null,
    has_hashes: options.has_hashes ?? false,
    erases_children: options.erases_children ?? false,
    wakes: options.wakes ?? null,
    record: (value, meta) => {
      const listed = listing(value)
      return new LazilyEncodedRecord(
        {
          kind: name,
          id: meta.id,
          version: meta.version,
          parent: listed.parent ?? meta.parent ?? null,
          status: listed.status ?? null,
          line: listed.line ?? meta.line ?? null,
          labels: listed.labels ?? none,
          about: listed.about ?? none,
          created_at: meta.created_at,
          updated_at: meta.updated_at,
          expires_at: listed.expires_at ?? null
        },
        value,
        encode
      )
    },
    value: (record) => {
      if (record.kind !== name) throw new Error(`The ${record.kind} ${record.id} was read as ${name}`)
      if (isAtHand(record)) return record.value
      // Fields that the schema does not know stay, because a newer host may have written them.
      const value: unknown = JSON.parse(record.body)
      if (isValue(value)) return value
      throw new Error(`The ${name} ${record.id}, version ${record.version}, does not match its schema`)
    },
    json: (record) => (isAtHand(record) ? { text: record.body, value: record.value } : Json.fromText<A>(record.body))
  }
}

const none: ReadonlyArray<never> = []
const noListing = (): Listing => ({})

/** The record kinds that a program stores. */
export interface Kinds {
  readonly all: ReadonlyArray<Traits>
  /** Finds the kind with this name. Throws if the name is not listed. */
  readonly byName: (name: string) => Traits
}

/** Makes a registry of kinds by name. */
export const registry = (traits: ReadonlyArray<Traits>): Kinds => {
  const kinds = new Map(traits.map((kind) => [kind.name, kind]))
  return {
    all: traits,
    byName: (name) => {
      const kind = kinds.get(name)
      if (kind === undefined) throw new Error(`There is no kind of record named ${name}`)
      return kind
    }
  }
}
