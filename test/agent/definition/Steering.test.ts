import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Steering from "../../../src/agent/record/Steering.js"
import type { RunId, SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const steering = Steering.layer()

const given = (script: Parameters<typeof TestModel.layer>[0], options: Parameters<typeof Runs.layer>[1] = {}) =>
  Layer.merge(Runs.layer(script, { ...options, steering }), steering)

const texts = (request: { readonly messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }> }) =>
  request.messages
    .filter(({ role }) => role !== "system")
    .map(({ content, role }) => (typeof content === "string" ? `${role}: ${content}` : role))

/** Steers the run it belongs to, as somebody outside would while the tool runs. */
const nudgeOf = (userId: string | undefined, ...messages: ReadonlyArray<string>) =>
  Tool.make("nudge", {
    description: "Somebody writes meanwhile",
    handler: () =>
      Effect.forEach(messages, (message) => Steering.steer({ runId: "r", userId }, message), { discard: true }).pipe(
        Effect.as("ok"),
        Effect.orDie
      )
  })

const nudge = (...messages: ReadonlyArray<string>) => nudgeOf(undefined, ...messages)

describe("Steering", () => {
  it.effect("shows a message at the next step, keeps its position, and emits it", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [nudge("in French, please")] })
      const { events } = yield* Runs.record(AgentExecutor.stream(agent, { input: "hi", runId: "r" }))
      const requests = yield* TestModel.requests
      assert.deepStrictEqual(
        requests.map((request) => texts(request).filter((text) => text.startsWith("user"))),
        [
          ["user: hi"],
          ["user: hi", "user: in French, please"],
          ["user: hi", "user: in French, please", "user: in French, please"]
        ]
      )
      const [, , third] = requests
      assert.deepStrictEqual(texts(third!), [
        "user: hi",
        "assistant",
        "tool",
        "user: in French, please",
        "assistant",
        "tool",
        "user: in French, please"
      ])
      assert.deepStrictEqual(
        events.filter((event) => event._tag === "Steered").map(({ text }) => text),
        ["in French, please", "in French, please"]
      )
    }).pipe(Effect.provide(given([{ calls: [{ name: "nudge" }] }, { calls: [{ name: "nudge" }] }, "bonjour"])))
  )

  it.effect("answers a message that arrives during the last answer before the run ends", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(AgentExecutor.run(Agent.make("a"), { input: "hi", runId: "r" }))
      yield* TestClock.adjust("1 second")
      yield* Steering.steer({ runId: "r" }, "and then?")
      yield* TestClock.adjust("1 minute")
      const response = yield* Fiber.join(fiber)
      assert.strictEqual(response.message, "that was all")
      const requests = yield* TestModel.requests
      assert.deepStrictEqual(texts(requests[1]!), ["user: hi", "assistant: hello", "user: and then?"])
      const late = yield* Effect.flip(Steering.steer({ runId: "r" }, "too late"))
      assert.strictEqual(late.reason, "not-running")
    }).pipe(Effect.provide(given([{ text: "hello", delay: "5 seconds" }, "that was all"])))
  )

  it.effect("guards messages like input; a blocked one ends the run", () => {
    const guard = Guard.make({
      name: "swear",
      stages: ["input"],
      check: (content) =>
        Effect.succeed(
          content.includes("stop")
            ? Guard.block("swear", { reason: "no" })
            : content.includes("darn")
              ? Guard.redact("swear", content.replace("darn", "***"))
              : Guard.pass("swear")
        )
    })
    const guards = DefaultGuardPipeline.layerGuards([guard])
    return Effect.gen(function* () {
      const mild = yield* Effect.gen(function* () {
        yield* AgentExecutor.run(Agent.make("a", { tools: [nudge("darn it")] }), { input: "hi", runId: "r" })
        return texts((yield* TestModel.requests)[1]!)
      }).pipe(Effect.provide(given([{ calls: [{ name: "nudge" }] }, "ok"], { guards })))
      assert.strictEqual(mild.at(-1), "user: *** it")
      const error = yield* Effect.flip(
        AgentExecutor.run(Agent.make("a", { tools: [nudge("stop")] }), { input: "hi", runId: "r" })
      ).pipe(Effect.provide(given([{ calls: [{ name: "nudge" }] }], { guards })))
      assert.strictEqual(error._tag, "InputGuardError")
    })
  })

  it.effect("saves messages with the run", () => {
    const sessions = Collaborators.sessions()
    return Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [nudgeOf("ada", "and hurry")] })
      const response = yield* AgentExecutor.run(agent, { input: "hi", runId: "r", userId: "ada", sessionId: "s" })
      const kept = sessions.turns(response.sessionId!)
      assert.deepStrictEqual(
        kept.map(({ content, role }) => `${role}: ${content}`),
        ["user: hi", "user: and hurry", "assistant: done"]
      )
      assert.strictEqual(new Set(kept.map(({ id }) => id)).size, 3)
    }).pipe(Effect.provide(given([{ calls: [{ name: "nudge" }] }, "done"], { sessions: sessions.layer })))
  })

  it.effect("reports messages that a failing run has not seen", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { limits: { timeout: "10 seconds" } })
      const fiber = yield* Effect.fork(Effect.flip(AgentExecutor.run(agent, { input: "hi", runId: "r" })))
      yield* TestClock.adjust("1 second")
      yield* Steering.steer({ runId: "r" }, "hello?")
      yield* TestClock.adjust("10 seconds")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "RunLimitExceededError")
    }).pipe(Effect.provide(given([{ text: "late", delay: "1 minute" }])))
  )

  it.effect("runs one session in order of arrival; other users do not wait", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const start = (input: string, userId: string) =>
        AgentExecutor.run(Agent.make("a"), { input, sessionId: "s", userId }).pipe(
          Effect.tap(() => Effect.sync(() => ended.push(input))),
          Effect.fork
        )
      yield* start("1", "ada")
      yield* Effect.yieldNow()
      const second = yield* start("2", "ada")
      yield* start("3", "ada")
      yield* start("other", "bob")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(ended.splice(0).sort(), ["1", "other"])
      yield* Fiber.interrupt(second)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(ended, ["3"])
      assert.isTrue(Option.isNone(yield* Effect.flatMap(Steering.Steering, (one) => one.running("s", "ada"))))
    }).pipe(Effect.provide(given(() => ({ text: "ok", delay: "10 seconds" }))))
  )

  it.effect("does not make an inner run wait for the session of the outer one", () =>
    Effect.gen(function* () {
      const inner = AgentTool.make(Agent.make("inner"))
      const response = yield* AgentExecutor.run(Agent.make("outer", { tools: [inner] }), {
        input: "hi",
        sessionId: "s",
        userId: "ada"
      })
      assert.strictEqual(response.message, "all done")
    }).pipe(
      Effect.provide(given([{ calls: [{ name: "delegate_to_inner", params: { message: "x" } }] }, "done", "all done"]))
    )
  )

  it.effect("finds only runs of the user, within its bounds", () =>
    Effect.gen(function* () {
      const service = Steering.make({ maxMessages: 2, maxWaiting: 1 })
      const gate = yield* Deferred.make<void>()
      const run = (runId: string) =>
        service.within({ runId: runId as RunId, userId: "ada" as never, sessionId: "s" as SessionId }, () =>
          Deferred.await(gate)
        )
      const first = yield* Effect.fork(run("1"))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(run("2"))
      yield* Effect.yieldNow()
      assert.strictEqual((yield* Effect.flip(run("3"))).reason, "busy")
      assert.strictEqual((yield* Effect.flip(service.steer({ runId: "1", userId: "bob" }, "x"))).reason, "not-running")
      assert.strictEqual((yield* Effect.flip(service.steer({ sessionId: "s" }, "x"))).reason, "not-running")
      yield* service.steer({ sessionId: "s", userId: "ada" }, "x")
      yield* service.steer({ runId: "1", userId: "ada" }, "y")
      assert.strictEqual((yield* Effect.flip(service.steer({ runId: "1", userId: "ada" }, "z"))).reason, "full")
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(first)))
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(second)))
    })
  )

  it.effect("finds only runs without a user if none is named, and any run for the system", () =>
    Effect.gen(function* () {
      const service = Steering.make()
      const ada = { runId: "adas" as RunId, userId: "ada" as UserId, sessionId: "s" as SessionId }
      const nobody = { runId: "nobodys" as RunId, sessionId: "t" as SessionId }
      const refused = (target: Steering.Target) =>
        Effect.map(Effect.flip(service.steer(target, "wipe everything")), ({ reason }) =>
          assert.strictEqual(reason, "not-running")
        )
      const seen = yield* service.within(ada, (adas) =>
        service.within(nobody, (nobodys) =>
          Effect.gen(function* () {
            yield* refused({ runId: "adas" })
            yield* refused({ sessionId: "s" })
            yield* refused({ runId: "nobodys", userId: "ada" })
            yield* refused({ runId: "adas", userId: null as unknown as undefined })
            assert.isTrue(Option.isNone(yield* service.running("s")))
            assert.isTrue(Option.isNone(yield* service.running("t", "ada")))
            assert.deepStrictEqual(yield* adas.take, [])
            yield* service.steer({ runId: "nobodys" }, "1")
            yield* service.steer({ sessionId: "t" }, "2")
            yield* SystemAccess.grant(
              Effect.gen(function* () {
                yield* service.steer({ runId: "adas" }, "3")
                yield* service.steer({ sessionId: "s" }, "4")
                assert.deepStrictEqual(yield* service.running("s"), Option.some(ada.runId))
                yield* refused({ runId: "adas", userId: "bob" })
                yield* refused({ sessionId: "s", userId: "bob" })
                yield* refused({ runId: "nobodys", userId: "bob" })
                yield* refused({ runId: "none" })
                yield* refused({ sessionId: "none" })
              })
            )
            return [yield* adas.take, yield* nobodys.take]
          })
        )
      )
      assert.deepStrictEqual(seen, [
        ["3", "4"],
        ["1", "2"]
      ])
    })
  )

  it.effect("finds a run of the system only for the system", () =>
    Effect.gen(function* () {
      const service = Steering.make()
      const run = {
        runId: "r" as RunId,
        sessionId: "adas" as SessionId,
        held: yield* SystemAccess.grant(SystemAccess.held)
      }
      yield* service.within(run, (inbox) =>
        Effect.gen(function* () {
          for (const target of [{ runId: "r" }, { sessionId: "adas" }, { runId: "r", userId: "ada" }]) {
            assert.strictEqual((yield* Effect.flip(service.steer(target, "x"))).reason, "not-running")
          }
          assert.isTrue(Option.isNone(yield* service.running("adas")))
          yield* SystemAccess.grant(service.steer({ runId: "r" }, "1"))
          yield* SystemAccess.grant(service.steer({ sessionId: "adas" }, "2"))
          assert.deepStrictEqual(yield* inbox.take, ["1", "2"])
        })
      )
    })
  )

  it.effect("does not block another user with the same session id", () =>
    Effect.gen(function* () {
      const service = Steering.make()
      const run = (userId: string | undefined) => ({ runId: "r" as RunId, userId: userId as UserId | undefined })
      yield* service.within(run("ada"), (adas) =>
        Effect.gen(function* () {
          yield* service.within(run("bob"), (bobs) =>
            Effect.gen(function* () {
              yield* service.steer({ runId: "r", userId: "ada" }, "for ada")
              yield* service.steer({ runId: "r", userId: "bob" }, "for bob")
              assert.deepStrictEqual(yield* bobs.take, ["for bob"])
            })
          )
          yield* service.steer({ runId: "r", userId: "ada" }, "again")
          assert.deepStrictEqual(yield* adas.take, ["for ada", "again"])
        })
      )
    })
  )

  it.effect("accepts no message for a run that has closed", () =>
    Effect.gen(function* () {
      const service = Steering.make()
      const run = { runId: "r" as RunId, sessionId: "s" as SessionId }
      yield* service.within(run, (inbox) =>
        Effect.gen(function* () {
          yield* service.steer({ runId: "r" }, "in time")
          assert.isFalse(yield* inbox.close)
          yield* service.steer({ runId: "r" }, "still in time")
          assert.deepStrictEqual(yield* inbox.take, ["in time", "still in time"])
          assert.isTrue(yield* inbox.close)
          for (const target of [{ runId: "r" }, { sessionId: "s" }]) {
            const error = yield* Effect.flip(service.steer(target, "too late"))
            assert.strictEqual(error._tag, "SteeringError")
            assert.strictEqual(error.reason, "not-running")
          }
          assert.deepStrictEqual(yield* inbox.take, [])
        })
      )
    })
  )

  it.effect("treats an inner run without a user as the outer user's", () => {
    const seen: Array<string> = []
    const reach = (userId: string | undefined) =>
      Effect.map(Effect.either(Steering.steer({ runId: "inner", userId }, "hello")), ({ _tag }) => seen.push(_tag))
    const probe = Tool.make("probe", {
      description: "Tries to reach the inner run",
      handler: () => Effect.as(Effect.forEach([undefined, "bob", "ada"], reach, { discard: true }), "ok")
    })
    const outer = Tool.make("outer", {
      description: "Runs an agent",
      handler: () =>
        Effect.map(
          AgentExecutor.run(Agent.make("b", { tools: [probe] }), { input: "x", runId: "inner" }),
          (r) => r.message
        ).pipe(Effect.orDie)
    })
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a", { tools: [outer] }), { input: "hi", userId: "ada" })
      assert.deepStrictEqual(seen, ["Left", "Left", "Right"])
    }).pipe(Effect.provide(given([{ calls: [{ name: "outer" }] }, { calls: [{ name: "probe" }] }, "in", "out"])))
  })

  it.effect("steers a run of a user only in their name", () => {
    const refusals: Array<string> = []
    const nosy = Tool.make("nosy", {
      description: "Somebody else writes meanwhile",
      handler: () =>
        Effect.forEach([{ runId: "r" }, { runId: "r", userId: "bob" }, { sessionId: "s" }], (target) =>
          Effect.map(Effect.flip(Steering.steer(target, "wipe")), ({ reason }) => refusals.push(reason))
        ).pipe(
          Effect.zipRight(Steering.steer({ runId: "r", userId: "ada" }, "in French, please")),
          Effect.as("ok"),
          Effect.orDie
        )
    })
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a", { tools: [nosy] }), {
        input: "hi",
        runId: "r",
        userId: "ada",
        sessionId: "s"
      })
      const [, second] = yield* TestModel.requests
      assert.deepStrictEqual(refusals, ["not-running", "not-running", "not-running"])
      assert.deepStrictEqual(texts(second!), ["user: hi", "assistant", "tool", "user: in French, please"])
    }).pipe(Effect.provide(given([{ calls: [{ name: "nosy" }] }, "bonjour"])))
  })

  it.effect("passes the turn on when the waiting run is interrupted as it gets it", () =>
    Effect.gen(function* () {
      const service = Steering.make()
      const trace: Array<string> = []
      const run = (runId: string, work: Effect.Effect<void>) =>
        service.within({ runId: runId as RunId, sessionId: "s" as SessionId }, () =>
          Effect.zipRight(
            Effect.sync(() => void trace.push(runId)),
            work
          )
        )
      const gate = yield* Deferred.make<void>()
      yield* Effect.fork(run("1", Deferred.await(gate)))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(run("2", Effect.never))
      const third = yield* Effect.fork(run("3", Effect.void))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.interrupt(second)
      yield* Fiber.join(third)
      assert.strictEqual(trace.at(-1), "3")
    })
  )
})
