import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../../src/domain/AgentResponse.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as StateGraph from "../../../src/graph/StateGraph.js"
import * as Run from "../../../src/observability/Run.js"
import * as PromptStep from "../../../src/prompt/template/PromptStep.js"
import * as Reasoning from "../../../src/strategy/definition/Reasoning.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { MaxIterationsExceededError } from "../../../src/strategy/definition/StrategyError.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as GraphStrategy from "../../../src/strategy/reasoning/GraphStrategy.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Strategies from "../Strategies.js"

const call = { calls: [{ name: "add", params: { a: 1, b: 2 } }] }

describe("Strategy.execute", () => {
  it.live("is a whole run: a start, its events, the message, one end, and numbers without gaps", () =>
    Effect.gen(function* () {
      for (const [strategy, script] of [
        [FunctionCalling.make(), [{ text: "hm", ...call }, "3"]],
        [ReAct.make(), [{ text: "hm", ...call }, "3"]],
        [ReAct.make({ format: "text" }), ['ACTION: add\nACTION_INPUT: {"a": 1, "b": 2}', "FINAL_ANSWER: 3"]]
      ] as const) {
        const { events, exit } = yield* Strategies.record(strategy, script, { tools: Strategies.tools })
        assert.isTrue(Exit.isSuccess(exit))
        assert.deepStrictEqual(EventRecorder.violations(events), [])
        assert.strictEqual(events[0]!._tag, "Started")
        assert.deepStrictEqual(EventRecorder.tags(events).slice(-2), ["Message", "Finished"])
        const response = AgentResponse.fromEvents(events)
        assert.deepStrictEqual(
          [response.message, response.finishReason, response.input, response.agent, response.toolCalls[0]?.result],
          ["3", "completed", "What is it?", strategy.name, 3]
        )
      }
    })
  )

  it.live("carries an output with the message", () =>
    Effect.gen(function* () {
      const { events } = yield* Strategies.record(FunctionCalling.make(), ['{"n": 1}'], {
        task: { output: Strategies.outputSpec(0) }
      })
      assert.deepStrictEqual(AgentResponse.fromEvents(events).output, { n: 1 })
    })
  )

  it.live("ends with the failure as the last event, and then as the error of the stream", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* Strategies.record(FunctionCalling.make({ maxIterations: 1 }), [call], {
        tools: Strategies.tools
      })
      assert.instanceOf(yield* Effect.flip(exit), MaxIterationsExceededError)
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const last = events.at(-1)!
      assert.deepStrictEqual(last._tag === "Error" && [last.interrupted, last.error.tag, last.error.code], [
        false,
        "MaxIterationsExceededError",
        "LEX_ERR_AGT_009"
      ])
    })
  )

  it.live("reports a fatal failure under its own name", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* Strategies.record(FunctionCalling.make(), [{ calls: [{ name: "fatal" }] }], {
        tools: ToolSet.make(Strategies.fatal)
      })
      assert.instanceOf(yield* Effect.flip(exit), Fatality)
      const last = events.at(-1)!
      assert.strictEqual(last._tag === "Error" && last.error.tag, "Broken")
    })
  )

  it.live("reveals nothing of a defect in the events", () =>
    Effect.gen(function* () {
      const strategy = Strategy.make("buggy", () => Effect.die(new Error("with a secret")))
      const { events, exit } = yield* Strategies.record(strategy, [])
      assert.isTrue(Exit.isFailure(exit))
      const last = events.at(-1)!
      assert.strictEqual(last._tag === "Error" && last.error.tag, "Defect")
      assert.notInclude(JSON.stringify(events), "secret")
    })
  )

  it.live("emits events while the run continues", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const strategy = Strategy.make("slow", () =>
        Effect.as(Deferred.await(gate), { text: "x", reason: "completed" as const, messages: [] })
      )
      const given = yield* Strategies.task()
      const events: Array<AgentEvent> = []
      yield* Stream.runForEach(strategy.execute(given), (event) => {
        events.push(event)
        return event._tag === "Started" ? Deferred.succeed(gate, undefined) : Effect.void
      })
      assert.lengthOf(events, 3)
    }).pipe(Effect.provide(Strategies.layer([])))
  )

  it.live("interrupts the run and waits for it when the stream is stopped", () =>
    Effect.gen(function* () {
      let ended = false
      const strategy = Strategy.make("endless", () =>
        Effect.never.pipe(
          Effect.onInterrupt(() =>
            Effect.andThen(
              Effect.yieldNow(),
              Effect.sync(() => {
                ended = true
              })
            )
          )
        )
      )
      const given = yield* Strategies.task()
      const first = yield* Stream.runCollect(Stream.take(strategy.execute(given), 1))
      assert.deepStrictEqual(
        Chunk.toReadonlyArray(first).map((event) => event._tag),
        ["Started"]
      )
      assert.isTrue(ended)
      ended = false
      const fiber = yield* Effect.fork(Stream.runDrain(strategy.execute(given)))
      yield* Effect.sleep(5)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(ended)
    }).pipe(Effect.provide(Strategies.layer([])))
  )

  it.live("starts a new run for each execution", () =>
    Effect.gen(function* () {
      const strategy = FunctionCalling.make()
      const one = yield* Strategies.record(strategy, ["a"])
      const two = yield* Strategies.record(strategy, ["b"])
      assert.notStrictEqual(one.events[0]!.runId, two.events[0]!.runId)
    })
  )
})

