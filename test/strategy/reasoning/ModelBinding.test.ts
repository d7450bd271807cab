import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as DefaultModelRouter from "../../../src/llm/DefaultModelRouter.js"
import * as ModelRouter from "../../../src/llm/ModelRouter.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as LlmError from "../../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../../src/llm/model/LlmGateway.js"
import * as Run from "../../../src/observability/Run.js"
import * as Step from "../../../src/observability/Step.js"
import * as Telemetry from "../../../src/observability/Telemetry.js"
import * as ModelCall from "../../../src/strategy/definition/ModelCall.js"
import type * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { OutputValidationError } from "../../../src/strategy/definition/StrategyError.js"
import * as ModelBinding from "../../../src/strategy/reasoning/ModelBinding.js"
import * as StructuredOutput from "../../../src/strategy/reasoning/StructuredOutput.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Growth from "../../support/Growth.js"
import * as Strategies from "../Strategies.js"

const messages: ReadonlyArray<LlmClient.Message> = [{ role: "user", content: "secret question" }]

const inRun = (options?: { readonly live?: boolean; readonly telemetry?: Partial<Run.TelemetryOptions> }) =>
  Effect.map(Effect.clock, (clock) => {
    const events: Array<AgentEvent> = []
    const run = Run.make({
      runId: RunId.make("run-1"),
      agent: "shop",
      clock,
      sink: { push: (event) => void events.push(event), settle: () => undefined, live: options?.live ?? false },
      telemetry: { tracing: false, metrics: false, content: false, ...options?.telemetry }
    })
    return { run, events }
  })

const task = (over: Partial<Strategy.Task> = {}) => Strategies.task({ task: over })

interface Recorded {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly attributes: Map<string, unknown>
  readonly status: () => Tracer.SpanStatus["_tag"]
}

const spans = () => {
  const all: Array<Recorded> = []
  const tracer = Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      let status: Tracer.SpanStatus = { _tag: "Started", startTime }
      const attributes = new Map<string, unknown>()
      all.push({ name, kind, attributes, status: () => status._tag })
      return {
        _tag: "Span",
        name,
        spanId: String(all.length),
        traceId: "trace",
        parent,
        context,
        links,
        kind,
        sampled: true,
        attributes,
        get status() {
          return status
        },
        attribute: (key, value) => void attributes.set(key, value),
        event: () => {},
        addLinks: () => {},
        end: (endTime, exit) => {
          status = { _tag: "Ended", startTime, endTime, exit }
        }
      }
    },
    context: (f) => f()
  })
  return { all, layer: Layer.setTracer(tracer) }
}

