import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import type * as MetricPair from "effect/MetricPair"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as Run from "../../src/observability/Run.js"
import * as Step from "../../src/observability/Step.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as RecordedTool from "../../src/tool/RecordedTool.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"
import { call, layer, make, run } from "./RecordedRun.js"

const describing = { description: "d" }
const works = Tool.make("works", { ...describing, handler: () => Effect.as(Effect.sleep("2 seconds"), { n: 1 }) })
const fails = Tool.make("fails", { ...describing, handler: () => Effect.fail("no") })
const breaks = Tool.make("breaks", {
  ...describing,
  fatal: true,
  handler: () => Effect.fail({ _tag: "Down", message: "down" })
})
const dies = Tool.make("dies", { ...describing, handler: () => Effect.die(new Error("secret detail")) })
const hangs = Tool.make("hangs", { ...describing, timeout: "1 day", handler: () => Effect.never })
const set = ToolSet.make(works, fails, dies, hangs, breaks)

describe("events", () => {
  const recording = (toolCall: ToolRunner.ToolCall, options?: ToolRunner.RunOptions) =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const fiber = yield* Effect.fork(Effect.exit(run(set, toolCall, { recorded, ...(options && { options }) })))
      yield* TestClock.adjust("2 seconds")
      const exit = (yield* Fiber.interrupt(fiber)) as Exit.Exit<Exit.Exit<ToolRunner.Outcome, ToolRunner.Fatality>>
      const calls = recorded.of("ToolCall")
      const results = recorded.of("ToolResult")
      assert.deepStrictEqual([calls.length, results.length], [1, 1])
      assert.strictEqual(recorded.events.indexOf(calls[0] as AgentEvent), 0)
      assert.strictEqual(recorded.events.length, 2)
      for (const event of recorded.events) yield* Schema.encode(AgentEvent)(event)
      return { exit: Exit.flatten(exit), call: calls[0], result: results[0] }
    })

  it.effect("announces a call before it runs, and its result afterwards with the duration", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const fiber = yield* Effect.fork(run(works, call("works", { a: 1 }, "c3"), { recorded, options: { step: 4 } }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(recorded.events.length, 1)
      assert.deepInclude(recorded.of("ToolCall")[0] as object, {
        step: 4,
        id: "c3",
        name: "works",
        params: { a: 1 },
        at: 0
      })
      yield* TestClock.adjust("1 second")
      yield* fiber
      assert.deepInclude(recorded.of("ToolResult")[0] as object, {
        step: 4,
        id: "c3",
        name: "works",
        isFailure: false,
        result: { n: 1 },
        observation: '{"n":1}',
        truncated: false,
        durationMs: 2000,
        attempts: 1
      })
    })
  )

  it.effect("emits one result with the error for a failed call", () =>
    Effect.gen(function* () {
      const { result } = yield* recording(call("fails"))
      assert.isTrue(result?.isFailure)
      assert.strictEqual(result?.error?.tag, "ToolExecutionError")
      assert.strictEqual(result?.error?.code, "LEX_ERR_AGT_007")
    })
  )

  it.effect("emits one result for a fatal call", () =>
    Effect.gen(function* () {
      const { exit, result } = yield* recording(call("breaks"))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepInclude(result as object, { isFailure: true, attempts: 1, error: { tag: "Down", message: "down" } })
    })
  )

  it.effect("emits one result for a crashed call, without details of the crash", () =>
    Effect.gen(function* () {
      const { exit, result } = yield* recording(call("dies"))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.strictEqual(result?.error?.tag, "Defect")
      assert.notInclude(JSON.stringify(result), "secret detail")
    })
  )

  it.effect("emits one result for a call interrupted with its run, with the elapsed time", () =>
    Effect.gen(function* () {
      const { exit, result } = yield* recording(call("hangs"))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepInclude(result as object, { isFailure: true, durationMs: 2000, attempts: 1 })
      assert.strictEqual(result?.error?.tag, "InterruptedError")
    })
  )

  it.effect("emits one result for an unknown tool, with the name shortened", () =>
    Effect.gen(function* () {
      const { call: announced, result } = yield* recording(call("x".repeat(500)))
      assert.strictEqual(announced?.name.length, 128)
      assert.strictEqual(result?.error?.tag, "ToolNotFoundError")
    })
  )

  it.effect("reports the tool's own name for a provider's name", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const tool = Tool.make("fs.read", { ...describing, handler: () => Effect.void })
      const outcome = yield* run(tool, call("fs_read"), { recorded })
      assert.deepStrictEqual([outcome.name, recorded.of("ToolCall")[0]?.name], ["fs.read", "fs.read"])
    })
  )

  it.effect("waits for a slow reader, and closes the call once when interrupted meanwhile", () =>
    Effect.gen(function* () {
      for (const blocked of ["ToolCall", "ToolResult"]) {
        const events: Array<AgentEvent> = []
        const clock = yield* Effect.clock
        const service = Run.make({
          runId: RunId.make("r"),
          agent: "a",
          clock,
          sink: {
            push: (event) => void events.push(event),
            settle: () => (events.at(-1)?._tag === blocked ? Effect.never : undefined),
            live: true
          }
        })
        const fiber = yield* Effect.fork(Effect.provideService(run(fails, call("fails")), Run.Run, service))
        yield* TestClock.adjust("1 second")
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(
          events.map((event) => event._tag),
          ["ToolCall", "ToolResult"]
        )
      }
    })
  )

  it.effect("emits no result for a call suspended with a durable run", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const asleep: Step.Service = { run: () => Effect.interrupt, isSuspended: () => true }
      const exit = yield* run(works, call("works"), { recorded }).pipe(
        Effect.provideService(Step.Step, asleep),
        Effect.exit
      )
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(
        recorded.events.map((event) => event._tag),
        ["ToolCall"]
      )
    })
  )

  it.effect("replays a recorded outcome without running the tool again", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const outcome = yield* run(fails, call("fails"))
      const seen: Array<readonly [string, string | undefined, boolean]> = []
      const replay: Step.Service = {
        run: (options) =>
          Effect.suspend(() => {
            seen.push([options.kind, options.hash?.(), options.success === (RecordedTool.Kept as unknown)])
            return Effect.succeed(outcome as never)
          }),
        isSuspended: () => false
      }
      const again = yield* run(hangs, call("hangs", { a: [1] }), { recorded }).pipe(
        Effect.provideService(Step.Step, replay)
      )
      assert.deepStrictEqual(seen, [["tool", '["hangs",{}]', true]])
      assert.deepStrictEqual({ ...again, id: "" }, { ...outcome, id: "" })
      assert.strictEqual(recorded.of("ToolResult").length, 1)
    })
  )
})

