import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as AgentConfig from "../../src/agent/definition/AgentConfig.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as Telemetry from "../../src/observability/Telemetry.js"
import * as Supervisor from "../../src/strategy/supervisor/Supervisor.js"
import * as OtlpTelemetry from "../../src/telemetry/OtlpTelemetry.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as OtlpCollector from "../support/OtlpCollector.js"

const key = "sk-live-0123456789abcdef"
const said = "PRIVATE-WORDS"

const lookup = Tool.make("lookup", {
  description: "Looks something up",
  parameters: { what: Schema.String },
  handler: ({ what }) => Effect.as(Effect.sleep("2 millis"), `found ${what}`)
})
const hang = (begun: Deferred.Deferred<void>) =>
  Tool.make("lookup", {
    description: "Looks for ever",
    parameters: { what: Schema.String },
    handler: () => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
  })

const boss = (tool: typeof lookup) =>
  Agent.make("boss", {
    system: "You lead.",
    strategy: Supervisor.make(),
    tools: [
      AgentTool.make(Agent.make("researcher", { system: "You find facts.", tools: [tool] })),
      AgentTool.make(Agent.make("writer", { system: "You write." })),
      AgentTool.make(Agent.make("critic", { system: "You judge." }))
    ]
  })

const done = JSON.stringify({ verdict: "done", reason: "all there", instructions: "" })

/** All of them over one model, which knows who asks by the system prompt; every call has other counts of tokens. */
const model = (options?: { readonly failing?: boolean }) => {
  let calls = 0
  return (request: LlmClient.LlmRequest): TestModel.Turn => {
    const n = ++calls
    const usage = { inputTokens: 100 + n, outputTokens: n, totalTokens: 100 + 2 * n, cachedInputTokens: 1 }
    const turn = { usage, delay: "2 millis", partDelay: "1 millis" } as const
    const system = String(request.messages[0]?.content)
    const params = { what: `${said} ${key}`, message: `${said} ${key}` }
    if (system.startsWith("You find facts.")) {
      if (options?.failing === true) {
        return { ...turn, fail: new LlmUnavailableError({ provider: "test", message: "down" }) }
      }
      if (request.messages.some((message) => message.role === "tool")) return { ...turn, text: "fact: 42" }
      const twice = ["c1", "c2"].map((id) => ({ id, name: "lookup", params }))
      return { ...turn, calls: twice }
    }
    if (system.startsWith("You write.")) return { ...turn, text: ["a ", "poem ", said] }
    if (system.startsWith("You judge.")) return { ...turn, text: "good" }
    if (request.responseFormat?.type === "json") return { ...turn, text: done }
    if (request.tools === undefined) return { ...turn, text: ["final ", `answer ${said} ${key}`] }
    const calls_ = ["researcher", "writer", "critic"].map((name) => ({ name: `delegate_to_${name}`, params }))
    return { ...turn, calls: calls_ }
  }
}

/** Runs a program with agents whose telemetry goes to a collector, and gives back what arrived. */
const exported = <A, E>(
  program: Effect.Effect<A, E, AgentExecutor.AgentExecutor | TestModel.TestModel>,
  options: {
    readonly script: Parameters<typeof TestModel.layer>[0]
    readonly config?: Partial<AgentConfig.AgentConfig>
  }
) =>
  Effect.gen(function* () {
    const collector = yield* OtlpCollector.make()
    const agents = Agents.layerWith({ config: options.config }).pipe(
      Layer.provideMerge(TestModel.layer(options.script))
    ) as Layer.Layer<AgentExecutor.AgentExecutor | TestModel.TestModel>
    const telemetry = OtlpTelemetry.layerFetch({
      baseUrl: collector.baseUrl,
      serviceName: "agents",
      protocol: "json",
      // Several requests a run: what belongs together arrives apart.
      maxBatchSize: 3
    })
    const exit = yield* Effect.exit(program).pipe(
      Effect.provide(
        agents.pipe(Layer.provideMerge(Logger.remove(Logger.defaultLogger)), Layer.provideMerge(telemetry))
      )
    )
    return { collector, exit }
  })

/** The names in a tree, children that ran side by side in the order of their names. */
const shape = ({ children, span }: OtlpCollector.Tree): unknown =>
  children.length === 0 ? span.name : [span.name, ...children.map(shape).sort()]

const all = (tree: OtlpCollector.Tree): ReadonlyArray<OtlpCollector.Span> => [tree.span, ...tree.children.flatMap(all)]

