import * as Net from "node:net"
import * as Tls from "node:tls"
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { DatabaseError } from "../../../src/persistence/engine/PersistenceError.js"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as RedisConnection from "../../../src/persistence/redis/RedisConnection.js"
import * as RedisScript from "../../../src/persistence/redis/RedisScript.js"
import * as Bundle from "../../support/Bundle.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"
import * as Programs from "../../support/Programs.js"
import * as RedisTests from "../../support/RedisTests.js"
import * as Certificate from "../../support/servers/Certificate.js"
import * as TcpProxy from "../../support/servers/TcpProxy.js"
import * as TestServers from "../../support/TestServers.js"

const available = await TestServers.redis()
const cluster = await TestServers.redisCluster()

const live = (name: string, body: () => Effect.Effect<void, unknown, import("effect/Scope").Scope>, timeout?: number) =>
  it.scopedLive(name, body, timeout)

/** Everything it can be shown as. */
const rendered = (error: DatabaseError): string =>
  [
    JSON.stringify(error),
    JSON.stringify(Schema.encodeSync(DatabaseError)(error)),
    Cause.pretty(Cause.fail(error), { renderErrorCause: true }),
    inspect(error, { depth: 20, showHidden: true }),
    error.stack ?? ""
  ].join("\n")

TestServers.suite("redis", available, (server) => {
  const { port } = server
  const url = RedisTests.urlOf(server)

  describe("a client of Redis", () => {
    live("runs commands and scripts", () =>
      Effect.gen(function* () {
        const redis = yield* RedisClient.make({ url })
        assert.strictEqual(yield* redis.command("set", "key", "ä\u0000日本\u{1f600}"), "OK")
        assert.strictEqual(yield* redis.command("get", "key"), "ä\u0000日本\u{1f600}")
        assert.strictEqual(yield* redis.command("get", "nothing"), null)
        const script = RedisScript.make("return {KEYS[1], ARGV[1] + ARGV[2]}")
        assert.deepStrictEqual(yield* redis.evaluate(script, ["k"], [40, "2"]), ["k", 42])
        yield* redis.health
        assert.isFalse(redis.isCluster)
      })
    )

    live("sends a script again when the server has forgotten it", () =>
      Effect.gen(function* () {
        const redis = yield* RedisClient.make({ url })
        const script = RedisScript.make("return 'of a script'")
        assert.strictEqual(yield* redis.evaluate(script, ["k"], []), "of a script")
        yield* redis.command("script", "flush")
        assert.strictEqual(yield* redis.evaluate(script, ["k"], []), "of a script")
        assert.deepStrictEqual(yield* redis.command("script", "exists", script.sha), [1])
      })
    )

    live("is built from a configuration", () =>
      Effect.gen(function* () {
        const layer = RedisClient.layerConfig({
          url: Config.redacted("REDIS_URL"),
          commandTimeout: Config.duration("TIMEOUT").pipe(Config.withDefault("1 second"))
        })
        const provider = ConfigProvider.fromMap(new Map([["REDIS_URL", server.url]]))
        yield* Effect.flatMap(RedisClient.RedisClient, ({ health }) => health).pipe(
          Effect.provide(layer),
          Effect.withConfigProvider(provider)
        )
        const missing = yield* Effect.flip(Effect.scoped(Layer.build(layer))).pipe(
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map()))
        )
        assert.strictEqual("_op" in missing && missing._op, "MissingData")
      })
    )

    live("uses the database of the URL", () =>
      Effect.gen(function* () {
        const one = yield* RedisClient.make({ url: Redacted.make(`redis://127.0.0.1:${port}/1`) })
        const two = yield* RedisClient.make({ host: "127.0.0.1", port: port, db: 2 })
        yield* one.command("set", "database", "one")
        assert.strictEqual(yield* two.command("get", "database"), null)
        assert.include(String(yield* two.command("client", "info")), "name=effect-lexigram")
      })
    )

    const wrong: ReadonlyArray<readonly [string, RedisClient.Options]> = [
      ["text that is no URL", { url: Redacted.make("not a secret url") }],
      ["a URL of something else", { url: Redacted.make("https://user:secret@example.org") }],
      ["a password that is not encoded", { url: Redacted.make("redis://user:%secret@example.org") }],
      ["a database that is no number", { url: Redacted.make("redis://user:secret@example.org/secret") }],
      [
        "several servers that are no cluster",
        { url: [Redacted.make("redis://a"), Redacted.make("redis://b")], cluster: false }
      ],
      ["no node of a cluster", { url: [] }],
      ["a database of a cluster", { url: [Redacted.make("redis://a/1")] }],
      ["a URL and a host", { url: Redacted.make("redis://a"), host: "b" }],
      ["a URL and a password", { url: Redacted.make("redis://a"), password: Redacted.make("secret") }],
      ["a port that is none", { port: 70_000 }],
      ["a database below 0", { db: -1 }]
    ]
    for (const [name, options] of wrong) {
      live(`rejects ${name} without showing it`, () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(RedisClient.make(options))
          assert.strictEqual(error._tag, "PersistenceConfigurationError")
          assert.notInclude(inspect(error, { depth: 20, showHidden: true }), "secret")
        })
      )
    }

    live("names the missing package", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          RedisConnection.load(() => import("ioredis-that-nobody-installed" as "ioredis"))
        )
        assert.include(error.message, "ioredis")
        assert.strictEqual(error.hint, "npm install ioredis@5")
      })
    )

    live("fails in time without a server, with the address but no credentials", () =>
      Effect.gen(function* () {
        const silent = yield* LoopbackServer.raw(() => undefined)
        const absent = yield* Effect.scoped(
          Effect.map(
            LoopbackServer.raw(() => undefined),
            ({ port }) => port
          )
        )
        for (const port of [silent.port, absent]) {
          for (const cluster of [false, true]) {
            const url = Redacted.make(`redis://somebody:hidden-password@127.0.0.1:${port}/`)
            const error = yield* Effect.flip(
              Effect.scoped(RedisClient.make({ url, cluster, connectTimeout: 300, commandTimeout: 200 }))
            )
            assert.strictEqual(error._tag, "DatabaseError")
            if (error._tag !== "DatabaseError") return
            assert.deepStrictEqual([error.backend, error.reason], ["redis", "unreachable"])
            for (const secret of ["hidden-password", "somebody"]) assert.notInclude(rendered(error), secret)
          }
        }
        const program = yield* Programs.start(yield* Bundle.make("RedisClientRefused"), {
          ports: [silent.port, absent]
        })
        assert.deepStrictEqual(yield* program.hear, new Array(4).fill({ tag: "DatabaseError", sockets: 0 }))
      })
    )

    live("fails when the server rejects the password", () =>
      Effect.gen(function* () {
        const guarded = yield* TestServers.ownRedis({ durable: false, settings: { requirepass: "right-password" } })
        const connect = (password?: string) =>
          Effect.scoped(
            Effect.flatMap(
              RedisClient.make({
                host: "127.0.0.1",
                port: guarded.port,
                ...(password === undefined ? {} : { password: Redacted.make(password) })
              }),
              ({ health }) => health
            )
          )
        yield* connect("right-password")
        for (const password of ["wrong-password", undefined]) {
          const error = yield* Effect.flip(connect(password))
          assert.strictEqual(error._tag, "DatabaseError")
          if (error._tag !== "DatabaseError") return
          assert.strictEqual(error.reason, "refused")
          assert.notInclude(rendered(error), "wrong-password")
        }
      })
    )

    live("uses TLS and rejects untrusted certificates", () =>
      Effect.gen(function* () {
        const { certificate, key } = Certificate.make()
        const seen: Array<string> = []
        const port = yield* Effect.acquireRelease(
          Effect.async<Tls.Server>((resume) => {
            const secure = Tls.createServer({ cert: certificate, key }, (socket) => {
              const plain = Net.connect(server.port, server.host)
              socket.on("data", (data) => seen.push(data.toString()))
              for (const one of [socket, plain]) one.on("error", () => undefined)
              socket.pipe(plain).pipe(socket)
            })
            secure.listen(0, "127.0.0.1", () => resume(Effect.succeed(secure)))
          }),
          (secure) => Effect.async<void>((resume) => void secure.close(() => resume(Effect.void)))
        ).pipe(Effect.map((secure) => (secure.address() as Net.AddressInfo).port))
        const secret = Redacted.make(`rediss://user:hidden-password@127.0.0.1:${port}/`)
        const error = yield* Effect.flip(Effect.scoped(RedisClient.make({ url: secret, ca: undefined })))
        assert.strictEqual(error._tag, "DatabaseError")
        assert.deepStrictEqual(seen, [])
        yield* Effect.scoped(
          Effect.gen(function* () {
            const trusted = [
              { url: Redacted.make(`rediss://127.0.0.1:${port}/`), ca: certificate },
              { host: "localhost", port, tls: true, ca: certificate }
            ]
            for (const options of trusted) yield* Effect.flatMap(RedisClient.make(options), ({ health }) => health)
          })
        )
        assert.include(seen.join(""), "ping")
      })
    )

    live("says why a command fails, without the command", () =>
      Effect.gen(function* () {
        // A server of its own, because it becomes a replica for a moment.
        const own = yield* TestServers.ownRedis({ durable: false })
        const redis = yield* RedisClient.make({ url: RedisTests.urlOf(own) })
        yield* redis.command("set", "hidden key", "hidden value")
        const data = yield* Effect.flip(redis.command("lpush", "hidden key", "hidden element"))
        assert.strictEqual(data.reason, "data")
        const other = yield* Effect.flip(redis.command("hidden-command", "hidden argument"))
        assert.strictEqual(other.reason, "other")
        const script = RedisScript.make("return redis.error_reply('OOM of ' .. ARGV[1])")
        const full = yield* Effect.flip(redis.evaluate(script, ["hidden key"], ["hidden argument"]))
        assert.strictEqual(full.reason, "full")
        yield* redis.command("replicaof", "127.0.0.1", "1")
        const readOnly = yield* Effect.flip(redis.command("set", "hidden key", "hidden value"))
        yield* redis.command("replicaof", "no", "one")
        assert.strictEqual(readOnly.reason, "read-only")
        for (const error of [data, other, full, readOnly]) assert.notInclude(rendered(error), "hidden")
      })
    )
  })

  describe("a server that goes away", () => {
    live("fails commands in time, and is found again when it is back", () =>
      Effect.gen(function* () {
        const going = yield* TestServers.ownRedis({ durable: false })
        const redis = yield* RedisClient.make({ url: RedisTests.urlOf(going), commandTimeout: 400 })
        const script = RedisScript.make("return redis.call('incr', KEYS[1])")
        yield* redis.evaluate(script, ["count"], [])
        yield* going.stop("kill")
        const error = yield* Effect.flip(redis.command("get", "key"))
        assert.strictEqual(error.reason, "unreachable")
        const waiting = yield* Effect.fork(redis.command("get", "key"))
        yield* Effect.yieldNow()
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(waiting)))
        yield* Effect.forEach(Array.from({ length: 100 }), () => Effect.flip(redis.health), {
          concurrency: "unbounded"
        })
        yield* going.start
        yield* RedisTests.eventually(Effect.isSuccess(redis.health))
        // A server that is new knows no scripts.
        assert.strictEqual(yield* redis.evaluate(script, ["count"], []), 1)
      })
    )

    live("runs a command when it is back within the timeout", () =>
      Effect.gen(function* () {
        const going = yield* TestServers.ownRedis({ durable: false })
        const redis = yield* RedisClient.make({ url: RedisTests.urlOf(going), commandTimeout: "15 seconds" })
        yield* redis.health
        yield* going.stop("kill")
        const waiting = yield* Effect.fork(redis.command("set", "key", "value"))
        yield* Effect.sleep(50)
        yield* going.start
        assert.isTrue(Exit.isExit(yield* Fiber.await(waiting)))
        assert.strictEqual(yield* redis.command("set", "key", "value"), "OK")
      })
    )

    live("fails commands in time while silent, and is used again when it continues", () =>
      Effect.gen(function* () {
        const still = yield* TcpProxy.make(server)
        const redis = yield* RedisClient.make({ host: still.host, port: still.port, commandTimeout: 300 })
        yield* redis.command("set", "key", "value")
        yield* still.stall
        for (let times = 0; times < 4; times++) {
          assert.strictEqual((yield* Effect.flip(redis.command("incr", "count"))).reason, "unreachable")
        }
        yield* still.resume
        yield* RedisTests.eventually(Effect.isSuccess(redis.health))
        assert.strictEqual(yield* redis.command("get", "key"), "value")
      })
    )

    live("does not receive again what was sent without an answer", () =>
      Effect.gen(function* () {
        const proxy = yield* TcpProxy.make(server)
        const redis = yield* RedisClient.make({ host: proxy.host, port: proxy.port, db: server.database })
        const direct = yield* RedisClient.make({ url })
        for (let times = 1; times <= 3; times++) {
          yield* proxy.cutAnswers
          const error = yield* Effect.flip(redis.command("incr", "once"))
          assert.strictEqual(error.reason, "unreachable")
          yield* proxy.resume
          yield* RedisTests.eventually(Effect.isSuccess(redis.health))
          assert.strictEqual(yield* direct.command("get", "once"), String(times))
        }
      })
    )

    live("fails only the current commands when connections are cut repeatedly", () =>
      Effect.gen(function* () {
        const proxy = yield* TcpProxy.make(server)
        const redis = yield* RedisClient.make({ host: proxy.host, port: proxy.port, db: server.database })
        const direct = yield* RedisClient.make({ url })
        const cutter = yield* Effect.fork(Effect.forever(Effect.zipRight(proxy.cut, Effect.sleep(40))))
        const done = yield* Effect.forEach(
          Array.from({ length: 120 }),
          () => Effect.zipLeft(Effect.isSuccess(redis.command("incr", "cut")), Effect.sleep(1)),
          { concurrency: 8 }
        )
        yield* Fiber.interrupt(cutter)
        const confirmed = done.filter((is) => is).length
        const kept = Number(yield* direct.command("get", "cut"))
        assert.isAbove(confirmed, 0)
        assert.isAtLeast(kept, confirmed)
        assert.isAtMost(kept, 120)
        yield* redis.health
      })
    )

    live("leaves no socket and no timer after the client closes, even while disconnected", () =>
      Effect.gen(function* () {
        const going = yield* TestServers.ownRedis({ durable: false })
        const program = yield* Programs.start(yield* Bundle.make("RedisClientHandles"), {
          url: going.url,
          port: going.port
        })
        assert.deepStrictEqual(yield* program.hear, { sockets: 1 })
        assert.deepStrictEqual(yield* program.hear, { sockets: 0, reason: "unreachable" })
        assert.strictEqual(yield* program.hear, "stop the server")
        yield* going.stop("kill")
        yield* program.say("stopped")
        assert.deepStrictEqual(yield* program.hear, { sockets: 0, newTimers: 0 })
      })
    )
  })
})

