import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import type { MemoryBackend } from "../../../src/memory/entry/MemoryBackend.js"
import * as InMemoryBackend from "../../../src/memory/search/InMemoryBackend.js"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as RedisMemoryStore from "../../../src/persistence/redis/RedisMemoryStore.js"
import * as RedisText from "../../../src/persistence/redis/RedisText.js"
import * as MemoryStores from "../../support/MemoryStores.js"
import * as RedisTests from "../../support/RedisTests.js"
import { entry, owner } from "../../support/RedisWriters.js"
import * as RenewalSuite from "../../support/RenewalSuite.js"
import * as SetClock from "../../support/SetClock.js"
import * as TestServers from "../../support/TestServers.js"

const available = await TestServers.redis()
const cluster = await TestServers.redisCluster()

let made = 0

const stores = (redis: Layer.Layer<RedisClient.RedisClient>, more?: RedisMemoryStore.Options) =>
  Layer.provide(
    Layer.suspend(() => RedisMemoryStore.layer({ prefix: `memory ${process.pid} ${made++}`, ...more })),
    redis
  )

const ids = (from: number, to: number): ReadonlyArray<string> =>
  Array.from({ length: to - from + 1 }, (_, at) => `n${from + at}`)

const everything = (backend: MemoryBackend, of = owner) =>
  Effect.map(backend.page(of, { limit: 10_000, selection: {} }), (entries) => [...entries])

const idsOf = (backend: MemoryBackend, of = owner) =>
  Effect.map(everything(backend, of), (entries) => entries.map(({ id }) => id as string).sort())