/** One tree of one trace, whose spans last no longer than what they stand in. */
const whole = (collector: OtlpCollector.OtlpCollector): OtlpCollector.Tree => {
  const spans = collector.spans()
  const [tree, ...orphans] = OtlpCollector.trees(spans)
  assert.deepStrictEqual(
    orphans.map(({ span }) => span.name),
    []
  )
  assert.isUndefined(tree!.span.parentSpanId)
  assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
  assert.strictEqual(new Set(spans.map(({ spanId }) => spanId)).size, spans.length)
  assert.lengthOf(all(tree!), spans.length)
  const nested = ({ children, span }: OtlpCollector.Tree): void => {
    assert.isTrue(span.end >= span.start, span.name)
    for (const child of children) {
      assert.isTrue(child.span.start >= span.start && child.span.end <= span.end, `${child.span.name} in ${span.name}`)
      nested(child)
    }
  }
  nested(tree!)
  return tree!
}

const execute = (name: string, ...children: ReadonlyArray<unknown>) => [`agent.execute.${name}`, ...children]
const delegated = (name: string, ...children: ReadonlyArray<unknown>) => [
  `agent.tool.delegate_to_${name}`,
  execute(name, ...children)
]

const supervised = execute(
  "boss",
  delegated("critic", "agent.llm.critic"),
  delegated("researcher", "agent.llm.researcher", "agent.llm.researcher", "agent.tool.lookup", "agent.tool.lookup"),
  delegated("writer", "agent.llm.writer"),
  "agent.llm.boss",
  "agent.llm.boss",
  "agent.llm.boss"
)

const sorted = (tree: unknown): unknown => (Array.isArray(tree) ? [tree[0], ...tree.slice(1).map(sorted).sort()] : tree)

const sums = (spans: ReadonlyArray<OtlpCollector.Span>) => {
  const chats = spans.filter((span) => span.attributes["gen_ai.operation.name"] === "chat")
  const sum = (name: string) => chats.reduce((total, { attributes }) => total + Number(attributes[name] ?? 0), 0)
  return {
    calls: chats.length,
    inputTokens: sum("gen_ai.usage.input_tokens"),
    outputTokens: sum("gen_ai.usage.output_tokens"),
    cachedInputTokens: sum("gen_ai.usage.cache_read.input_tokens")
  }
}

const named = (spans: ReadonlyArray<OtlpCollector.Span>, name: string) => spans.filter((span) => span.name === name)

