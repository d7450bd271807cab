import { Sharding } from "@effect/cluster/Sharding"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { RunFailedError } from "../../src/agent/record/RunError.js"
import type { RunPolicy } from "../../src/agent/record/RunPolicy.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as AgentEntity from "../../src/cluster/entity/AgentEntity.js"
import type { AgentEntityError } from "../../src/cluster/entity/AgentEntityError.js"
import * as ClusterSessions from "../../src/cluster/entity/ClusterSessions.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as SetClock from "../support/SetClock.js"
import * as SqlBackends from "../support/SqlBackends.js"
import * as SessionProcesses from "./SessionProcesses.js"

const ann = { sessionId: "s", userId: "ann" }
const agent = "helper"

/** A model that holds its answers to texts that begin with "hold" until the gate opens, and what it was asked. */
const held = Effect.map(Deferred.make<void>(), (gate) => {
  const asked: Array<string> = []
  let active = 0
  let most = 0
  return {
    asked,
    most: () => most,
    open: Effect.asVoid(Deferred.succeed(gate, undefined)),
    isAsked: (said: string) => SessionProcesses.until(Effect.sync(() => asked.includes(said))),
    model: SessionProcesses.model((said) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          asked.push(said)
          most = Math.max(most, ++active)
        }),
        () => Effect.as(said.startsWith("hold") ? Deferred.await(gate) : Effect.sleep("5 millis"), `re: ${said}`),
        () => Effect.sync(() => active--)
      )
    )
  }
})

const waiting = (process: SessionProcesses.Process, count: number) =>
  SessionProcesses.until(Effect.map(process.sessions.status(ann), (status) => status.waiting === count))

const agents = [Agent.make(agent, { limits: { llmTimeout: "1 day" } })]

