import type { StoredRecord } from "./Change.ts"

/** What a record says beside its body; what is left out is what most records have no use for. */
type Said = Pick<StoredRecord, "kind" | "id" | "version" | "created_at" | "updated_at"> &
  Partial<Pick<StoredRecord, "parent" | "status">>

/**
 * A record of a value that is encoded when its text is first asked for.
 *
 * A storage in memory never asks: it gives back the record that it was given, and who has made it finds the value in it.
 */
export class ValueRecord<A extends object> implements StoredRecord {
  readonly value: A
  readonly kind: StoredRecord["kind"]
  readonly id: string
  readonly version: number
  readonly parent: string | null
  readonly status: string | null
  readonly created_at: number
  readonly updated_at: number
  private text: string | null = null

  constructor(value: A, { kind, id, version, parent = null, status = null, created_at, updated_at }: Said) {
    this.value = value
    this.kind = kind
    this.id = id
    this.version = version
    this.parent = parent
    this.status = status
    this.created_at = created_at
    this.updated_at = updated_at
  }

  get body(): string {
    this.text ??= JSON.stringify(this.value)
    return this.text
  }

  get line(): null {
    return null
  }

  get labels(): ReadonlyArray<never> {
    return none
  }

  get expires_at(): null {
    return null
  }
}

const none: ReadonlyArray<never> = []