describe("spans", () => {
  interface Recorded extends Tracer.Span {
    ended: Exit.Exit<unknown, unknown> | undefined
  }
  class Spans extends Context.Tag("test/Spans")<Spans, Array<Recorded>>() {}
  const tracer = (spans: Array<Recorded>) =>
    Tracer.make({
      span: (name, parent, context, links, startTime, kind) => {
        const attributes = new Map<string, unknown>()
        const span: Recorded = {
          _tag: "Span",
          name,
          spanId: `span-${spans.length}`,
          traceId: "trace",
          parent,
          context,
          links,
          kind,
          sampled: true,
          status: { _tag: "Started", startTime },
          attributes,
          ended: undefined,
          end: (_, exit) => {
            span.ended = exit
          },
          attribute: (key, value) => void attributes.set(key, value),
          event: () => {},
          addLinks: () => {}
        }
        spans.push(span)
        return span
      },
      context: (f) => f()
    })
  const traced = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(
      Effect.sync((): Array<Recorded> => []),
      (spans) => effect.pipe(Effect.provideService(Spans, spans), Effect.withTracer(tracer(spans)))
    )
  const secret = Tool.make("secret.tool", {
    ...describing,
    parameters: { q: Schema.String },
    handler: ({ q }) => Effect.succeed(`<${q}>`)
  })

  it.effect("names a span after the tool, with the agent and the call", () =>
    traced(
      Effect.gen(function* () {
        const recorded = yield* make({ agent: "clerk" })
        yield* run(secret, call("secret_tool", { q: "private" }, "c8"), { recorded })
        const [span] = yield* Spans
        assert.strictEqual(span?.name, "agent.tool.secret.tool")
        const attributes = Object.fromEntries(span?.attributes ?? [])
        assert.deepInclude(attributes, {
          "agent.name": "clerk",
          "tool.name": "secret.tool",
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.call.id": "c8"
        })
        assert.isTrue(span?.ended !== undefined && Exit.isSuccess(span.ended))
        assert.notInclude(JSON.stringify(attributes), "private")
        assert.notProperty(attributes, "error.type")
      })
    )
  )

  it.effect("includes arguments and result on request, no longer than the model sees", () =>
    traced(
      Effect.gen(function* () {
        const recorded = yield* make({ telemetry: { content: true } })
        const q = "x".repeat(500)
        yield* run(secret, call("secret.tool", { q }), { recorded, options: { maxResultChars: 100 } })
        const attributes = (yield* Spans)[0]?.attributes
        const given = attributes?.get("gen_ai.tool.call.arguments") as string
        const result = attributes?.get("gen_ai.tool.call.result") as string
        assert.isTrue(given.startsWith('{"q":"xxx') && given.includes("[TRUNCATED"))
        assert.isTrue(result.startsWith("<xxx") && result.includes("[TRUNCATED"))
      })
    )
  )

  it.effect("names the error of a failed call, and ends the span successfully", () =>
    traced(
      Effect.gen(function* () {
        yield* run(fails, call("fails"), { recorded: yield* make() })
        const span = (yield* Spans)[0]
        assert.strictEqual(span?.attributes.get("error.type"), "ToolExecutionError")
        assert.isTrue(span?.ended !== undefined && Exit.isSuccess(span.ended))
      })
    )
  )

  it.effect("is the parent of a handler's spans, also with a captured service", () =>
    traced(
      Effect.gen(function* () {
        class Word extends Context.Tag("test/Word")<Word, string>() {}
        const recorded = yield* make()
        const inner = Tool.make("outer", { ...describing, handler: () => Effect.withSpan(Word, "inner") })
        const runner = yield* ToolRunner.ToolRunner
        const bound = yield* Effect.withSpan(ToolSet.bind(ToolSet.make(inner)), "binding").pipe(
          Effect.provideService(Word, "w")
        )
        const outcome = yield* Effect.provideService(runner.run(bound, call("outer")), Run.Run, recorded.run)
        assert.strictEqual(outcome.result, "w")
        const spans = yield* Spans
        const named = (name: string) => spans.find((span) => span.name === name)
        assert.strictEqual(
          Option.getOrUndefined(named("inner")?.parent ?? Option.none())?.spanId,
          named("agent.tool.outer")?.spanId
        )
        assert.isDefined(named("agent.tool.outer"))
      }).pipe(Effect.provide(layer()))
    )
  )

  it.effect("never uses names invented by models as span names", () =>
    traced(
      Effect.gen(function* () {
        yield* run(set, call("made_up_by_a_model"), { recorded: yield* make() })
        assert.deepStrictEqual(
          (yield* Spans).map((span) => span.name),
          ["agent.tool.unknown"]
        )
      })
    )
  )

  it.effect("creates none without tracing", () =>
    traced(
      Effect.gen(function* () {
        const recorded = yield* make({ telemetry: { tracing: false } })
        yield* run(fails, call("fails"), { recorded })
        yield* Effect.exit(run(dies, call("dies"), { recorded }))
        assert.strictEqual((yield* Spans).length, 0)
        assert.strictEqual(recorded.of("ToolResult").length, 2)
      })
    )
  )
})

