import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Cluster, Redis } from "ioredis"
import pg from "pg"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Processes from "../support/Processes.js"
import * as Keeper from "../support/servers/Keeper.js"
import * as Lines from "../support/servers/Lines.js"
import * as TcpProxy from "../support/servers/TcpProxy.js"
import * as TestServers from "../support/TestServers.js"

const setup = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`create table parents (id int primary key);
      create table children (id int primary key, parent int not null references parents (id));
      create table lexigram_migrations (id int primary key);
      insert into lexigram_migrations values (1)`)
)

const [database, vectors, redis, cluster] = await Promise.all([
  PostgresServer.database({ setup }),
  PostgresServer.vectorDatabase(),
  TestServers.redis(),
  TestServers.redisCluster()
])

const query = (connectionString: string, text: string): Effect.Effect<ReadonlyArray<any>> =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  })

const connection = (options: { readonly host: string; readonly port: number; readonly database: number }) =>
  Effect.acquireRelease(
    Effect.sync(() => new Redis({ host: options.host, port: options.port, db: options.database })),
    (client) => Effect.sync(() => client.disconnect())
  )

/** A keeper whose temporary files are in a folder of the test, and one connection to it. */
const keeper = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "keeper-"))
      Fs.chmodSync(folder, 0o755)
      return folder
    }),
    (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
  )
  const started = yield* Effect.acquireRelease(
    Effect.sync(() => Keeper.start({ ...process.env, TMPDIR: folder })),
    (keeper) => Effect.promise(keeper.end)
  )
  const port = yield* Effect.promise(() => started.port)
  const socket = yield* Effect.async<Net.Socket>((resume) => {
    const socket = Net.connect(port, "127.0.0.1", () => resume(Effect.succeed(socket)))
  })
  socket.on("error", () => undefined)
  const ask = (message: Readonly<Record<string, unknown>>) =>
    Effect.async<any>((resume) => {
      Lines.receive(socket, ({ value }) => resume(Effect.succeed(value)))
      Lines.send(socket, { id: 0, durable: false, settings: {}, files: {}, ...message })
    })
  const left = () => Fs.readdirSync(folder).filter((name) => name.startsWith("lexigram-servers"))
  return { ...started, ask, folder, left, socket }
})

const refused = (port: number) =>
  Effect.async<boolean>((resume) => {
    const socket = Net.connect(port, "127.0.0.1", () => {
      socket.destroy()
      resume(Effect.succeed(false))
    })
    socket.on("error", () => resume(Effect.succeed(true)))
  })

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe("a missing backend", () => {
  it("fails when backends are required, unless it is omitted on purpose", () => {
    const all = { LEXIGRAM_REQUIRE_BACKENDS: "1" }
    assert.strictEqual(TestServers.withoutBackend("redis", {}), "skipped")
    assert.strictEqual(TestServers.withoutBackend("redis", all), "failed")
    const some = { ...all, LEXIGRAM_SKIP_BACKENDS: "pgvector, redis" }
    assert.strictEqual(TestServers.withoutBackend("redis", some), "skipped")
    assert.strictEqual(TestServers.withoutBackend("redisCluster", some), "skipped")
    assert.strictEqual(TestServers.withoutBackend("postgres", some), "failed")
  })
})

TestServers.suite("postgres", database, ({ empty, kept, layer, schema, url }) => {
  for (const turn of ["first", "second"]) {
    it.effect(`starts the ${turn} case with empty tables and its version`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* sql`select * from parents`, [])
        assert.deepStrictEqual(yield* sql`select * from children`, [])
        assert.deepStrictEqual(yield* sql`select id from lexigram_migrations`, [{ id: 1 }])
        yield* sql`insert into parents values (1)`
        yield* sql`insert into children values (1, 1)`
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("keeps the rows for a second view and for another client", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* empty
      yield* sql`insert into parents values (7)`
      assert.deepStrictEqual(yield* Effect.provide(sql`select id from parents`, kept), [{ id: 7 }])
      assert.deepStrictEqual(yield* query(url, "select id, current_schema() as schema from parents"), [
        { id: 7, schema }
      ])
    }).pipe(Effect.provide(kept))
  )

  it.effect("sorts by the rules of a language", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`select x from (values ('B'), ('a'), ('C')) t (x) order by x`
      assert.deepStrictEqual(
        rows.map(({ x }) => x),
        ["a", "B", "C"]
      )
    }).pipe(Effect.provide(kept))
  )

  it.scopedLive("starts a server of its own that keeps confirmed writes when killed", () =>
    Effect.gen(function* () {
      const server = yield* TestServers.ownPostgres()
      yield* query(server.url, "create table kept (id int); insert into kept values (1)")
      yield* server.stop("kill")
      const refused = yield* Effect.exit(query(server.url, "select 1"))
      assert.strictEqual(refused._tag, "Failure")
      yield* server.start
      assert.deepStrictEqual(yield* query(server.url, "select * from kept"), [{ id: 1 }])
    })
  )

  it.scopedLive("cuts, loses and refuses connections in between", () =>
    Effect.gen(function* () {
      const server = new URL(url)
      const proxy = yield* TcpProxy.make({ host: server.hostname, port: Number(server.port) })
      server.port = String(proxy.port)
      assert.deepStrictEqual(yield* query(server.href, "select 1 as one"), [{ one: 1 }])
      const client = new pg.Client({ connectionString: server.href })
      client.on("error", () => undefined)
      yield* Effect.promise(() => client.connect())
      const waiting = client.query("select pg_sleep(20)").then(
        () => "answered",
        () => "cut"
      )
      yield* proxy.cut
      assert.strictEqual(yield* Effect.promise(() => waiting), "cut")
      yield* proxy.cutAnswers
      assert.strictEqual((yield* Effect.exit(query(server.href, "select 1")))._tag, "Failure")
      yield* proxy.resume
      yield* proxy.refuse
      assert.strictEqual((yield* Effect.exit(query(server.href, "select 1")))._tag, "Failure")
      yield* proxy.accept
      assert.deepStrictEqual(yield* query(server.href, "select 1 as one"), [{ one: 1 }])
    })
  )
})

