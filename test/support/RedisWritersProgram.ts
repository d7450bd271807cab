/** One of several processes that write to the same stores: `url prefix name`. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as RedisClient from "../../src/persistence/RedisClient.js"
import * as RedisMemoryStore from "../../src/persistence/RedisMemoryStore.js"
import * as RedisRateLimitStore from "../../src/persistence/RedisRateLimitStore.js"
import * as RedisSessionStore from "../../src/persistence/RedisSessionStore.js"
import { said, sessionId, stored, windowMs, writerOf } from "./RedisWriters.js"

const program = Effect.fnUntraced(function* (prefix: string, name: string) {
  const sessions = yield* Effect.flatMap(RedisSessionStore.make({ prefix }), writerOf)
  const memory = yield* RedisMemoryStore.make({ prefix })
  const rates = yield* RedisRateLimitStore.make({ prefix })
  let allowed = 0
  for (let n = 0; n < 300; n++) {
    if ((yield* rates.take({ key: "k", amount: 1, limit: 500, windowMs })).allowed) allowed++
  }
  for (let n = 0; n < 50; n++) yield* said(sessions, sessionId, `${name}-${n}`)
  const found = yield* stored(memory, name, 50)
  return { allowed, found }
})

const [url, prefix, name] = process.argv.slice(2) as [string, string, string]
Effect.runPromise(program(prefix, name).pipe(Effect.provide(RedisClient.layer({ url: Redacted.make(url) })))).then(
  (done) => console.log(JSON.stringify(done)),
  (error: unknown) => {
    console.error(error)
    process.exitCode = 1
  }
)