describe("ModelBinding.bind", () => {
  it.effect("merges settings of task, role and request, the last one first", () =>
    Effect.gen(function* () {
      const small = TestModel.make(() => "small says")
      const router = DefaultModelRouter.layer({
        roles: { critic: { client: small, settings: { temperature: 0.2, maxTokens: 20 } } }
      })
      yield* Effect.gen(function* () {
        const given = yield* task({
          settings: { temperature: 0.1, maxTokens: 10, seed: 1, model: "big" },
          role: "critic"
        })
        const model = yield* ModelBinding.bind(given)
        yield* model.call({ messages, settings: { temperature: 0.3 } }, { step: 1 })
        yield* model.call({ messages }, { step: 2 })
      }).pipe(Effect.provide(Layer.provideMerge(router, TestModel.layer([]))))
      assert.deepStrictEqual(
        (yield* small.observer.requests).map((request) => request.settings),
        [
          { temperature: 0.3, maxTokens: 20, seed: 1, model: "test-model" },
          { temperature: 0.2, maxTokens: 20, seed: 1, model: "test-model" }
        ]
      )
    })
  )

  it.effect("resolves a role once, whatever the number of calls, and takes another from an option", () =>
    Effect.gen(function* () {
      const resolved: Array<string> = []
      const client = TestModel.make(() => "x")
      const router = Layer.succeed(ModelRouter.ModelRouter, {
        resolve: (role) =>
          Effect.sync(() => {
            resolved.push(role)
            return { client, settings: {} }
          })
      })
      const { events, run } = yield* inRun()
      yield* Effect.gen(function* () {
        const given = yield* task({ role: "planning" })
        const model = yield* ModelBinding.bind(given)
        yield* model.call({ messages }, { step: 1 })
        yield* model.call({ messages }, { step: 2 })
        const other = yield* ModelBinding.bind(given, { role: "solver" })
        yield* other.call({ messages }, { step: 3 })
      }).pipe(Effect.provide(Layer.merge(router, TestModel.layer([]))), Effect.provideService(Run.Run, run))
      assert.deepStrictEqual(resolved, ["planning", "solver"])
      assert.deepStrictEqual(
        events.map((event) => event._tag === "UsageReported" && event.role),
        ["planning", "planning", "solver"]
      )
    })
  )

  it.effect("reports usage once per call, with the model that answered", () =>
    Effect.gen(function* () {
      const { events, run } = yield* inRun({ live: true })
      yield* Effect.gen(function* () {
        const model = yield* ModelBinding.bind(yield* task())
        yield* model.call({ messages }, { step: 1 })
      }).pipe(
        Effect.provide(Strategies.layer([{ text: ["a", "b"], usage: { inputTokens: 3 } }])),
        Effect.provideService(Run.Run, run)
      )
      const reports = events.filter((event) => event._tag === "UsageReported")
      assert.lengthOf(reports, 1)
      const [{ finishReason, model, provider, usage }] = reports as [Extract<AgentEvent, { _tag: "UsageReported" }>]
      assert.deepStrictEqual([usage, provider, model, finishReason], [{ inputTokens: 3 }, "test", "test-model", "stop"])
    })
  )

  it.effect("requests parts only when the run has a reader", () =>
    Effect.gen(function* () {
      const asked: Array<boolean> = []
      const client: LlmClient.Service = {
        provider: "spy",
        complete: (_request, options) =>
          Effect.sync(() => {
            asked.push(options?.onParts !== undefined)
            return { content: [{ type: "text", text: "x" }], finishReason: "stop", usage: {} }
          })
      }
      for (const live of [false, true]) {
        const { run } = yield* inRun({ live })
        yield* Effect.gen(function* () {
          const model = yield* ModelBinding.bind(yield* task())
          yield* model.call({ messages }, { step: 1 })
        }).pipe(
          Effect.provide(Layer.provideMerge(DefaultModelRouter.layerDefault, LlmGateway.layer(client))),
          Effect.provideService(Run.Run, run)
        )
      }
      assert.deepStrictEqual(asked, [false, true])
    })
  )

  it.effect("slows the model down to a slow reader", () =>
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      let waits = 0
      const settle = () =>
        Effect.delay(
          Effect.sync(() => void waits++),
          "1 second"
        )
      const run = Run.make({ runId: RunId.make("r"), agent: "a", clock, sink: { push: () => {}, settle, live: true } })
      const fiber = yield* Effect.gen(function* () {
        const model = yield* ModelBinding.bind(yield* task())
        return yield* model.call({ messages }, { step: 1 })
      }).pipe(Effect.provide(Strategies.layer([{ text: "a" }])), Effect.provideService(Run.Run, run), Effect.fork)
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.strictEqual(waits, 2)
    })
  )

  it.effect("wraps calls in interceptors, the first outermost, which may change request and answer", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const mark =
        (name: string): ModelCall.ModelCallInterceptor =>
        (request, next) =>
          Effect.gen(function* () {
            seen.push(`${name} before`)
            const response = yield* next({ ...request, settings: { ...request.settings, model: name } })
            seen.push(`${name} after`)
            return { ...response, model: `${response.model}<${name}` }
          })
      const requests = yield* Effect.gen(function* () {
        const model = yield* ModelBinding.bind(yield* task())
        const response = yield* model.call({ messages }, { step: 1 })
        assert.strictEqual(response.model, "inner<inner<outer")
        return yield* TestModel.requests
      }).pipe(
        Effect.provideService(ModelCall.ModelCallInterceptors, [mark("outer"), mark("inner")]),
        Effect.provide(Strategies.layer(["x"]))
      )
      assert.deepStrictEqual(seen, ["outer before", "inner before", "inner after", "outer after"])
      assert.strictEqual(requests[0]!.settings?.model, "inner")
    })
  )

  it.effect("does not ask the model when an interceptor refuses", () =>
    Effect.gen(function* () {
      const asked = yield* Effect.gen(function* () {
        const model = yield* ModelBinding.bind(yield* task())
        const error = yield* Effect.flip(model.call({ messages }, { step: 1 }))
        assert.strictEqual(error._tag, "Fatality")
        return yield* TestModel.requests
      }).pipe(
        Effect.provideService(ModelCall.ModelCallInterceptors, [
          () => Effect.fail(new Fatality({ error: "no", toolName: "" }))
        ]),
        Effect.provide(Strategies.layer([]))
      )
      assert.lengthOf(asked, 0)
    })
  )

  it.effect("interrupts a slow call and fails typed, after 120 s by default", () =>
    Effect.gen(function* () {
      const cases = [
        [{}, {}, 120_000],
        [{ limits: { llmTimeout: "5 seconds" } }, {}, 5000],
        [{ limits: { llmTimeout: "5 seconds" } }, { timeout: "2 seconds" }, 2000]
      ] as const
      for (const [over, options, expected] of cases) {
        const error = yield* Effect.gen(function* () {
          const model = yield* ModelBinding.bind(yield* task(over), options)
          const fiber = yield* Effect.fork(Effect.flip(model.call({ messages }, { step: 1 })))
          yield* TestClock.adjust(expected - 1)
          assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
          yield* TestClock.adjust(1)
          const error = yield* Fiber.join(fiber)
          assert.strictEqual(yield* Effect.flatMap(TestModel.TestModel, (observer) => observer.active), 0)
          return error
        }).pipe(Effect.provide(Strategies.layer([{ text: "late", delay: "1 hour" }])))
        assert.instanceOf(error, LlmError.LlmTimeoutError)
        const { model, phase, provider, timeoutMs } = error as LlmError.LlmTimeoutError
        assert.deepStrictEqual([provider, model, phase, timeoutMs], ["test", "test-model", "whole", expected])
      }
    })
  )

  it.effect("allows no limit", () =>
    Effect.gen(function* () {
      const model = yield* ModelBinding.bind(yield* task(), { timeout: Number.POSITIVE_INFINITY })
      const fiber = yield* Effect.fork(model.call({ messages }, { step: 1 }))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(LlmClient.text(yield* Fiber.join(fiber)), "late")
    }).pipe(Effect.provide(Strategies.layer([{ text: "late", delay: "1 hour" }])))
  )

  it.effect("records each call as a step, with a fingerprint of the request", () =>
    Effect.gen(function* () {
      const recorded: Array<readonly [string, string]> = []
      const step: Step.Service = {
        isSuspended: () => false,
        run: (options, effect) => {
          recorded.push([options.kind, options.hash?.() ?? ""])
          return effect
        }
      }
      yield* Effect.gen(function* () {
        for (const seed of [4, 4, 5]) {
          const model = yield* ModelBinding.bind(yield* task({ settings: { seed } }))
          yield* model.call({ messages }, { step: 1 })
        }
        const model = yield* ModelBinding.bind(yield* task({ settings: { seed: 4 } }))
        yield* model.call({ messages: [...messages, { role: "user", content: "more" }] }, { step: 1 })
      }).pipe(Effect.provide(Strategies.layer(["x", "x", "x", "x"])), Effect.provideService(Step.Step, step))
      assert.deepStrictEqual(
        recorded.map(([kind]) => kind),
        ["llm", "llm", "llm", "llm"]
      )
      const [first, same, otherSeed, moreMessages] = recorded.map(([, fingerprint]) => fingerprint)
      assert.strictEqual(same, first)
      assert.lengthOf(new Set([first, otherSeed, moreMessages]), 3)
    })
  )
})

