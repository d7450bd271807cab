import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as RedisSessionStore from "../../../src/persistence/redis/RedisSessionStore.js"
import * as RedisText from "../../../src/persistence/redis/RedisText.js"
import type * as SessionStore from "../../../src/session/turn/SessionStore.js"
import { behind, ref, session, sessionId, turnsOf } from "../../../src/testing/session/SessionFixtures.js"
import {
  checkpointed,
  created,
  forked,
  isKept,
  restored,
  said,
  some,
  wayTo
} from "../../../src/testing/session/SessionStoreCase.js"
import * as SessionStoreSuite from "../../../src/testing/session/SessionStoreSuite.js"
import * as BrokenExchanges from "../../support/BrokenExchanges.js"
import * as RedisTests from "../../support/RedisTests.js"
import * as RedisWriters from "../../support/RedisWriters.js"
import * as TcpProxy from "../../support/servers/TcpProxy.js"
import * as TestServers from "../../support/TestServers.js"

const available = await TestServers.redis()
const cluster = await TestServers.redisCluster()

const stores = (options: RedisClient.Options) => {
  let count = 0
  return Layer.provide(
    Layer.suspend(() => RedisSessionStore.layer({ prefix: `sessions ${process.pid} ${count++}` })),
    RedisTests.connection(options)
  )
}