describe("GraphStrategy.make", () => {
  const State = Schema.Struct({ drafts: Schema.Array(Schema.String), text: Schema.String })
  const Draft = PromptStep.make({
    pattern: "TestAgent",
    name: "Draft",
    variables: ["task", "drafts"],
    system: { role: "You draft." },
    user: "{task} {drafts}"
  })
  const draft = (state: typeof State.Type) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { text } = yield* reasoning.ask(Draft, { task: reasoning.task.input, drafts: state.drafts.join(",") })
      return { drafts: [...state.drafts, text] }
    })
  const definition = () => ({
    name: "drafts",
    graph: StateGraph.make({
      name: "drafts",
      state: State,
      nodes: { draft, choose: (state) => Effect.succeed({ text: state.drafts.at(-1) ?? "" }) },
      start: "draft",
      edges: {
        draft: { to: ["draft", "choose"], when: ({ drafts }) => (drafts.length < 2 ? "draft" : "choose") },
        choose: "END"
      }
    }),
    start: () => ({ drafts: [], text: "" }),
    answer: ({ text }: typeof State.Type) => Effect.flatMap(Reasoning.Reasoning, (reasoning) => reasoning.answer(text))
  })

  it.effect("makes no update where events are neither read nor logged", () =>
    Effect.gen(function* () {
      const updates: Array<unknown> = []
      const run = Run.make({
        runId: RunId.make("run-1"),
        agent: "tester",
        clock: yield* Effect.clock,
        sink: {
          push: (event) => void (event._tag === "NodeFinished" && updates.push(event.update)),
          settle: () => undefined,
          live: false,
          kept: false
        }
      })
      const task = yield* Strategies.task({ task: { debugNodeUpdates: false } })
      yield* GraphStrategy.make(definition())
        .program(task)
        .pipe(Effect.provideService(Run.Run, run), Effect.provide(Strategies.layer(["one", "two"])))
      assert.deepStrictEqual(updates, [{}, {}, {}])
    })
  )

  it.effect("runs its nodes and reports each with its changes", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(GraphStrategy.make(definition()), ["one", "two"], {
        task: { debugNodeUpdates: false }
      })
      assert.deepInclude(yield* ran.exit, { text: "two", reason: "completed" })
      assert.deepStrictEqual(
        ran.of("NodeFinished").map(({ graph, node, step, update }) => [graph, node, step, update]),
        [
          ["drafts", "draft", 1, { drafts: ["one"] }],
          ["drafts", "draft", 2, { drafts: ["two"] }],
          ["drafts", "choose", 3, { text: "two" }]
        ]
      )
      assert.deepStrictEqual(Strategies.shape(ran.requests[1]!.messages), [
        [
          "system",
          "Be brief.\n\n## Role\n\nYou draft.\n\n## Output Format\n\nPlain text: the reply itself, without a preamble."
        ],
        ["user", "What is it? one"]
      ])
    })
  )

  it.effect("reports what its nodes emit, in order and bounded", () =>
    Effect.gen(function* () {
      const given = definition()
      const emitting = StateGraph.wrapNode(
        given.graph,
        "choose",
        (next) => (state, context) =>
          Effect.gen(function* () {
            yield* StateGraph.emit({ drafts: state.drafts.length })
            yield* StateGraph.emit("x".repeat(10_000))
            return yield* next(state, context)
          })
      )
      const strategy = GraphStrategy.make({ ...given, graph: emitting })
      const ran = yield* Strategies.run(strategy, ["one", "two"])
      yield* ran.exit
      const [first, second, ...more] = ran.of("NodeEmitted")
      assert.deepInclude(first, { graph: "drafts", node: "choose", step: 3, value: { drafts: 2 } })
      assert.isAtMost(String(second?.value).length, 4_200)
      assert.isEmpty(more)
      const last = ran.of("NodeFinished").at(-1)
      assert.isTrue(first !== undefined && last !== undefined && first.seq < last.seq)
    })
  )

  it.effect("emits nothing where nobody reads, and runs", () =>
    Effect.gen(function* () {
      const given = definition()
      const seen: Array<string> = []
      const run = Run.make({
        runId: RunId.make("run-1"),
        agent: "tester",
        clock: yield* Effect.clock,
        sink: { push: (event) => void seen.push(event._tag), settle: () => undefined, live: false, kept: false }
      })
      const graph = StateGraph.wrapNode(
        given.graph,
        "choose",
        (next) => (state, context) => Effect.zipRight(StateGraph.emit("unread"), next(state, context))
      )
      yield* GraphStrategy.make({ ...given, graph })
        .program(yield* Strategies.task())
        .pipe(Effect.provideService(Run.Run, run), Effect.provide(Strategies.layer(["one", "two"])))
      assert.include(seen, "NodeFinished")
      assert.notInclude(seen, "NodeEmitted")
    })
  )

  it.effect("runs a wrapped node in place of the original", () =>
    Effect.gen(function* () {
      const given = definition()
      const graph = StateGraph.wrapNode(
        given.graph,
        "choose",
        (next) => (state, context) => Effect.map(next(state, context), ({ text }) => ({ text: `${text}!` }))
      )
      const ran = yield* Strategies.run(GraphStrategy.make({ ...given, graph }), ["one", "two"])
      assert.strictEqual((yield* ran.exit).text, "two!")
    })
  )

  it.effect("compiles once, however often it runs", () =>
    Effect.gen(function* () {
      const given = definition()
      let reads = 0
      const graph = new Proxy(given.graph, {
        get: (target, key, receiver) => {
          reads++
          return Reflect.get(target, key, receiver)
        }
      })
      const strategy = GraphStrategy.make({ ...given, graph })
      const once = reads
      assert.isAbove(once, 0)
      for (let i = 0; i < 100; i++) {
        const ran = yield* Strategies.run(strategy, ["one", "two"])
        assert.strictEqual((yield* ran.exit).text, "two")
      }
      assert.strictEqual(reads, once)
    })
  )

  it.effect("fails typed at the limit of steps", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(GraphStrategy.make({ ...definition(), maxSteps: 2 }), ["one", "two"])
      const error = yield* Effect.flip(ran.exit)
      assert.deepInclude(error, { _tag: "MaxIterationsExceededError", strategyName: "drafts", maxIterations: 2 })
    })
  )

  it("throws on a graph that cannot be compiled", () => {
    const given = definition()
    const graph = StateGraph.replaceNode(given.graph, "chose" as "choose", () => Effect.succeed({ text: "" }))
    assert.throws(() => GraphStrategy.make({ ...given, graph }), /chose/)
  })
})