describe("spans of model calls", () => {
  const call = (
    script: Strategies.Script,
    telemetry: Partial<Run.TelemetryOptions>,
    over: Partial<Strategy.Task> = {}
  ) =>
    Effect.gen(function* () {
      const { all, layer } = spans()
      const { run } = yield* inRun({ telemetry })
      const exit = yield* Effect.gen(function* () {
        const model = yield* ModelBinding.bind(yield* task(over))
        return yield* Effect.exit(model.call({ messages }, { step: 4 }))
      }).pipe(Effect.provide(Layer.merge(Strategies.layer(script), layer)), Effect.provideService(Run.Run, run))
      return { all, exit }
    })

  it.effect("carry conventional attributes, and no content", () =>
    Effect.gen(function* () {
      const settings = { temperature: 0.5, maxTokens: 9, model: "m" }
      const { all } = yield* call([{ text: "secret answer" }], { tracing: true }, { settings })
      assert.lengthOf(all, 1)
      const span = all[0]!
      assert.deepStrictEqual([span.name, span.kind, span.status()], ["agent.llm.shop", "client", "Ended"])
      assert.deepStrictEqual(Object.fromEntries(span.attributes), {
        "agent.name": "shop",
        "gen_ai.agent.name": "shop",
        "agent.iteration": 4,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "test",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5
      })
      assert.notInclude(JSON.stringify([...span.attributes]), "secret")
    })
  )

  it.effect("carry messages when content is enabled", () =>
    Effect.gen(function* () {
      const { all } = yield* call([{ text: "secret answer" }], { tracing: true, content: true })
      const attributes = all[0]!.attributes
      assert.deepStrictEqual(JSON.parse(String(attributes.get("gen_ai.input.messages"))), [
        { role: "user", parts: [{ type: "text", content: "secret question" }] }
      ])
      assert.deepStrictEqual(JSON.parse(String(attributes.get("gen_ai.output.messages"))), [
        { role: "assistant", parts: [{ type: "text", content: "secret answer" }], finish_reason: "stop" }
      ])
    })
  )

  it.effect("carry only what the redactor in context leaves", () =>
    Effect.gen(function* () {
      const { all } = yield* call([{ text: "secret answer" }], { tracing: true, content: true }).pipe(
        Effect.provideService(Telemetry.ContentRedactor, (text) => text.replace(/secret/g, "***"))
      )
      const shown = JSON.stringify([...all[0]!.attributes])
      assert.include(shown, "*** question")
      assert.include(shown, "*** answer")
      assert.notInclude(shown, "secret")
    })
  )

  it.effect("name the output type", () =>
    Effect.gen(function* () {
      const { all, layer } = spans()
      const { run } = yield* inRun({ telemetry: { tracing: true } })
      yield* Effect.gen(function* () {
        const model = yield* ModelBinding.bind(yield* task({ settings: { topP: 0.5, stop: ["x"], seed: 3 } }))
        const responseFormat = { type: "json", name: "n", schema: {} } as const
        yield* model.call({ messages, responseFormat }, { step: 1, onParts: () => Effect.void })
      }).pipe(Effect.provide(Layer.merge(Strategies.layer(["{}"]), layer)), Effect.provideService(Run.Run, run))
      assert.deepInclude(Object.fromEntries(all[0]!.attributes), {
        "gen_ai.output.type": "json",
        "gen_ai.request.stream": true,
        "gen_ai.request.top_p": 0.5,
        "gen_ai.request.stop_sequences": ["x"],
        "gen_ai.request.seed": 3
      })
    })
  )

  it.effect("name the failure", () =>
    Effect.gen(function* () {
      const fail = new LlmError.LlmUnavailableError({ message: "down", provider: "test" })
      const { all, exit } = yield* call([{ fail }], { tracing: true })
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(all[0]!.attributes.get("error.type"), "LlmUnavailableError")
    })
  )

  it.effect("are not made without tracing", () =>
    Effect.gen(function* () {
      assert.lengthOf((yield* call(["x"], {})).all, 0)
    })
  )
})