TestServers.suite("redis", available, (server) => {
  const url = RedisTests.urlOf(server)
  const redis = RedisTests.connection({ url })
  const fresh = stores({ url })

  describe("sessions in Redis", () => {
    for (const one of SessionStoreSuite.cases) {
      it.effect(one.name, () => SessionStoreSuite.check(one, fresh), 300_000)
    }
  })

  describe("a session store in Redis", () => {
    let count = 0
    const test = (
      name: string,
      body: (
        store: SessionStore.Service,
        client: RedisClient.Service,
        prefix: string
      ) => Effect.Effect<void, unknown, Scope.Scope>
    ) =>
      it.scopedLive(
        name,
        () =>
          Effect.gen(function* () {
            const client = yield* RedisClient.RedisClient
            const prefix = `store {${count++}}`
            yield* body(yield* RedisSessionStore.make({ prefix }), client, prefix)
          }).pipe(Effect.provide(redis)),
        120_000
      )

    const keysOf = Effect.fnUntraced(function* (client: RedisClient.Service, prefix: string) {
      const found = new Set<string>()
      yield* client.scan(RedisText.tag(prefix), (keys) => Effect.sync(() => keys.forEach((key) => void found.add(key))))
      return found
    })

    test("stores turns whose ids look like their separators", (store) =>
      Effect.gen(function* () {
        const ids = ["{", '{"id":1}', "}", "{}", "\ud7ff", "\ue000"]
        const parent = yield* said(store, yield* created(store, session("{p")), ...ids)
        const fork = yield* said(store, yield* forked(store, parent, "{b}", ref("{p", "{")), ...ids)
        for (const id of ids) {
          assert.strictEqual(some(yield* store.turn(ref("{p", id)), id).content, `${id} of {p`)
          assert.strictEqual(some(yield* store.turn(ref("{b}", id)), id).content, `${id} of {b}`)
        }
        assert.deepStrictEqual(yield* wayTo(store, fork.head), ["{", ...ids])
      }))

    test("leaves no key when everything is deleted in any order", (store, client, prefix) =>
      Effect.gen(function* () {
        const turns = ["t1", "t2", "t3", "t4"]
        for (const order of [
          ["a", "b", "c", "d"],
          ["d", "c", "b", "a"],
          ["b", "d", "a", "c"]
        ]) {
          const first = yield* said(store, yield* created(store, session("a")), ...turns)
          const second = yield* said(store, yield* forked(store, first, "b", ref("a", "t3")), ...turns)
          const third = yield* checkpointed(
            store,
            yield* said(store, yield* forked(store, second, "c", ref("b", "t1")), ...turns),
            "k"
          )
          yield* said(store, yield* restored(store, yield* said(store, third, "t5"), "k"), "t6")
          yield* forked(store, first, "d", ref("a", "t2"))
          assert.isAbove((yield* keysOf(client, prefix)).size, 10)
          for (const id of order) assert.isTrue(yield* store.delete(sessionId(id)))
          assert.deepStrictEqual(yield* keysOf(client, prefix), new Set())
        }
      }))

    test("marks the other open exchanges when one cannot be read", (store, client, prefix) =>
      BrokenExchanges.check(store, (exchanges) =>
        Effect.forEach(exchanges, ({ owner, runId, sessionId }) =>
          client.command("hset", `${RedisText.tag(prefix)}:e:${sessionId}`, runId, `${owner}\0{`)
        )
      ))

    test("sees nothing of a store with another prefix", (store) =>
      Effect.gen(function* () {
        yield* created(store, session("s"))
        for (const prefix of ["", "store", "store {0", "}", "%"]) {
          const other = yield* RedisSessionStore.make({ prefix })
          assert.deepStrictEqual(yield* other.load(sessionId("s")), Option.none())
        }
      }).pipe(Effect.provide(redis)))

    test("makes one call to add a turn, and one to read 500", (_, client) =>
      Effect.gen(function* () {
        const asked: Array<number> = []
        const counting: RedisClient.Service = {
          ...client,
          command: (name, ...args) =>
            Effect.suspend(() => {
              asked.push(0)
              return client.command(name, ...args)
            }),
          evaluate: (script, keys, args) =>
            Effect.suspend(() => {
              asked.push(args.reduce((sum: number, arg) => sum + String(arg).length, 0))
              return client.evaluate(script, keys, args)
            })
        }
        const store = yield* Effect.provideService(
          RedisSessionStore.make({ prefix: "counted" }),
          RedisClient.RedisClient,
          counting
        )
        const during = <A, E>(effect: Effect.Effect<A, E>) =>
          Effect.suspend(() => {
            asked.length = 0
            return Effect.map(effect, (value) => [value, [...asked]] as const)
          })
        let one = yield* created(store, session("s", { variables: { large: "x".repeat(100_000) } }))
        const sizes: Array<number> = []
        for (let n = 1000; n < 2200; n++) {
          const [after, trips] = yield* during(said(store, one, `t${n}`))
          assert.strictEqual(trips.length, 1)
          sizes.push(trips[0] as number)
          one = after
        }
        // All but the first, which has no parent.
        assert.isAtMost(Math.max(...sizes.slice(1)) - Math.min(...sizes.slice(1)), 20)
        const head = one.head ?? ref("none", "none")
        for (const [limit, most] of [
          [1, 1],
          [500, 1],
          [501, 2],
          [1200, 3]
        ] as const) {
          const [turns, trips] = yield* during(store.turns(head, { limit }))
          assert.strictEqual(turns.length, limit)
          assert.isAtMost(trips.length, most)
        }
        const [, loads] = yield* during(store.load(sessionId("s")))
        assert.strictEqual(loads.length, 1)
      }).pipe(Effect.provide(redis)))

    test("loses and duplicates no turn of 64 fibers that add 20 each to one session", (store) =>
      Effect.gen(function* () {
        yield* created(store, session("s"))
        const writer = yield* RedisWriters.writerOf(store)
        const ids = Array.from({ length: 1280 }, (_, n) => `${n % 64}-${Math.floor(n / 64)}`)
        yield* Effect.forEach(ids, (id) => RedisWriters.said(writer, sessionId("s"), id), { concurrency: 64 })
        const kept = some(yield* store.load(sessionId("s")), "the session")
        assert.deepStrictEqual([kept.depth, kept.revision], [1280, 1280])
        const way = yield* store.turns(kept.head ?? ref("none", "none"), { limit: 4000 })
        assert.deepStrictEqual(way.map(({ id }) => String(id)).sort(), [...ids].sort())
      }))

    test("does not repeat a write whose answer is lost", (direct, _, prefix) =>
      Effect.gen(function* () {
        const proxy = yield* TcpProxy.make(server)
        const client = yield* RedisClient.make({ host: proxy.host, port: proxy.port, db: server.database })
        const store = yield* Effect.provideService(RedisSessionStore.make({ prefix }), RedisClient.RedisClient, client)
        const one = yield* created(store, session("s"))
        const turns = turnsOf(one, ["t1"])
        yield* proxy.cutAnswers
        const error = yield* Effect.flip(store.append({ session: behind(one, turns), turns }))
        assert.strictEqual(error._tag, "SessionStorageError")
        yield* proxy.resume
        yield* RedisTests.eventually(Effect.isSuccess(client.health))
        const kept = some(yield* direct.load(one.id), "the session")
        assert.deepStrictEqual([kept.revision, kept.depth], [1, 1])
        const writer = yield* RedisWriters.writerOf(store)
        yield* RedisWriters.said(writer, one.id, "t1")
        yield* isKept(store, kept)
      }))

    test("waits for an interrupted write until the command timeout, but not for an interrupted read", (_, __, prefix) =>
      Effect.gen(function* () {
        const proxy = yield* TcpProxy.make(server)
        const storeWith = (commandTimeout: number) =>
          RedisClient.make({ host: proxy.host, port: proxy.port, db: server.database, commandTimeout }).pipe(
            Effect.flatMap((client) =>
              Effect.provideService(RedisSessionStore.make({ prefix }), RedisClient.RedisClient, client)
            )
          )
        const store = yield* storeWith(400)
        const patient = yield* storeWith(3_600_000)
        yield* proxy.stall
        const waiting = yield* Effect.fork(patient.create({ session: session("w") }))
        const limited = yield* Effect.fork(store.create({ session: session("s") }))
        const read = yield* Effect.fork(patient.load(sessionId("s")))
        yield* Effect.sleep(20)
        const interrupting = yield* Effect.fork(Fiber.interrupt(waiting))
        assert.isTrue(Exit.isFailure(yield* Fiber.interrupt(limited)))
        yield* Fiber.interrupt(read)
        assert.deepStrictEqual(yield* Fiber.poll(interrupting), Option.none())
        yield* proxy.resume
        yield* Fiber.join(interrupting)
      }))

    test("loses no confirmed turn when the server is killed repeatedly", () =>
      Effect.gen(function* () {
        const own = yield* TestServers.ownRedis()
        const client = yield* RedisClient.make({ url: RedisTests.urlOf(own), commandTimeout: 1000 })
        const store = yield* Effect.provideService(RedisSessionStore.make(), RedisClient.RedisClient, client)
        yield* created(store, session("s"))
        const writer = yield* RedisWriters.writerOf(store)
        const confirmed: Array<string> = []
        let failures = 0
        let isDone = false
        const adding = Effect.gen(function* () {
          for (let n = 0; !isDone; n++) {
            const id = `t${n}`
            // The same turn until it is there: one whose answer was lost is found, and not added twice.
            yield* RedisWriters.said(writer, sessionId("s"), id).pipe(
              Effect.tapError(() => Effect.sync(() => failures++)),
              Effect.retry(Schedule.spaced(20))
            )
            confirmed.push(id)
          }
        })
        const fiber = yield* Effect.fork(adding)
        for (let times = 0; times < 3; times++) {
          yield* Effect.sleep(150)
          yield* own.stop("kill")
          yield* Effect.sleep(50)
          yield* own.start
        }
        yield* RedisTests.eventually(Effect.isSuccess(client.health))
        yield* Effect.sleep(100)
        isDone = true
        yield* Fiber.join(fiber)
        const kept = some(yield* store.load(sessionId("s")), "the session")
        assert.deepStrictEqual(yield* wayTo(store, kept.head), confirmed)
        assert.isAbove(confirmed.length, 10)
        assert.isAbove(failures, 0)
      }))

    test("rejects a write as a whole when the server is full", () =>
      Effect.gen(function* () {
        const own = yield* TestServers.ownRedis({
          durable: false,
          settings: { maxmemory: "4mb", "maxmemory-policy": "noeviction" }
        })
        const client = yield* RedisClient.make({ url: RedisTests.urlOf(own) })
        const store = yield* Effect.provideService(RedisSessionStore.make(), RedisClient.RedisClient, client)
        let one = yield* created(store, session("s"))
        const confirmed: Array<string> = []
        let refusal: unknown
        while (refusal === undefined) {
          const id = `t${confirmed.length}`
          const turns = turnsOf(one, [id]).map((turn) => ({ ...turn, content: "x".repeat(100_000) }))
          const next = behind(one, turns)
          const result = yield* Effect.either(store.append({ session: next, turns }))
          if (Either.isLeft(result)) refusal = result.left.cause
          else {
            one = next
            confirmed.push(id)
          }
          assert.isBelow(confirmed.length, 100)
        }
        assert.strictEqual((refusal as { readonly reason?: unknown }).reason, "full")
        yield* isKept(store, one)
        assert.deepStrictEqual(yield* wayTo(store, one.head), confirmed)
        assert.isTrue(yield* store.delete(one.id))
        yield* created(store, session("s"))
      }))

    test("fails without showing stored data", (store, client, prefix) =>
      Effect.gen(function* () {
        yield* created(store, session("hidden-id", { metadata: { a: "hidden-text" } }))
        yield* client.command("hset", `${RedisText.tag(prefix)}:s:hidden-id`, "j", '{"id":"hidden-text"')
        yield* client.command("set", `${RedisText.tag(prefix)}:s:hidden-other`, "hidden-text")
        for (const id of ["hidden-id", "hidden-other"]) {
          const error = yield* Effect.flip(store.load(sessionId(id)))
          assert.strictEqual(error._tag, "SessionStorageError")
          assert.notInclude(inspect(error, { depth: 20, showHidden: true }), "hidden")
        }
      }))
  })
})

/** The same code as on one server, and thousands of round trips each. */
const long = [
  "agrees with a simple model after any sequence of operations",
  "concurrent saves each win one revision",
  "reads ten thousand turns by windows",
  "deletes a session with ten thousand turns"
]

TestServers.suite("redisCluster", cluster, (nodes) => {
  const fresh = stores({ url: nodes.map(RedisTests.urlOf) })

  describe("sessions in a cluster of Redis", () => {
    for (const one of SessionStoreSuite.cases) {
      if (!long.includes(one.name)) it.effect(one.name, () => SessionStoreSuite.check(one, fresh), 300_000)
    }
  })
})
