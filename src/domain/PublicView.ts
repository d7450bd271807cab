/**
 * The public view of events: what may leave the server, decided field by field.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as SecretText from "../internal/text/SecretText.js"
import type { AgentEvent, Meta, Of, Tag } from "./AgentEvent.js"
import * as ErrorCode from "./ErrorCode.js"
import { type ErrorInfo, errorInfo } from "./ErrorInfo.js"
import type { StoredFile } from "./StoredFile.js"

/**
 * What to show in addition.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Shows `ReasoningDelta`, `Thought` and `Critique`, which may quote the prompt. Default false. */
  readonly reasoning?: boolean | undefined
  /**
   * Shows the results of successful tools, and the answers that people gave them, with texts that look like keys
   * removed. Default false: only that a tool ended and whether it failed.
   */
  readonly toolResults?: boolean | undefined
  /**
   * Shows everything, for those who develop the agents: all events with all of their fields, and the messages and hints
   * of errors. Only secret arguments, and texts that look like keys, are removed. Default false.
   */
  readonly developer?: boolean | undefined
}

/** Public messages by error code, or by the family of the code. */
const messages: { readonly [code: string]: string } = {
  LEX_ERR_AGT_009: "The run reached a limit",
  LEX_ERR_AGT_010: "A budget does not allow it",
  LEX_ERR_AGT_100: "A tool took too long",
  LEX_ERR_AGT_103: "The answer does not have the requested format",
  LEX_ERR_AGT_104: "The run reached a limit",
  LEX_ERR_AGT_105: "The run made no progress",
  LEX_ERR_AGT_110: "The run reached a limit",
  LEX_ERR_LLM_101: "The model is busy",
  LEX_ERR_LLM_103: "The conversation is too long for the model",
  LEX_ERR_LLM_104: "The model's provider does not allow the content",
  LEX_ERR_LLM_106: "The model took too long",
  LEX_ERR_LLM: "The model call failed",
  LEX_ERR_GOV: "A rule does not allow it",
  LEX_ERR_GUARD: "The content is not allowed",
  LEX_ERR_SES: "The session could not be used",
  LEX_ERR_SKILL: "A skill failed"
}

/**
 * The public view of an error: a code of this library with its class and a fixed sentence. Any other error loses its
 * name. With `developer` it is the error without what looks like a key.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromError = (error: ErrorInfo, { developer }: Options = {}): ErrorInfo => {
  if (developer === true) return redacted(error, none, 0) as ErrorInfo
  const { code, tag } = error
  if (tag === "InterruptedError") return { tag, message: "The run was interrupted" }
  if (code === undefined || !Object.hasOwn(ErrorCode.table, code)) return { tag: "Error", message: "The run failed" }
  return {
    tag: ErrorCode.table[code as keyof typeof ErrorCode.table],
    code,
    message: messages[code] ?? messages[code.slice(0, code.lastIndexOf("_"))] ?? "The run failed"
  }
}

const maxDepth = 32
const secretKey = /pass(?:word|phrase|wd)|secret|token|api[-_]?key|authorization|credential|private[-_]?key|cookie/i

/** Copies a value without the given members and without texts that look like keys or whose key names a secret. */
const redacted = (value: unknown, secret: ReadonlySet<string>, depth: number): unknown => {
  if (typeof value === "string") return SecretText.redact(value)
  if (typeof value !== "object" || value === null) return value
  if (depth === maxDepth) return SecretText.replacement
  if (Array.isArray(value)) return value.map((item) => redacted(item, secret, depth + 1))
  const copy: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") continue
    const hidden = secret.has(key) || (typeof member === "string" && secretKey.test(key))
    copy[key] = hidden ? SecretText.replacement : redacted(member, secret, depth + 1)
  }
  return copy
}

const none: ReadonlySet<string> = new Set()

/** Parameters that are not a record were not parsed yet, so the secret ones cannot be told apart. */
const redactedParams = (
  params: unknown,
  { secret }: { readonly secret?: ReadonlyArray<string> | undefined }
): unknown =>
  secret === undefined || secret.length === 0
    ? redacted(params, none, 0)
    : typeof params === "object" && params !== null
      ? redacted(params, new Set(secret), 0)
      : SecretText.replacement

/**
 * The public view of a value that a tool was called with or asks for: without texts under names like `password` or
 * `token`, without texts that look like keys, and without what is under the names in `secret`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromValue = (value: unknown, secret?: ReadonlyArray<string>): unknown => redactedParams(value, { secret })

/** Deeper values are taken as they are. */
const MOST_RESTORED = 32

/**
 * A value that somebody edited who saw `fromValue` of the original: texts that were hidden are those of the original.
 *
 * @since 0.1.0
 * @category conversions
 */
