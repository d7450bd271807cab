/**
 * A pool of Postgres connections with exclusive leases. Waits are interruptible and time out, an interrupted statement
 * is canceled on the server, and a connection in an unknown state is not reused.
 *
 * Timeouts are those of `pg` and its sockets, not of Effect's `Clock`, because a network does not stop with a test
 * clock.
 *
 * @private
 * @since 0.1.0
 */
import { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as Pg from "pg"
import type * as Leases from "../engine/Leases.js"
import * as PoolMetrics from "./PoolMetrics.js"
import * as PostgresCursors from "./PostgresCursors.js"
import * as PostgresFailure from "./PostgresFailure.js"
import type { Library, Settings } from "./PostgresSettings.js"
import { type Client, destroyWhenSilent, requestCancel, wireOf } from "./PostgresWire.js"

/** A connection with exclusive use until it is released. */
export interface Lease {
  readonly client: Pg.PoolClient
  /** Overrides the timeout of the settings until the release. 0: no limit. */
  queryTimeoutMillis: number | undefined
  readonly release: () => void
  /** Releases the connection and closes it. */
  readonly discard: () => void
}

/**
 * @category models
 */
export interface PostgresPool {
  readonly pg: Pg.Pool
  /**
   * Must be called uninterruptibly, with the `restore` of the mask; the caller must release the lease. An interruption
   * ends the wait and leaves no lease behind.
   */
  readonly acquire: (restore: Leases.Restore) => Effect.Effect<Lease, SqlError>
  /** Like `acquire`, released by the scope. */
  readonly reserve: Effect.Effect<Lease, SqlError, Scope.Scope>
  /** An interruption cancels the statement on the server and waits until it has ended. */
  readonly query: (lease: Lease, config: Pg.QueryConfig) => Effect.Effect<Pg.QueryResult, SqlError>
  /** The client of a lease, for cursors. */
  readonly forCursors: (lease: Lease) => Pg.PoolClient
  readonly figures: () => PoolMetrics.PoolFigures
  /** Completes when the last connection is closed. Connections not returned in time are destroyed. */
  readonly close: Effect.Effect<void>
}

const failed = (message: string, cause: unknown) => Effect.fail(new SqlError({ message, cause }))

/** The pool of `pg` and its counters. */
interface State {
  readonly pg: Pg.Pool
  readonly settings: Settings
  readonly metrics: PoolMetrics.PoolMetrics
  /** Connections that are not closed yet, and among them those that are not connected yet. */
  readonly open: Set<Client>
  readonly connecting: Set<Client>
  /** Connections whose session settings are set. */
  readonly ready: WeakSet<Pg.PoolClient>
  used: number
  waiting: number
  /** Called when the last connection closes. */
  onEmpty: (() => void) | undefined
  readonly figures: () => PoolMetrics.PoolFigures
  readonly sample: () => void
}

const makeState = (pg: Library, settings: Settings): State => {
  const open = new Set<Client>()
  const connecting = new Set<Client>()
  const metrics = PoolMetrics.make(settings.name)
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
          state.sample()
          if (open.size === 0) state.onEmpty?.()
        })
      }
    }
  })
  const state: State = {
    pg: pool,
    settings,
    metrics,
    open,
    connecting,
    ready: new WeakSet(),
    used: 0,
    waiting: 0,
    onEmpty: undefined,
    figures: () => ({
      size: pool.totalCount,
      idle: pool.idleCount,
      used: state.used,
      waiting: state.waiting,
      max: settings.pool.max ?? 0
    }),
    sample: () => metrics.sampled(state.figures())
  }
  pool.on("connect", (client) => connecting.delete(client as Client))
  pool.on("remove", state.sample)
  // The pool removes an idle connection that breaks. Without a listener the error would end the process.
  pool.on("error", state.sample)
  return state
}

const lend = (state: State, client: Client): Lease => {
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on("error", onError)
  state.used++
  const release = (): void => {
    state.used--
    client.off("error", onError)
    // A transaction that was left open must not continue in the next lease.
    const status = client.getTransactionStatus?.() ?? "I"
    if (broken === undefined && status !== "I") broken = new Error("left in a transaction")
    if (broken !== undefined) wireOf(client).stream.destroy()
    client.release(broken)
    state.sample()
  }
  return {
    client,
    queryTimeoutMillis: undefined,
    release,
    discard: () => {
      broken ??= new Error("not used again")
      release()
    }
  }
}

/** Sets the session of a new connection, then calls `take`. */
const prepare = (
  { ready, settings }: State,
  client: Client,
  take: (client: Client) => void,
  refuse: (error: Error) => void
): void => {
  const onError = () => undefined
  client.on("error", onError)
  const config = { text: settings.session, query_timeout: settings.pool.connectionTimeoutMillis }
  client.query(config, (error: Error | null) => {
    client.off("error", onError)
    if (error) {
      client.connection.stream.destroy()
      client.release(error)
      refuse(error)
    } else {
      ready.add(client)
      take(client)
    }
  })
}

