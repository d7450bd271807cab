import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { RunId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import type { AuditEntry } from "../../../src/governance/Governance.js"
import * as AuditLog from "../../../src/governance/store/AuditLog.js"
import * as DefaultAuditLog from "../../../src/governance/store/DefaultAuditLog.js"
import * as WatchedRun from "../../support/WatchedRun.js"
import * as AuditLogSuite from "./AuditLogSuite.js"

AuditLogSuite.suite("in memory", DefaultAuditLog.layerMemory())

const listening = () => {
  const lines: Array<{ readonly level: string; readonly message: string; readonly fields: Record<string, unknown> }> =
    []
  const layer = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ annotations, logLevel, message }) => {
      lines.push({ level: logLevel.label, message: String(message), fields: Object.fromEntries(annotations) })
    })
  )
  return { lines, layer }
}

const store = (append: AuditLog.Store["append"], isPersistent = true): AuditLog.Store => ({
  backend: "test",
  isPersistent,
  append,
  read: () => Effect.succeed([])
})

describe("AuditLog", () => {
  it.effect("drops the oldest in memory first", () =>
    Effect.gen(function* () {
      const log = yield* AuditLog.AuditLog
      for (let index = 0; index < 8; index++) yield* log.record({ eventType: "tool_call", tokens: index })
      const events = yield* SystemAccess.grant(log.read())
      assert.deepStrictEqual(
        events.map(({ tokens }) => tokens),
        [7, 6, 5]
      )
    }).pipe(Effect.provide(DefaultAuditLog.layerMemory({ capacity: 3 })))
  )

  it.effect("shares nothing between two memory layers", () =>
    Effect.gen(function* () {
      const layer = () => DefaultAuditLog.layerMemory()
      yield* Effect.provide(
        Effect.flatMap(AuditLog.AuditLog, (log) => log.record({ eventType: "created" })),
        layer()
      )
      const events = yield* Effect.provide(
        Effect.flatMap(AuditLog.AuditLog, (log) => SystemAccess.grant(log.read())),
        layer()
      )
      assert.deepStrictEqual(events, [])
    })
  )

  it.effect("accepts entries of an executor", () =>
    Effect.gen(function* () {
      const log = yield* AuditLog.AuditLog
      const told: AuditEntry = {
        type: "agent_execution",
        runId: RunId.make("r1"),
        agent: "a",
        status: "interrupted",
        latencyMs: 5
      }
      const { type, ...rest } = told
      yield* log.record({ eventType: type, ...rest })
      assert.strictEqual(
        (yield* SystemAccess.grant(log.read({ eventTypes: ["agent_execution"] })))[0]?.status,
        "interrupted"
      )
    }).pipe(Effect.provide(DefaultAuditLog.layerMemory()))
  )

  it.effect("calls hooks for entries, and for persistent logs", () =>
    Effect.gen(function* () {
      const watched = yield* WatchedRun.make
      const kept = DefaultAuditLog.make(store(() => Effect.void))
      yield* watched.inside(kept.record({ eventType: "model_denied" }))
      assert.deepStrictEqual(watched.hooks, [
        { name: "GovernanceAuditRecorded", payload: { eventType: "model_denied" } },
        { name: "GovernancePersistenceWritten", payload: { backend: "test" } }
      ])
      watched.hooks.length = 0
      yield* watched.inside(DefaultAuditLog.make(store(() => Effect.void, false)).record({ eventType: "created" }))
      assert.deepStrictEqual(watched.hooks, [{ name: "GovernanceAuditRecorded", payload: { eventType: "created" } }])
      watched.hooks.length = 0
      yield* watched.inside(DefaultAuditLog.make(store(() => Effect.fail("down"))).record({ eventType: "created" }))
      yield* kept.record({ eventType: "created" })
      assert.deepStrictEqual(watched.hooks, [])
    })
  )

  it.effect("logs a store that fails, dies or throws, without the entry", () =>
    Effect.gen(function* () {
      const { layer, lines } = listening()
      const broken: ReadonlyArray<AuditLog.Store["append"]> = [
        () => Effect.fail({ _tag: "DiskFull", message: "disk full" }),
        () => Effect.die("bug"),
        () => {
          throw new TypeError("thrown")
        }
      ]
      for (const append of broken) {
        const log = DefaultAuditLog.make(store(append))
        yield* Effect.provide(log.record({ eventType: "llm_call", metadata: { note: "between us" } }), layer)
      }
      assert.strictEqual(lines.length, 3)
      assert.strictEqual(lines[0]?.message, "An audit event was not written: disk full")
      assert.deepInclude(lines[0]?.fields, { backend: "test", eventType: "llm_call" })
      assert.notInclude(JSON.stringify(lines), "between us")
    })
  )

  it.effect("waits five seconds, or as configured, for a hanging store", () =>
    Effect.gen(function* () {
      const { layer, lines } = listening()
      let stopped = 0
      const hanging = store(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void stopped++)))
      const fiber = yield* Effect.fork(
        Effect.provide(DefaultAuditLog.make(hanging).record({ eventType: "created" }), layer)
      )
      yield* TestClock.adjust(4999)
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust(1)
      yield* Fiber.join(fiber)
      assert.strictEqual(stopped, 1)
      assert.include(lines[0]?.message, "no end within 5000 ms")
      const short = yield* Effect.fork(
        Effect.provide(DefaultAuditLog.make(hanging, { patience: "10 millis" }).record({ eventType: "created" }), layer)
      )
      yield* TestClock.adjust(10)
      yield* Fiber.join(short)
      assert.strictEqual(stopped, 2)
    })
  )

  it.effect("keeps the interruption of a record", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(DefaultAuditLog.make(store(() => Effect.never)).record({ eventType: "created" }))
      yield* TestClock.adjust(1)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
    })
  )

  it.effect("logs structured lines that cannot be read back", () =>
    Effect.gen(function* () {
      const { layer, lines } = listening()
      const read = yield* Effect.gen(function* () {
        const log = yield* AuditLog.AuditLog
        yield* log.record({ eventType: "rate_limited", status: "denied", model: "m", metadata: { limit: 60 } })
        return yield* SystemAccess.grant(log.read())
      }).pipe(Effect.provide(Layer.merge(DefaultAuditLog.layerLogger, layer)))
      assert.deepStrictEqual(read, [])
      assert.strictEqual(lines.length, 1)
      assert.strictEqual(lines[0]?.level, "INFO")
      assert.strictEqual(lines[0]?.message, "audit rate_limited")
      assert.deepInclude(lines[0]?.fields, {
        eventType: "rate_limited",
        status: "denied",
        model: "m",
        timestamp: 0,
        metadata: { limit: 60 }
      })
    })
  )

  it.effect("records nothing in the no-op log", () =>
    Effect.gen(function* () {
      const log = yield* AuditLog.AuditLog
      assert.isFalse(log.enabled)
      yield* log.record({ eventType: "created" })
      assert.deepStrictEqual(yield* SystemAccess.grant(log.read()), [])
    }).pipe(Effect.provide(AuditLog.layerNoop))
  )
})
