/**
 * Opens and closes an `ioredis` client, sends commands and waits for reconnects.
 *
 * Timeouts use the system clock instead of the `Clock` in context, because a server does not stop with a test clock.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { Cluster, Redis, RedisOptions } from "ioredis"
import * as Deadline from "../../internal/fiber/Deadline.js"
import { atServers, type DatabaseError, PersistenceConfigurationError } from "../engine/PersistenceError.js"
import type { Place } from "./RedisAddress.js"
import * as RedisAddress from "./RedisAddress.js"
import * as RedisFailure from "./RedisFailure.js"
import type { Argument, Script } from "./RedisScript.js"

type Client = Redis | Cluster
type Library = Pick<typeof import("ioredis"), "Redis" | "Cluster">

/**
 * @category models
 */
export interface Options extends RedisAddress.Given {
  /** PEM of the certificate authority that signed the server's certificate, if Node does not know it. */
  readonly ca?: string | undefined
  /** Name of the connection in `CLIENT LIST`. Default: `effect-lexigram`. */
  readonly connectionName?: string | undefined
  /** How long building the layer waits for the server. Default: 10 seconds. */
  readonly connectTimeout?: Duration.DurationInput | undefined
  /** Time limit of a command, including the wait for a connection. Default: 5 seconds. */
  readonly commandTimeout?: Duration.DurationInput | undefined
}

/**
 * @category models
 */
export interface Connection {
  readonly isCluster: boolean
  readonly send: <A>(command: (redis: Client) => Promise<A>) => Effect.Effect<A, DatabaseError>
  readonly evaluate: (
    script: Script,
    keys: ReadonlyArray<string>,
    args: ReadonlyArray<Argument>
  ) => Effect.Effect<unknown, DatabaseError>
  readonly scan: <E, R>(
    prefix: string,
    each: (keys: ReadonlyArray<string>) => Effect.Effect<void, E, R>
  ) => Effect.Effect<void, E | DatabaseError, R>
}

/** Time limit for closing a socket gracefully. */
const CLOSING_MS = 100

/** Time until a closed socket is reported as such. */
const CLOSED_MS = 5

/** Keys that a server scans in one step. */
const SCANNED = 1000

/** Half of the longest timer, because some timeouts are doubled. */
const MAX_MS = 2 ** 30

const machine = Clock.make()

const timer = (given: Duration.DurationInput): number => Math.min(MAX_MS, Math.max(1, Duration.toMillis(given)))

/** Times out even if the caller is uninterruptible. */
const within = <A, E>(effect: Effect.Effect<A, E>, millis: number): Effect.Effect<A, E | DatabaseError> =>
  Effect.withClock(
    Deadline.run(() => effect, { whole: millis, onTimeout: () => RedisFailure.of("unreachable") }),
    machine
  )

/**
 * @category constructors
 */
export const load = (modules: () => Promise<Library>): Effect.Effect<Library, PersistenceConfigurationError> =>
  Effect.tryPromise({
    try: modules,
    catch: (cause) =>
      new PersistenceConfigurationError({
        message: "Redis needs the package ioredis, which could not be loaded",
        hint: "npm install ioredis@5",
        cause
      })
  })

const backoff = (attempts: number): number => Math.min(50 * 2 ** Math.min(attempts, 10), 2000)

const start = (library: Library, place: Place, options: Options, connectMs: number, commandMs: number): Client => {
  const [first] = place.nodes
  const shared: RedisOptions = {
    ...(first.username === undefined ? {} : { username: first.username }),
    ...(first.password === undefined ? {} : { password: first.password }),
    ...(first.tls ? { tls: options.ca === undefined ? {} : { ca: options.ca } } : {}),
    connectionName: options.connectionName ?? "effect-lexigram",
    connectTimeout: connectMs,
    commandTimeout: commandMs,
    // Drops a connection that is silent for too long.
    socketTimeout: 2 * commandMs,
    disconnectTimeout: CLOSING_MS,
    disableClientInfo: true,
    lazyConnect: true,
    // A command that was sent but not answered may have been executed: it fails at once and is not resent.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false
  }
  if (place.isCluster) {
    return new library.Cluster(
      place.nodes.map(({ host, port }) => ({ host, port })),
      {
        redisOptions: shared,
        lazyConnect: true,
        enableOfflineQueue: false,
        clusterRetryStrategy: backoff,
        // Retries after "Connection is closed." would resend commands.
        retryDelayOnFailover: 0,
        slotsRefreshTimeout: Math.min(commandMs, 1000)
      }
    )
  }
  const { db, host, port } = first
  return new library.Redis({ ...shared, host, port, ...(db === undefined ? {} : { db }), retryStrategy: backoff })
}

/**
 * Wakes the fibers that wait for the connection, and keeps the last connection error.
 */
class Watch {
  private readonly waiting = new Set<() => void>()
  last: unknown

  constructor(readonly redis: Client) {
    // Without a listener ioredis writes to the console.
    redis.on("error", (error: unknown) => {
      this.last = error
    })
    redis.on("ready", () => {
      const woken = Array.from(this.waiting)
      this.waiting.clear()
      for (const wake of woken) wake()
    })
  }