TestServers.suite("postgres", database, () => {
  it.scopedLive(
    "ends with the connection of the file that started it, and with the run",
    () =>
      Effect.gen(function* () {
        const { ask, end, folder, left, pid, socket } = yield* keeper
        const own = yield* ask({ operation: "ownPostgres" })
        const shared = yield* ask({ operation: "postgres" })
        assert.strictEqual(left().length, 1)
        socket.destroy()
        const homes = () => Fs.readdirSync(Path.join(folder, left()[0] as string, "postgres", "home"))
        yield* Processes.eventually(() => homes().length === 2)
        assert.isTrue(yield* refused(own.port))
        assert.isFalse(yield* refused(shared.port))
        yield* Effect.promise(end)
        assert.isTrue(yield* refused(shared.port))
        assert.deepStrictEqual([alive(pid), left()], [false, []])
      }),
    300_000
  )

  it.scopedLive(
    "ends on request while it starts",
    () =>
      Effect.gen(function* () {
        const { ask, ended, left, pid } = yield* keeper
        yield* Effect.fork(ask({ operation: "postgres" }))
        yield* Processes.eventually(() => left().length === 1)
        process.kill(pid, "SIGTERM")
        yield* Effect.promise(() => ended)
        assert.deepStrictEqual([alive(pid), left()], [false, []])
      }),
    300_000
  )
})

TestServers.suite("pgvector", vectors, ({ layer }) => {
  it.effect("finds the nearest", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create table points (id int, at vector(2))`
      yield* sql`insert into points values (1, '[0,1]'), (2, '[1,0]')`
      yield* sql`create index on points using hnsw (at vector_cosine_ops)`
      assert.deepStrictEqual(yield* sql`select id from points order by at <=> '[0.9,0.1]' limit 1`, [{ id: 2 }])
    }).pipe(Effect.provide(layer))
  )
})

TestServers.suite("redis", redis, (server) => {
  it.scopedLive("stores and returns", () =>
    Effect.gen(function* () {
      const client = yield* connection(server)
      yield* Effect.promise(() => client.set("key", "value"))
      assert.strictEqual(yield* Effect.promise(() => client.get("key")), "value")
    })
  )

  it.scopedLive("starts a server of its own that keeps confirmed writes when killed", () =>
    Effect.gen(function* () {
      const server = yield* TestServers.ownRedis()
      const client = yield* connection(server)
      client.on("error", () => undefined)
      yield* Effect.promise(() => client.set("key", "value"))
      yield* server.stop("kill")
      yield* server.start
      assert.strictEqual(yield* Effect.promise(() => client.get("key")), "value")
    })
  )
})

TestServers.suite("redisCluster", cluster, (nodes) => {
  it.scopedLive("spreads keys over its masters", () =>
    Effect.gen(function* () {
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => new Cluster(nodes.map(({ host, port }) => ({ host, port })))),
        (client) => Effect.sync(() => client.disconnect())
      )
      for (const key of ["a", "b", "c", "d"]) yield* Effect.promise(() => client.set(key, key))
      assert.strictEqual(yield* Effect.promise(() => client.get("c")), "c")
      const crossing = yield* Effect.promise(() => client.mget("a", "b").catch((error) => String(error)))
      assert.include(String(crossing), "CROSSSLOT")
    })
  )
})
