import type { StoredRecord } from "./Change.ts"

/**
 * A record whose body is serialized only when it is first read.
 *
 * In-memory storage returns the very objects that were committed, and few of their bodies are ever read. Copy the
 * fields one by one, or spread the record and set `body`: the body is a getter of the class, so spreading alone loses
 * it.
 */
export abstract class LateRecord implements StoredRecord {
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
  record instanceof LateRecord ? record.rough_length : record.body.length

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
export class LazyRecord<A> extends LateRecord {
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
