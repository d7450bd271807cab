/** Records the statements a store sends to its database, so that a bare driver can replay them. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

export interface Statement {
  readonly sql: string
  readonly params: ReadonlyArray<unknown>
}

/** Statements since the last call of `take`. */
export interface Recorder {
  readonly client: SqlClient.SqlClient
  readonly take: () => ReadonlyArray<Statement>
}

export const recorder = (client: SqlClient.SqlClient): Recorder => {
  let seen: Array<Statement> = []
  const methods = new Set<PropertyKey>(["execute", "first", "executeRaw", "executeUnprepared"])
  const told = new WeakMap<object, object>()
  const tell = <C extends object>(connection: C): C => {
    let watched = told.get(connection)
    if (watched === undefined) {
      watched = new Proxy(connection, {
        get: (target, property) => {
          const value: unknown = Reflect.get(target, property)
          if (!methods.has(property) || typeof value !== "function") return value
          return (sql: string, params: ReadonlyArray<unknown>, ...rest: ReadonlyArray<unknown>) =>
            Effect.suspend(() => {
              seen.push({ sql, params: [...params] })
              return value.call(target, sql, params, ...rest)
            })
        }
      })
      told.set(connection, watched)
    }
    return watched as C
  }
  return {
    client: new Proxy(client, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property)
        if (property === "reserve") return Effect.map(target.reserve, tell)
        if (property === "connection" && typeof value === "object" && value !== null) return tell(value)
        return value
      }
    }),
    take: () => {
      const taken = seen
      seen = []
      return taken
    }
  }
}

/** Size of the parameters as sent: characters of texts, bytes, eight per number. */
export const bytesOf = (statements: ReadonlyArray<Statement>): number => {
  let bytes = 0
  for (const { params } of statements) {
    for (const param of params) {
      if (typeof param === "string" || param instanceof Uint8Array) bytes += param.length
      else if (Array.isArray(param)) for (const text of param) bytes += String(text).length
      else if (param !== null) bytes += 8
    }
  }
  return bytes
}

/** A parameter that is serialized to JSON when sent. */
class Json {
  constructor(readonly value: unknown) {}
}

const isJson = (text: unknown): text is string =>
  typeof text === "string" && (text.startsWith("{") || text.startsWith("["))

/**
 * A statement for a driver, with JSON texts replaced by their values, so that the driver's side serializes them too.
 */
export interface Prepared {
  readonly sql: string
  readonly params: () => Array<unknown>
}

export const prepare = ({ params, sql }: Statement): Prepared => {
  const made = params.map((param) => (isJson(param) ? new Json(JSON.parse(param)) : param))
  return { sql, params: () => made.map((param) => (param instanceof Json ? JSON.stringify(param.value) : param)) }
}

/** Parses the JSON texts of rows, as a client would. Returns their number. */
export const readRows = (rows: ReadonlyArray<Readonly<Record<string, unknown>>>): number => {
  let read = 0
  for (const row of rows) {
    for (const column in row) {
      const value = row[column]
      if (isJson(value)) JSON.parse(value)
      read++
    }
  }
  return read
}