TestServers.suite("redisCluster", cluster, (nodes) => {
  describe("a cluster of Redis", () => {
    live("runs commands and scripts where their keys are, and scans all of it", () =>
      Effect.gen(function* () {
        const redis = yield* RedisClient.make({ url: nodes.map(RedisTests.urlOf) })
        assert.isTrue(redis.isCluster)
        const script = RedisScript.make("return redis.call('set', KEYS[1], ARGV[1])")
        const keys = Array.from({ length: 200 }, (_, index) => `key ${index}`)
        for (const key of keys) yield* redis.evaluate(script, [key], [`of ${key}`])
        for (const key of keys) assert.strictEqual(yield* redis.command("get", key), `of ${key}`)
        const found = new Set<string>()
        yield* redis.scan("key ", (page) =>
          Effect.sync(() => {
            for (const key of page) found.add(key)
          })
        )
        assert.deepStrictEqual([...found].sort(), [...keys].sort())
        yield* redis.health
        const [first] = nodes
        const one = yield* RedisClient.make({ url: RedisTests.urlOf(first!), cluster: true })
        assert.strictEqual(yield* one.command("get", "key 7"), "of key 7")
      })
    )

    live("accepts many commands as soon as it is available", () =>
      Effect.gen(function* () {
        const redis = yield* RedisClient.make({ url: nodes.map(RedisTests.urlOf) })
        const answers = yield* Effect.forEach(
          Array.from({ length: 64 }, (_, index) => index),
          (index) => redis.command("get", `nothing ${index % 3}`),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(answers, new Array(64).fill(null))
      })
    )
  })
})
