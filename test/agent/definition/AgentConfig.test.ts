import { assert, describe, it } from "@effect/vitest"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentConfig from "../../../src/agent/definition/AgentConfig.js"
import * as Content from "../../../src/content/Content.js"
import * as InMemoryBlobStore from "../../../src/content/InMemoryBlobStore.js"
import * as AgentMetrics from "../../../src/observability/AgentMetrics.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"

type Partial_ = Partial<AgentConfig.AgentConfig>

const layer = (
  config: Partial_,
  script: TestModel.Script,
  rest: Agents.Replaceable = {},
  options: TestModel.LayerOptions = {}
) =>
  Layer.provideMerge(
    Agents.layerWith({ ...rest, config }) as Layer.Layer<AgentExecutor.AgentExecutor, never, TestModel.TestModel | any>,
    TestModel.layer(script, options)
  ) as Layer.Layer<AgentExecutor.AgentExecutor | TestModel.TestModel>

const echo = Tool.make("echo", {
  description: "Says it again",
  parameters: { text: Schema.String },
  handler: ({ text }) => Effect.succeed(text)
})

const tagOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  Exit.isSuccess(exit)
    ? "ok"
    : Option.getOrElse(
        Option.map(Exit.causeOption(exit), (cause) => String((cause as any).error?._tag ?? cause._tag)),
        () => "?"
      )

const firstRequest = (config: Partial_) =>
  Effect.gen(function* () {
    yield* AgentExecutor.run(Agent.make("a"), "hi")
    return (yield* TestModel.requests)[0]?.settings
  }).pipe(Effect.provide(layer(config, ["hello"])))

/** Runs to its end on a clock that is moved on for as long as it takes. */
const ended = <A, E, R>(effect: Effect.Effect<A, E, R>, minutes: number) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust(Duration.minutes(minutes))
    return yield* Fiber.await(fiber)
  })

/** Names of the spans of a run, and whether one of them holds a text. */
const spansOf = (config: Partial_, secret: string) =>
  Effect.gen(function* () {
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      span: (name, parent, context, links, startTime, kind) => {
        const attributes = new Map<string, unknown>()
        const span: Tracer.Span = {
          _tag: "Span",
          name,
          spanId: String(spans.length),
          traceId: "t",
          parent,
          context,
          status: { _tag: "Started", startTime },
          attributes,
          links,
          sampled: true,
          kind,
          end: () => {},
          attribute: (key, value) => void attributes.set(key, value),
          event: () => {},
          addLinks: () => {}
        }
        spans.push(span)
        return span
      },
      context: (f) => f()
    })
    yield* AgentExecutor.run(Agent.make("a", { tools: [echo] }), secret).pipe(
      Effect.withTracer(tracer),
      Effect.provide(layer(config, [{ calls: [{ name: "echo", params: { text: secret } }] }, "done"]))
    )
    const texts = spans.map((span) => JSON.stringify(Array.from(span.attributes)))
    return { names: spans.map((span) => span.name), told: texts.filter((text) => text.includes(secret)).length }
  })

/** What a run comes to with a value of the field: rows with two values must come to different things, the ones written down. */
type Row = {
  readonly [K in keyof AgentConfig.AgentConfig]: readonly [
    observe: (config: Partial_) => Effect.Effect<unknown>,
    one: readonly [AgentConfig.AgentConfig[K], unknown],
    other: readonly [AgentConfig.AgentConfig[K], unknown]
  ]
}

const orDie = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A> => Effect.orDie(effect)

class Reset extends Schema.TaggedError<Reset>()("Reset", { isRetryable: Schema.Boolean }) {}

