import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import { StorageError } from "../../src/memory/entry/MemoryError.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import type * as SessionConfig from "../../src/session/SessionConfig.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import { NewTurn } from "../../src/session/turn/Session.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as SessionAnalytics from "../../src/session/upkeep/SessionAnalytics.js"
import * as SessionCleanup from "../../src/session/upkeep/SessionCleanup.js"
import * as SystemTest from "../support/SystemTest.js"

const id = SessionId.make("s")
const userId = UserId.make("ada")
const turn = (name: string) =>
  NewTurn.make({ id: TurnId.make(name), role: "user", content: `said in ${name}`, timestamp: 0 })

type Services = Sessions.Out

const kept = <A, E>(config: SessionConfig.Options, program: Effect.Effect<A, E, Services>) =>
  Effect.provide(program, Sessions.layer({ config, cleanup: false }))

const manager = SessionManager.SessionManager

const remembered = (written: Array<string>) =>
  Layer.merge(
    Layer.succeed(WorkingMemory.WorkingMemory, {
      ...WorkingMemory.noop,
      add: (entry) => Effect.sync(() => void written.push(entry.content)),
      flush: ({ sessionId }) => Effect.sync(() => void written.push(`flushed ${sessionId}`))
    }),
    Layer.succeed(MemoryConsolidator.MemoryConsolidator, {
      ...MemoryConsolidator.noop,
      consolidate: (options) =>
        Effect.zipRight(
          Effect.sync(() => void written.push(`consolidated ${options.ownerId}`)),
          MemoryConsolidator.noop.consolidate(options)
        )
    })
  )