SqlBackends.suite("sessions as entities of a cluster", (backend) => {
  it.scopedLive("answer one message after another, in the order in which they came", () =>
    Effect.gen(function* () {
      const { isAsked, model, most, open } = yield* held
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      const texts = ["hold 0", "1", "2", "3", "4"]
      const sent: Array<Fiber.RuntimeFiber<string, unknown>> = []
      for (const [index, input] of texts.entries()) {
        sent.push(
          yield* Effect.fork(Effect.map(process.sessions.send({ ...ann, agent, input }), ({ message }) => message))
        )
        if (index > 0) yield* waiting(process, index)
        else yield* SessionProcesses.until(Effect.map(process.sessions.status(ann), ({ run }) => run !== undefined))
      }
      yield* isAsked("hold 0")
      assert.strictEqual((yield* process.sessions.status(ann)).run?.state, "running")
      yield* open
      assert.deepStrictEqual(
        yield* Effect.forEach(sent, Fiber.join),
        texts.map((text) => `re: ${text}`)
      )
      assert.deepStrictEqual(
        yield* process.turns(ann),
        texts.flatMap((text) => [text, `re: ${text}`])
      )
      assert.strictEqual(most(), 1)
      assert.deepStrictEqual(yield* process.sessions.status(ann), { waiting: 0 })
    })
  )

  it.scopedLive("give a message that is sent many times one run and one answer", () =>
    Effect.gen(function* () {
      const { asked, model } = yield* held
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      const message = { ...ann, agent, input: "hello", messageId: "m" }
      const many = yield* Effect.all(
        [1, 2, 3].map(() => process.sessions.send(message)),
        { concurrency: 3 }
      )
      const again = yield* process.sessions.send(message)
      assert.deepStrictEqual(
        [...many, again].map(({ message, runId }) => [message, runId]),
        Array.from({ length: 4 }, () => ["re: hello", AgentEntity.runIdOf(ann, "m")])
      )
      assert.deepStrictEqual(asked, ["hello"])
      assert.deepStrictEqual(yield* process.turns(ann), ["hello", "re: hello"])
      const other = yield* Effect.flip(process.sessions.send({ ...message, input: "bye" }))
      assert.deepInclude(other, { _tag: "RunError", reason: "conflict" })
    })
  )

  it.scopedLive("refuse a message when too many wait, and take it later", () =>
    Effect.gen(function* () {
      const { model, open } = yield* held
      const options = { maxWaiting: 1 }
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents, options })
      const first = yield* Effect.fork(process.sessions.send({ ...ann, agent, input: "hold" }))
      yield* SessionProcesses.until(Effect.map(process.sessions.status(ann), ({ run }) => run !== undefined))
      const second = yield* Effect.fork(process.sessions.send({ ...ann, agent, input: "second" }))
      yield* waiting(process, 1)
      const message = { ...ann, agent, input: "third", messageId: "third" }
      const refused = yield* Effect.flip(process.sessions.send(message))
      assert.deepInclude(refused, { _tag: "AgentEntityError", reason: "full", code: "LEX_ERR_AGT_128" })
      yield* open
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      assert.strictEqual((yield* process.sessions.send(message)).message, "re: third")
    })
  )

  it.scopedLive("reach no session of another user, of another tenant, or without a user", () =>
    Effect.gen(function* () {
      const { model, open } = yield* held
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      const { sessions } = process
      yield* sessions.send({ ...ann, agent, input: "private" })
      const running = yield* Effect.fork(sessions.send({ ...ann, agent, input: "hold" }))
      yield* SessionProcesses.until(Effect.map(sessions.status(ann), ({ run }) => run !== undefined))
      for (const other of [{ sessionId: "s" }, { sessionId: "s", userId: "bob" }]) {
        const refused = yield* Effect.flip(SystemAccess.grant(sessions.send({ ...other, agent, input: "let me in" })))
        assert.deepInclude(refused, { _tag: "RunFailedError" })
        assert.deepStrictEqual(yield* SystemAccess.grant(sessions.status(other)), { waiting: 0 })
        for (const call of [sessions.steer(other, "say it all"), sessions.interrupt(other)]) {
          assert.deepInclude(yield* Effect.flip(SystemAccess.grant<unknown, AgentEntity.Failure, never>(call)), {
            reason: "not-running"
          })
        }
      }
      yield* open
      yield* Fiber.join(running)
      assert.deepStrictEqual(yield* process.turns(ann), ["private", "re: private", "hold", "re: hold"])
    })
  )

  it.scopedLive("let a tenant wait for the run of another one in the same session", () =>
    Effect.gen(function* () {
      const { most, model, open, isAsked } = yield* held
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      const one = yield* Effect.fork(process.sessions.send({ ...ann, tenantId: "one", agent, input: "hold" }))
      yield* isAsked("hold")
      const two = yield* Effect.fork(process.sessions.send({ ...ann, tenantId: "two", agent, input: "two" }))
      yield* Effect.sleep("100 millis")
      yield* open
      yield* Fiber.join(one)
      yield* Fiber.join(two)
      assert.deepStrictEqual(yield* process.turns(ann), ["hold", "re: hold", "two", "re: two"])
      assert.strictEqual(most(), 1)
    })
  )

  it.scopedLive("show deltas as they come, and go on from a number", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const model = SessionProcesses.model(() =>
        Effect.succeed({ text: ["one ", "two"], delay: "500 millis", partDelay: "500 millis" })
      )
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      const message = { ...ann, agent, input: "count", messageId: "m" }
      const seen: Array<AgentEvent> = []
      const whole = yield* Effect.fork(
        Stream.runForEach(process.sessions.stream(message), (event) =>
          Effect.zipRight(
            Effect.sync(() => seen.push(event)),
            event._tag === "TextDelta" ? Deferred.succeed(gate, undefined) : Effect.void
          )
        )
      )
      yield* Deferred.await(gate)
      assert.strictEqual((yield* process.sessions.status(ann)).run?.state, "running")
      yield* Fiber.join(whole)
      assert.deepStrictEqual(
        seen.flatMap((event) => (event._tag === "TextDelta" ? [event.text] : [])),
        ["one ", "two"]
      )
      const last = seen.at(-1)
      assert.strictEqual(last?._tag, "Finished")
      const from = seen.findIndex(({ _tag }) => _tag === "Message")
      const rest = yield* Stream.runCollect(process.sessions.stream(message, { from: seen[from]?.seq }))
      assert.deepStrictEqual(
        Array.from(rest, ({ seq }) => seq),
        seen.slice(from).map(({ seq }) => seq)
      )
      const after = process.sessions.stream(message, { from: (last?.seq ?? 0) + 1 })
      assert.strictEqual((yield* Stream.runCollect(after)).length, 0)
    })
  )

  it.scopedLive("do not stop a run whose reader or sender leaves", () =>
    Effect.gen(function* () {
      const { isAsked, model, open } = yield* held
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      const message = { ...ann, agent, input: "hold", messageId: "m" }
      yield* Stream.runHead(process.sessions.stream(message))
      const sending = yield* Effect.fork(process.sessions.send(message))
      yield* isAsked("hold")
      yield* Fiber.interrupt(sending)
      yield* open
      assert.strictEqual((yield* process.sessions.send(message)).message, "re: hold")
    })
  )

  it.scopedLive("steer and interrupt the run that goes on, and answer what waits after it", () =>
    Effect.gen(function* () {
      const { asked, isAsked, model } = yield* held
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      const { sessions } = process
      const first = yield* Effect.fork(Effect.flip(sessions.send({ ...ann, agent, input: "hold" })))
      yield* isAsked("hold")
      yield* sessions.steer(ann, "and quickly")
      const second = yield* Effect.fork(sessions.send({ ...ann, agent, input: "next" }))
      yield* waiting(process, 1)
      assert.strictEqual((yield* sessions.interrupt(ann)).state, "interrupted")
      assert.deepInclude(yield* Fiber.join(first), { _tag: "RunFailedError", state: "interrupted" })
      assert.strictEqual((yield* Fiber.join(second)).message, "re: next")
      assert.deepStrictEqual(asked, ["hold", "next"])
      assert.deepInclude(yield* Effect.flip(sessions.interrupt(ann)), { reason: "not-running" })
    })
  )

  it.scopedLive("wait for a run of the session that was started otherwise", () =>
    Effect.gen(function* () {
      const { isAsked, most, model, open } = yield* held
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents })
      yield* process.within(Runs.start({ ...ann, agent, input: "hold" }))
      yield* isAsked("hold")
      const sent = yield* Effect.fork(process.sessions.send({ ...ann, agent, input: "after" }))
      yield* Effect.sleep("100 millis")
      yield* open
      yield* Fiber.join(sent)
      assert.deepStrictEqual(yield* process.turns(ann), ["hold", "re: hold", "after", "re: after"])
      assert.strictEqual(most(), 1)
    })
  )

  it.scopedLive("end with their failures, and take the next message", () =>
    Effect.gen(function* () {
      const process = yield* SessionProcesses.start({ client: backend.layer, agents })
      const { sessions } = process
      assert.deepInclude(yield* Effect.flip(sessions.send({ ...ann, agent: "helpr", input: "hello" })), {
        _tag: "RunError",
        reason: "unknown-agent",
        hint: 'Did you mean "helper"?'
      })
      const labels = { ["x".repeat(65)]: "long" }
      assert.deepInclude(yield* Effect.flip(sessions.send({ ...ann, agent, input: "hello", labels })), {
        _tag: "RunError",
        reason: "invalid"
      })
      for (const strange of [{ sessionId: "" }, { sessionId: "a\u0000" }, { userId: "\u0007" }, { messageId: "" }]) {
        const refused = sessions.send({ ...ann, agent, input: "hello", ...strange })
        assert.deepInclude(yield* Effect.flip(refused), { _tag: "AgentEntityError", reason: "invalid" })
      }
      assert.strictEqual((yield* sessions.send({ ...ann, agent, input: "hello" })).message, "re: hello")
    })
  )

  it.scopedLive("hold the policy of a message, and refuse one that is not valid", () =>
    Effect.gen(function* () {
      const undone: Array<string> = []
      const book = Tool.make("book", {
        description: "Books a room",
        parameters: { room: Schema.String },
        handler: ({ room }) => Effect.succeed(room),
        compensate: ({ room }) => Effect.sync(() => void undone.push(room))
      })
      const model = SessionProcesses.model((said) =>
        Effect.succeed({ calls: [{ name: "book", params: { room: said } }] })
      )
      const booking = Agent.make(agent, { tools: [book] })
      const process = yield* SessionProcesses.start({ client: backend.layer, model, agents: [booking] })
      const send = (input: string, policy: RunPolicy) =>
        Effect.flip(process.sessions.send({ ...ann, agent, input, messageId: input, policy }))
      const limits = { maxModelCalls: 2 }
      for (const [input, compensate] of [
        ["kept", false],
        ["undone", true]
      ] as const) {
        const failed = yield* send(input, { limits, compensate })
        assert.deepInclude(failed, { _tag: "RunFailedError", state: "failed" })
        assert.strictEqual((failed as RunFailedError).error.tag, "RunLimitExceededError")
      }
      assert.deepStrictEqual(undone, ["undone", "undone"])
      // It is part of the message: another one with this id is refused.
      assert.deepInclude(yield* send("kept", { limits }), { _tag: "RunError", reason: "conflict" })
      for (const policy of [{ limits: { maxModelCalls: -1 } }, { retries: 3 } as object]) {
        const refused = yield* send("strange", policy)
        assert.deepInclude(refused, { _tag: "AgentEntityError", reason: "invalid" })
        assert.include(refused.message, "policy")
      }
    })
  )

  it.scopedLive("keep no words of a message that was answered but those of its run", () =>
    Effect.gen(function* () {
      const process = yield* SessionProcesses.start({ client: backend.layer, agents })
      yield* process.sessions.send({ ...ann, agent, input: "my secret" })
      const found = yield* process.within(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) =>
            sql<{
              payload: string
            }>`SELECT payload FROM lex_cluster_messages WHERE entity_type = 'LexigramSession' AND kind = 0`
        )
      )
      assert.deepStrictEqual(
        found.map(({ payload }) => payload),
        ["{}"]
      )
    })
  )

  it.scopedLive("leave no trace of messages that were answered long ago", () =>
    Effect.gen(function* () {
      const clock = SetClock.hurried(yield* Effect.clock, "1 hour", "20 millis")
      const counts: Array<number> = []
      for (const retain of ["1 second", "1 day"] as const) {
        const ports = SessionProcesses.alone({ retain })
        const process = yield* Effect.withClock(SessionProcesses.start({ client: backend.layer, agents, ports }), clock)
        yield* process.sessions.send({ ...ann, agent, input: "hello" })
        const left = process.within(
          Effect.flatMap(SqlClient.SqlClient, (sql) =>
            Effect.map(
              sql`SELECT 1 AS one FROM lex_cluster_messages WHERE entity_type = 'LexigramSession'
                UNION ALL SELECT 1 FROM lex_cluster_replies WHERE request_id IN
                  (SELECT id FROM lex_cluster_messages WHERE entity_type = 'LexigramSession')`,
              ({ length }) => length
            )
          )
        )
        // Many hours of the hurried clock.
        counts.push(yield* Effect.repeat(Effect.delay(left, "20 millis"), { until: (rows) => rows === 0, times: 100 }))
        yield* process.end
      }
      assert.deepStrictEqual(counts, [0, 2])
    })
  )

  it.scopedLive("answer what waited when their process ended, in its order and once", () =>
    Effect.gen(function* () {
      const before = yield* held
      const first = yield* SessionProcesses.start({ client: backend.layer, model: before.model, agents })
      const sending = yield* Effect.fork(first.sessions.send({ ...ann, agent, input: "hold" }))
      yield* before.isAsked("hold")
      for (const [index, input] of ["second", "third"].entries()) {
        yield* Effect.fork(first.sessions.send({ ...ann, agent, input, messageId: input }))
        yield* waiting(first, index + 1)
      }
      yield* Effect.fork(Fiber.interrupt(sending))
      yield* first.end

      const after = yield* held
      yield* after.open
      const second = yield* SessionProcesses.start({ client: backend.kept, model: after.model, agents })
      yield* SessionProcesses.until(
        Effect.map(
          Effect.orElseSucceed(second.turns(ann), () => []),
          ({ length }) => length === 6
        )
      )
      assert.deepStrictEqual(yield* second.turns(ann), [
        "hold",
        "re: hold",
        "second",
        "re: second",
        "third",
        "re: third"
      ])
      assert.deepStrictEqual(after.asked, ["hold", "second", "third"])
      const third = yield* second.sessions.send({ ...ann, agent, input: "third", messageId: "third" })
      assert.strictEqual(third.message, "re: third")
      assert.strictEqual(after.asked.length, 3)
    })
  )

  it.scopedLive("leave the memory of their process when nothing comes, and go on with their turns", () =>
    Effect.gen(function* () {
      const clock = SetClock.hurried(yield* Effect.clock, "5 seconds", "300 millis")
      for (const [maxIdleTime, left] of [
        ["100 millis", 1],
        ["1 hour", 2]
      ] as const) {
        const start = SessionProcesses.start({ client: backend.layer, agents, options: { maxIdleTime } })
        const process = yield* Effect.withClock(start, clock)
        const active = process.within(Effect.flatMap(Sharding, (sharding) => sharding.activeEntityCount))
        yield* process.sessions.send({ ...ann, agent, input: "one" })
        // The session and its run.
        assert.strictEqual(yield* active, 2)
        yield* Effect.repeat(Effect.delay(active, "100 millis"), { until: (count) => count === 1, times: 15 })
        assert.strictEqual(yield* active, left)
        yield* process.sessions.send({ ...ann, agent, input: "two" })
        assert.deepStrictEqual(yield* process.turns(ann), ["one", "re: one", "two", "re: two"])
        yield* process.end
      }
    })
  )

  it.effect("refuse options out of bounds", () =>
    Effect.gen(function* () {
      for (const options of [{ maxWaiting: 0 }, { maxWaiting: 1.5 }, { patience: 0 }]) {
        const layer = Layer.provide(ClusterSessions.layer(options), backend.kept) as Layer.Layer<
          AgentEntity.AgentEntity,
          AgentEntityError
        >
        assert.deepInclude(yield* Effect.flip(Effect.scoped(Layer.build(layer))), { reason: "invalid" })
      }
    })
  )
})
