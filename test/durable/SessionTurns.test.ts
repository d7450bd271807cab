import { assert, it } from "@effect/vitest"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as Durable from "../../src/durable/Durable.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import { SessionStorageError } from "../../src/session/turn/SessionError.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as SetClock from "../support/SetClock.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { ann, say, start } from "./DurableProcesses.js"

const helper = Agent.make("helper")

const request = { agent: "helper", input: "hello", runId: "run", sessionId: "talk", ...ann }

/** Sessions in the database, by way of `change`. */
const sessionsOf = (change: (store: SessionStore.Service) => Partial<SessionStore.Service>) =>
  Sessions.layer({
    store: Layer.effect(
      SessionStore.SessionStore,
      Effect.map(SessionStore.SessionStore, (store) => ({ ...store, ...change(store) }))
    ).pipe(Layer.provide(SqlSessionStore.layerMigrated)),
    cleanup: false
  })

const sessions = sessionsOf(() => ({}))

const turns = Effect.flatMap(SessionManager.SessionManager, (manager) =>
  manager.turns(SessionId.make("talk"), { last: 10, userId: UserId.make("ann") })
).pipe(Effect.map((found) => found.map(({ content }) => content)))

const answering = (text: string, before: Effect.Effect<unknown> = Effect.void): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete: () => Effect.as(before, say(text))
})

SqlBackends.suite("the turns of a durable run", (backend) => {
  const written = (client: typeof backend.layer) => Effect.provide(turns, Layer.provide(sessions, client))

  it.live("are in its session after its store failed, and after it did not answer", () =>
    Effect.gen(function* () {
      let loads = 0
      let writes = 0
      const flaky = sessionsOf((store) => ({
        // After the first failure, the session is loaded again.
        load: (id) => Effect.suspend(() => (writes > 0 && ++loads === 1 ? Effect.never : store.load(id))),
        append: (addition) =>
          Effect.suspend(() =>
            ++writes < 3
              ? new SessionStorageError({ message: "away", hint: "wait", cause: "away" })
              : store.append(addition)
          )
      }))
      const one = yield* start(
        backend.layer,
        { agents: [helper] },
        answering("hi"),
        (ports) => Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions: flaky }),
        Durable.layerSql({ lease: "1 hour", poll: "10 millis" })
      )
      const { message } = yield* one.within(Effect.zipRight(Runs.start(request), Runs.await("run", ann)))
      assert.strictEqual(message, "hi")
      assert.isAtLeast(loads, 2)
      // A slow write is repeated too; the turns are there once.
      assert.isAtLeast(writes, 3)
      assert.deepStrictEqual(yield* written(backend.kept), ["hello", "hi"])
    }).pipe(Effect.scoped, (test) => Effect.clockWith((clock) => Effect.withClock(test, SetClock.faster(clock, 20))))
  )

  it.live("are not left out by a process that gives the run away when it answers", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<void>()
      // The run goes on elsewhere from when the layer of runs closes; its engine interrupts it a little later.
      const late = Effect.zipRight(Deferred.succeed(answer, undefined), Effect.sleep("200 millis"))
      const ports = Layer.map(Durable.layerSql({ lease: "1 minute", poll: "10 millis" }), (context) => {
        const engine = Context.get(context, WorkflowEngine.WorkflowEngine)
        return Context.add(context, WorkflowEngine.WorkflowEngine, {
          ...engine,
          register: (...workflow) =>
            Effect.zipRight(
              engine.register(...workflow),
              Effect.addFinalizer(() => late)
            )
        })
      })
      const model = answering("hi", Effect.zipRight(Deferred.succeed(asked, undefined), Deferred.await(answer)))
      const one = yield* start(
        backend.layer,
        { agents: [helper] },
        model,
        (ports) => Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions }),
        ports
      )
      yield* one.within(Runs.start(request))
      yield* Deferred.await(asked)
      yield* one.end
      assert.deepStrictEqual(yield* written(backend.kept), [])

      const two = yield* start(backend.kept, { agents: [helper] }, answering("hi"), (ports) =>
        Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions })
      )
      const { message } = yield* two.within(Runs.await("run", ann))
      assert.strictEqual(message, "hi")
      assert.deepStrictEqual(yield* written(backend.kept), ["hello", "hi"])
    }).pipe(Effect.scoped)
  )
})