describe("Sessions.layer, field by field", () => {
  SystemTest.effect("enabled: false stores nothing", () =>
    Effect.gen(function* () {
      const used = Effect.gen(function* () {
        const sessions = yield* manager
        yield* sessions.create({ id, userId })
        yield* sessions.addTurn(id, turn("t1"))
        const branches = yield* BranchManager.BranchManager
        yield* branches.fork(id)
        assert.strictEqual((yield* (yield* SessionCleanup.SessionCleanup).runOnce).expired, 0)
        return [Option.isSome(yield* sessions.get(id)), (yield* Sessions.health).parts.length] as const
      })
      assert.deepStrictEqual(yield* kept({ enabled: false }, used), [false, 0])
      assert.deepStrictEqual(yield* Effect.provide(used, Sessions.layerNoop), [false, 0])
      assert.deepStrictEqual(yield* kept({}, used), [true, 1])
    })
  )

  SystemTest.effect("name: names the health check and the logs", () =>
    Effect.gen(function* () {
      const report = yield* kept({ name: "support" }, Sessions.health)
      assert.deepStrictEqual(
        report.parts.map(({ name, status }) => [name, status]),
        [["support", "healthy"]]
      )
    })
  )

  SystemTest.effect("defaultSystemPrompt: applies to sessions without a prompt", () =>
    kept(
      { defaultSystemPrompt: "Be brief." },
      Effect.gen(function* () {
        const sessions = yield* manager
        assert.strictEqual((yield* sessions.create()).systemPrompt, "Be brief.")
        assert.strictEqual((yield* sessions.create({ systemPrompt: "Be long." })).systemPrompt, "Be long.")
      })
    )
  )

  SystemTest.effect("sessionTtl: limits how long a session may be idle", () => {
    const expiredAfter = (config: SessionConfig.Options, seconds: number) =>
      kept(
        config,
        Effect.gen(function* () {
          yield* (yield* manager).create({ id, userId })
          yield* TestClock.adjust(`${seconds} seconds`)
          return (yield* (yield* SessionCleanup.SessionCleanup).runOnce).expired
        })
      )
    return Effect.gen(function* () {
      assert.strictEqual(yield* expiredAfter({ sessionTtl: 60 }, 59), 0)
      assert.strictEqual(yield* expiredAfter({ sessionTtl: 60 }, 61), 1)
      assert.strictEqual(yield* expiredAfter({}, 3600), 0)
      assert.strictEqual(yield* expiredAfter({}, 86_401), 1)
      assert.strictEqual(yield* expiredAfter({ sessionTtl: 0 }, 8_640_000), 0)
    })
  })

  SystemTest.effect("cleanupIntervalS: sets when idle sessions expire automatically", () =>
    Effect.gen(function* () {
      const statusAfter = (seconds: number, cleanup: boolean) =>
        Effect.gen(function* () {
          yield* (yield* manager).create({ id, userId })
          yield* TestClock.adjust(`${seconds} seconds`)
          yield* Effect.yieldNow()
          const { sessions } = yield* (yield* manager).list(userId)
          return sessions[0]?.status
        }).pipe(
          Effect.provide(Sessions.layer({ config: { sessionTtl: 1, cleanupIntervalS: 30 }, cleanup })),
          Effect.scoped
        )
      assert.strictEqual(yield* statusAfter(20, true), "active")
      assert.strictEqual(yield* statusAfter(40, true), "expired")
      assert.strictEqual(yield* statusAfter(400, false), "active")
    })
  )

  SystemTest.effect("maxTurnsPerSession: keeps the session open and rejects more turns", () =>
    kept(
      { maxTurnsPerSession: 1 },
      Effect.gen(function* () {
        const sessions = yield* manager
        yield* sessions.create({ id, userId })
        yield* sessions.addTurn(id, turn("t1"))
        assert.strictEqual((yield* Effect.flip(sessions.addTurn(id, turn("t2"))))._tag, "SessionCapacityError")
        assert.strictEqual((yield* sessions.resume(id)).status, "active")
      })
    )
  )

  SystemTest.effect("maxSessionsPerUser: counts sessions and branches together", () =>
    kept(
      { maxSessionsPerUser: 2 },
      Effect.gen(function* () {
        const sessions = yield* manager
        const branches = yield* BranchManager.BranchManager
        yield* sessions.create({ id, userId })
        yield* branches.fork(id)
        assert.strictEqual((yield* Effect.flip(sessions.create({ userId })))._tag, "SessionCapacityError")
        assert.strictEqual((yield* Effect.flip(branches.fork(id)))._tag, "SessionCapacityError")
        yield* sessions.close(id)
        yield* sessions.create({ userId })
      })
    )
  )

  SystemTest.effect("autoCheckpointInterval and maxCheckpointsPerSession: set how many are created and kept", () => {
    const checkpoints = (config: SessionConfig.Options) =>
      kept(
        config,
        Effect.gen(function* () {
          const sessions = yield* manager
          yield* sessions.create({ id, userId })
          for (let at = 0; at < 6; at++) yield* sessions.addTurn(id, turn(`t${at}`))
          return (yield* sessions.checkpoints(id)).map(({ state }) => state.depth)
        })
      )
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* checkpoints({}), [])
      assert.deepStrictEqual(yield* checkpoints({ autoCheckpointInterval: 2 }), [6, 4, 2])
      assert.deepStrictEqual(yield* checkpoints({ autoCheckpointInterval: null }), [])
      assert.deepStrictEqual(yield* checkpoints({ autoCheckpointInterval: 2, maxCheckpointsPerSession: 1 }), [6])
    })
  })

  SystemTest.effect("maxBranchesPerSession: rejects more branches", () =>
    kept(
      { maxBranchesPerSession: 1 },
      Effect.gen(function* () {
        yield* (yield* manager).create({ id, userId })
        const branches = yield* BranchManager.BranchManager
        yield* branches.fork(id)
        assert.strictEqual((yield* Effect.flip(branches.fork(id)))._tag, "SessionCapacityError")
      })
    )
  )

  SystemTest.effect("consolidateOnClose and memory: remember turns and consolidate when the session ends", () =>
    Effect.gen(function* () {
      const used = (consolidateOnClose: boolean) => {
        const written: Array<string> = []
        return Effect.gen(function* () {
          const sessions = yield* manager
          yield* sessions.create({ id, userId })
          yield* sessions.addTurn(id, turn("t1"))
          yield* sessions.close(id)
        }).pipe(
          Effect.provide(Sessions.layer({ config: { consolidateOnClose }, memory: remembered(written) })),
          Effect.as(written)
        )
      }
      assert.deepStrictEqual(yield* used(true), ["said in t1", "flushed s", "consolidated ada"])
      assert.deepStrictEqual(yield* used(false), ["said in t1"])
    })
  )
})