describe("a trace of a supervisor and its agents", () => {
  const input = `Find out and write: ${said} ${key}`
  const ways = {
    run: AgentExecutor.run(boss(lookup), input),
    stream: Effect.map(
      Stream.runCollect(AgentExecutor.stream(boss(lookup), input)),
      (events) => AgentResponse.fromEvents(Array.from(events)) as AgentResponse.AgentResponse<unknown>
    )
  }

  for (const [way, program] of Object.entries(ways)) {
    it.scopedLive(`${way}: is one tree nested like the runs, with the tokens of the answer`, () =>
      Effect.gen(function* () {
        const { collector, exit } = yield* exported<AgentResponse.AgentResponse<unknown>, unknown>(program, {
          script: model()
        })
        const response = yield* exit
        const tree = whole(collector)
        assert.deepStrictEqual(shape(tree), sorted(supervised))
        const spans = collector.spans()
        assert.deepStrictEqual(sums(spans), {
          calls: response.modelCalls,
          inputTokens: response.usage.inputTokens,
          outputTokens: response.usage.outputTokens,
          cachedInputTokens: response.usage.cachedInputTokens
        })
        for (const span of spans) {
          assert.deepStrictEqual(span.status, { code: 1 })
          const kind = span.name.split(".")[1] as "execute" | "llm" | "tool"
          const operation = { execute: "invoke_agent", llm: "chat", tool: "execute_tool" }[kind]
          assert.strictEqual(span.attributes["gen_ai.operation.name"], operation)
          if (kind === "llm")
            assert.strictEqual(span.attributes["gen_ai.request.stream"], way === "stream" ? true : undefined)
        }
        const [outer] = named(spans, "agent.tool.delegate_to_writer")
        const [inner] = named(spans, "agent.execute.writer")
        assert.strictEqual(inner?.parentSpanId, outer?.spanId)
        assert.strictEqual(tree.span.attributes["agent.tokens"], response.usage.totalTokens)
        const metric = collector.metrics().get("gen_ai.client.token.usage")
        assert.strictEqual(metric.unit, "{token}")
        assert.isTrue(collector.metrics().has("gen_ai.client.operation.duration"))
      })
    )
  }

  it.scopedLive("marks the span of a failed agent, in a complete tree", () =>
    Effect.gen(function* () {
      const { collector, exit } = yield* exported(ways.run, { script: model({ failing: true }) })
      assert.isTrue(Exit.isSuccess(exit))
      const tree = whole(collector)
      const spans = all(tree)
      assert.deepInclude(named(spans, "agent.execute.researcher")[0]?.status, { code: 2, message: "down" })
      const [chat] = named(spans, "agent.llm.researcher")
      assert.strictEqual(chat?.status.code, 2)
      assert.strictEqual(chat?.attributes["error.type"], "LlmUnavailableError")
      assert.strictEqual(chat?.events[0]?.attributes["exception.type"], "LlmUnavailableError")
      const [tool] = named(spans, "agent.tool.delegate_to_researcher")
      assert.deepStrictEqual(tool?.status, { code: 1 })
      assert.strictEqual(tool?.attributes["error.type"], "ToolExecutionError")
      assert.deepStrictEqual(tree.span.status, { code: 1 })
    })
  )

  for (const way of ["run", "stream"] as const) {
    it.scopedLive(`${way}: ends all spans of an interrupted run as interrupted`, () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const agent = boss(hang(begun))
        const program = Effect.gen(function* () {
          const fiber = yield* Effect.fork(
            way === "run"
              ? Effect.asVoid(AgentExecutor.run(agent, "go"))
              : Stream.runDrain(AgentExecutor.stream(agent, "go"))
          )
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(fiber)
        })
        const { collector } = yield* exported(program, { script: model() })
        const spans = all(whole(collector))
        for (const name of [
          "agent.execute.boss",
          "agent.tool.delegate_to_researcher",
          "agent.execute.researcher",
          "agent.tool.lookup"
        ]) {
          const found = named(spans, name)
          assert.isAbove(found.length, 0, name)
          for (const span of found) {
            assert.deepStrictEqual([span.name, span.status], [name, { code: 2, message: "interrupted" }])
            assert.strictEqual(span.attributes["status.interrupted"], true)
          }
        }
        assert.strictEqual(named(spans, "agent.tool.lookup")[0]?.attributes["error.type"], "InterruptedError")
        assert.deepStrictEqual(named(spans, "agent.llm.researcher")[0]?.status, { code: 1 })
      })
    )
  }

  it.scopedLive("exports no messages by default", () =>
    Effect.gen(function* () {
      const { collector, exit } = yield* exported(ways.run, { script: model() })
      assert.include(String((yield* exit).message), said)
      assert.isAbove(collector.spans().length, 10)
      assert.notInclude(collector.text(), said)
      assert.notInclude(collector.text(), key)
    })
  )

  it.scopedLive("exports no model text when a run fails with it", () =>
    Effect.gen(function* () {
      const strict = Agent.make("strict", { output: Schema.Struct({ n: Schema.Number }), outputRetries: 0 })
      const { collector, exit } = yield* exported(AgentExecutor.run(strict, said), {
        script: [JSON.stringify({ n: `${said} ${key}` })]
      })
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(whole(collector).span.events[0]?.attributes["exception.type"], "OutputValidationError")
      assert.notInclude(collector.text(), said)
      assert.notInclude(collector.text(), key)
    })
  )

  it.scopedLive("exports messages on request, without credentials", () =>
    Effect.gen(function* () {
      const { collector } = yield* exported(ways.run, { script: model(), config: { captureContent: true } })
      const spans = collector.spans()
      const shown = (name: string, attribute: string) => String(named(spans, name)[0]?.attributes[attribute])
      assert.include(shown("agent.llm.boss", "gen_ai.input.messages"), said)
      assert.include(shown("agent.llm.writer", "gen_ai.output.messages"), said)
      assert.include(shown("agent.tool.lookup", "gen_ai.tool.call.arguments"), said)
      assert.include(shown("agent.tool.lookup", "gen_ai.tool.call.result"), said)
      assert.notInclude(collector.text(), key)
    })
  )

  it.scopedLive("passes everything through the redactor in context first", () =>
    Effect.gen(function* () {
      const hide = (text: string) => text.replaceAll(said, "[HIDDEN]")
      const program = Effect.provideService(ways.run, Telemetry.ContentRedactor, hide)
      const { collector } = yield* exported(program, { script: model(), config: { captureContent: true } })
      assert.include(collector.text(), "[HIDDEN]")
      assert.notInclude(collector.text(), said)
      assert.notInclude(collector.text(), key)
    })
  )
})
