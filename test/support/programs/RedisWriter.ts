/**
 * One of several processes that write to the same stores in Redis. It reports its allowed takes and the entries it
 * found.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as RedisMemoryStore from "../../../src/persistence/redis/RedisMemoryStore.js"
import * as RedisRateLimitStore from "../../../src/persistence/redis/RedisRateLimitStore.js"
import * as RedisSessionStore from "../../../src/persistence/redis/RedisSessionStore.js"
import * as Programs from "../Programs.js"
import { said, sessionId, stored, windowMs, writerOf } from "../RedisWriters.js"

export interface Input {
  readonly url: string
  readonly prefix: string
  readonly name: string
}

export interface Done {
  readonly allowed: number
  readonly found: number
}

Programs.main<Input>(({ input: { name, prefix, url }, say }) =>
  Effect.gen(function* () {
    const sessions = yield* Effect.flatMap(RedisSessionStore.make({ prefix }), writerOf)
    const memory = yield* RedisMemoryStore.make({ prefix })
    const rates = yield* RedisRateLimitStore.make({ prefix })
    let allowed = 0
    for (let n = 0; n < 200; n++) {
      if ((yield* rates.take({ key: "k", amount: 1, limit: 500, windowMs })).allowed) allowed++
    }
    for (let n = 0; n < 25; n++) yield* said(sessions, sessionId, `${name}-${n}`)
    yield* say({ allowed, found: yield* stored(memory, name, 25) } satisfies Done)
  }).pipe(Effect.provide(RedisClient.layer({ url: Redacted.make(url) })))
)