describe("metrics of model calls", () => {
  const values = (model: string) => {
    const found: Record<string, { readonly count: number; readonly sum: number }> = {}
    for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
      const tags = new Map(metricKey.tags.map((tag) => [tag.key, tag.value]))
      if (tags.get("gen_ai.request.model") !== model || !MetricState.isHistogramState(metricState)) continue
      const kind = tags.get("gen_ai.token.type") ?? tags.get("error.type") ?? tags.get("gen_ai.response.model")
      found[`${metricKey.name} ${kind}`] = { count: metricState.count, sum: metricState.sum }
    }
    return found
  }
  const call = (model: string, script: Strategies.Script, telemetry: Partial<Run.TelemetryOptions>) =>
    Effect.gen(function* () {
      const { run } = yield* inRun({ telemetry })
      const bound = yield* Effect.provideService(ModelBinding.bind(yield* task({ settings: { model } })), Run.Run, run)
      const calls = Effect.forEach(script as ReadonlyArray<unknown>, () => bound.call({ messages }, { step: 1 }))
      const fiber = yield* Effect.fork(Effect.exit(calls))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(Strategies.layer(script)))

  it.effect("count seconds and tokens, with or without spans", () =>
    Effect.gen(function* () {
      yield* call("counted", [{ text: "a", delay: "1500 millis" }, "b"], { metrics: true })
      assert.deepStrictEqual(values("counted"), {
        "gen_ai.client.operation.duration counted": { count: 2, sum: 1.5 },
        "gen_ai.client.token.usage input": { count: 2, sum: 20 },
        "gen_ai.client.token.usage output": { count: 2, sum: 10 }
      })
    })
  )

  it.effect("count failures and interruptions by name, with usage until then", () =>
    Effect.gen(function* () {
      const fail = new LlmError.LlmUnavailableError({ message: "down", provider: "test" })
      yield* call("failing", [{ fail }], { metrics: true })
      yield* call("failing", [{ text: "late", delay: "1 hour" }], { metrics: true })
      assert.deepStrictEqual(values("failing"), {
        "gen_ai.client.operation.duration LlmUnavailableError": { count: 1, sum: 0 },
        "gen_ai.client.operation.duration InterruptedError": { count: 1, sum: 2 },
        "gen_ai.client.token.usage input": { count: 1, sum: 12 },
        "gen_ai.client.token.usage output": { count: 1, sum: 0 }
      })
    })
  )

  it.effect("are off when metrics are off", () =>
    Effect.gen(function* () {
      yield* call("silent", ["a"], { metrics: false, tracing: true })
      assert.deepStrictEqual(values("silent"), {})
    })
  )
})