const rows: Row = {
  enabled: [
    (config) =>
      orDie(
        Effect.gen(function* () {
          const exit = yield* Effect.exit(AgentExecutor.run(Agent.make("a"), "hi"))
          return [tagOf(exit), (yield* TestModel.requests).length]
        }).pipe(Effect.provide(layer(config, ["hello"], {}, { exhausted: false })))
      ),
    [true, ["ok", 1]],
    [false, ["AgentConfigurationError", 0]]
  ],
  maxIterations: [
    (config) =>
      orDie(
        Effect.gen(function* () {
          const exit = yield* Effect.exit(AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi"))
          return [tagOf(exit), (yield* TestModel.requests).length]
        }).pipe(
          Effect.provide(
            layer(config, (_request, index) => ({ calls: [{ name: "echo", params: { text: String(index) } }] }))
          )
        )
      ),
    [2, ["MaxIterationsExceededError", 2]],
    [4, ["MaxIterationsExceededError", 4]]
  ],
  defaultTemperature: [
    (config) => orDie(Effect.map(firstRequest(config), (settings) => settings?.temperature)),
    [0.2, 0.2],
    [undefined, undefined]
  ],
  defaultMaxTokens: [
    (config) => orDie(Effect.map(firstRequest(config), (settings) => settings?.maxTokens)),
    [100, 100],
    [200, 200]
  ],
  toolMaxRetries: [
    (config) =>
      orDie(
        Effect.gen(function* () {
          let attempts = 0
          const flaky = Tool.make("flaky", {
            description: "Fails",
            handler: () =>
              Effect.zipRight(
                Effect.sync(() => attempts++),
                new Reset({ isRetryable: true })
              )
          })
          yield* ended(AgentExecutor.run(Agent.make("a", { tools: [flaky] }), "hi"), 10)
          return attempts
        }).pipe(Effect.provide(layer(config, [{ calls: [{ name: "flaky" }] }, "done"])))
      ),
    [1, 1],
    [4, 4]
  ],
  enableTracing: [
    (config) => orDie(Effect.map(spansOf(config, "psst"), ({ names }) => names)),
    [true, ["agent.execute.a", "agent.llm.a", "agent.tool.echo", "agent.llm.a"]],
    [false, []]
  ],
  enableMetrics: [
    (config) =>
      orDie(
        Effect.gen(function* () {
          const counter = Metric.tagged(
            Metric.counter(AgentMetrics.METRIC_AGENT_EXECUTIONS_TOTAL, { incremental: true }),
            "agent",
            "metered"
          )
          const before = (yield* Metric.value(counter)).count
          yield* AgentExecutor.run(Agent.make("metered"), "hi")
          return (yield* Metric.value(counter)).count - before
        }).pipe(Effect.provide(layer(config, ["hello"])))
      ),
    [true, 1],
    [false, 0]
  ],
  captureContent: [
    (config) => orDie(Effect.map(spansOf(config, "psst"), ({ told }) => told > 0)),
    [true, true],
    [false, false]
  ],
  toolTimeout: [
    (config) =>
      orDie(
        Effect.gen(function* () {
          const slow = Tool.make("slow", {
            description: "Is slow",
            handler: () => Effect.as(Effect.sleep("20 seconds"), "ok")
          })
          const exit = yield* ended(AgentExecutor.run(Agent.make("a", { tools: [slow] }), "hi"), 1)
          return Exit.isSuccess(exit) ? (exit.value.toolCalls[0]?.error?.tag ?? "in time") : tagOf(exit)
        }).pipe(Effect.provide(layer(config, [{ calls: [{ name: "slow" }] }, "done"])))
      ),
    [Duration.seconds(10), "ToolTimeoutError"],
    [Duration.seconds(30), "in time"]
  ],
  toolConcurrency: [
    (config) =>
      orDie(
        Effect.gen(function* () {
          let running = 0
          let most = 0
          const busy = Tool.make("busy", {
            description: "Takes a while",
            parameters: { n: Schema.Number },
            handler: () =>
              Effect.acquireUseRelease(
                Effect.sync(() => {
                  running++
                  most = Math.max(most, running)
                }),
                () => Effect.sleep("1 second"),
                () => Effect.sync(() => void running--)
              )
          })
          yield* ended(AgentExecutor.run(Agent.make("a", { tools: [busy] }), "hi"), 1)
          return most
        }).pipe(
          Effect.provide(layer(config, [{ calls: [1, 2, 3, 4].map((n) => ({ name: "busy", params: { n } })) }, "done"]))
        )
      ),
    [1, 1],
    [3, 3]
  ],
  maxCallsPerTurn: [
    (config) =>
      orDie(
        Effect.map(
          AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi"),
          (response) => response.toolCalls.filter(({ isFailure }) => isFailure).length
        ).pipe(
          Effect.provide(
            layer(config, [{ calls: ["a", "b", "c"].map((text) => ({ name: "echo", params: { text } })) }, "done"])
          )
        )
      ),
    [1, 2],
    [3, 0]
  ],
  observationMaxChars: [
    (config) =>
      orDie(
        Effect.map(
          AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi"),
          (response) => response.toolCalls[0]?.observation === "x".repeat(500)
        ).pipe(
          Effect.provide(layer(config, [{ calls: [{ name: "echo", params: { text: "x".repeat(500) } }] }, "done"]))
        )
      ),
    [100, false],
    [1000, true]
  ],
  llmTimeout: [
    (config) =>
      orDie(
        Effect.map(ended(AgentExecutor.run(Agent.make("a"), "hi"), 2), tagOf).pipe(
          Effect.provide(layer(config, [{ text: "late", delay: "1 minute" }]))
        )
      ),
    [Duration.seconds(30), "LlmTimeoutError"],
    [Duration.seconds(90), "ok"]
  ],
  runTimeout: [
    (config) =>
      orDie(
        Effect.map(ended(AgentExecutor.run(Agent.make("a"), "hi"), 2), tagOf).pipe(
          Effect.provide(layer(config, [{ text: "late", delay: "1 minute" }]))
        )
      ),
    [Duration.seconds(30), "RunLimitExceededError"],
    [undefined, "ok"]
  ],
  readerTimeout: [
    (config) =>
      orDie(
        ended(
          Stream.runForEach(AgentExecutor.stream(Agent.make("a"), "hi"), () => Effect.sleep("1 second")),
          10
        ).pipe(
          Effect.map(tagOf),
          Effect.provide(layer(config, [{ text: Array.from("x".repeat(200)), partDelay: "1 millis" }]))
        )
      ),
    [Duration.seconds(30), "ReaderTimeoutError"],
    [Duration.seconds(90), "ok"]
  ],
  maxRunTokens: [
    (config) =>
      orDie(
        Effect.map(Effect.exit(AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi")), tagOf).pipe(
          Effect.provide(
            layer(config, [{ calls: [{ name: "echo", params: { text: "x" } }] }, "done"], {}, { exhausted: false })
          )
        )
      ),
    [15, "RunLimitExceededError"],
    [undefined, "ok"]
  ],
  memoryTokenBudget: [
    (config) =>
      orDie(
        Effect.suspend(() => {
          const memory = Collaborators.memory()
          return AgentExecutor.run(Agent.make("a"), { input: "hi", userId: "ada" }).pipe(
            Effect.map(() => memory.asked[0]?.tokenBudget),
            Effect.provide(layer(config, ["hello"], { memory: memory.layer }))
          )
        })
      ),
    [10, 10],
    [500, 500]
  ],
  sessionTurns: [
    (config) =>
      orDie(
        Effect.suspend(() => {
          const sessions = Collaborators.sessions()
          return Effect.gen(function* () {
            for (const input of ["one", "two", "three"]) {
              yield* AgentExecutor.run(Agent.make("a"), { input, sessionId: "s" })
            }
            return (yield* TestModel.requests)[2]?.messages.length
          }).pipe(Effect.provide(layer(config, ["1", "2", "3"], { sessions: sessions.layer })))
        })
      ),
    [2, 3],
    [20, 5]
  ],
  sessionFiles: [
    (config) =>
      orDie(
        Effect.suspend(() => {
          const image = Content.image(Uint8Array.from([0xff, 0xd8, 0xff, 0xe0]), { fileName: "a.jpg" })
          return Effect.gen(function* () {
            yield* AgentExecutor.run(Agent.make("a"), { input: [yield* image], sessionId: "s" })
            yield* AgentExecutor.run(Agent.make("a"), { input: "again", sessionId: "s" })
            const content = (yield* TestModel.requests)[1]?.messages[0]?.content
            return typeof content === "string" ? content : content?.map(({ type }) => type)
          }).pipe(
            Effect.provide(
              layer(config, ["1", "2"], {
                sessions: Layer.provide(Sessions.layer({ cleanup: false }), InMemoryBlobStore.layer())
              })
            )
          )
        })
      ),
    [1, ["file"]],
    [0, "[a.jpg]"]
  ],
  sessionToolCalls: [
    (config) =>
      orDie(
        Effect.suspend(() => {
          const sessions = Collaborators.sessions()
          const script = [{ calls: [{ name: "echo", params: { text: "x" } }] }, "1", "2"]
          return Effect.gen(function* () {
            for (const input of ["one", "two"]) {
              yield* AgentExecutor.run(Agent.make("a", { tools: [echo] }), { input, sessionId: "s" })
            }
            return (yield* TestModel.requests)[2]?.messages.some(({ role }) => role === "tool")
          }).pipe(Effect.provide(layer(config, script, { sessions: sessions.layer })))
        })
      ),
    [true, true],
    [false, false]
  ]
}

describe("AgentConfig", () => {
  for (const field of Object.keys(AgentConfig.AgentConfig.fields) as Array<keyof AgentConfig.AgentConfig>) {
    it.effect(`${field} changes what a run does`, () =>
      Effect.gen(function* () {
        const [observe, ...values] = rows[field]
        for (const [value, expected] of values) {
          assert.deepStrictEqual(yield* observe({ [field]: value }), expected, `${field} = ${String(value)}`)
        }
        assert.notDeepEqual(values[0][1], values[1][1])
      })
    )
  }

  it.effect("a run without a limit of time waits for as long as it takes", () =>
    Effect.gen(function* () {
      const done = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        Effect.zipRight(AgentExecutor.run(Agent.make("a"), "hi"), Deferred.succeed(done, undefined))
      )
      yield* TestClock.adjust("100 seconds")
      assert.isFalse(yield* Deferred.isDone(done))
      yield* TestClock.adjust("100 seconds")
      yield* Fiber.join(fiber)
      assert.isTrue(yield* Deferred.isDone(done))
    }).pipe(Effect.provide(layer({ llmTimeout: Duration.infinity }, [{ text: "late", delay: "150 seconds" }])))
  )
})

const read = (variables: Record<string, string>) =>
  Effect.withConfigProvider(AgentConfig.config, ConfigProvider.fromMap(new Map(Object.entries(variables))))

const variables: {
  readonly [K in keyof AgentConfig.AgentConfig]: readonly [string, string, AgentConfig.AgentConfig[K]]
} = {
  enabled: ["ENABLED", "false", false],
  maxIterations: ["MAX_ITERATIONS", "3", 3],
  defaultTemperature: ["DEFAULT_TEMPERATURE", "none", undefined],
  defaultMaxTokens: ["DEFAULT_MAX_TOKENS", "99", 99],
  toolMaxRetries: ["TOOL_MAX_RETRIES", "5", 5],
  enableTracing: ["ENABLE_TRACING", "false", false],
  enableMetrics: ["ENABLE_METRICS", "false", false],
  captureContent: ["CAPTURE_CONTENT", "true", true],
  toolTimeout: ["TOOL_TIMEOUT", "1.5", Duration.millis(1500)],
  toolConcurrency: ["TOOL_CONCURRENCY", "2", 2],
  maxCallsPerTurn: ["MAX_CALLS_PER_TURN", "3", 3],
  observationMaxChars: ["OBSERVATION_MAX_CHARS", "10", 10],
  llmTimeout: ["LLM_TIMEOUT", "7", Duration.seconds(7)],
  runTimeout: ["RUN_TIMEOUT", "60", Duration.minutes(1)],
  readerTimeout: ["READER_TIMEOUT", "30", Duration.seconds(30)],
  maxRunTokens: ["MAX_RUN_TOKENS", "1000", 1000],
  memoryTokenBudget: ["MEMORY_TOKEN_BUDGET", "12", 12],
  sessionTurns: ["SESSION_TURNS", "4", 4],
  sessionFiles: ["SESSION_FILES", "0", 0],
  sessionToolCalls: ["SESSION_TOOL_CALLS", "false", false]
}

describe("AgentConfig from the environment", () => {
  it.effect("nothing set gives the defaults", () =>
    Effect.map(read({}), (config) => assert.deepStrictEqual(config, AgentConfig.defaults))
  )

  for (const field of Object.keys(AgentConfig.AgentConfig.fields) as Array<keyof AgentConfig.AgentConfig>) {
    const [name, text, value] = variables[field]
    it.effect(`${AgentConfig.ENV_PREFIX}${name} sets ${field} alone, and is named when it cannot be read`, () =>
      Effect.gen(function* () {
        const config = yield* read({ [`${AgentConfig.ENV_PREFIX}${name}`]: text })
        assert.deepStrictEqual(config, { ...AgentConfig.defaults, [field]: value })
        const error = yield* Effect.flip(read({ [`${AgentConfig.ENV_PREFIX}${name}`]: "rubbish" }))
        assert.include(String(error), `${AgentConfig.ENV_PREFIX}${name}`)
      })
    )
  }

  it.effect("values out of bounds are named, each by its variable", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        read({
          LEX_AI_AGENTS__MAX_ITERATIONS: "0",
          LEX_AI_AGENTS__DEFAULT_TEMPERATURE: "2.5",
          LEX_AI_AGENTS__RUN_TIMEOUT: "0",
          LEX_AI_AGENTS__SESSION_TURNS: "5"
        })
      )
      assert.isTrue(ConfigError.isConfigError(error))
      const text = String(error)
      for (const name of ["MAX_ITERATIONS", "DEFAULT_TEMPERATURE", "RUN_TIMEOUT"]) {
        assert.include(text, `LEX_AI_AGENTS__${name}`)
      }
      assert.notInclude(text, "SESSION_TURNS")
    })
  )

  it.effect("a temperature that is no number is refused, an empty one too", () =>
    Effect.gen(function* () {
      for (const text of ["warm", "", "NaN", "Infinity"]) {
        const error = yield* Effect.flip(read({ LEX_AI_AGENTS__DEFAULT_TEMPERATURE: text }))
        assert.include(String(error), "LEX_AI_AGENTS__DEFAULT_TEMPERATURE")
      }
    })
  )

  it.effect("the executor of the environment follows it, and cannot be built from a bad one", () =>
    Effect.gen(function* () {
      const run = (variables: Record<string, string>) =>
        Effect.gen(function* () {
          yield* AgentExecutor.run(Agent.make("a"), "hi")
          return (yield* TestModel.requests)[0]?.settings?.maxTokens
        }).pipe(
          Effect.provide(Layer.provideMerge(Agents.layerConfig(), TestModel.layer(["hello"]))),
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))
        )
      assert.strictEqual(yield* run({ LEX_AI_AGENTS__DEFAULT_MAX_TOKENS: "77" }), 77)
      const error = yield* Effect.flip(run({ LEX_AI_AGENTS__DEFAULT_MAX_TOKENS: "0" }))
      assert.include(String(error), "LEX_AI_AGENTS__DEFAULT_MAX_TOKENS")
    })
  )
})