export const restored = (edited: unknown, original: unknown, depth = 0): unknown => {
  if (edited === SecretText.replacement && typeof original === "string") return original
  if (typeof edited !== "object" || edited === null || typeof original !== "object" || original === null) return edited
  if (depth === MOST_RESTORED) return edited
  if (Array.isArray(edited)) {
    return Array.isArray(original) ? edited.map((item, at) => restored(item, original[at], depth + 1)) : edited
  }
  return Object.fromEntries(
    Object.entries(edited).map(([key, value]) => [
      key,
      restored(value, Object.hasOwn(original, key) ? (original as Record<string, unknown>)[key] : undefined, depth + 1)
    ])
  )
}

type Hidden<V> = undefined extends V ? "hidden" : never

/** How a field is shown: unchanged, not at all, or as the function returns it. */
type Rule<E, V> = "shown" | Hidden<V> | ((value: V, event: E, options: Options) => V)

type Rules = {
  readonly [T in Tag]:
    | "dropped"
    | { readonly [K in Exclude<keyof Of<T>, keyof Meta | "_tag">]-?: Rule<Of<T>, Of<T>[K]> }
}

const blank = (): string => ""

const publicFile = ({ data, fileName, mediaType }: StoredFile): StoredFile => ({
  mediaType,
  ...(fileName === undefined ? {} : { fileName }),
  data:
    "url" in data
      ? { url: SecretText.redact(data.url) }
      : { hash: data.hash, size: data.size, mediaType: data.mediaType }
})

/** A new event, or a new field of one, does not compile until it has a rule here. */
const rules: Rules = {
  Started: {
    input: "shown",
    strategy: "shown",
    provider: "hidden",
    model: "hidden",
    sessionId: "shown",
    userId: "hidden",
    system: "hidden"
  },
  InputChecked: { input: "shown" },
  Steered: { text: "shown" },
  StepStarted: { step: "shown", name: "shown" },
  TextDelta: { text: "shown" },
  TextRetracted: { step: "shown" },
  ReasoningDelta: { text: "shown" },
  Thought: { step: "shown", text: "shown" },
  Plan: {
    steps: (steps) =>
      steps.map(({ dependsOn, description, id, status, tool }) => ({
        id,
        description,
        status,
        ...(tool === undefined ? {} : { tool }),
        ...(dependsOn === undefined ? {} : { dependsOn })
      }))
  },
  ToolCall: {
    step: "shown",
    id: "shown",
    name: "shown",
    params: redactedParams,
    secret: "shown",
    clientTool: "shown"
  },
  ToolResult: {
    step: "shown",
    id: "shown",
    name: "shown",
    isFailure: "shown",
    result: (result, { isFailure }, { toolResults }) =>
      toolResults === true && !isFailure ? redacted(result, none, 0) : null,
    observation: (observation, { isFailure }, { toolResults }) =>
      toolResults === true && !isFailure ? SecretText.redact(observation) : "",
    truncated: "shown",
    durationMs: "shown",
    attempts: "shown",
    error: (error) => (error === undefined ? undefined : fromError(error)),
    files: (files, _, { toolResults }) => (toolResults === true ? files?.map(publicFile) : undefined)
  },
  ToolCompensated: {
    step: "shown",
    id: "shown",
    name: "shown",
    callRunId: "shown",
    isFailure: "shown",
    attempts: "shown",
    durationMs: "shown",
    error: (error) => (error === undefined ? undefined : fromError(error))
  },
  ProviderToolUsed: {
    step: "shown",
    id: "shown",
    name: "shown",
    params: (params) => redacted(params, none, 0),
    result: (result, { isFailure }, { toolResults }) =>
      toolResults === true && !isFailure ? redacted(result, none, 0) : null,
    isFailure: "shown"
  },
  ApprovalRequested: {
    id: "shown",
    toolCallId: "shown",
    name: "shown",
    params: redactedParams,
    secret: "shown",
    reason: "shown"
  },
  ApprovalResolved: { id: "shown", toolCallId: "shown", approved: "shown", reason: "shown" },
  QuestionAsked: {
    id: "shown",
    toolCallId: "shown",
    name: "shown",
    message: (message) => SecretText.redact(message),
    form: (form) => redacted(form, none, 0) as typeof form,
    clientTool: "shown",
    declared: "shown",
    params: "shown"
  },
  QuestionAnswered: {
    id: "shown",
    toolCallId: "shown",
    name: "shown",
    action: "shown",
    content: (content, _event, { toolResults }) => (toolResults === true ? redacted(content, none, 0) : undefined),
    reason: (reason) => (reason === undefined ? undefined : SecretText.redact(reason))
  },
  Delegated: { toAgent: "shown", childRunId: "shown", message: blank, handoff: "shown" },
  Critique: { step: "shown", text: "shown", accepted: "shown", score: "shown" },
  ToolProgress: {
    step: "shown",
    id: "shown",
    name: "shown",
    message: (message) => (message === undefined ? undefined : SecretText.redact(message)),
    done: "shown",
    total: "shown",
    partial: (partial, _event, { toolResults }) => (toolResults === true ? redacted(partial, none, 0) : undefined)
  },
  NodeFinished: "dropped",
  NodeEmitted: { graph: "shown", node: "shown", step: "shown", value: (value) => redacted(value, none, 0) },
  UsageReported: {
    usage: "shown",
    model: "hidden",
    provider: "hidden",
    role: "hidden",
    costUsd: "hidden",
    finishReason: "shown",
    cutOff: "shown"
  },
  GuardTriggered: { stage: "shown", guard: blank, action: "shown", reason: "hidden" },
  FilesKept: { files: (files) => files.map(publicFile) },
  MemoryRecalled: { source: "shown", count: "shown", tokens: "hidden" },
  AnswerRejected: { step: "shown", message: blank },
  Degraded: "dropped",
  Message: { text: "shown", output: "shown" },
  Error: { error: (error) => fromError(error), interrupted: "shown", text: "shown" },
  Finished: { reason: "shown", sessionId: "shown", durationMs: "shown" }
}

