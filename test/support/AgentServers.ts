/** A server of agents on loopback, and requests to it. */
import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { A2aPush } from "../../src/a2a/A2aPush.js"
import type { AgentExecutor } from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import type * as Agent from "../../src/agent/definition/AgentDefinition.js"
import * as InMemoryRunStore from "../../src/agent/record/InMemoryRunStore.js"
import * as Steering from "../../src/agent/record/Steering.js"
import * as LocalRuns from "../../src/agent/runs/LocalRuns.js"
import type * as Runs from "../../src/agent/runs/Runs.js"
import { UserId } from "../../src/domain/Ids.js"
import * as AgentServer from "../../src/http/api/AgentServer.js"
import * as Authentication from "../../src/http/api/Authentication.js"
import * as GracefulServer from "../../src/http/request/GracefulServer.js"
import type * as RunWebhooks from "../../src/http/webhook/RunWebhooks.js"
import type * as ModelRouter from "../../src/llm/ModelRouter.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as RunLog from "../../src/observability/RunLog.js"
import type * as Sessions from "../../src/session/Sessions.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"

export interface Setup extends Omit<AgentServer.Options, "agents"> {
  readonly agents: ReadonlyArray<Agent.Agent<any, any, AgentExecutor>>
  readonly script?: Parameters<typeof TestModel.layer>[0]
  /** Default: `TestModel` with the script. */
  readonly model?: Layer.Layer<LlmClient.LlmClient> | undefined
  readonly authentication?: Layer.Layer<Authentication.Authentication, any>
  readonly router?: Layer.Layer<ModelRouter.ModelRouter, never, LlmClient.LlmClient> | undefined
  /** Given to the executor, and served. */
  readonly sessions?: Layer.Layer<Sessions.Out> | undefined
  readonly webhooks?: Layer.Layer<RunWebhooks.RunWebhooks, never, Runs.Runs> | undefined
  readonly push?: Layer.Layer<A2aPush, never, Runs.Runs | PendingApprovals.PendingApprovals> | undefined
  /** Served too. */
  readonly others?: Layer.Layer<never> | undefined
  /** A service that the server does not see. */
  readonly without?: Context.Tag<any, any> | undefined
  readonly runs?: Omit<LocalRuns.Options<ReadonlyArray<Agent.Any>>, "agents">
}

/** Each of these tokens is its user. */
export const tokens = Authentication.layerBearer({
  verify: (token) =>
    Effect.succeed(
      Option.map(Option.fromNullable(/^token-(\w+)$/.exec(Redacted.value(token))), ([, name = ""]) => ({
        userId: UserId.make(name)
      }))
    )
})

/** Runs in this process and what they share, with the caller's identity from `authentication`. */
export const services = ({
  agents,
  authentication = tokens,
  model,
  others = Layer.empty,
  router,
  runs,
  script = () => "hi",
  sessions
}: Omit<Setup, "push" | "webhooks">) => {
  const log = RunLog.layerMemory()
  const steering = Steering.layer()
  const approvals = PendingApprovals.layerMemory()
  const executor = Layer.provide(
    Agents.layerWith({
      log,
      steering,
      approvals,
      ...(router === undefined ? {} : { router }),
      ...(sessions === undefined ? {} : { sessions })
    }),
    model ?? TestModel.layer(script)
  )
  return LocalRuns.layer({ agents, ...runs }).pipe(
    Layer.provideMerge(Layer.mergeAll(executor, steering, approvals, log, InMemoryRunStore.layer())),
    Layer.merge(authentication),
    Layer.merge(Layer.merge(sessions ?? Layer.empty, others))
  )
}

export interface Server {
  readonly url: string
  /** Asks as a user, or as nobody. */
  readonly ask: (path: string, options?: Asked) => Effect.Effect<Answered>
}

export interface Asked {
  readonly method?: string
  readonly body?: unknown
  readonly user?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: any
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const init = ({ body, headers, method, user = "ann" }: Asked = {}): RequestInit => ({
  method: method ?? (body === undefined ? "GET" : "POST"),
  headers: {
    ...(user === "" ? {} : { authorization: `Bearer token-${user}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...headers
  },
  ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
})

/** Asks the server at an address. */
export const ask =
  (url: string) =>
  (path: string, options?: Asked): Effect.Effect<Answered> =>
    Effect.promise(async (signal) => {
      const response = await fetch(`${url}${path}`, { ...init(options), signal })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: jsonOf(text) }
    })

/** The events of a body, each with its fields. */
export const eventsOf = (text: string): ReadonlyArray<{ id?: string; event?: string; data: any }> =>
  text
    .split("\n\n")
    .filter((block) => block.includes("data: "))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1]
      return { id: field("id"), event: field("event"), data: jsonOf(field("data") ?? "") } as never
    })

/** Starts a server on a free port of loopback; it ends with the scope. */
export const start = (setup: Setup) =>
  Effect.gen(function* () {
    const {
      agents,
      authentication: _,
      model: __,
      others: ___,
      router: _______,
      push = Layer.empty,
      runs: ____,
      script: _____,
      sessions: ______,
      webhooks = Layer.empty,
      without,
      ...options
    } = setup
    const all = services(setup)
    const seen = without === undefined ? all : (Layer.map(all, Context.omit(without)) as typeof all)
    const http = NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" })
    const layer = AgentServer.layer({ ...options, agents }).pipe(
      Layer.provideMerge(Layer.merge(http, Layer.provideMerge(Layer.merge(webhooks, push), seen)))
    )
    const context = yield* Layer.build(Layer.orDie(layer))
    const url = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
    return { url, ask: ask(url), context }
  })