  /** Completes the next time the connection is ready. */
  readonly ready: Effect.Effect<void> = Effect.async((resume) => {
    const wake = () => resume(Effect.void)
    this.waiting.add(wake)
    return Effect.sync(() => this.waiting.delete(wake))
  })
}

const connect = (watch: Watch, connectMs: number): Effect.Effect<void, DatabaseError> =>
  within(
    Effect.tryPromise({
      try: () => watch.redis.connect(),
      catch: (error) => RedisFailure.fromError(watch.last ?? error)
    }),
    connectMs
  )

/**
 * Connects to every node of a cluster. Otherwise the first command for a node connects, and concurrent ones fail.
 */
const reach = (watch: Watch, connectMs: number): Effect.Effect<void, DatabaseError> =>
  "nodes" in watch.redis
    ? within(
        Effect.forEach(
          watch.redis.nodes("all"),
          (node) =>
            Effect.promise(() => (node.status === "wait" ? node.connect().catch(() => undefined) : Promise.resolve())),
          { discard: true }
        ),
        connectMs
      )
    : Effect.void

const close = ({ redis }: Watch): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (redis.status === "end") return Effect.void
    const ended = Effect.async<void>((resume) => void redis.once("end", () => resume(Effect.void)))
    redis.disconnect()
    // A client that never connected emits no "end" event.
    return Deadline.run(() => ended, { whole: 2 * CLOSING_MS, onTimeout: () => undefined }).pipe(
      Effect.ignore,
      Effect.withClock(machine)
    )
  })

const sender = (watch: Watch, isCluster: boolean, commandMs: number): Connection["send"] => {
  const { redis } = watch
  const once = <A>(command: (redis: Client) => Promise<A>): Effect.Effect<A, unknown> =>
    Effect.async((resume) => {
      command(redis).then(
        (value) => resume(Effect.succeed(value)),
        (error: unknown) => resume(Effect.fail(error))
      )
    })
  // "ready" with an unwritable socket: the close event is about to arrive.
  const connected = Effect.suspend(() => (redis.status === "ready" ? Effect.sleep(CLOSED_MS) : watch.ready))
  const later = <A>(command: (redis: Client) => Promise<A>): Effect.Effect<A, DatabaseError> =>
    Effect.zipRight(
      connected,
      Effect.catchAll(once(command), (error) => (isWaiting(error) ? later(command) : failed(error)))
    )
  const isWaiting = (error: unknown): boolean => RedisFailure.isUnsent(error) && redis.status !== "end"
  const failed = (error: unknown) => Effect.fail(RedisFailure.fromError(error))
  const sent = <A>(command: (redis: Client) => Promise<A>): Effect.Effect<A, DatabaseError> =>
    Effect.catchAll(once(command), (error) => (isWaiting(error) ? within(later(command), commandMs) : failed(error)))
  // Redirections and their delays are not part of the time limit of a node.
  return isCluster ? (command) => within(sent(command), commandMs) : sent
}

const escaped = (prefix: string): string => prefix.replace(/[*?[\]\\^]/g, "\\$&")

/**
 * @category constructors
 */
export const open = (
  options: Options
): Effect.Effect<Connection, DatabaseError | PersistenceConfigurationError, Scope.Scope> =>
  Effect.gen(function* () {
    const place = yield* Either.match(RedisAddress.placeOf(options), { onLeft: Effect.fail, onRight: Effect.succeed })
    const library = yield* load(() => import("ioredis"))
    const connectMs = timer(options.connectTimeout ?? "10 seconds")
    const commandMs = timer(options.commandTimeout ?? "5 seconds")
    const { isCluster } = place
    const watch = yield* Effect.acquireRelease(
      Effect.sync(() => new Watch(start(library, place, options, connectMs, commandMs))),
      close
    )
    const named = (error: DatabaseError): DatabaseError => atServers(error, place.nodes)
    yield* Effect.mapError(connect(watch, connectMs), named)
    yield* Effect.mapError(reach(watch, connectMs), named)
    const unnamed = sender(watch, isCluster, commandMs)
    const send: Connection["send"] = (command) => Effect.mapError(unnamed(command), named)

    const evaluate: Connection["evaluate"] = (script, keys, args) =>
      send((redis) => {
        const rest = [keys.length, ...keys, ...args] as Array<string | number>
        return redis.call("evalsha", [script.sha, ...rest]).catch((error: unknown) => {
          if (RedisFailure.isMissingScript(error)) return redis.call("eval", [script.lua, ...rest])
          throw error
        })
      })

    const nodes = Effect.map(
      send(async (redis) => ("nodes" in redis ? redis.nodes("master") : [redis])),
      (all): ReadonlyArray<Redis> => all
    )

    const scan: Connection["scan"] = (prefix, each) =>
      Effect.flatMap(nodes, (all) =>
        Effect.forEach(
          all,
          (node) =>
            Effect.gen(function* () {
              let cursor = "0"
              do {
                const [next, keys] = yield* send(() =>
                  node.scan(cursor, "MATCH", `${escaped(prefix)}*`, "COUNT", SCANNED)
                )
                if (keys.length > 0) yield* each(keys)
                cursor = next
              } while (cursor !== "0")
            }),
          { discard: true }
        )
      )

    return { isCluster, send, evaluate, scan }
  })