const isExhausted = (error: Error): boolean => error.message === "timeout exceeded when trying to connect"

const refusal = (state: State, error: Error) =>
  failed(
    "Failed to acquire connection",
    isExhausted(error) ? PostgresFailure.exhausted : state.pg.ending ? PostgresFailure.closed : error
  )

/**
 * Only the wait is interruptible, and a lease goes to a variable and not through its result: an interruption between
 * two operations behind the wait would lose it.
 */
const makeAcquire =
  (state: State): PostgresPool["acquire"] =>
  (restore) =>
    Effect.flatMap(Effect.clock, (clock) => {
      const from = clock.unsafeCurrentTimeMillis()
      let isWaiting = false
      let lease: Lease | undefined
      const stopWaiting = () => {
        isWaiting = false
        state.waiting--
      }
      const granted = Effect.async<void, SqlError>((resume) => {
        const refuse = (error: Error) => {
          if (!isWaiting) return
          stopWaiting()
          if (isExhausted(error)) state.metrics.timedOut()
          state.sample()
          resume(refusal(state, error))
        }
        const take = (client: Client) => {
          const lent = lend(state, client)
          if (!isWaiting) return lent.release()
          stopWaiting()
          lease = lent
          state.metrics.waited((clock.unsafeCurrentTimeMillis() - from) / 1000)
          state.sample()
          resume(Effect.void)
        }
        isWaiting = true
        state.waiting++
        state.pg.connect((error, connected) => {
          if (error !== undefined || connected === undefined) return refuse(error ?? PostgresFailure.closed)
          const client = connected as Client
          if (state.settings.session === "" || state.ready.has(client)) take(client)
          else prepare(state, client, take, refuse)
        })
        state.sample()
      })
      const withdraw = Effect.sync(() => {
        lease?.release()
        if (!isWaiting) return
        stopWaiting()
        state.sample()
      })
      return Effect.map(
        Effect.onError(restore(granted), () => withdraw),
        () => lease as Lease
      )
    })

const makeQuery =
  (pg: Library, settings: Settings): PostgresPool["query"] =>
  (lease, config) =>
    Effect.async((resume) => {
      const client = lease.client as Client
      const limit = lease.queryTimeoutMillis ?? settings.queryTimeoutMillis
      let done = false
      let onDone: (() => void) | undefined
      const answered = (error: Error | null | undefined, result: Pg.QueryResult) => {
        done = true
        // The answer may still arrive and would be taken for that of the next statement.
        if (error?.message === "Query read timeout") client.connection.stream.destroy()
        onDone?.()
        resume(error ? failed("Failed to execute statement", error) : Effect.succeed(result))
      }
      client.query((limit > 0 ? { ...config, query_timeout: limit } : config) as Pg.QueryConfig, answered)
      return Effect.async<void>((resume) => {
        if (done) return resume(Effect.void)
        let isCanceled = false
        const release = destroyWhenSilent(client.connection)
        const finish = () => {
          if (!(done && isCanceled)) return
          release()
          resume(Effect.void)
        }
        onDone = finish
        requestCancel(pg, client, (reached) => {
          isCanceled = true
          if (!reached) client.connection.stream.destroy()
          finish()
        })
      })
    })

const makeCursors =
  (pg: Library): PostgresPool["forCursors"] =>
  (lease) => {
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

const makeClose = (state: State): Effect.Effect<void> => {
  const { connecting, open } = state
  const closed = Effect.async<void>((resume) => {
    if (open.size === 0) return resume(Effect.void)
    state.onEmpty = () => resume(Effect.void)
  })

  return Effect.gen(function* () {
    void state.pg.end()
    for (const client of connecting) client.connection.stream.destroy()
    // Runs in its own fiber: the closing fiber may be interrupted already, and a timeout would have no effect.
    const late = Effect.sync(() => {
      for (const client of open) client.connection.stream.destroy()
    })
    const timer = yield* Effect.forkDaemon(
      Effect.interruptible(Effect.delay(late, state.settings.closeTimeoutMillis || Infinity))
    )
    yield* closed
    yield* Fiber.interrupt(timer)
  }).pipe(Effect.withClock(Clock.make()), Effect.ensuring(Effect.sync(state.sample)))
}

/**
 * @category constructors
 */
export const make = (pg: Library, settings: Settings): PostgresPool => {
  const state = makeState(pg, settings)
  const acquire = makeAcquire(state)
  return {
    pg: state.pg,
    acquire,
    reserve: Effect.uninterruptibleMask((restore) =>
      Effect.tap(acquire(restore), (lease) => Effect.addFinalizer(() => Effect.sync(lease.release)))
    ),
    query: makeQuery(pg, settings),
    forCursors: makeCursors(pg),
    figures: state.figures,
    close: makeClose(state)
  }
}
