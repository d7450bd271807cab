import * as NodeContext from "@effect/platform-node/NodeContext"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as RunStore from "../../src/agent/record/RunStore.js"
import * as RunAdmission from "../../src/agent/runs/RunAdmission.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import { isTerminal } from "../../src/domain/AgentEvent.js"
import * as AgentWorkflow from "../../src/durable/AgentWorkflow.js"
import * as Durable from "../../src/durable/Durable.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Step from "../../src/observability/Step.js"
import * as DefaultSkillCatalog from "../../src/skill/folder/DefaultSkillCatalog.js"
import * as ScriptRunner from "../../src/skill/folder/ScriptRunner.js"
import * as SkillTrust from "../../src/skill/folder/SkillTrust.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import { loaded } from "../skill/LoadedSkills.js"
import * as SetClock from "../support/SetClock.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { ann, asked, call, say, start, untilAsleep } from "./DurableProcesses.js"

/** Answers the nth request of a run with the nth answer, by the results of tools that it has. */
const scripted = (...answers: ReadonlyArray<LlmClient.LlmResponse>): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete: ({ messages }) =>
    Effect.sync(() => answers[messages.filter(({ role }) => role === "tool").length] ?? say("over"))
})

const begin = (agent: string) => Runs.start({ agent, input: "go", runId: "run", ...ann })

const failure = Effect.map(Effect.flip(Runs.await("run", ann)), (error) =>
  error._tag === "RunFailedError" ? error : Effect.runSync(Effect.die(error))
)

const state = ({ record }: Runs.Polled) => record.state

