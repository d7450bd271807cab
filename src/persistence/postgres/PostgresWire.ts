/**
 * The wire of a `pg` client: closing a silent connection, and canceling the statement of another connection.
 *
 * @private
 * @since 0.1.0
 */
import type * as Pg from "pg"
import type { Library } from "./PostgresSettings.js"

/**
 * Members of a `pg` connection that its types lack.
 *
 * @category models
 */
export interface Wire {
  readonly stream: {
    readonly destroyed: boolean
    readonly destroy: () => void
    readonly setTimeout: (millis: number) => void
    readonly once: (event: "timeout", listener: () => void) => void
    readonly off: (event: "timeout", listener: () => void) => void
  }
  readonly connect: (port: number | string, host?: string) => void
  readonly requestSsl: () => void
  readonly cancel: (processID: number, secretKey: number) => void
  readonly on: (event: "connect" | "sslconnect" | "error" | "end", listener: () => void) => void
  readonly off: (event: "end", listener: () => void) => void
}

/**
 * @category models
 */
export type Client = Pg.PoolClient & {
  readonly connection: Wire
  readonly processID: number | null
  readonly secretKey: number | null
  /** Absent in the oldest supported version of `pg`. */
  readonly getTransactionStatus?: () => "I" | "T" | "E" | null
}

/** Milliseconds that the server may be silent while a connection or a statement is being ended. */
const patience = 5_000

/**
 * @category accessors
 */
export const wireOf = (client: Pg.ClientBase): Wire => (client as unknown as Client).connection

/**
 * Destroys the socket if the server is silent for too long. The result undoes that.
 *
 * @category finalizers
 */
export const destroyWhenSilent = (wire: Wire): (() => void) => {
  const { stream } = wire
  const destroy = () => stream.destroy()
  stream.once("timeout", destroy)
  stream.setTimeout(patience)
  return () => {
    stream.off("timeout", destroy)
    stream.setTimeout(0)
  }
}

/**
 * Closes a connection gracefully, or destroys it after a timeout.
 *
 * @category finalizers
 */
export const end = (client: Pg.Client): Promise<void> => {
  destroyWhenSilent(wireOf(client))
  return client.end()
}

/**
 * Asks the server, through a new connection, to cancel the statement of a client. `done` is called when the server has
 * received the request.
 *
 * @category cancellation
 */
export const requestCancel = (pg: Library, client: Client, done: (reached: boolean) => void): void => {
  const { host, port, processID, secretKey, ssl } = client
  if (processID === null || secretKey === null) {
    done(false)
    return
  }
  const wire = new pg.Connection({ ssl } as never) as unknown as Wire
  let sent = false
  const send = () => {
    sent = true
    wire.cancel(processID, secretKey)
  }
  wire.on("connect", () => (ssl ? wire.requestSsl() : send()))
  wire.on("sslconnect", send)
  wire.on("error", () => wire.stream.destroy())
  // The server closes the connection without a reply.
  wire.on("end", () => done(sent))
  destroyWhenSilent(wire)
  if (host.startsWith("/")) wire.connect(`${host}/.s.PGSQL.${port}`)
  else wire.connect(port, host)
}
