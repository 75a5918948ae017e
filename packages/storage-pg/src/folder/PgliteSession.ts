import { type PgConnection, PgProtocol, PgTypes } from "@effect/sql-pg"
import { Effect, Result } from "effect"
import { ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import type { RunStatement } from "../connection/Session.ts"
import { wireTypes } from "../rows/wireTypes.ts"

/*
 * PGlite's session, in which a statement has its result as soon as the call returns. It sends and receives the same
 * bytes that PostgreSQL clients and servers exchange, with the codecs of server connections.
 */

/** The parts of PGlite that a session uses. PGlite is an optional package, so this module exports none of its types. */
export interface Pglite {
  readonly execProtocolRawStream: (
    message: Uint8Array,
    options: { readonly syncToFs: boolean; readonly onRawData: (bytes: Uint8Array) => void }
  ) => Promise<void>
}

/** The only session of a PGlite database. */
export interface Session {
  /** Runs a statement immediately. */
  readonly run: RunStatement
  /** Returns the payloads that were sent to the session's channels since the last call. */
  readonly takeNotifications: () => ReadonlyArray<string>
}

/**
 * Sends messages. When this returns, all bytes of the response have arrived. If PGlite has failed, some or all of them
 * are missing, and the promise, which nothing waits for, is rejected.
 */
const send = (database: Pglite, message: Uint8Array, onRawData: (bytes: Uint8Array) => void): void => {
  void database.execProtocolRawStream(message, { syncToFs: false, onRawData }).catch(() => {})
}

/** What is known about a statement that the server has prepared. */
interface Prepared {
  readonly name: string
  readonly types: ReadonlyArray<number>
  readonly fields: ReadonlyArray<PgProtocol.FieldDescription>
  readonly readField: PgProtocol.FieldReader<unknown>
}

const untyped = (value: unknown): PgTypes.Parameter => ({
  [PgTypes.ParameterTypeId]: PgTypes.ParameterTypeId,
  oid: 0,
  value
})

/** Encodes a parameter as server connections do. */
const parameterOf = (value: unknown): PgTypes.Parameter => {
  if (PgTypes.isParameter(value)) return value
  if (typeof value !== "number") return untyped(value)
  return Math.abs(value) < 2 ** 31 ? PgTypes.int4(value) : PgTypes.int8(BigInt(value))
}

const bind = PgProtocol.makeBindEncoder(
  (sink, parameter: PgTypes.Parameter) => PgTypes.writeParameter(sink, parameter, wireTypes),
  PgTypes.isTextFormat
)

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

const errorOf = (fields: PgProtocol.ErrorFields): SqlError =>
  new SqlError({
    reason: new UnknownError({ cause: fields, message: fields.message ?? "no message", operation: "execute" })
  })

/** The error if PGlite did not respond. It will then never respond again. */
const sessionLost = new SqlError({
  reason: new ConnectionError({ cause: undefined, message: "PGlite has not responded", operation: "execute" })
})

/** A field reader for responses that have no rows. */
const noFields: PgProtocol.FieldReader<unknown> = () => null

/** What PGlite returned for messages. */
interface Exchanged {
  readonly fields: ReadonlyArray<PgProtocol.FieldDescription>
  readonly rows: ReadonlyArray<ReadonlyArray<unknown>>
  readonly command: string
}

/** Sends messages, and reads the whole response. */
type Exchange = (
  parts: ReadonlyArray<Uint8Array>,
  readField: PgProtocol.FieldReader<unknown>
) => Result.Result<Exchanged, SqlError>

/** Creates the function that exchanges messages. It calls `onNotification` with the payload of each notification. */
const makeExchange = (database: Pglite, onNotification: (payload: string) => void): Exchange => {
  const parser = PgProtocol.makeParser<unknown>({ readField: noFields })
  return (parts: ReadonlyArray<Uint8Array>, readField: PgProtocol.FieldReader<unknown>) => {
    let error: PgProtocol.ErrorFields | null = null
    let isComplete = false
    let fields: ReadonlyArray<PgProtocol.FieldDescription> = []
    const rows: Array<ReadonlyArray<unknown>> = []
    let command = ""
    parser.readField = readField
    const note = (message: PgProtocol.BackendMessage<unknown>) => {
      if (message._tag === "ReadyForQuery") isComplete = true
      if (message._tag === "ErrorResponse") error = message.fields
      if (message._tag === "RowDescription") fields = message.fields
      if (message._tag === "DataRow") rows.push(message.values)
      if (message._tag === "CommandComplete") command = message.commandTag
      if (message._tag === "NotificationResponse") onNotification(message.payload)
    }
    send(database, joined(parts), (bytes) => parser.pushEach(bytes, note))
    if (!isComplete) return Result.fail(sessionLost)
    return error === null ? Result.succeed({ fields, rows, command }) : Result.fail(errorOf(error))
  }
}

/** Opens the session. */
export const open = (database: Pglite): Session => {
  const prepared = new Map<string, Prepared>()
  let count = 0
  let notifications: Array<string> = []
  const exchange = makeExchange(database, (payload) => notifications.push(payload))

  const prepare = (sql: string, types: ReadonlyArray<number>): Result.Result<Prepared, SqlError> => {
    const cached = prepared.get(sql)
    if (cached?.types.every((type, index) => type === types[index])) return Result.succeed(cached)
    const name = `s${count++}`
    const parse = Result.getOrThrow(PgProtocol.encodeParse({ name, query: sql, parameterTypes: types }))
    const describe = PgProtocol.encodeDescribe({ target: "statement", name })
    return Result.map(exchange([parse, describe, PgProtocol.encodeSync()], noFields), (described) => {
      const fields = described.fields.map((field) => ({ ...field, format: 1 }))
      const readField = Result.getOrThrow(PgTypes.makeFieldReader(fields, wireTypes))
      const statement = { name, types, fields, readField }
      prepared.set(sql, statement)
      return statement
    })
  }

  const execute = (sql: string, params: ReadonlyArray<unknown>): Result.Result<PgConnection.Result, SqlError> => {
    const parameters = params.map(parameterOf)
    const types = parameters.map(({ oid }) => oid)
    const statement = prepare(sql, types)
    if (Result.isFailure(statement)) return Result.fail(statement.failure)
    const { fields, name, readField } = statement.success
    const messages = [
      Result.getOrThrow(bind({ portal: "", statement: name, parameters })),
      PgProtocol.encodeExecute({ portal: "", maxRows: 0 }),
      PgProtocol.encodeSync()
    ]
    return Result.map(exchange(messages, readField), ({ command, rows }) => ({
      command,
      rowCount: rows.length,
      oid: null,
      rows: rows.map((values) => Object.fromEntries(fields.map((field, index) => [field.name, values[index]]))),
      fields: fields.map((field) => ({ name: field.name, dataTypeId: field.dataTypeOid }))
    }))
  }

  return {
    run: (sql, params = []) => Effect.suspend(() => Effect.fromResult(execute(sql, params))),
    takeNotifications: () => {
      const taken = notifications
      notifications = []
      return taken
    }
  }
}