/** Until a run has looked for its agent more than once. */
const untilLeft = Effect.repeat(
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1 FROM lex_workflow_deferreds WHERE name LIKE '%agent~1%'`),
  { until: (rows) => rows.length > 0, schedule: Schedule.spaced("5 millis") }
)

const guarded = Tool.make("guarded", {
  description: "Waits for a person",
  requiresApproval: true,
  idempotent: true,
  handler: () => Effect.succeed("allowed")
})

class Declined extends Schema.TaggedError<Declined>()("Declined", { by: Schema.String }) {}

/** A tool that must not run twice: its first run ends with its process. */
const risky = (options: {
  readonly begun: Deferred.Deferred<void>
  readonly runs: Array<string>
  readonly onUnknown?: "fail" | "ask"
  readonly found?: Option.Option<string>
}) =>
  Tool.make("risky", {
    description: "Must not run twice",
    success: Schema.String,
    onUnknown: options.onUnknown,
    ...(options.found === undefined ? {} : { outcome: () => Effect.succeed(options.found ?? Option.none()) }),
    handler: (_params, { idempotencyKey }) =>
      Effect.suspend(() => {
        options.runs.push(idempotencyKey)
        return options.runs.length === 1
          ? Effect.zipRight(Deferred.succeed(options.begun, undefined), Effect.never)
          : Effect.succeed("ran")
      })
  })

SqlBackends.suite("a durable run that goes on", (backend) => {
  /** Begins a run with a risky call, ends the process in the middle, and starts the next one. */
  const cut = (options: Omit<Parameters<typeof risky>[0], "begun" | "runs">) =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const runs: Array<string> = []
      const agents = [Agent.make("a", { tools: [risky({ ...options, begun, runs })] })]
      const model = scripted(call(["risky", {}]), say("done"))
      const first = yield* start(backend.layer, { agents }, model)
      yield* first.within(Effect.zipRight(begin("a"), Deferred.await(begun)))
      yield* first.end
      return { runs, process: yield* start(backend.kept, { agents }, model) }
    })

  it.scopedLive("fails where nobody knows what came of a call that must not run twice", () =>
    Effect.gen(function* () {
      const { process, runs } = yield* cut({})
      const { cause, error } = yield* process.within(failure)
      assert.strictEqual(error.tag, "ToolUnknownOutcomeError")
      assert.strictEqual((cause as { readonly _tag?: string })._tag, "ToolUnknownOutcomeError")
      assert.lengthOf(runs, 1)
      yield* process.end
    })
  )

  it.scopedLive(
    "takes the result that the tool finds, and runs the call again where it finds that there was none",
    () =>
      Effect.gen(function* () {
        const found = yield* cut({ found: Option.some("found") })
        assert.strictEqual((yield* found.process.within(Runs.await("run", ann))).toolCalls[0]?.observation, "found")
        assert.lengthOf(found.runs, 1)
        yield* found.process.end
        const none = yield* cut({ found: Option.none() })
        assert.strictEqual((yield* none.process.within(Runs.await("run", ann))).toolCalls[0]?.observation, "ran")
        assert.lengthOf(none.runs, 2)
        assert.strictEqual(none.runs[0], none.runs[1])
        yield* none.process.end
      })
  )

  it.scopedLive("asks a person whether a call whose end is unknown may run again", () =>
    Effect.gen(function* () {
      for (const [decision, observation, times] of [
        [{ _tag: "Approved" }, "ran", 2],
        [{ _tag: "Denied" }, "nobody knows", 1]
      ] as const) {
        const { process, runs } = yield* cut({ onUnknown: "ask" })
        const { message, toolCalls } = yield* process.within(
          Effect.gen(function* () {
            const request = yield* asked
            assert.include(request.reason ?? "", "died")
            yield* Runs.answer(request.id, decision, ann)
            return yield* Runs.await("run", ann)
          })
        )
        assert.strictEqual(message, "done")
        assert.include(toolCalls[0]?.observation ?? "", observation)
        assert.lengthOf(runs, times)
        yield* process.end
      }
    })
  )

  it.scopedLive("fails at a step that is not the recorded one, and asks nothing more", () =>
    Effect.gen(function* () {
      const model = scripted(call(["guarded", {}]), say("done"))
      const first = yield* start(
        backend.layer,
        { agents: [Agent.make("a", { system: "one", tools: [guarded] })] },
        model
      )
      yield* first.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      yield* first.end
      const second = yield* start(
        backend.kept,
        { agents: [Agent.make("a", { system: "two", tools: [guarded] })] },
        model
      )
      const { cause, error } = yield* second.within(failure)
      assert.strictEqual(error.tag, "ReplayError")
      assert.match(String((cause as { readonly step?: string }).step), /^llm\//)
      yield* second.end
    })
  )

  it.scopedLive("has an end in its log where it went astray, also if the log is away then", () =>
    Effect.gen(function* () {
      const model = scripted(call(["guarded", {}]), say("done"))
      const agent = (system: string) => Agent.make("a", { system, tools: [guarded] })
      const first = yield* start(backend.layer, { agents: [agent("one")] }, model)
      yield* first.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      yield* first.end
      let refusals = 0
      const refusing = Layer.map(Durable.layerSql({ lease: "1 minute", poll: "10 millis" }), (context) => {
        const log = Context.get(context, RunLog.RunLog)
        return Context.add(context, RunLog.RunLog, {
          ...log,
          append: (events) =>
            events.some(isTerminal) && refusals++ < 2
              ? new RunLog.RunLogError({ message: "away", operation: "append" })
              : log.append(events)
        })
      })
      const second = yield* start(backend.kept, { agents: [agent("two")] }, model, undefined, refusing)
      const { error } = yield* second.within(failure)
      assert.strictEqual(error.tag, "ReplayError")
      const events = yield* second.within(Stream.runCollect(Runs.events("run", ann)))
      const last = Chunk.toReadonlyArray(events).at(-1)
      assert.deepStrictEqual([last?._tag, refusals], ["Error", 3])
      yield* second.end
    })
  )

  it.scopedLive("is left alone by a process without agents, which follows and answers it", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("a", { tools: [guarded] })]
      const model = scripted(call(["guarded", {}]), say("done"))
      const first = yield* start(backend.layer, { agents }, model)
      // The record says that the run waits before the request can be answered.
      yield* first.within(Effect.zipRight(begin("a"), Effect.zipRight(asked, untilAsleep("run"))))
      yield* first.end
      const edge = yield* start(backend.kept, { agents: [] }, model)
      yield* edge.within(
        Effect.gen(function* () {
          yield* Runs.answer((yield* asked).id, { _tag: "Approved" }, ann)
          // More looks for work than it takes to find this.
          yield* Effect.sleep("200 millis")
          assert.strictEqual(Option.getOrThrow(yield* Runs.poll("run", ann)).record.state, "waiting")
        })
      )
      const second = yield* start(backend.kept, { agents }, model)
      assert.strictEqual((yield* edge.within(Runs.await("run", ann))).message, "done")
      yield* second.end
      yield* edge.end
    })
  )

  it.scopedLive("waits in its record too, where the store is slow to take that", () =>
    Effect.gen(function* () {
      const slow = Layer.map(Durable.layerSql({ lease: "1 minute", poll: "10 millis" }), (context) => {
        const store = Context.get(context, RunStore.RunStore)
        return Context.add(context, RunStore.RunStore, {
          ...store,
          update: (runId, change) =>
            change.to === "waiting"
              ? Effect.delay(store.update(runId, change), "50 millis")
              : store.update(runId, change)
        })
      })
      const agents = [Agent.make("a", { tools: [guarded] })]
      const model = scripted(call(["guarded", {}]), say("done"))
      const process = yield* start(backend.layer, { agents }, model, undefined, slow)
      yield* process.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      const { message } = yield* process.within(
        Effect.gen(function* () {
          yield* Runs.answer((yield* asked).id, { _tag: "Approved" }, ann)
          return yield* Runs.await("run", ann)
        })
      )
      assert.strictEqual(message, "done")
      yield* process.end
    })
  )

  it.scopedLive("ends with the version that it began with, and begins new runs with the last one", () =>
    Effect.gen(function* () {
      const model: LlmClient.Service = {
        provider: "test",
        model: "m",
        complete: ({ messages }) =>
          Effect.succeed(
            messages.some(({ role }) => role === "tool")
              ? say(JSON.stringify(messages[0]?.content).slice(1, 4))
              : call(["guarded", {}])
          )
      }
      const agent = (system: string) => Agent.make("a", { system, tools: [guarded] })
      const one = { agent: agent("one"), version: "1" }
      const first = yield* start(backend.layer, { agents: [one] }, model)
      yield* first.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      yield* first.end
      const answered = (runId: string) =>
        Effect.gen(function* () {
          yield* Runs.answer((yield* asked).id, { _tag: "Approved" }, ann)
          return (yield* Runs.await(runId, ann)).message
        })
      const second = yield* start(backend.kept, { agents: [one, { agent: agent("two"), version: "2" }] }, model)
      assert.strictEqual(yield* second.within(answered("run")), "one")
      yield* second.within(Runs.start({ agent: "a", input: "go", runId: "next", ...ann }))
      assert.strictEqual(yield* second.within(answered("next")), "two")
      yield* second.within(Effect.zipRight(Runs.start({ agent: "a", input: "go", runId: "last", ...ann }), asked))
      yield* second.end
      const third = yield* start(backend.kept, { agents: [one], waitForAgent: "50 millis" }, model)
      yield* third.within(Runs.resume("last", ann))
      const error = yield* third.within(Effect.flip(Runs.await("last", ann)))
      assert.strictEqual(error._tag === "RunFailedError" ? error.error.tag : error._tag, "ReplayError")
      yield* third.end
    })
  )

  it.scopedLive("waits for a process that has its agent, in its version", () =>
    Effect.gen(function* () {
      const model = scripted(call(["guarded", {}]), say("done"))
      const agents = [{ agent: Agent.make("a", { tools: [guarded] }), version: "2" }]
      const one = yield* start(backend.layer, { agents }, model)
      yield* one.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      const { id } = yield* one.within(asked)
      yield* one.end
      // Of an older release, and of other agents.
      const old = [{ agent: Agent.make("a", { tools: [guarded] }), version: "1" }, Agent.make("b", {})]
      const two = yield* start(backend.kept, { agents: old }, model)
      yield* two.within(Runs.answer(id, { _tag: "Approved" }, ann))
      yield* Effect.provide(untilLeft, backend.kept)
      assert.deepStrictEqual(Option.map(yield* two.within(Runs.poll("run", ann)), state), Option.some("waiting"))
      const three = yield* start(backend.kept, { agents }, model)
      assert.strictEqual((yield* two.within(Runs.await("run", ann))).message, "done")
      yield* two.end
      yield* three.end
    })
  )

  it.scopedLive("is interrupted where its agent is not, and says that nothing of it is undone", () =>
    Effect.gen(function* () {
      const model = scripted(call(["guarded", {}]), say("done"))
      const agents = [Agent.make("a", { tools: [guarded] })]
      const one = yield* start(backend.layer, { agents }, model)
      yield* one.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      yield* one.end
      const two = yield* start(backend.kept, { agents: [Agent.make("b", {})] }, model)
      yield* two.within(Runs.interrupt("run", ann))
      const begun = yield* two.within(failure)
      assert.strictEqual(begun.error.tag, "ReplayError")
      // One that never began.
      const next = { runId: "next", agent: "c", input: "go", ...ann }
      yield* two.within(
        Effect.gen(function* () {
          const { fingerprint, record } = yield* RunAdmission.admit(next, undefined)
          yield* (yield* RunStore.RunStore).insert(record, fingerprint)
          yield* AgentWorkflow.workflow.execute({ ...next, startedAt: 0 }, { discard: true })
          yield* untilAsleep("next")
          assert.strictEqual((yield* Runs.interrupt("next", ann)).state, "interrupted")
        })
      )
      yield* two.end
    })
  )

  it.scopedLive("writes to stores that it shares only while it is its process's", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const written: Array<number> = []
      const took = yield* Deferred.make<void>()
      let begun = 0
      const writes = Tool.make("writes", {
        description: "Writes",
        idempotent: true,
        handler: () =>
          Effect.gen(function* () {
            const number = ++begun
            if (number === 1) {
              yield* Effect.orDie(sql`UPDATE lex_workflow_executions SET runner_id = '@other/1'`)
              yield* Deferred.succeed(took, undefined)
            }
            return yield* Step.guarded(Effect.sync(() => `${written.push(number)} written`))
          })
      })
      const model = scripted(call(["writes", {}]), say("done"))
      const one = yield* start(backend.kept, { agents: [Agent.make("a", { tools: [writes] })] }, model)
      yield* one.within(Effect.zipRight(begin("a"), Deferred.await(took)))
      yield* one.end
      assert.deepStrictEqual([begun, written], [1, []])
      yield* sql`UPDATE lex_workflow_executions SET runner_id = NULL`
      const two = yield* start(backend.kept, { agents: [Agent.make("a", { tools: [writes] })] }, model)
      assert.strictEqual((yield* two.within(Runs.await("run", ann))).message, "done")
      assert.deepStrictEqual([begun, written], [2, [2]])
      yield* two.end
    }).pipe(Effect.provide(backend.layer))
  )

  it.scopedLive("has the failures of its tools as what they were", () =>
    Effect.gen(function* () {
      const decline = Tool.make("decline", {
        description: "Declines",
        failure: Declined,
        fatal: true,
        handler: () => new Declined({ by: "Bob" })
      })
      const agents = [Agent.make("a", { tools: [decline] })]
      for (const errors of [[Declined], []]) {
        const process = yield* start(backend.layer, { agents, errors }, scripted(call(["decline", {}])))
        const { cause } = yield* process.within(Effect.zipRight(begin("a"), failure))
        assert.strictEqual((cause as Declined)._tag, "Declined")
        assert.strictEqual(cause instanceof Declined && cause.by === "Bob", errors.length > 0)
        yield* process.end
      }
    })
  )

  it.scopedLive("keeps the restriction of a skill that it activated before it slept", () =>
    Effect.gen(function* () {
      const shell = Tool.make("shell", { description: "A shell", handler: () => Effect.succeed("shell done") })
      const reports = loaded("reports", { file: { body: "Write.", allowedTools: [{ name: "guarded" }] } })
      const catalog = DefaultSkillCatalog.layer([reports]).pipe(
        Layer.provide(Layer.mergeAll(NodeContext.layer, ScriptRunner.layerNoop, SkillTrust.layerNoop))
      )
      const agents = [Agent.make("a", { tools: [guarded, shell] })]
      const model = scripted(
        call(["activate_skill", { name: "reports" }]),
        call(["guarded", {}]),
        call(["shell", {}]),
        say("done")
      )
      const process = (client: typeof backend.layer) =>
        start(client, { agents }, model, (ports) =>
          Agents.layerWith({ log: ports, steering: ports, approvals: ports, catalog })
        )
      const first = yield* process(backend.layer)
      yield* first.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      yield* first.end
      const second = yield* process(backend.kept)
      const { toolCalls } = yield* second.within(
        Effect.gen(function* () {
          yield* Runs.answer((yield* asked).id, { _tag: "Approved" }, ann)
          return yield* Runs.await("run", ann)
        })
      )
      assert.deepStrictEqual(
        toolCalls.map(({ error, name }) => [name, error?.tag ?? "done"]),
        [
          ["activate_skill", "done"],
          ["guarded", "done"],
          ["shell", "ToolAccessDeniedError"]
        ]
      )
      yield* second.end
    })
  )

  it.scopedLive("sleeps until a time, across a restart", () =>
    Effect.gen(function* () {
      const until = (yield* Clock.currentTimeMillis) + Duration.toMillis("10 days")
      const nap = Tool.make("nap", {
        description: "Sleeps",
        idempotent: true,
        timeout: "1 hour",
        handler: () => Effect.as(Step.until(until), "slept")
      })
      const agents = [Agent.make("a", { tools: [nap] })]
      const model = scripted(call(["nap", {}]), say("done"))
      const first = yield* start(backend.layer, { agents }, model)
      yield* first.within(Effect.zipRight(begin("a"), untilAsleep("run")))
      yield* first.end
      const after = SetClock.ahead(yield* Effect.clock, "11 days")
      const second = yield* Effect.withClock(start(backend.kept, { agents }, model), after)
      const { toolCalls } = yield* Effect.withClock(second.within(Runs.await("run", ann)), after)
      assert.strictEqual(toolCalls[0]?.observation, "slept")
      yield* second.end
    })
  )
})
