/** Strategies run over a scripted model and real tools, without an executor. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import { CostEstimator } from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Run from "../../src/observability/Run.js"
import type * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"

export type Script = Parameters<typeof TestModel.layer>[0]

export interface Setup {
  readonly tools?: ToolSet.ToolSet<unknown, never> | undefined
  readonly task?: Partial<Strategy.Task> | undefined
  /** False: as under `run`, where nobody reads along. */
  readonly live?: boolean | undefined
  readonly telemetry?: Partial<Run.TelemetryOptions> | undefined
  /** False: turns of the script may be left. */
  readonly exhausted?: boolean | undefined
}

const runner = DefaultToolRunner.layer().pipe(
  Layer.provide(ApprovalGate.layerDeny),
  Layer.provide(ModuleGraph.layerNoop)
)

/** The layers a strategy asks for, over a script. */
export const layer = (script: Script, options?: TestModel.LayerOptions) =>
  Layer.provideMerge(Layer.merge(DefaultModelRouter.layerDefault, runner), TestModel.layer(script, options))

export const task = (setup: Setup = {}): Effect.Effect<Strategy.Task> =>
  Effect.map(ToolSet.bind(setup.tools ?? ToolSet.empty), (tools) => ({
    input: "What is it?",
    system: "Be brief.",
    history: [],
    settings: {},
    limits: {},
    // Tests read in the events where a strategy stands.
    debugNodeUpdates: true,
    ...setup.task,
    tools
  }))

export interface Ran<E> {
  readonly exit: Effect.Effect<Strategy.Answer, E>
  readonly events: ReadonlyArray<AgentEvent>
  readonly requests: ReadonlyArray<LlmClient.LlmRequest>
  readonly remaining: number
  readonly of: <Tag extends AgentEvent["_tag"]>(tag: Tag) => ReadonlyArray<Extract<AgentEvent, { readonly _tag: Tag }>>
}

/** The program of a strategy in a run of its own, with the prices in context. */
export const run = <E>(
  strategy: Strategy.Strategy<E, CostEstimator>,
  script: Script,
  setup: Setup = {}
): Effect.Effect<Ran<E | Strategy.StrategyBaseError>> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const events: Array<AgentEvent> = []
    const current = Run.make({
      runId: RunId.make("run-1"),
      agent: "tester",
      clock,
      sink: { push: (event) => void events.push(event), settle: () => undefined, live: setup.live ?? true },
      telemetry: { tracing: false, metrics: false, content: false, ...setup.telemetry }
    })
    const given = yield* task(setup)
    const prices = yield* CostEstimator
    const exit = yield* Effect.exit(
      strategy
        .program(given)
        .pipe(Effect.provideService(Run.Run, current), Effect.provideService(CostEstimator, prices))
    )
    const observer = yield* TestModel.TestModel
    return {
      exit,
      events,
      requests: yield* observer.requests,
      remaining: yield* observer.remaining,
      of: (tag: string) => events.filter((event) => event._tag === tag) as never
    }
  }).pipe(Effect.provide(layer(script, { exhausted: setup.exhausted }))) as Effect.Effect<
    Ran<E | Strategy.StrategyBaseError>
  >

/** The events of `execute`, and how its stream ended. */
export const record = <E>(strategy: Strategy.Strategy<E, never>, script: Script, setup: Setup = {}) =>
  Effect.flatMap(task(setup), (given) => EventRecorder.record(strategy.execute(given))).pipe(
    Effect.provide(layer(script, { exhausted: setup.exhausted }))
  )

/** Events as a line each: what happened, and the one thing that tells it from others of its kind. */
export const sketch = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.map((event) => {
    switch (event._tag) {
      case "StepStarted":
        return `${event._tag} ${event.name}`
      case "NodeFinished":
        return `${event._tag} ${event.node}`
      case "ToolCall":
      case "ToolResult":
        return `${event._tag} ${event.id}`
      case "Thought":
      case "Critique":
      case "TextDelta":
        return `${event._tag} ${event.text}`
      case "Plan":
        return `${event._tag} ${event.steps.map(({ status }) => status[0]).join("")}`
      default:
        return event._tag
    }
  })

/** The roles and plain texts of messages; tool messages as their results. */
export const shape = (messages: ReadonlyArray<LlmClient.Message>): ReadonlyArray<readonly [string, unknown]> =>
  messages.map((message) => [
    message.role,
    typeof message.content === "string"
      ? message.content
      : message.content.map((part) =>
          part.type === "text"
            ? part.text
            : part.type === "tool-call"
              ? `${part.name}#${part.id}`
              : part.type === "tool-result"
                ? [part.id, part.result]
                : part.type
        )
  ])

export const add = Tool.make("add", {
  description: "The sum of two numbers",
  readOnly: true,
  parameters: { a: Schema.Number, b: Schema.Number },
  success: Schema.Number,
  handler: ({ a, b }) => Effect.succeed(a + b)
})

export const echo = Tool.make("echo", {
  description: "Says what it is told",
  readOnly: true,
  parameters: { text: Schema.String },
  handler: ({ text }) => Effect.succeed(text)
})

export class Broken extends Schema.TaggedError<Broken>()("Broken", { message: Schema.String }) {}

export const broken = Tool.make("broken", {
  description: "Fails",
  readOnly: true,
  handler: () => Effect.fail(new Broken({ message: "out of order" }))
})

export const fatal = Tool.make("fatal", {
  description: "Fails for good",
  readOnly: true,
  failure: Broken,
  fatal: true,
  handler: () => Effect.fail(new Broken({ message: "the end" }))
})

export const tools = ToolSet.make(add, echo, broken)

export const outputSpec = (retries: number): Strategy.OutputSpec => ({
  name: "answer",
  jsonSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  retries,
  decode: (value) =>
    typeof value === "object" && value !== null && typeof (value as { readonly n?: unknown }).n === "number"
      ? Effect.succeed(value)
      : Effect.fail("n: expected a number")
})