describe("metrics", () => {
  const ofAgent = (agent: string) =>
    Effect.map(Metric.snapshot, (pairs) =>
      pairs.filter((pair: MetricPair.MetricPair.Untyped) =>
        Array.from(pair.metricKey.tags).some((tag) => tag.value === agent)
      )
    )
  const values = (agent: string) =>
    Effect.map(ofAgent(agent), (pairs) =>
      Object.fromEntries(
        pairs.map((pair) => {
          const tool = Array.from(pair.metricKey.tags).find((tag) => tag.key === "tool")?.value ?? ""
          const state = pair.metricState as { readonly count?: number }
          return [`${pair.metricKey.name} ${tool}`.trim(), state.count]
        })
      )
    )

  it.effect("count calls, successes, failures and times by agent and tool, with invented names as unknown", () =>
    Effect.gen(function* () {
      const recorded = yield* make({ agent: "metrics-1", telemetry: { metrics: true } })
      const quick = Tool.make("quick", { ...describing, handler: () => Effect.void })
      const all = ToolSet.merge(set, ToolSet.make(quick))
      yield* run(all, call("quick"), { recorded })
      yield* run(all, call("fails"), { recorded })
      yield* Effect.exit(run(all, call("breaks"), { recorded }))
      yield* run(all, call("made_up_1"), { recorded })
      yield* run(all, call("made_up_2"), { recorded })
      const counted = yield* values("metrics-1")
      assert.deepInclude(counted, {
        "agent.tool_calls.total quick": 1,
        "agent.tool_calls.success quick": 1,
        "agent.tool_call.duration_ms quick": 1,
        "agent.tool_calls.failure fails": 1,
        "agent.tool_calls.failure breaks": 1,
        "agent.tool_calls.total unknown": 2
      })
      assert.notInclude(JSON.stringify(counted), "made_up")
    })
  )

  it.effect("count nothing when disabled", () =>
    Effect.gen(function* () {
      yield* run(fails, call("fails"), { recorded: yield* make({ agent: "metrics-2", telemetry: { metrics: false } }) })
      assert.deepStrictEqual(yield* values("metrics-2"), {})
    })
  )
})

describe("outside of a run", () => {
  it.effect("runs a call without events", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* run(fails, call("fails"))).isFailure)
    })
  )
})
