/** Opens and closes Redis clients, once while the server stops, and reports sockets and timers. */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly url: string
  readonly port: number
}

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length

Programs.main<Input>(({ hear, input: { port, url }, say }) =>
  Effect.gen(function* () {
    const sockets = (): number =>
      (process as unknown as { _getActiveHandles: () => ReadonlyArray<unknown> })
        ._getActiveHandles()
        .filter((handle) => handle instanceof Net.Socket && handle.remotePort === port).length
    const before = timers()
    const client = RedisClient.make({ url: Redacted.make(url), commandTimeout: 200 })
    const closed = yield* Effect.scoped(
      Effect.gen(function* () {
        const redis = yield* client
        yield* redis.health
        yield* say({ sockets: sockets() })
        return redis
      })
    )
    yield* say({ sockets: sockets(), reason: (yield* Effect.flip(closed.health)).reason })
    yield* Effect.scoped(
      Effect.gen(function* () {
        const redis = yield* client
        yield* say("stop the server")
        yield* hear
        yield* Effect.flip(redis.health)
      })
    )
    yield* say({ sockets: sockets(), newTimers: Math.max(0, timers() - before) })
  })
)
