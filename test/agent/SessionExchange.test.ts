import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { RunId, SessionId, UserId } from "../../src/domain/Ids.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as Step from "../../src/observability/Step.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import { SessionStorageError } from "../../src/session/turn/SessionError.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import { storeWith } from "../support/ManagedSessions.js"

const userId = UserId.make("ada")
const id = SessionId.make("s")
const request = { input: "Pay 5 euros.", userId, sessionId: id }
const ref = { sessionId: id, runId: RunId.make("r") }

const sessionsOver = (store: Layer.Layer<SessionStore.SessionStore>) =>
  DefaultSessionManager.layer({ autoCheckpointInterval: null }).pipe(
    Layer.provideMerge(store),
    Layer.provide(Layer.merge(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
  )

const given = (
  script: Parameters<typeof TestModel.layer>[0],
  options: Agents.Replaceable & { readonly store?: Layer.Layer<SessionStore.SessionStore> } = {}
) => {
  const { store = InMemorySessionStore.layer, ...others } = options
  const sessions = sessionsOver(store)
  return Agents.layerWith({ ...others, sessions }).pipe(
    Layer.provideMerge(sessions),
    Layer.provideMerge(TestModel.layer(script))
  ) as Layer.Layer<
    AgentExecutor.AgentExecutor | SessionManager.SessionManager | SessionStore.SessionStore | TestModel.TestModel
  >
}

const turns = Effect.flatMap(SessionManager.SessionManager, (sessions) => sessions.turns(id, { userId, last: 100 }))
const said = Effect.map(turns, (turns) => turns.map(({ content, unanswered }) => `${content} ${unanswered ?? "-"}`))
const open = (runId = ref.runId) =>
  Effect.flatMap(SessionStore.SessionStore, (store) => store.exchange({ sessionId: id, runId }))

/** A tool that looks into the session while it runs. */
const paying = (look: Effect.Effect<void, never, SessionStore.SessionStore | SessionManager.SessionManager>) =>
  Agent.make("a", {
    tools: [Tool.make("pay", { description: "Pays", handler: () => Effect.as(look, "paid") })]
  })
const script = [{ calls: [{ name: "pay" }] }, { text: "Paid." }]

const down = new SessionStorageError({ message: "The disk is full", hint: "Make room" })

describe("a run's question in its session", () => {
  it.effect("is saved before the first model call, hidden from other runs, and kept beside its answer", () => {
    const seen: Array<unknown> = []
    const look = Effect.gen(function* () {
      const exchange = Option.getOrThrow(yield* open())
      seen.push(exchange.turns.map(({ content, role }) => [role, content]))
      seen.push(yield* said)
      yield* AgentExecutor.run(Agent.make("b"), { ...request, input: "And you?", runId: "other" })
    }).pipe(Effect.orDie)
    return Effect.gen(function* () {
      const context = yield* Effect.context<AgentExecutor.AgentExecutor | SessionStore.SessionStore>()
      const agent = paying(Effect.provide(look as Effect.Effect<void>, context))
      yield* AgentExecutor.run(agent, { ...request, runId: ref.runId })
      assert.deepStrictEqual(seen, [[["user", "Pay 5 euros."]], []])
      const requests = yield* TestModel.requests
      assert.notInclude(Collaborators.said(requests[1]?.messages ?? []).join(), "Pay 5 euros.")
      assert.deepStrictEqual(yield* said, ["And you? -", "I am b. -", "Pay 5 euros. -", "Paid. -"])
      assert.isTrue(Option.isNone(yield* open()))
    }).pipe(Effect.provide(given([script[0] as {}, { text: "I am b." }, { text: "Paid." }])))
  })

  it.effect("is saved as the input guards left it, and not at all if they blocked it", () => {
    const contents: Array<string> = []
    const store = storeWith((store) => ({
      open: (exchange) => {
        contents.push(...exchange.turns.map(({ content }) => content))
        return store.open(exchange)
      }
    }))
    const blocking = Collaborators.guard("secret", ["input"], (text) => (text.includes("secret") ? false : undefined))
    const redacting = Collaborators.guard("private", ["input"], (text) =>
      text.includes("ada@") ? text.replace("ada@example.com", "[email]") : undefined
    )
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a"), { ...request, input: "I am ada@example.com" })
      assert.deepStrictEqual(contents, ["I am [email]"])
      yield* Effect.flip(AgentExecutor.run(Agent.make("a"), { ...request, input: "secret" }))
      assert.strictEqual(contents.length, 1)
    }).pipe(
      Effect.provide(
        given(["1"], {
          store,
          guards: DefaultGuardPipeline.layerGuards([redacting, blocking])
        })
      )
    )
  })

  it.effect("fails the run before any model call if it cannot be saved", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a"), request))
      assert.strictEqual(error._tag, "SessionStorageError")
      assert.strictEqual((yield* TestModel.requests).length, 0)
    }).pipe(Effect.provide(given([], { store: storeWith(() => ({ open: () => Effect.fail(down) })) })))
  )

  it.effect("fails the run before any model call if the session is deleted meanwhile", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a"), request))
      assert.strictEqual(error._tag, "SessionConflictError")
      assert.strictEqual((yield* TestModel.requests).length, 0)
    }).pipe(
      Effect.provide(
        given([], {
          store: storeWith((store) => ({
            open: (exchange) => Effect.zipRight(store.delete(exchange.sessionId), store.open(exchange))
          }))
        })
      )
    )
  )

  it.effect("stays when the answer cannot be written; both are written once the store is back", () => {
    let fails = true
    const store = storeWith((store) => ({
      append: (addition) => (fails ? Effect.fail(down) : store.append(addition))
    }))
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a"), { ...request, runId: ref.runId })
      assert.strictEqual(response.message, "1")
      assert.deepStrictEqual(
        response.degraded.map(({ error, stage }) => [stage, error.tag]),
        [["session save", "SessionStorageError"]]
      )
      assert.deepStrictEqual(
        Option.getOrThrow(yield* open()).turns.map(({ content }) => content),
        ["Pay 5 euros."]
      )
      fails = false
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* said, ["Pay 5 euros. -", "1 -"])
    }).pipe(Effect.provide(given(["1"], { store })))
  })

  it.effect("is closed with a mark when the run is interrupted or fails", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(AgentExecutor.run(Agent.make("a"), { ...request, runId: ref.runId }))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isSome(yield* open()))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* said, ["Pay 5 euros. interrupted"])
      yield* Effect.flip(AgentExecutor.run(Agent.make("a"), { ...request, runId: "r2" }))
      assert.deepStrictEqual(yield* said, ["Pay 5 euros. interrupted", "Pay 5 euros. failed"])
      assert.isTrue(Option.isNone(yield* open()))
      assert.isTrue(Option.isNone(yield* open(RunId.make("r2"))))
    }).pipe(Effect.provide(given([{ text: "late", delay: "1 hour" }, { fail: Collaborators.overloaded }])))
  )

  it.effect("has no owning process in a durable run, and is answered by its replay", () => {
    let isSuspended = false
    const step: Step.Service = {
      isSuspended: () => isSuspended,
      run: ({ kind }, effect) => Effect.suspend(() => (isSuspended && kind === "llm" ? Effect.interrupt : effect))
    }
    return Effect.gen(function* () {
      isSuspended = true
      const run = AgentExecutor.run(Agent.make("a"), { ...request, runId: ref.runId }).pipe(
        Effect.provideService(Step.Step, step)
      )
      yield* Effect.exit(run)
      const exchange = Option.getOrThrow(yield* open())
      assert.isUndefined(exchange.owner)
      assert.deepStrictEqual(yield* said, [])
      isSuspended = false
      yield* run
      assert.deepStrictEqual(yield* said, ["Pay 5 euros. -", "1 -"])
      assert.isTrue(Option.isNone(yield* open()))
    }).pipe(Effect.provide(given(["1"])))
  })
})
