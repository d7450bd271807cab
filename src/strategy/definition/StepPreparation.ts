/**
 * Prepares each model call of a strategy: its messages, the tools it offers, its settings and its model.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type { Fatality, ToolCall } from "../../tool/ToolRunner.js"
import type * as ModelCall from "./ModelCall.js"

/**
 * A model call before it is sent. Tools have their own names, not those of the provider.
 *
 * @since 0.1.0
 * @category models
 */
export interface StepInfo {
  /** The step of the run, from 1. */
  readonly step: number
  /** What the strategy sends. */
  readonly messages: ReadonlyArray<LlmClient.Message>
  /** The names of the tools that the call offers. */
  readonly tools: ReadonlyArray<string>
}

/**
 * What changes for one model call. Absent fields change nothing, and nothing carries over to the next call.
 *
 * @since 0.1.0
 * @category models
 */
export interface StepChanges {
  /** Replaces the messages of this call. The conversation that the strategy keeps stays as it is. */
  readonly messages?: ReadonlyArray<LlmClient.Message> | undefined
  /** The names of the tools to offer, out of those of the call. A call of another tool is refused. */
  readonly activeTools?: ReadonlyArray<string> | undefined
  /** Ignored for a call without tools. */
  readonly toolChoice?: LlmClient.ToolChoice | undefined
  /** Override those of the agent and of the strategy. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** The model role of this call, resolved by `ModelRouter`. */
  readonly role?: string | undefined
}

/**
 * Prepares the calls of a model for the tools of its task. `withRole` binds the model of another role.
 *
 * @since 0.1.0
 * @category models
 */
export type Preparation = (
  model: ModelCall.Model,
  tools: Bound,
  withRole: (role: string) => Effect.Effect<ModelCall.Model>
) => ModelCall.Model

/**
 * What `make` calls around each model call.
 *
 * @since 0.1.0
 * @category models
 */
export interface Hooks {
  readonly before: (info: StepInfo) => Effect.Effect<StepChanges | undefined, Fatality>
  /** Receives each answer. */
  readonly onAnswer: (response: LlmClient.LlmResponse, step: number) => void
  /** Receives the calls of an answer whose tools were not offered. */
  readonly onWithheld: (call: ToolCall, offered: ReadonlyArray<string>) => void
}

/** The request with the changes. A forced tool that is not offered stays as it is; `before` has checked it. */
const changed = (
  request: LlmClient.LlmRequest,
  { names }: Bound,
  { activeTools, messages, settings, toolChoice }: StepChanges
): LlmClient.LlmRequest => {
  const active = activeTools === undefined ? undefined : new Set(activeTools.map((name) => names.toProvider(name)))
  const tools = active === undefined ? request.tools : request.tools?.filter(({ name }) => active.has(name))
  const choice = tools === undefined || tools.length === 0 ? undefined : (toolChoice ?? request.toolChoice)
  const { tools: _tools, toolChoice: _choice, ...rest } = request
  return {
    ...rest,
    ...(messages === undefined ? {} : { messages }),
    ...(tools === undefined || tools.length === 0 ? {} : { tools }),
    ...(choice === undefined
      ? {}
      : { toolChoice: typeof choice === "string" ? choice : { tool: names.toProvider(choice.tool) } }),
    ...(settings === undefined ? {} : { settings: ModelSettings.merge(request.settings ?? {}, settings) })
  }
}

/** Reports the calls of an answer whose tools the request did not offer. */
const reportWithheld = (
  { onWithheld }: Hooks,
  { names, tools }: Bound,
  offered: ReadonlyArray<LlmClient.ToolDefinition>,
  response: LlmClient.LlmResponse
): void => {
  const calls = LlmClient.toolCalls(response)
  if (calls.length === 0) return
  const known = new Set(offered.map(({ name }) => name))
  const own = () => tools.map(({ name }) => name).filter((name) => known.has(names.toProvider(name)))
  for (const call of calls) {
    if (!known.has(names.toProvider(call.name)) && !known.has(call.name)) onWithheld(call, own())
  }
}

/**
 * A preparation that asks `before` each call what changes for it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make =
  (hooks: Hooks): Preparation =>
  (model, tools, withRole) => ({
    client: model.client,
    call: (request, options) =>
      Effect.suspend(() => {
        const { step } = options
        const offers = new Set((request.tools ?? []).map(({ name }) => name))
        const names = tools.tools.map(({ name }) => name).filter((name) => offers.has(tools.names.toProvider(name)))
        return Effect.flatMap(hooks.before({ step, messages: request.messages, tools: names }), (changes) => {
          const sent = changes === undefined ? request : changed(request, tools, changes)
          const target = changes?.role === undefined ? Effect.succeed(model) : withRole(changes.role)
          return Effect.map(
            Effect.flatMap(target, ({ call }) => call(sent, options)),
            (response) => {
              if (changes?.activeTools !== undefined) reportWithheld(hooks, tools, sent.tools ?? [], response)
              hooks.onAnswer(response, step)
              return response
            }
          )
        })
      })
  })
