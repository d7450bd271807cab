/**
 * Real servers for tests: Postgres, Redis, Postgres with pgvector. The first test file that requests one starts it; all
 * end with the run (`servers/`). An unavailable server is a `Missing` with the reason: its tests are reported as
 * skipped, or fail where backends are required.
 *
 * `TEST_PG_URL`, `TEST_REDIS_URL` and `TEST_PGVECTOR_URL` name running servers.
 * `LEXIGRAM_SKIP_BACKENDS="redis,pgvector,chromium"` skips the named ones; `LEXIGRAM_REQUIRE_BACKENDS=1` makes any other missing
 * backend a failure.
 *
 * ```ts
 * const redis = await TestServers.redis()
 * TestServers.suite("redis", redis, (server) => {
 *   it.effect("answers", () => Effect.gen(function* () { ... server.url ... }))
 * })
 *
 * it.scoped("outlives a crash", () =>
 *   Effect.gen(function* () {
 *     const server = yield* TestServers.ownPostgres()
 *     const proxy = yield* TcpProxy.make(server)
 *     ...
 *     yield* server.stop("kill")
 *     yield* server.start
 *   }))
 * ```
 */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { afterAll, describe, inject, it } from "vitest"
import * as Lines from "./servers/Lines.js"

export interface Available<A> {
  readonly _tag: "Available"
  readonly server: A
}

export interface Missing {
  readonly _tag: "Missing"
  readonly reason: string
}

export type Backend<A> = Available<A> | Missing

export interface PostgresAddress {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
  readonly url: string
}

export interface RedisAddress {
  readonly host: string
  readonly port: number
  /** A number unique to the test file, if the server was started for the run. */
  readonly database: number
  readonly url: string
}

/** A server of one test. The scope ends it and removes its files. */
export interface Own {
  /** Restarts on the same port with the same files. */
  readonly start: Effect.Effect<void>
  /** `kill`: none of its processes continues. `immediate`: cuts its connections and ends. `fast`: ends in order. */
  readonly stop: (mode: "kill" | "immediate" | "fast") => Effect.Effect<void>
}

export interface OwnOptions {
  /** True if confirmed data survives a crash, as in production. Default: true. */
  readonly durable?: boolean | undefined
  /** Server settings by their own names. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** Files in its data folder, by name; Postgres only. */
  readonly files?: Readonly<Record<string, string>> | undefined
}

type Name = "postgres" | "redis" | "redisCluster" | "pgvector" | "chromium"

const leftOut = (name: Name, env: NodeJS.ProcessEnv): boolean =>
  (env.LEXIGRAM_SKIP_BACKENDS ?? "")
    .split(",")
    .some((left) => left.trim() === (name === "redisCluster" ? "redis" : name))

/** What happens to the tests of a missing backend. */
export const withoutBackend = (name: Name, env: NodeJS.ProcessEnv): "skipped" | "failed" =>
  env.LEXIGRAM_REQUIRE_BACKENDS === "1" && !leftOut(name, env) ? "failed" : "skipped"

const connected = (port: number): Promise<Net.Socket> =>
  new Promise((resolve, reject) => {
    const socket = Net.connect(port, "127.0.0.1", () => resolve(socket))
    socket.on("error", reject)
  })

const askSetup = async (message: unknown): Promise<any> => {
  const socket = await connected(inject("testServers"))
  try {
    return await new Promise((resolve, reject) => {
      Lines.receive(socket, resolve)
      socket.on("error", reject)
      socket.on("close", () => reject(new Error("the setup of the tests has ended")))
      Lines.send(socket, message)
    })
  } finally {
    socket.destroy()
  }
}

/** The folder of the built page of the studio. */
export const studioPage = async (): Promise<string> => {
  const { error, folder } = await askSetup({ operation: "studio" })
  if (error !== undefined) throw new Error(error)
  return folder
}

interface Line {
  readonly ask: (message: Readonly<Record<string, unknown>>) => Promise<any>
  readonly end: () => void
}

let line: Promise<Line> | undefined

const keeper = (): Promise<Line> => {
  line ??= (async () => {
    const { error, port } = await askSetup({ operation: "keeper" })
    if (error !== undefined) throw new Error(error)
    const socket = await connected(port)
    const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
    let ids = 0
    Lines.receive(socket, (message) => {
      const asked = waiting.get(message.id)
      waiting.delete(message.id)
      if (waiting.size === 0) socket.unref()
      if (message.error === undefined) asked?.resolve(message.value)
      else asked?.reject(new Error(message.error))
    })
    socket.on("close", () => {
      for (const { reject } of waiting.values()) reject(new Error("the keeper of the servers has ended"))
    })
    socket.unref()
    return {
      end: () => void socket.destroy(),
      ask: (message) =>
        new Promise((resolve, reject) => {
          const id = ids++
          waiting.set(id, { resolve, reject })
          socket.ref()
          Lines.send(socket, { ...message, id })
        })
    }
  })()
  return line
}