describe("AgentConfig in code", () => {
  const bad: { readonly [K in keyof AgentConfig.AgentConfig]?: unknown } = {
    maxIterations: 0,
    defaultTemperature: 2.1,
    defaultMaxTokens: 1.5,
    toolMaxRetries: 0,
    toolTimeout: Duration.zero,
    toolConcurrency: -1,
    maxCallsPerTurn: 0,
    observationMaxChars: Number.NaN,
    llmTimeout: Duration.zero,
    runTimeout: Duration.zero,
    readerTimeout: Duration.zero,
    maxRunTokens: 0,
    memoryTokenBudget: 0,
    sessionTurns: 0
  }

  for (const [field, value] of Object.entries(bad)) {
    it.effect(`${field} out of bounds fails every run before a model is asked, by name`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a"), "hi"))
        assert.strictEqual(error._tag, "AgentConfigurationError")
        assert.include(error.message, field)
        assert.strictEqual((yield* TestModel.requests).length, 0)
      }).pipe(Effect.provide(layer({ [field]: value } as Partial_, [])))
    )
  }

  it("several bad fields are all named", () => {
    const made = AgentConfig.make({ maxIterations: 0, sessionTurns: -1 })
    assert.isTrue(Either.isLeft(made))
    if (Either.isRight(made)) return
    assert.include(made.left, "maxIterations")
    assert.include(made.left, "sessionTurns")
  })
})
