import { inspect } from "node:util"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { RunLimitExceededError } from "../../src/agent/definition/AgentError.js"
import * as AgentEvent from "../../src/domain/AgentEvent.js"
import * as LlmError from "../../src/llm/model/LlmError.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import { MaxIterationsExceededError, OutputValidationError } from "../../src/strategy/definition/StrategyError.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ChatServer from "../support/ChatServer.js"
import * as Collaborators from "../support/Collaborators.js"

// Shaped like no key anybody knows: only those who were given it can find it.
const key = "Zq81-Wm04-Lr77-Tt29"
const tenant = "tenant-header-5521-77ab"
const secrets = [key, tenant, encodeURIComponent(key), `Bearer ${key}`]

const answer = (message: unknown) =>
  ChatServer.json({
    id: "c-1",
    model: "m-1",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  })
const call = (name: string, params: unknown) =>
  answer({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "t-1", type: "function", function: { name, arguments: JSON.stringify(params) } }]
  })
const refusal = (status: number, message: string) =>
  ChatServer.json(
    { error: { message, type: "e", code: "c", param: `authorization: Bearer ${key}` } },
    { status, headers: { "x-request-id": "req-1", "x-echo": key, "set-cookie": `session=${tenant}` } }
  )

class Lost extends Schema.TaggedError<Lost>()("Lost", { id: Schema.String }) {}

const lookup = Tool.make("lookup", {
  description: "Looks something up",
  parameters: { id: Schema.String },
  failure: Lost,
  handler: ({ id }) => Effect.fail(new Lost({ id })),
  fatal: true
})
const echo = Tool.make("echo", {
  description: "Says it again",
  parameters: { text: Schema.String },
  handler: ({ text }) => Effect.succeed(text)
})
const sub = AgentTool.make(Agent.make("sub"))

const plain = Agent.make("a", { tools: [echo, lookup, sub] })

const cases: ReadonlyArray<{
  readonly name: string
  readonly tag: string
  readonly agent?: Agent.Agent<unknown, unknown, AgentExecutor.AgentExecutor>
  readonly exchanges: ReadonlyArray<ChatServer.Exchange>
}> = [
  {
    name: "a key that is refused and quoted",
    tag: "LlmAuthenticationError",
    exchanges: [refusal(401, `Incorrect API key provided: ${key}`)]
  },
  {
    name: "a request that is refused with its headers",
    tag: "LlmInvalidRequestError",
    exchanges: [refusal(400, `bad request, headers were {"authorization":"Bearer ${key}","x-tenant":"${tenant}"}`)]
  },
  {
    name: "a rate limit",
    tag: "LlmRateLimitError",
    exchanges: [refusal(429, `slow down, ${encodeURIComponent(key)}`)]
  },
  { name: "a server that is down", tag: "LlmUnavailableError", exchanges: [refusal(503, `upstream ${key} is down`)] },
  {
    name: "a body that is no JSON",
    tag: "LlmMalformedResponseError",
    exchanges: [ChatServer.json(`<html>${key} ${tenant}</html>`)]
  },
  {
    name: "a connection that breaks",
    tag: "LlmConnectionError",
    exchanges: [{ before: [ChatServer.cut] }]
  },
  {
    name: "a tool that fails for good",
    tag: "Lost",
    exchanges: [call("lookup", { id: "7" })]
  },
  {
    name: "iterations used up",
    tag: "MaxIterationsExceededError",
    agent: plain.pipe(Agent.withStrategy("react", { maxIterations: 1 })),
    exchanges: [call("echo", { text: "x" })]
  },
  {
    name: "a limit of the run",
    tag: "RunLimitExceededError",
    agent: plain.pipe(Agent.withLimits({ maxModelCalls: 1 })),
    exchanges: [call("echo", { text: "x" })]
  },
  {
    name: "an answer without the shape",
    tag: "OutputValidationError",
    agent: Agent.make("a", { output: Schema.Struct({ n: Schema.Number }), outputRetries: 0 }),
    exchanges: [answer({ role: "assistant", content: "no" })]
  },
  {
    name: "a delegated run that fails, and then the run itself",
    tag: "LlmUnavailableError",
    exchanges: [
      call("delegate_to_sub", { message: "help" }),
      refusal(401, `Incorrect API key provided: ${key}`),
      refusal(500, `Bearer ${key}`)
    ]
  }
]

