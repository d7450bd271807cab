import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RedisClient from "../../src/persistence/redis/RedisClient.js"
import * as RedisMemoryStore from "../../src/persistence/redis/RedisMemoryStore.js"
import * as RedisRateLimitStore from "../../src/persistence/redis/RedisRateLimitStore.js"
import * as RedisSessionStore from "../../src/persistence/redis/RedisSessionStore.js"
import { ref, session } from "../../src/testing/session/SessionFixtures.js"
import { isKept, some, wayTo } from "../../src/testing/session/SessionStoreCase.js"
import * as Bundle from "../support/Bundle.js"
import * as Programs from "../support/Programs.js"
import type { Done, Input } from "../support/programs/RedisWriter.js"
import * as RedisTests from "../support/RedisTests.js"
import * as RedisWriters from "../support/RedisWriters.js"
import * as TestServers from "../support/TestServers.js"

const available = await TestServers.redis()
const names = ["a", "b", "c", "d"]

TestServers.suite("redis", available, (server) => {
  it.scopedLive(
    "shares limits, a session and the memory of one owner between four processes without excess, loss or duplicates",
    () =>
      Effect.gen(function* () {
        const prefix = `processes ${process.pid}`
        const client = yield* RedisClient.make({ url: RedisTests.urlOf(server) })
        const redis = Effect.provideService(RedisClient.RedisClient, client)
        const sessions = yield* redis(RedisSessionStore.make({ prefix }))
        const memory = yield* redis(RedisMemoryStore.make({ prefix }))
        const rates = yield* redis(RedisRateLimitStore.make({ prefix }))
        yield* sessions.create({ session: session(RedisWriters.sessionId) })

        const file = yield* Bundle.make("RedisWriter")
        const processes = yield* Effect.forEach(names, (name) =>
          Programs.start(file, { url: server.url, prefix, name } satisfies Input)
        )
        const done: Array<Done> = []
        for (const { hear } of processes) done.push(yield* hear)

        const sum = done.reduce((total, { allowed }) => total + allowed, 0)
        assert.strictEqual(sum, 500)
        assert.strictEqual(yield* rates.peek({ key: "k", windowMs: RedisWriters.windowMs }), 500)

        const kept = some(yield* sessions.load(RedisWriters.sessionId), "the session")
        yield* isKept(sessions, kept)
        assert.strictEqual(kept.depth, 100)
        const turns = yield* wayTo(sessions, kept.head ?? ref("none", "none"))
        const expected = names.flatMap((name) => Array.from({ length: 25 }, (_, n) => `${name}-${n}`))
        assert.deepStrictEqual([...turns].sort(), expected.sort())

        assert.deepStrictEqual(
          done.map(({ found }) => found),
          [25, 25, 25, 25]
        )
        const entries = yield* memory.count(RedisWriters.owner, {})
        assert.strictEqual(entries, 100)
      }),
    300_000
  )
})
