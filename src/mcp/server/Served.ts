/**
 * A server whose tools and offers were checked, for the sessions of its clients.
 *
 * @private
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as AgentExecutor from "../../agent/AgentExecutor.js"
import type { RunPolicy } from "../../agent/record/RunPolicy.js"
import * as Runs from "../../agent/runs/Runs.js"
import type { Identity } from "../../http/api/Authentication.js"
import { count } from "../../internal/Count.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import * as ToolNames from "../../tool/definition/ToolNames.js"
import * as ToolSet from "../../tool/definition/ToolSet.js"
import type { Item, Options } from "../offer/McpDefinition.js"
import { McpServerError } from "../offer/McpServerError.js"
import * as ServedAgents from "./ServedAgents.js"
import type { ServedTool } from "./ServedCall.js"
import { ServedOffers } from "./ServedOffers.js"
import * as ServedSdk from "./ServedSdk.js"
import * as ServedTools from "./ServedTools.js"

/**
 * @category models
 */
export interface Served {
  readonly sdk: ServedSdk.Sdk
  readonly options: Options
  readonly tools: ReadonlyMap<string, ServedTool>
  readonly offers: ServedOffers
  readonly permits: (caller: Identity, item: Item) => boolean
  readonly policy: (caller: Identity) => RunPolicy | undefined
  /** Milliseconds. */
  readonly answerTimeout: number
  readonly maxCalls: number
  readonly maxSubscriptions: number
  readonly pageSize: number
  /** Whether the server itself ends. */
  readonly isStopping: () => boolean
}

const DAY = 24 * 60 * 60 * 1000

const misconfigured = (message: string, hint: string): McpServerError =>
  new McpServerError({ reason: "configuration", message, hint })

const toolsOf = (
  { agents = [], name, tools = [] }: Options,
  permits: Served["permits"],
  services: ServedTools.Services
): Effect.Effect<ReadonlyMap<string, ServedTool>, McpServerError> => {
  const [problem] = ToolSet.make(...tools).problems
  if (problem !== undefined) return misconfigured(problem.message, problem.hint ?? "Correct the tool")
  const owns = [...tools, ...agents].map((one) => one.name)
  if (agents.length > 0) owns.push(ServedAgents.CONTINUE)
  const twice = owns.find((own, at) => owns.indexOf(own) !== at)
  if (twice !== undefined) return misconfigured(`Two tools of the server are named "${twice}"`, "Rename one of them")
  const { toProvider } = ToolNames.make(owns)
  const served = [
    ...tools.map((tool) => ServedTools.make(name, toProvider(tool.name), tool, services)),
    ...agents.map((agent) => ServedAgents.make(toProvider(agent.name), agent, services)),
    ...(agents.length === 0
      ? []
      : [
          ServedAgents.makeContinue(
            toProvider(ServedAgents.CONTINUE),
            agents,
            ({ caller }, agent) => permits(caller, { kind: "agent", name: agent }),
            services
          )
        ])
  ]
  return Effect.succeed(new Map(served.map((tool) => [tool.name, tool])))
}

/**
 * @category constructors
 */
export const make = (
  options: Options,
  isStopping: () => boolean,
  policy: Served["policy"] = () => undefined
): Effect.Effect<Served, McpServerError, Runs.Runs | PendingApprovals.PendingApprovals | AgentExecutor.AgentExecutor> =>
  Effect.gen(function* () {
    const sdk = yield* ServedSdk.load
    const permits = options.permits ?? (() => true)
    const services = {
      executor: yield* AgentExecutor.AgentExecutor,
      runs: yield* Runs.Runs,
      pending: yield* PendingApprovals.PendingApprovals,
      context: (yield* Effect.context<never>()) as Context.Context<any>
    }
    const { prompts = [], resources = [], sources = [], templates = [] } = options
    const own = { prompts: () => Effect.succeed(prompts), resources: () => Effect.succeed(resources), templates }
    const tools = yield* toolsOf(options, permits, services)
    const offers = yield* Effect.try({
      try: () => new ServedOffers(sdk, [own, ...sources], permits),
      catch: () => misconfigured("A template of resources is malformed", "Write it as RFC 6570 does: order://{id}")
    })
    const answerTimeout = Duration.toMillis(options.answerTimeout ?? "10 minutes")
    return {
      sdk,
      options,
      tools,
      offers,
      permits,
      policy,
      isStopping,
      answerTimeout: Math.max(1, Math.min(DAY, answerTimeout)),
      maxCalls: count(options.maxCalls, 32, 1),
      maxSubscriptions: count(options.maxSubscriptions, 64, 1),
      pageSize: count(options.pageSize, 200, 1)
    }
  })
