/**
 * Connections to Postgres, lent one by one: a wait that can be interrupted and ends in time, a statement that is
 * cancelled when its fiber is interrupted, and no connection that is given on in a doubtful state.
 *
 * Times are those of `pg` and of its sockets, not of Effect's `Clock`: a network does not wait for a clock that
 * somebody holds.
 *
 * @internal
 * @since 0.1.0
 */
import { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as Pg from "pg"
import * as PoolMetrics from "./PoolMetrics.js"
import * as PostgresCursors from "./PostgresCursors.js"
import * as PostgresFailure from "./PostgresFailure.js"
import type { Library, Settings } from "./PostgresSettings.js"

/** What `pg` has and its types do not tell. */
interface Wire {
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

type Client = Pg.PoolClient & {
  readonly connection: Wire
  readonly processID: number | null
  readonly secretKey: number | null
  /** Later than the first version that is supported. */
  readonly getTransactionStatus?: () => "I" | "T" | "E" | null
}

/** A connection that belongs to one alone until it is released. */
export interface Lease {
  readonly client: Pg.PoolClient
  /** Instead of that of the settings, until it is released; 0: no limit. */
  queryTimeoutMillis: number | undefined
  readonly release: () => void
}

/**
 * @category models
 */
export interface PostgresPool {
  readonly pg: Pg.Pool
  /** To be released by the one who has it. Who is interrupted while waiting has none. */
  readonly acquire: Effect.Effect<Lease, SqlError>
  /** The same until the scope ends. */
  readonly reserve: Effect.Effect<Lease, SqlError, Scope.Scope>
  /** When it is interrupted the server is told to stop, and the end comes when it has. */
  readonly query: (lease: Lease, config: Pg.QueryConfig) => Effect.Effect<Pg.QueryResult, SqlError>
  /** The client of a lease, for cursors. */
  readonly forCursors: (lease: Lease) => Pg.PoolClient
  readonly figures: () => PoolMetrics.PoolFigures
  /** Returns when the last connection is closed. What is not given back in time is taken away. */
  readonly close: Effect.Effect<void>
}

/** How long the other side may be silent while something is being ended. */
const patience = 5_000

const wireOf = (client: Pg.ClientBase): Wire => (client as unknown as Client).connection

const destroyWhenSilent = (wire: Wire): (() => void) => {
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
 * Closes a connection in order, or at least in time.
 *
 * @category finalizers
 */
export const end = (client: Pg.Client): Promise<void> => {
  destroyWhenSilent(wireOf(client))
  return client.end()
}

/** Asks the server, by a connection of its own, to stop what another one does. `done` comes when it has taken note. */
const requestCancel = (pg: Library, client: Client, done: (reached: boolean) => void): void => {
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
  // The server closes it without a word.
  wire.on("end", () => done(sent))
  destroyWhenSilent(wire)
  if (host.startsWith("/")) wire.connect(`${host}/.s.PGSQL.${port}`)
  else wire.connect(port, host)
}

const failed = (message: string, cause: unknown) => Effect.fail(new SqlError({ message, cause }))

/**
 * @category constructors
 */
export const make = (pg: Library, settings: Settings): PostgresPool => {
  const metrics = PoolMetrics.make(settings.name)
  /** Those that are not closed yet, and of them those that are not connected yet. */
  const open = new Set<Client>()
  const connecting = new Set<Client>()
  const pool = new pg.Pool({
    ...settings.pool,
    Client: class extends pg.Client {
      constructor(config?: Pg.ClientConfig) {
        super(config)
        const client = this as unknown as Client
        open.add(client)
        connecting.add(client)
        client.once("end", () => {
          open.delete(client)
          connecting.delete(client)
          sample()
          if (open.size === 0) onEmpty?.()
        })
      }
    }
  })
  const ready = new WeakSet<Pg.PoolClient>()
  let used = 0
  let waiting = 0
  let onEmpty: (() => void) | undefined

  const figures = (): PoolMetrics.PoolFigures => ({
    size: pool.totalCount,
    idle: pool.idleCount,
    used,
    waiting,
    max: settings.pool.max ?? 0
  })
  const sample = () => metrics.sampled(figures())

  pool.on("connect", (client) => connecting.delete(client as Client))
  pool.on("remove", sample)
  // An idle connection that breaks is taken out of the pool; without a listener it would end the process.
  pool.on("error", sample)

  const lend = (client: Client): Lease => {
    let broken: Error | undefined
    const onError = (error: Error) => {
      broken = error
    }
    client.on("error", onError)
    used++
    return {
      client,
      queryTimeoutMillis: undefined,
      release: () => {
        used--
        client.off("error", onError)
        // Who left a transaction open cannot want the next one to go on with it.
        const status = client.getTransactionStatus?.() ?? "I"
        if (broken === undefined && status !== "I") broken = new Error("left in a transaction")
        if (broken !== undefined) wireOf(client).stream.destroy()
        client.release(broken)
        sample()
      }
    }
  }

  const acquire = Effect.flatMap(Effect.clock, (clock) =>
    Effect.async<Lease, SqlError>((resume) => {
      const from = clock.unsafeCurrentTimeMillis()
      let abandoned = false
      let lease: Lease | undefined
      const arrived = () => {
        waiting--
        metrics.waited((clock.unsafeCurrentTimeMillis() - from) / 1000)
      }
      const refuse = (error: Error) => {
        if (abandoned) return
        waiting--
        const exhausted = error.message === "timeout exceeded when trying to connect"
        if (exhausted) metrics.timedOut()
        sample()
        resume(
          failed(
            "Failed to acquire connection",
            exhausted ? PostgresFailure.exhausted : pool.ending ? PostgresFailure.closed : error
          )
        )
      }
      const take = (client: Client) => {
        lease = lend(client)
        if (abandoned) return lease.release()
        arrived()
        sample()
        resume(Effect.succeed(lease))
      }
      waiting++
      pool.connect((error, connected) => {
        if (error !== undefined || connected === undefined) return refuse(error ?? PostgresFailure.closed)
        const client = connected as Client
        if (settings.session === "" || ready.has(client)) return take(client)
        const onError = () => undefined
        client.on("error", onError)
        const config = { text: settings.session, query_timeout: settings.pool.connectionTimeoutMillis }
        client.query(config, (error: Error | null) => {
          client.off("error", onError)
          if (error) {
            client.connection.stream.destroy()
            client.release(error)
            return refuse(error)
          }
          ready.add(client)
          take(client)
        })
      })
      sample()
      return Effect.sync(() => {
        abandoned = true
        if (lease !== undefined) return lease.release()
        waiting--
        sample()
      })
    })
  )

  const reserve = Effect.uninterruptibleMask((restore) =>
    Effect.tap(restore(acquire), (lease) => Effect.addFinalizer(() => Effect.sync(lease.release)))
  )

  const query = (lease: Lease, config: Pg.QueryConfig): Effect.Effect<Pg.QueryResult, SqlError> =>
    Effect.async((resume) => {
      const client = lease.client as Client
      const limit = lease.queryTimeoutMillis ?? settings.queryTimeoutMillis
      let done = false
      let onDone: (() => void) | undefined
      const answered = (error: Error | null | undefined, result: Pg.QueryResult) => {
        done = true
        // The answer may still come, and be taken for that of the next statement.
        if (error?.message === "Query read timeout") client.connection.stream.destroy()
        onDone?.()
        resume(error ? failed("Failed to execute statement", error) : Effect.succeed(result))
      }
      client.query((limit > 0 ? { ...config, query_timeout: limit } : config) as Pg.QueryConfig, answered)
      return Effect.async<void>((resume) => {
        if (done) return resume(Effect.void)
        let told = false
        const release = destroyWhenSilent(client.connection)
        const finish = () => {
          if (!(done && told)) return
          release()
          resume(Effect.void)
        }
        onDone = finish
        requestCancel(pg, client, (reached) => {
          told = true
          if (!reached) client.connection.stream.destroy()
          finish()
        })
      })
    })

  const forCursors = (lease: Lease): Pg.PoolClient => {
    const client = lease.client as Client
    const wire = client.connection
    return PostgresCursors.clientFor(client, {
      isLost: () => wire.stream.destroyed,
      onLost: (listener) => {
        const release = destroyWhenSilent(wire)
        wire.on("end", listener)
        return () => {
          wire.off("end", listener)
          release()
        }
      },
      cancel: () =>
        new Promise((resolve) =>
          requestCancel(pg, client, (reached) => {
            if (!reached) wire.stream.destroy()
            resolve()
          })
        )
    })
  }

  const closed = Effect.async<void>((resume) => {
    if (open.size === 0) return resume(Effect.void)
    onEmpty = () => resume(Effect.void)
  })

  return {
    pg: pool,
    acquire,
    reserve,
    query,
    forCursors,
    figures,
    close: Effect.gen(function* () {
      void pool.end()
      for (const client of connecting) client.connection.stream.destroy()
      // A fiber of its own: the one that closes may be interrupted already, and could not be held to a time.
      const late = Effect.sync(() => {
        for (const client of open) client.connection.stream.destroy()
      })
      const timer = yield* Effect.forkDaemon(
        Effect.interruptible(Effect.delay(late, settings.closeTimeoutMillis || Infinity))
      )
      yield* closed
      yield* Fiber.interrupt(timer)
    }).pipe(Effect.withClock(Clock.make()), Effect.ensuring(Effect.sync(sample)))
  }
}
