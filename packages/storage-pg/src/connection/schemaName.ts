/** The schema of a storage that names no other. All SQL of this package is written for it. */
export const default_schema = "quotewire"

/** Whether a schema can have this name: lower-case letters, digits and underscores, at most 50. */
export const isSchemaName = (name: string): boolean => /^[a-z_][a-z0-9_]{0,49}$/.test(name)

/** Rewrites the SQL of this package for another schema. Each statement is rewritten once. */
export const inSchema = (schema: string): ((sql: string) => string) => {
  if (schema === default_schema) return (sql) => sql
  // As many entries as this package has statements.
  const rewritten = new Map<string, string>()
  return (sql) => {
    const known = rewritten.get(sql)
    if (known !== undefined) return known
    const text = sql.replaceAll(/\bquotewire\b/g, `"${schema}"`)
    rewritten.set(sql, text)
    return text
  }
}