describe("Sessions.layer and its backends", () => {
  const built = (options: Parameters<typeof Sessions.layer>[0]) =>
    Effect.exit(Effect.scoped(Layer.build(Sessions.layer(options as {}))))

  SystemTest.effect("fails for a missing backend and says what to provide", () =>
    Effect.gen(function* () {
      for (const backend of ["cache", "database"] as const) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(Sessions.layer({ config: { backend } }))))
        assert.strictEqual(error._tag, "SessionConfigurationError")
        assert.include(error.message, `"${backend}"`)
        assert.include(error.hint ?? "", "Sessions.layer")
      }
    })
  )

  SystemTest.effect("stores sessions in the given key-value store for cache", () =>
    Effect.gen(function* () {
      const used = Effect.gen(function* () {
        const sessions = yield* manager
        yield* sessions.create({ id, userId })
        yield* sessions.addTurn(id, turn("t1"))
        assert.strictEqual((yield* sessions.turns(id, { last: 5 })).length, 1)
        return yield* Effect.flatMap(KeyValueStore.KeyValueStore, (store) => store.size)
      })
      const keyValue = KeyValueStore.layerMemory
      const size = yield* Effect.provide(
        used,
        Layer.merge(Sessions.layer({ config: { backend: "cache" }, keyValue }), keyValue)
      )
      assert.isAbove(size, 2)
    })
  )

  SystemTest.effect("prefers a store over the backend", () =>
    Effect.gen(function* () {
      const sessions = yield* manager
      yield* sessions.create({ id, userId })
      assert.isTrue(Option.isSome(yield* (yield* SessionStore.SessionStore).load(id)))
    }).pipe(
      Effect.provide(
        Layer.merge(
          Sessions.layer({ config: { backend: "database" }, store: InMemorySessionStore.layer }),
          InMemorySessionStore.layer
        )
      )
    )
  )

  SystemTest.effect("rejects process memory in production", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Sessions.layer({ environment: "production" }))))
      assert.strictEqual(error._tag, "SessionConfigurationError")
      assert.include(error.message, "lost when it ends")
      assert.strictEqual((yield* built({ environment: "development" }))._tag, "Success")
      assert.strictEqual(
        (yield* built({ environment: "production", store: InMemorySessionStore.layer }))._tag,
        "Success"
      )
    })
  )

  SystemTest.effect("fails for an invalid configuration or a store that cannot be built", () =>
    Effect.gen(function* () {
      const wrong = yield* Effect.flip(
        Effect.scoped(Layer.build(Sessions.layer({ config: { maxTurnsPerSession: 0 } })))
      )
      assert.include(wrong.message, "maxTurnsPerSession must be a whole number")
      const failure = new StorageError({ message: "away" })
      const store = Layer.effect(SessionStore.SessionStore, Effect.fail(failure))
      assert.strictEqual(yield* Effect.flip(Effect.scoped(Layer.build(Sessions.layer({ store })))), failure)
    })
  )

  SystemTest.effect("layerConfig reads the environment", () =>
    Effect.gen(function* () {
      const { config } = yield* Sessions.Sessions
      assert.strictEqual(config.maxTurnsPerSession, 7)
      assert.isTrue(Option.isNone(yield* (yield* manager).get(id)))
      assert.strictEqual((yield* (yield* SessionAnalytics.SessionAnalytics).ofUser(userId)).sessions, 0)
    }).pipe(
      Effect.provide(Sessions.layerConfig({ cleanup: false })),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["LEX_AI_SESSION__MAX_TURNS_PER_SESSION", "7"]]))),
      Effect.provide(Logger.remove(Logger.defaultLogger))
    )
  )
})
