import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Run from "../../../src/observability/Run.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionEvents from "../../../src/session/turn/SessionEvents.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"
import * as SystemTest from "../../support/SystemTest.js"
import * as ToldRun from "../../support/ToldRun.js"

const { ada, layer, sid, Told, turn } = ManagedSessions
const id = sid("s1")

const live = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  yield* sessions.create({ id, userId: ada })
  yield* sessions.addTurn(id, turn(1))
  yield* sessions.suspend(id)
  yield* sessions.resume(id)
  yield* sessions.close(id)
})

const hooks = ["SessionStartedHook", "SessionCheckpointCreatedHook", "SessionClosedHook"]
const events = ["SessionCreatedEvent", "SessionChangedEvent", "SessionChangedEvent", "SessionClosedEvent"]

describe("SessionTelemetry", () => {
  SystemTest.effect("uses the hooks and bus of the layer outside a run", () => {
    const told = new Told()
    return Effect.gen(function* () {
      yield* live
      assert.deepStrictEqual(told.hooks, ["started s1", "checkpoint auto s1", "closed s1"])
      assert.deepStrictEqual(
        told.events.map(({ eventType }) => eventType),
        events
      )
      assert.deepStrictEqual(told.events[0]?.fields, { sessionId: id, userId: ada })
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: 1 }, { told })))
  })

  SystemTest.effect("uses those of the run within a run", () => {
    const told = new Told()
    const within = ToldRun.make()
    return Effect.gen(function* () {
      yield* Effect.provideService(live, Run.Run, within.run)
      assert.deepStrictEqual([told.hooks, told.events], [[], []])
      assert.deepStrictEqual(
        within.calls.map(([place]) => place),
        hooks
      )
      assert.deepStrictEqual(
        within.events.map(({ eventType }) => eventType),
        events
      )
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: 1 }, { told })))
  })

  SystemTest.effect("publishes events that their definitions can decode", () => {
    const told = new Told()
    return Effect.gen(function* () {
      yield* live
      const definitions = [
        SessionEvents.SessionCreatedEvent,
        SessionEvents.SessionChangedEvent,
        SessionEvents.SessionChangedEvent,
        SessionEvents.SessionClosedEvent
      ]
      for (const [at, { actorId: _, fields, ...event }] of told.events.entries()) {
        const stamped = { ...event, ...fields, eventId: "e", occurredAt: 0, sequenceNumber: at + 1, schemaVersion: 1 }
        yield* Schema.decodeUnknown(definitions[at]?.schema as Schema.Schema<unknown>, { onExcessProperty: "error" })(
          stamped
        )
        assert.deepInclude(event, { aggregateId: "s1", aggregateType: "Session" })
      }
      assert.strictEqual(told.events.length, 4)
    }).pipe(Effect.provide(layer({}, { told })))
  })
})