TestServers.suite("redis", available, (server) => {
  const url = RedisTests.urlOf(server)
  const redis = RedisTests.connection({ url })
  MemoryStores.suite("Redis", stores(redis))
  RenewalSuite.suite("Redis", (options) => stores(redis, options))
  MemoryStores.suite("Redis that keeps one entry ready", stores(redis, { maxReady: 1 }))

  describe("memory in Redis", () => {
    let count = 0
    /** As many as there are processes. */
    const test = (
      name: string,
      body: (
        mine: MemoryBackend,
        theirs: MemoryBackend,
        client: RedisClient.Service,
        prefix: string
      ) => Effect.Effect<void, unknown, Scope.Scope>
    ) =>
      it.scoped(
        name,
        () =>
          Effect.gen(function* () {
            const prefix = `of {several} ${count++}`
            const client = yield* RedisClient.RedisClient
            const other = yield* RedisClient.make({ url })
            const mine = yield* RedisMemoryStore.makeBackend({ prefix })
            const theirs = yield* Effect.provideService(
              RedisMemoryStore.makeBackend({ prefix }),
              RedisClient.RedisClient,
              other
            )
            yield* body(mine, theirs, client, prefix)
          }).pipe(Effect.provide(redis)),
        300_000
      )

    const keysOf = (client: RedisClient.Service, prefix: string, end = "") =>
      Effect.gen(function* () {
        const found: Array<string> = []
        yield* client.scan(`${RedisText.tag(prefix).slice(0, -1)}:`, (keys) =>
          Effect.sync(() => void found.push(...keys))
        )
        return found.filter((key) => key.endsWith(end)).sort()
      })

    const anId = FastCheck.constantFrom("a", "b", "c", "__proto__", "\ud800", "{").map((id) => EntryId.make(id))
    const anEntry = FastCheck.record({
      id: anId,
      content: FastCheck.constantFrom("the red house", "a red car", "houses and cars", "\u0000\udfff", ""),
      timestamp: FastCheck.nat(3),
      expiresIn: FastCheck.constantFrom(undefined, -1, 5, 10),
      accessCount: FastCheck.constantFrom(undefined, 0, 3),
      lastAccessedAt: FastCheck.constantFrom(undefined, 2, 1_000_000.5)
    })
    const anOperation = FastCheck.record({
      by: FastCheck.boolean(),
      op: FastCheck.oneof(
        {
          weight: 6,
          arbitrary: FastCheck.record({
            delete: FastCheck.array(anId, { maxLength: 2 }),
            store: FastCheck.array(anEntry, { maxLength: 3 })
          })
        },
        { weight: 2, arbitrary: FastCheck.record({ accessed: FastCheck.array(anId, { maxLength: 3 }) }) },
        { weight: 1, arbitrary: FastCheck.constantFrom("clear" as const, "expire" as const, "wait" as const) }
      )
    })

    it.effect(
      "answers as a store in memory for two processes that change one owner in turn",
      () =>
        Effect.promise(() =>
          FastCheck.assert(
            FastCheck.asyncProperty(FastCheck.array(anOperation, { maxLength: 25 }), (operations) => {
              const time = SetClock.make()
              return Effect.gen(function* () {
                const prefix = `model ${count++}`
                const one = yield* RedisMemoryStore.makeBackend({ prefix })
                const two = yield* RedisMemoryStore.makeBackend({ prefix })
                const model = yield* InMemoryBackend.make()
                for (const { by, op } of operations) {
                  const backend = by ? one : two
                  const now = time.now()
                  if (op === "clear") {
                    assert.strictEqual(yield* backend.clear(owner), yield* model.clear(owner))
                  } else if (op === "expire") {
                    yield* backend.expire
                    yield* model.expire
                  } else if (op === "wait") {
                    time.set(now + 5)
                  } else if ("accessed" in op) {
                    yield* backend.recordAccess(owner, op.accessed, now)
                    yield* model.recordAccess(owner, op.accessed, now)
                  } else {
                    const store = op.store.map(({ accessCount, content, expiresIn, id, lastAccessedAt, timestamp }) =>
                      entry(id, {
                        content,
                        timestamp,
                        ...(expiresIn === undefined ? {} : { expiresAt: now + expiresIn }),
                        ...(accessCount === undefined ? {} : { accessCount }),
                        ...(lastAccessedAt === undefined ? {} : { lastAccessedAt })
                      })
                    )
                    const change = { delete: op.delete, store }
                    assert.strictEqual(yield* backend.apply(owner, change), yield* model.apply(owner, change))
                  }
                  const expected = yield* everything(model)
                  const search = { text: "red houses", limit: 10, selection: {} }
                  for (const each of [one, two]) {
                    assert.deepStrictEqual(yield* everything(each), expected)
                    assert.deepStrictEqual(yield* each.lexical(owner, search), yield* model.lexical(owner, search))
                    assert.deepStrictEqual(yield* each.owners({ limit: 10 }), yield* model.owners({ limit: 10 }))
                  }
                }
              }).pipe(Effect.provide(redis), Effect.withClock(time.clock), Effect.runPromise)
            }),
            { numRuns: 30 }
          )
        ),
      300_000
    )

    test("loses nothing that many fibers of two processes store for one owner at once", (mine, theirs) =>
      Effect.gen(function* () {
        yield* Effect.forEach(
          ids(1, 600),
          (id, at) => (at % 2 === 0 ? mine : theirs).apply(owner, { store: [entry(id)] }),
          { concurrency: 64, discard: true }
        )
        for (const each of [mine, theirs]) assert.deepStrictEqual(yield* idsOf(each), [...ids(1, 600)].sort())
        yield* Effect.forEach(
          ids(1, 100),
          (id) => mine.recordAccess(owner, [EntryId.make(id), EntryId.make("n7")], 5),
          {
            concurrency: 16,
            discard: true
          }
        )
        const [seven] = yield* theirs.get(owner, [EntryId.make("n7")])
        assert.strictEqual(seven?.accessCount, 101)
      }))

    test("reads only the changes of another process, and everything when they are too many", (mine, theirs, client, prefix) =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const counting: RedisClient.Service = {
          ...client,
          command: (name, ...args) =>
            Effect.suspend(() => {
              asked.push(name)
              return client.command(name, ...args)
            }),
          evaluate: (...args) =>
            Effect.suspend(() => {
              asked.push("evaluate")
              return client.evaluate(...args)
            })
        }
        const third = yield* Effect.provideService(
          RedisMemoryStore.makeBackend({ prefix }),
          RedisClient.RedisClient,
          counting
        )
        const commands = Effect.fnUntraced(function* () {
          asked.length = 0
          assert.deepStrictEqual(yield* idsOf(third), yield* idsOf(mine))
          return [...asked]
        })
        yield* mine.apply(owner, { store: ids(1, 90).map((id) => entry(id)) })
        assert.include(yield* commands(), "hscan")
        assert.deepStrictEqual(yield* commands(), ["evaluate"])
        yield* theirs.apply(owner, { store: ids(91, 95).map((id) => entry(id)), delete: [EntryId.make("n3")] })
        assert.deepStrictEqual(yield* commands(), ["evaluate"])
        // More of one change than is named.
        yield* theirs.apply(owner, { store: ids(100, 250).map((id) => entry(id)) })
        assert.include(yield* commands(), "hscan")
        // More changes than are told.
        for (const id of ids(251, 900)) yield* theirs.apply(owner, { store: [entry(id)] })
        assert.include(yield* commands(), "hscan")
        assert.deepStrictEqual(yield* commands(), ["evaluate"])
        yield* theirs.clear(owner)
        assert.deepStrictEqual(yield* commands(), ["evaluate"])
      }))

    test("keeps following a server that lost its latest changes", (mine, theirs, client, prefix) =>
      Effect.gen(function* () {
        yield* mine.apply(owner, { store: [entry("a")] })
        yield* mine.apply(owner, { store: [entry("b")] })
        const keys = yield* keysOf(client, prefix, `:${owner}`)
        const kept: Array<readonly [string, Array<string>]> = []
        // What the keys of the owner are made of now: texts, so that they can be written again.
        for (const key of keys) {
          const type = String(yield* client.command("type", key))
          const read =
            type === "hash"
              ? client.command("hgetall", key)
              : type === "list"
                ? client.command("lrange", key, 0, -1)
                : client.command("zrange", key, 0, -1, "withscores")
          const reply: unknown = yield* read
          kept.push([`${type} ${key}`, Array.isArray(reply) ? reply : Object.entries(reply as object).flat()])
        }
        yield* mine.apply(owner, { store: [entry("lost")], delete: [EntryId.make("a")] })
        assert.deepStrictEqual(yield* idsOf(mine), ["b", "lost"])
        for (const [name, values] of kept) {
          const [type, ...rest] = name.split(" ")
          const key = rest.join(" ")
          yield* client.command("del", key)
          if (type === "hash") yield* client.command("hset", key, ...values)
          if (type === "list") yield* client.command("rpush", key, ...values)
        }
        yield* theirs.apply(owner, { store: [entry("c")] })
        assert.deepStrictEqual(yield* idsOf(mine), ["a", "b", "c"])
        yield* theirs.apply(owner, { store: [entry("d")] })
        assert.deepStrictEqual(yield* idsOf(mine), ["a", "b", "c", "d"])
      }))

    test("leaves no key when everything is cleared, deleted or expired", (mine, _, client, prefix) =>
      Effect.gen(function* () {
        const now = yield* TestClock.currentTimeMillis
        const owners = ["cleared", "deleted", "expired", "\ud800", ""].map((name) => `${owner} ${name}`)
        for (const ownerId of owners) {
          yield* mine.apply(ownerId, {
            store: ids(1, 1200).map((id) => entry(id, { ownerId, expiresAt: now + 1000, accessCount: 1 }))
          })
        }
        assert.isAbove((yield* keysOf(client, prefix)).length, 20)
        assert.strictEqual(yield* mine.clear(owners[0] as string), 1200)
        assert.strictEqual(
          yield* mine.apply(owners[1] as string, { delete: ids(1, 1300).map((id) => EntryId.make(id)) }),
          1200
        )
        yield* TestClock.adjust(1000)
        assert.deepStrictEqual(yield* mine.owners({ limit: 10 }), [])
        assert.strictEqual(yield* mine.expire, 3600)
        assert.strictEqual(yield* mine.expire, 0)
        assert.deepStrictEqual(yield* keysOf(client, prefix), [])
      }))

    test("frees expired entries with the next change, without a read", (mine, _, client, prefix) =>
      Effect.gen(function* () {
        const now = yield* TestClock.currentTimeMillis
        yield* mine.apply(owner, { store: ids(1, 50).map((id) => entry(id, { expiresAt: now + 10 })) })
        yield* TestClock.adjust(10)
        yield* mine.apply(owner, { store: [entry("stays")] })
        const [key] = yield* keysOf(client, prefix, `:e:${owner}`)
        assert.strictEqual(yield* client.command("hlen", String(key)), 1)
      }))

    test("skips unreadable values, with a warning that does not show them", (mine, theirs, client, prefix) =>
      Effect.gen(function* () {
        yield* mine.apply(owner, { store: [entry("a"), entry("b")] })
        const key = (yield* keysOf(client, prefix, `:e:${owner}`))[0] ?? ""
        yield* client.command("hset", key, "a", '{"id":"hidden"}', "x", "hidden", "y", "[1]", "z", "null")
        const logged: Array<unknown> = []
        const logger = Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => void logged.push(message))
        )
        assert.deepStrictEqual(yield* Effect.provide(idsOf(theirs), logger), ["b"])
        assert.strictEqual(logged.length, 1)
        assert.include(inspect(logged), "4 entries")
        assert.notInclude(inspect(logged), "hidden")
      }))

    it.scopedLive("fails while Redis is away, and finds everything when it is back", () =>
      Effect.gen(function* () {
        const own = yield* TestServers.ownRedis()
        const client = yield* RedisClient.make({ url: RedisTests.urlOf(own), commandTimeout: 300 })
        const store = yield* Effect.provideService(RedisMemoryStore.make(), RedisClient.RedisClient, client)
        yield* store.store(entry("hidden"))
        yield* own.stop("kill")
        for (const attempt of [store.store(entry("lost")), store.count(owner), store.health]) {
          const error = yield* Effect.flip(attempt)
          assert.strictEqual(error._tag, "StorageError")
          assert.notInclude(inspect(error, { depth: 20, showHidden: true }), "hidden")
        }
        yield* own.start
        yield* RedisTests.eventually(Effect.isSuccess(store.health))
        assert.strictEqual(yield* store.count(owner), 1)
        yield* store.store(entry("again"))
        assert.strictEqual(yield* store.count(owner), 2)
      })
    )
  })
})

TestServers.suite("redisCluster", cluster, (nodes) => {
  MemoryStores.suite("A cluster of Redis", stores(RedisTests.connection({ url: nodes.map(RedisTests.urlOf) })))
})