describe("StructuredOutput.make", () => {
  const spec = Strategies.outputSpec(1)
  const structured = (text: string, script: Strategies.Script = [], over: Partial<Strategy.OutputSpec> = {}) =>
    Effect.gen(function* () {
      const model = yield* ModelBinding.bind(yield* task())
      const exit = yield* Effect.exit(
        StructuredOutput.make(model, { ...spec, ...over }, { strategyName: "s", step: 1, messages, text })
      )
      return { exit, requests: yield* TestModel.requests }
    }).pipe(Effect.provide(Strategies.layer(script)))

  it.effect.each([
    ['{"n": 1}'],
    [' \n{"n": 1}\n'],
    ['```json\n{"n": 1}\n```'],
    ["```\n\n{'n': 1,}\n```  "],
    ['Here you are: {"n": 1}. Anything else?'],
    ['```json\n{"n": 1}\n``` as you wished'],
    ["{n: 1"]
  ])("reads %j", ([text]) =>
    Effect.gen(function* () {
      const { exit, requests } = yield* structured(text!)
      assert.deepStrictEqual((yield* exit).output, { n: 1 })
      assert.lengthOf(requests, 0)
    })
  )

  it.effect("reads a bare value", () =>
    Effect.gen(function* () {
      const { exit } = yield* structured("42", [], { decode: Effect.succeed })
      assert.strictEqual((yield* exit).output, 42)
    })
  )

  it.effect("returns the issues to the model and asks in the output shape", () =>
    Effect.gen(function* () {
      const { exit, requests } = yield* structured('{"n": "one"}', ['{"n": 1}'])
      assert.deepStrictEqual(yield* exit, { text: '{"n": 1}', output: { n: 1 } })
      assert.deepStrictEqual(requests[0]!.messages.slice(0, 2), [
        ...messages,
        { role: "assistant", content: '{"n": "one"}' }
      ])
      assert.include(String(requests[0]!.messages[2]!.content), "n: expected a number")
      assert.deepStrictEqual(requests[0]!.responseFormat, { type: "json", name: "answer", schema: spec.jsonSchema })
    })
  )

  it.effect("fails through the carrier of fatal failures after the retries", () =>
    Effect.gen(function* () {
      const { exit } = yield* structured("nothing", ["still nothing"])
      const error = yield* Effect.flip(exit)
      assert.instanceOf(error, Fatality)
      const inner = (error as Fatality).error as OutputValidationError
      assert.instanceOf(inner, OutputValidationError)
      assert.deepStrictEqual([inner.attempts, inner.text, inner.issues], [2, "still nothing", "the answer is not JSON"])
    })
  )

  it.effect("does not stream corrections as text", () =>
    Effect.gen(function* () {
      const { events, run } = yield* inRun({ live: true })
      yield* Effect.provideService(structured("no", ['{"n": 1}']), Run.Run, run)
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        ["UsageReported"]
      )
    })
  )

  it.effect("takes linear time on hostile text and poisons nothing", () =>
    Effect.gen(function* () {
      yield* Growth.assertLinearTextsEffect(
        [
          (size) => `\`\`\`${"\n".repeat(size)}x`,
          "```\n",
          "{",
          (size) => `${"[".repeat(size / 2)}${"]".repeat(size / 2)}`
        ],
        (text) => Effect.map(structured(text, [], { retries: 0 }), ({ exit }) => assert.isTrue(Exit.isFailure(exit))),
        100_000
      )
      const { exit } = yield* structured('{"n": 1, "__proto__": {"polluted": true}}')
      assert.deepStrictEqual(Object.keys((yield* exit).output as object), ["n"])
      assert.notProperty(Context.empty(), "polluted")
    })
  )
})