const codec = Schema.Union(
  LlmError.LlmError,
  RunLimitExceededError,
  MaxIterationsExceededError,
  OutputValidationError,
  Lost
)

/** Everything a run leaves behind, as text. */
const traces = (agent: Agent.Agent<unknown, unknown, AgentExecutor.AgentExecutor>, live: boolean) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const logger = Logger.make(({ annotations, cause, message }) => {
      seen.push(inspect({ message, annotations: Array.from(annotations) }, { depth: 20 }), Cause.pretty(cause))
    })
    const tracer = Tracer.make({
      span: (name, parent, context, links, startTime, kind) => {
        const attributes = new Map<string, unknown>()
        return {
          _tag: "Span",
          name,
          spanId: "s",
          traceId: "t",
          parent,
          context,
          status: { _tag: "Started", startTime },
          attributes,
          links,
          sampled: true,
          kind,
          end: (_time, exit) => {
            seen.push(`span ${name}`, inspect(Array.from(attributes), { depth: 20 }))
            if (Exit.isFailure(exit)) {
              seen.push(inspect(exit.cause, { depth: 20 }), Cause.pretty(exit.cause, { renderErrorCause: true }))
            }
          },
          attribute: (key, value) => void attributes.set(key, value),
          event: (name, _time, attributes) => void seen.push(inspect({ name, attributes }, { depth: 20 })),
          addLinks: () => {}
        }
      },
      context: (f) => f()
    })
    const run: Effect.Effect<Exit.Exit<unknown, unknown>, never, AgentExecutor.AgentExecutor> = Effect.gen(
      function* () {
        const executor = yield* AgentExecutor.AgentExecutor
        if (!live) return yield* Effect.exit(executor.run(agent, { input: "hi", userId: "ada" }))
        const events: Array<AgentEvent.AgentEvent> = []
        return yield* Effect.exit(
          Stream.runForEach(executor.stream(agent, { input: "hi", userId: "ada" }), (event) =>
            Effect.sync(() => void events.push(event))
          )
        )
      }
    )
    const exit = yield* run.pipe(
      Effect.withTracer(tracer),
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      Logger.withMinimumLogLevel(LogLevel.All)
    )
    if (Exit.isSuccess(exit)) return yield* Effect.dieMessage("the run succeeded")
    seen.push(inspect(exit.cause, { depth: 20, showHidden: true }))
    seen.push(Cause.pretty(exit.cause, { renderErrorCause: true }), JSON.stringify(exit))
    const error = yield* Effect.flip(exit)
    seen.push(JSON.stringify(Schema.encodeUnknownSync(codec)(error)))
    return { error, seen }
  })

describe("secrets", () => {
  for (const { agent = plain, exchanges, name, tag } of cases) {
    for (const live of [false, true]) {
      it.scopedLive(`${name}: ${live ? "stream" : "run"} shows no key and no header anywhere`, () =>
        Effect.gen(function* () {
          const server = yield* ChatServer.make
          yield* server.script(...exchanges)
          const log = Collaborators.log()
          const memory = Collaborators.memory()
          const sessions = Collaborators.sessions()
          const client = ChatCompletions.layer({
            baseUrl: server.baseUrl,
            model: "m-1",
            apiKey: Redacted.make(key),
            headers: { "x-tenant": Redacted.make(tenant) }
          }).pipe(Layer.provide(FetchHttpClient.layer))
          const layer = Agents.layerWith({
            log: log.layer,
            memory: memory.layer,
            sessions: sessions.layer,
            config: { captureContent: true }
          }).pipe(Layer.provide(client))
          const { error, seen } = yield* Effect.provide(traces(agent, live), layer)
          assert.strictEqual((error as { readonly _tag: string })._tag, tag)
          assert.include(server.requests[0]?.headers["authorization"], key)
          assert.strictEqual(server.requests[0]?.headers["x-tenant"], tenant)
          assert.isAbove(log.events.length, 2)
          const all = [
            ...seen,
            ...log.events.map((event) => JSON.stringify(Schema.encodeSync(AgentEvent.AgentEvent)(event))),
            inspect(memory.entries(), { depth: 20 })
          ]
          assert.isTrue(all.some((text) => text.startsWith("span agent.execute.a")))
          for (const text of all) for (const secret of secrets) assert.notInclude(text, secret)
        })
      )
    }
  }
})