/** The event with all of its fields, for those who develop the agents. */
const whole = (event: AgentEvent): AgentEvent => {
  const secret = "secret" in event ? event.secret : undefined
  // Where a journal has it is nothing of the run.
  const { place: _, ...fields } = event as AgentEvent & { readonly place?: unknown }
  const copy = redacted(fields, none, 0) as AgentEvent
  return "params" in event ? ({ ...copy, params: redactedParams(event.params, { secret }) } as AgentEvent) : copy
}

const reasoning: ReadonlySet<Tag> = new Set<Tag>(["ReasoningDelta", "Thought", "Critique"])

/**
 * The public view of an event; `undefined` if none of it may leave the server. It has no prompts, no secret arguments
 * and no internal errors:
 *
 * - dropped: `NodeFinished`, `Degraded`; `ReasoningDelta`, `Thought`, `Critique` unless `reasoning`;
 * - `Started`: without `provider`, `model`, `userId`, `system`;
 * - `ToolCall`, `ApprovalRequested`: `params` without those that the tool names as `secret`, without texts under names
 *   like `password` or `token`, and without texts that look like keys;
 * - `ToolResult`: `result` and `observation` only with `toolResults`, only of successful calls, without texts that look
 *   like keys;
 * - `QuestionAsked`: without texts that look like keys, but with the arguments that its caller's tool needs;
 *   `QuestionAnswered`: `content` only with `toolResults`;
 * - `ProviderToolUsed`: `params` without what looks like keys, `result` as that of `ToolResult`;
 * - `ToolProgress`: `message` without what looks like keys, `partial` only with `toolResults`;
 * - `Delegated`: without `message`; `GuardTriggered`: without `guard` and `reason`; `MemoryRecalled`: without `tokens`;
 * - `NodeEmitted`: `value` without texts under names like `password` or `token`, and without texts that look like
 *   keys;
 * - `FilesKept`: URLs without what looks like keys;
 * - `UsageReported`: without `model`, `provider`, `role`, `costUsd`;
 * - errors (`ToolResult`, `ToolCompensated`, `Error`): code, class and a fixed sentence; for errors of other libraries
 *   only the fact that one occurred;
 * - all other events unchanged, without fields that the schema of the event does not name.
 *
 * With `developer` all events have all of their fields, without secret arguments and what looks like a key.
 *
 * `seq` has gaps where events were dropped.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromEvent = (event: AgentEvent, options: Options = {}): AgentEvent | undefined => {
  if (options.developer === true) return whole(event)
  const { _tag, agent, at, parentRunId, runId, seq } = event
  const fields = rules[_tag] as Record<string, Rule<AgentEvent, unknown>> | "dropped"
  if (fields === "dropped" || (reasoning.has(_tag) && options.reasoning !== true)) return undefined
  const view: Record<string, unknown> = { _tag, runId, agent, seq, at }
  if (parentRunId !== undefined) view["parentRunId"] = parentRunId
  for (const name of Object.keys(fields)) {
    const rule = fields[name]
    const value = (event as unknown as Record<string, unknown>)[name]
    if (value === undefined || rule === "hidden" || rule === undefined) continue
    view[name] = rule === "shown" ? value : rule(value, event, options)
  }
  return view as unknown as AgentEvent
}

/**
 * The public view of a stream of events. The stream fails with the public view of its error: code, class and a fixed
 * sentence.
 *
 * @example
 * ```ts
 * import { type Agent, AgentExecutor, PublicView } from "effect-lexigram"
 *
 * const forBrowser = (agent: Agent.Agent, input: string) =>
 *   AgentExecutor.stream(agent, { input }).pipe(PublicView.fromStream({ toolResults: true }))
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const fromStream =
  (options: Options = {}) =>
  <E, R>(self: Stream.Stream<AgentEvent, E, R>): Stream.Stream<AgentEvent, ErrorInfo, R> =>
    self.pipe(
      Stream.mapChunks(Chunk.filterMap((event) => Option.fromNullable(fromEvent(event, options)))),
      Stream.mapError((error) => fromError(errorInfo(error), options))
    )
