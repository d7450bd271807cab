/** What every place an audit log is kept in must do, if it can be read. `layer` starts empty and keeps at least 200 events. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { RunId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as AuditLog from "../../../src/governance/store/AuditLog.js"

export const suite = <E>(name: string, layer: Layer.Layer<AuditLog.AuditLog, E>) => {
  const empty = <A, E2>(effect: Effect.Effect<A, E2, AuditLog.AuditLog>) => Effect.provide(effect, layer)
  const u1 = UserId.make("u1")
  const r1 = RunId.make("r1")

  describe(`AuditLog ${name}`, () => {
    it.effect("returns recorded entries, stamped", () =>
      empty(
        Effect.gen(function* () {
          const log = yield* AuditLog.AuditLog
          yield* TestClock.setTime(1_700_000_000_000)
          const entry = {
            eventType: "llm_call",
            status: "failure",
            provider: "openai",
            model: "gpt-4.1",
            userId: u1,
            agent: "writer",
            runId: r1,
            tokens: 12,
            cost: 0.25,
            latencyMs: 3,
            metadata: { reservation: "x", nested: { list: [1, "two", null] } }
          } satisfies AuditLog.AuditEntry
          yield* log.record(entry)
          const [event] = yield* log.read({ userId: u1 })
          assert.deepInclude(event, { ...entry, timestamp: 1_700_000_000_000 })
          assert.isNotEmpty(event?.eventId)
          const encoded = JSON.stringify(yield* Schema.encode(AuditLog.AuditEvent)(event as AuditLog.AuditEvent))
          assert.deepStrictEqual(yield* Schema.decodeUnknown(AuditLog.AuditEvent)(JSON.parse(encoded)), event)
        })
      )
    )

    it.effect("omits missing fields, with success as the default", () =>
      empty(
        Effect.gen(function* () {
          const log = yield* AuditLog.AuditLog
          yield* log.record({ eventType: "created" })
          const [event] = yield* log.read()
          assert.deepStrictEqual(Object.keys(event ?? {}).sort(), ["eventId", "eventType", "status", "timestamp"])
          assert.strictEqual(event?.status, "success")
        })
      )
    )

    it.effect("reads newest first, also within a millisecond, with unique ids", () =>
      empty(
        Effect.gen(function* () {
          const log = yield* AuditLog.AuditLog
          assert.deepStrictEqual(yield* log.read(), [])
          for (let index = 0; index < 5; index++) {
            yield* log.record({ eventType: "tool_call", tokens: index })
            if (index % 2 === 1) yield* TestClock.adjust(1)
          }
          const events = yield* log.read()
          assert.deepStrictEqual(
            events.map(({ tokens }) => tokens),
            [4, 3, 2, 1, 0]
          )
          assert.strictEqual(new Set(events.map(({ eventId }) => eventId)).size, 5)
        })
      )
    )

    it.effect("requires every field of a filter to match", () =>
      empty(
        Effect.gen(function* () {
          const log = yield* AuditLog.AuditLog
          yield* TestClock.setTime(100)
          yield* log.record({ eventType: "created", tokens: 1 })
          yield* TestClock.setTime(200)
          yield* log.record({ eventType: "llm_call", userId: u1, runId: r1, agent: "a", model: "m", tokens: 2 })
          yield* TestClock.setTime(300)
          yield* log.record({ eventType: "llm_call", status: "denied", userId: u1, tokens: 3 })
          const found = (filter: AuditLog.Filter) =>
            Effect.map(SystemAccess.grant(log.read(filter)), (events) => events.map(({ tokens }) => tokens))
          assert.deepStrictEqual(yield* found({ eventTypes: ["created", "tool_call"] }), [1])
          assert.deepStrictEqual(yield* found({ eventTypes: [] }), [])
          assert.deepStrictEqual(yield* found({ status: "denied" }), [3])
          assert.deepStrictEqual(yield* found({ userId: u1 }), [3, 2])
          assert.deepStrictEqual(yield* found({ userId: UserId.make("u2") }), [])
          assert.deepStrictEqual(yield* found({ runId: r1 }), [2])
          assert.deepStrictEqual(yield* found({ agent: "a" }), [2])
          assert.deepStrictEqual(yield* found({ model: "m" }), [2])
          assert.deepStrictEqual(yield* found({ model: "constructor" }), [])
          assert.deepStrictEqual(yield* found({ since: 200 }), [3, 2])
          assert.deepStrictEqual(yield* found({ until: 200 }), [1])
          assert.deepStrictEqual(yield* found({ since: 101, until: 300, userId: u1 }), [2])
          assert.deepStrictEqual(yield* found({ userId: u1, status: "success", eventTypes: ["llm_call"] }), [2])
        })
      )
    )

    it.effect("lets a user read their entries, callers without an id those without a user, and the system all", () =>
      empty(
        Effect.gen(function* () {
          const log = yield* AuditLog.AuditLog
          yield* log.record({ eventType: "created", tokens: 1 })
          yield* log.record({ eventType: "llm_call", userId: u1, runId: r1, agent: "a", tokens: 2 })
          yield* log.record({ eventType: "llm_call", runId: r1, agent: "a", tokens: 3 })
          const found = (filter?: AuditLog.Filter) =>
            Effect.map(log.read(filter), (events) => events.map(({ tokens }) => tokens))
          assert.deepStrictEqual(yield* found(), [3, 1])
          assert.deepStrictEqual(yield* found({ runId: r1 }), [3])
          assert.deepStrictEqual(yield* found({ eventTypes: ["llm_call", "created"] }), [3, 1])
          assert.deepStrictEqual(yield* found({ eventTypes: ["llm_call"], agent: "a" }), [3])
          assert.deepStrictEqual(yield* found({ userId: null as unknown as undefined }), [3, 1])
          assert.deepStrictEqual(yield* found({ userId: u1 }), [2])
          assert.deepStrictEqual(yield* found({ userId: u1, eventTypes: ["created"] }), [])
          assert.deepStrictEqual(yield* found({ userId: "" as UserId }), [])
          assert.deepStrictEqual(yield* SystemAccess.grant(found()), [3, 2, 1])
          assert.deepStrictEqual(yield* SystemAccess.grant(found({ userId: u1 })), [2])
        })
      )
    )

    it.effect("reads a hundred by default, counted after filtering", () =>
      empty(
        Effect.gen(function* () {
          const log = yield* AuditLog.AuditLog
          for (let index = 0; index < 130; index++) {
            yield* log.record({ eventType: index % 2 === 0 ? "tool_call" : "llm_call", tokens: index })
          }
          const tokens = (filter?: AuditLog.Filter) =>
            Effect.map(log.read(filter), (events) => events.map(({ tokens }) => tokens))
          assert.strictEqual((yield* tokens()).length, 100)
          assert.strictEqual((yield* tokens({ limit: Number.POSITIVE_INFINITY })).length, 130)
          assert.deepStrictEqual(yield* tokens({ limit: 2 }), [129, 128])
          assert.deepStrictEqual(yield* tokens({ limit: 2, eventTypes: ["tool_call"] }), [128, 126])
          assert.deepStrictEqual(yield* tokens({ limit: 0 }), [])
        })
      )
    )

    it.effect("keeps all concurrent records", () =>
      empty(
        Effect.gen(function* () {
          const log = yield* AuditLog.AuditLog
          yield* Effect.forEach(
            Array.from({ length: 50 }, (_, index) => index),
            (index) => log.record({ eventType: "tool_call", tokens: index }),
            { concurrency: "unbounded" }
          )
          const events = yield* log.read({ limit: 200 })
          assert.strictEqual(new Set(events.map(({ tokens }) => tokens)).size, 50)
        })
      )
    )
  })
}
