/** A map with a maximum size. When it is full, a new entry replaces the oldest entry. */
export class BoundedMap<K, V> extends Map<K, V> {
  private readonly max: number

  constructor(max: number) {
    super()
    this.max = max
  }

  override set(key: K, value: V): this {
    if (this.size >= this.max && !this.has(key)) {
      const oldest = this.keys().next()
      if (oldest.done !== true) this.delete(oldest.value)
    }
    return super.set(key, value)
  }
}
