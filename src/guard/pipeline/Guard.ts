/**
 * The guard port: a guard checks text on its way into or out of a run and passes it, warns, redacts or blocks.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { RunId, SessionId, UserId } from "../../domain/Ids.js"
import type { Message } from "../../llm/model/LlmClient.js"

const NAME = "effect-lexigram/guard/Guard"

/**
 * Checked text: the user's message, the agent's answer, the parameters of a tool call, or a tool result.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GuardStage = Schema.Literal("input", "output", "toolInput", "toolOutput")
/**
 * @since 0.1.0
 * @category models
 */
export type GuardStage = typeof GuardStage.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const GuardAction = Schema.Literal("pass", "warn", "redact", "block")
/**
 * @since 0.1.0
 * @category models
 */
export type GuardAction = typeof GuardAction.Type

/**
 * Details for people and logs. Contains no checked text: it may reach events and logs.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GuardDetails = Schema.Struct(
  { reason: Schema.optional(Schema.String) },
  Schema.Record({ key: Schema.String, value: Schema.Unknown })
).annotations({ identifier: `${NAME}/GuardDetails` })
/**
 * @since 0.1.0
 * @category models
 */
export interface GuardDetails extends Schema.Schema.Type<typeof GuardDetails> {}

/**
 * A place in the checked text: from `start` to `end` (exclusive), in UTF-16 code units.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GuardSpan = Schema.Struct({
  start: Schema.NonNegativeInt,
  end: Schema.NonNegativeInt,
  /** What was found: `EMAIL`, `instruction_override`, … */
  label: Schema.optional(Schema.String),
  /** Replacement; only where it was redacted. */
  replacement: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/GuardSpan` })
/**
 * @since 0.1.0
 * @category models
 */
export interface GuardSpan extends Schema.Schema.Type<typeof GuardSpan> {}

const common = {
  guardName: Schema.String,
  details: GuardDetails,
  spans: Schema.optional(Schema.Array(GuardSpan))
}

const Passed = Schema.Struct({ action: Schema.Literal("pass"), passed: Schema.Literal(true), ...common })
interface Passed extends Schema.Schema.Type<typeof Passed> {}
const Warned = Schema.Struct({ action: Schema.Literal("warn"), passed: Schema.Literal(true), ...common })
interface Warned extends Schema.Schema.Type<typeof Warned> {}
const Redacted = Schema.Struct({
  action: Schema.Literal("redact"),
  passed: Schema.Literal(true),
  /** The whole text, replacing the checked one. */
  redactedContent: Schema.String,
  ...common
})
interface Redacted extends Schema.Schema.Type<typeof Redacted> {}
const Blocked = Schema.Struct({ action: Schema.Literal("block"), passed: Schema.Literal(false), ...common })
interface Blocked extends Schema.Schema.Type<typeof Blocked> {}

/**
 * Result of one guard. `passed` is false only for a block; only a redaction carries a text.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GuardResult = Schema.Union(Passed, Warned, Redacted, Blocked).annotations({
  identifier: `${NAME}/GuardResult`
})
/**
 * @since 0.1.0
 * @category models
 */
export type GuardResult = Passed | Warned | Redacted | Blocked

/**
 * Combined result of all guards.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AggregateGuardResult = Schema.Struct({
  /** False only when a guard blocked. */
  passed: Schema.Boolean,
  /** The most severe action: block, redact, warn, pass. */
  action: GuardAction,
  /** In the order in which the guards ran; those after a block are absent. */
  results: Schema.Array(GuardResult),
  /** The text to continue with; absent when blocked. */
  finalContent: Schema.optional(Schema.String),
  blocked: Schema.Boolean,
  /** True if any guard redacted, whatever followed. */
  redacted: Schema.Boolean,
  /** True if any guard warned, whatever followed. */
  warned: Schema.Boolean,
  /** The first result that blocked. */
  blockingResult: Schema.optional(GuardResult)
}).annotations({ identifier: `${NAME}/AggregateGuardResult` })
/**
 * @since 0.1.0
 * @category models
 */
export interface AggregateGuardResult extends Schema.Schema.Type<typeof AggregateGuardResult> {}

/**
 * Context of a check.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckContext {
  readonly runId?: RunId | undefined
  readonly agent?: string | undefined
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
  /** The conversation so far, oldest first. */
  readonly messages?: ReadonlyArray<Message> | undefined
  /** The user's message that an answer or a tool call belongs to. */
  readonly originalInput?: string | undefined
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

/**
 * Context of a check of a tool call.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCheckContext extends CheckContext {
  readonly toolName: string
  readonly toolCallId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type GuardContext =
  | (CheckContext & { readonly stage: "input" | "output" })
  | (ToolCheckContext & { readonly stage: "toolInput" | "toolOutput" })

/**
 * @since 0.1.0
 * @category models
 */
export interface Guard<out E = never, out R = never> {
  /** Names the guard in results, events and errors. */
  readonly name: string
  /** How it judges a text that is still being written. Absent: it needs the whole text. */
  readonly window?: Window | undefined
  /** Stages at which it runs; it is skipped at others. */
  readonly stages: ReadonlyArray<GuardStage>
  /**
   * Judges one text. A finding is a value, never a failure; a failure means that the guard could not judge, and the
   * text is withheld. The result must depend only on the text and the context, since a check may be repeated.
   */
  readonly check: (content: string, context: GuardContext) => Effect.Effect<GuardResult, E, R>
}

/**
 * A finding at a place of a text, and the action to take.
 *
 * @since 0.1.0
 * @category models
 */
export interface Finding {
  readonly start: number
  readonly end: number
  /** Kind of finding: `EMAIL`, `instruction_override`, … */
  readonly label: string
  readonly action: "warn" | "redact" | "block"
  /** Replacement when it is redacted; default `[REDACTED:{label}]`. */
  readonly replacement?: string | undefined
  /** For people and logs; never contains checked text. */
  readonly reason?: string | undefined
  /** From 0 to 1, if the guard knows. */
  readonly confidence?: number | undefined
}

/**
 * Finds findings in a text that is only partly there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Window {
  /**
   * Characters around a place that decide whether it is a finding. Text further than this from the end of what is
   * written is settled, whatever follows.
   */
  readonly reach: number
  /**
   * Longest finding. One may grow beyond `reach` up to this length: it is reported as soon as `reach` characters are
   * there, waits for its end, and is judged whole. Default: `reach`.
   */
  readonly longest?: number | undefined
  /**
   * Returns all findings in a text, ordered by start, without overlaps. `from` is the number of characters before this
   * text. Depends on nothing else; takes time linear in the length of any text.
   */
  readonly find: (text: string, from: number) => ReadonlyArray<Finding>
}

/**
 * @since 0.1.0
 * @category models
 */
export type Any = Guard<any, any>

/**
 * The failures of a guard.
 *
 * @since 0.1.0
 * @category models
 */
export type Failure<G> = G extends Guard<infer E, infer _R> ? E : never

/**
 * What a guard requires.
 *
 * @since 0.1.0
 * @category models
 */
export type Services<G> = G extends Guard<infer _E, infer R> ? R : never

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<out E = never, out R = never> extends Pick<Guard<E, R>, "name" | "stages" | "check"> {}

/**
 * @since 0.1.0
 * @category constructors
 *
 * @example
 * ```ts
 * import { Guard } from "effect-lexigram/guard"
 * import * as Effect from "effect/Effect"
 *
 * const short = Guard.make({
 *   name: "short",
 *   stages: ["input"],
 *   check: (content) =>
 *     Effect.succeed(
 *       content.length <= 1000 ? Guard.pass("short") : Guard.block("short", { reason: "longer than 1000 characters" })
 *     )
 * })
 * ```
 */
export const make = <E = never, R = never>(options: Options<E, R>): Guard<E, R> => ({
  name: options.name,
  stages: options.stages,
  check: options.check
})

/**
 * @since 0.1.0
 * @category models
 */
export interface ResultOptions {
  readonly reason?: string | undefined
  readonly details?: { readonly [key: string]: unknown } | undefined
  readonly spans?: ReadonlyArray<GuardSpan> | undefined
}

const commonFields = (guardName: string, options: ResultOptions | undefined) => ({
  guardName,
  details: options?.reason === undefined ? { ...options?.details } : { ...options.details, reason: options.reason },
  ...(options?.spans === undefined ? {} : { spans: options.spans })
})

/**
 * Nothing found.
 *
 * @since 0.1.0
 * @category constructors
 */
export const pass = (guardName: string, options?: ResultOptions): GuardResult => ({
  action: "pass",
  passed: true,
  ...commonFields(guardName, options)
})

/**
 * Something found; the text goes on as it is.
 *
 * @since 0.1.0
 * @category constructors
 */
export const warn = (guardName: string, options?: ResultOptions): GuardResult => ({
  action: "warn",
  passed: true,
  ...commonFields(guardName, options)
})

/**
 * Something found; `redactedContent` goes on instead.
 *
 * @since 0.1.0
 * @category constructors
 */
export const redact = (guardName: string, redactedContent: string, options?: ResultOptions): GuardResult => ({
  action: "redact",
  passed: true,
  redactedContent,
  ...commonFields(guardName, options)
})

/**
 * The text must not go on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const block = (guardName: string, options?: ResultOptions): GuardResult => ({
  action: "block",
  passed: false,
  ...commonFields(guardName, options)
})

/**
 * How much each action weighs against the others.
 *
 * @since 0.1.0
 * @category constants
 */
export const severity: { readonly [Action in GuardAction]: number } = { block: 3, redact: 2, warn: 1, pass: 0 }

/**
 * Sums up the results of guards that ran one after another, each on the text that the one before it left, beginning
 * with `content`. No results: a pass.
 *
 * @since 0.1.0
 * @category combining
 */
export const aggregate = (results: ReadonlyArray<GuardResult>, content: string): AggregateGuardResult => {
  let action: GuardAction = "pass"
  let finalContent = content
  let redacted = false
  let warned = false
  let blockingResult: GuardResult | undefined
  for (const result of results) {
    if (severity[result.action] > severity[action]) action = result.action
    switch (result.action) {
      case "pass": {
        break
      }
      case "warn": {
        warned = true
        break
      }
      case "redact": {
        redacted = true
        finalContent = result.redactedContent
        break
      }
      case "block": {
        blockingResult ??= result
        break
      }
    }
  }
  return blockingResult === undefined
    ? { passed: true, action, results, finalContent, blocked: false, redacted, warned }
    : { passed: false, action, results, blocked: true, redacted, warned, blockingResult }
}