let holders = 0

/**
 * Closing its connection returns the file's servers to the keeper: the process continues with other files, and another
 * file may be waiting.
 */
const holdLine = (): void => {
  holders++
  afterAll(async () => {
    if (--holders > 0) return
    const known = line
    line = undefined
    ;(await known?.catch(() => undefined))?.end()
  })
}

const ask = async (message: Readonly<Record<string, unknown>>): Promise<any> => (await keeper()).ask(message)

const had = async <A>(name: Name, variable: string | undefined, given: (url: URL) => A): Promise<Backend<A>> => {
  if (leftOut(name, process.env)) return { _tag: "Missing", reason: "named in LEXIGRAM_SKIP_BACKENDS" }
  holdLine()
  try {
    const url = variable === undefined ? undefined : process.env[variable]
    const server = url ? given(new URL(url)) : ((await ask({ operation: name })) as A)
    return { _tag: "Available", server }
  } catch (error) {
    return { _tag: "Missing", reason: error instanceof Error ? error.message : String(error) }
  }
}

const postgresUrl = (url: URL): PostgresAddress => ({
  host: url.hostname,
  port: Number(url.port || 5432),
  username: decodeURIComponent(url.username),
  password: decodeURIComponent(url.password),
  database: url.pathname.slice(1),
  url: url.href
})

const redisUrl = (url: URL): RedisAddress => ({
  host: url.hostname,
  port: Number(url.port || 6379),
  database: Number(url.pathname.slice(1) || 0),
  url: url.href
})

/** The Postgres server of the run. `PostgresServer.database` creates databases in it. */
export const postgres = (): Promise<Backend<PostgresAddress>> => had("postgres", "TEST_PG_URL", postgresUrl)

/**
 * The Postgres server with pgvector. One test file has it at a time, others wait. With PGlite, all connections share
 * one session (settings, prepared statements, temporary tables), and no statement can be cancelled: use a pool of one
 * connection.
 */
export const pgvector = (): Promise<Backend<PostgresAddress>> => had("pgvector", "TEST_PGVECTOR_URL", postgresUrl)

/**
 * The Redis server of the run, with a database for the file. Channels are shared by all databases: use unique names.
 */
export const redis = (): Promise<Backend<RedisAddress>> => had("redis", "TEST_REDIS_URL", redisUrl)

/** Three masters that share the slots. It is shared by all files: prefix the keys. */
export const redisCluster = (): Promise<Backend<ReadonlyArray<RedisAddress>>> =>
  had<ReadonlyArray<RedisAddress>>("redisCluster", undefined, () => [])

const own =
  <A>(operation: "ownPostgres" | "ownRedis") =>
  (options: OwnOptions = {}): Effect.Effect<A & Own, never, Scope.Scope> =>
    Effect.map(
      Effect.acquireRelease(
        Effect.promise(() =>
          ask({
            operation,
            durable: options.durable ?? true,
            settings: options.settings ?? {},
            files: options.files ?? {}
          })
        ),
        ({ handle }) => Effect.promise(() => ask({ operation: "remove", handle }))
      ),
      ({ handle, ...address }) => ({
        ...(address as A),
        start: Effect.promise(() => ask({ operation: "start", handle })),
        stop: (mode) => Effect.promise(() => ask({ operation: "stop", handle, mode }))
      })
    )

/** A Postgres server for one test, started from the package whatever `TEST_PG_URL` says. */
export const ownPostgres: (options?: OwnOptions) => Effect.Effect<PostgresAddress & Own, never, Scope.Scope> =
  own<PostgresAddress>("ownPostgres")

/** A Redis server for one test. Call it in a suite of `redis`, which checks availability. */
export const ownRedis: (options?: OwnOptions) => Effect.Effect<RedisAddress & Own, never, Scope.Scope> =
  own<RedisAddress>("ownRedis")

/**
 * Registers the tests of a backend. If it is missing, one test is skipped with the reason, or fails where backends are
 * required.
 */
export const suite = <A>(name: Name, backend: Backend<A>, tests: (server: A) => void): void => {
  if (backend._tag === "Available") {
    describe(name, () => tests(backend.server))
    return
  }
  const { reason } = backend
  describe(`${name} is not there`, () => {
    it(reason, async (test) => {
      if (withoutBackend(name, process.env) === "failed") throw new Error(`${name}: ${reason}`)
      await askSetup({ operation: "missing", name, reason })
      test.skip(reason)
    })
  })
}
