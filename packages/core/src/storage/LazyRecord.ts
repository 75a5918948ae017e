import type { StoredRecord } from "./Change.ts"

/**
 * A record whose body is encoded when it is first read.
 *
 * A storage in memory gives records back as they came. It reads few bodies, so most are never encoded or sealed, and an
 * answer has its value at hand (`Json.read`). For a tool call in memory that is 3 to 20 % of the throughput, for a read 6 %
 * (bench/README.md). The value must not change. Read the fields one by one: a copy by spreading loses the body.
 */
export class LazyRecord<A> implements StoredRecord {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly parent: string | null
  readonly status: string | null
  readonly line: string | null
  readonly labels: ReadonlyArray<string>
  readonly created_at: number
  readonly updated_at: number
  readonly expires_at: number | null
  readonly value: A
  readonly encode: (value: A) => string
  private text: string | null = null

  constructor(of: Omit<StoredRecord, "body">, value: A, encode: (value: A) => string) {
    this.kind = of.kind
    this.id = of.id
    this.version = of.version
    this.parent = of.parent
    this.status = of.status
    this.line = of.line
    this.labels = of.labels
    this.created_at = of.created_at
    this.updated_at = of.updated_at
    this.expires_at = of.expires_at
    this.value = value
    this.encode = encode
  }

  get body(): string {
    this.text ??= this.encode(this.value)
    return this.text
  }
}
