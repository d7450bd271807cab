/**
 * The port that runs tool calls, with the calls, their outcomes and the interceptors around them.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ErrorInfo } from "../domain/ErrorInfo.js"
import { StoredFile } from "../domain/StoredFile.js"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as Observation from "./definition/Observation.js"
import type { ToolError } from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"

/**
 * A tool call of the model.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCall {
  readonly id: string
  /** The tool's own name, or the provider's. */
  readonly name: string
  readonly params: unknown
}

/**
 * The end of a call, plain and encodable. `result` is the value that the model gets (bounded), `observation` the same
 * as text.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Outcome = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  isFailure: Schema.Boolean,
  result: Schema.Unknown,
  observation: Schema.String,
  truncated: Schema.Boolean,
  attempts: Schema.Number,
  /** Somebody was asked and allowed the call. */
  approved: Schema.optional(Schema.Boolean),
  error: Schema.optional(ErrorInfo),
  /** The files that the model is shown beside the result, by reference; the texts name them. */
  files: Schema.optional(Schema.Array(StoredFile))
}).annotations({ identifier: "effect-lexigram/tool/ToolRunner/Outcome" })
/**
 * @since 0.1.0
 * @category models
 */
export interface Outcome extends Schema.Schema.Type<typeof Outcome> {}

/**
 * Carries a failure that ends the run from the tool to the executor, which puts it into the agent's error channel.
 *
 * @since 0.1.0
 * @category errors
 */
export class Fatality {
  readonly _tag = "Fatality"
  readonly error: unknown
  readonly toolName: string
  /** `error` encoded by the tool's failure schema, where it has one. */
  readonly encoded: unknown
  constructor(options: { readonly error: unknown; readonly toolName: string; readonly encoded?: unknown }) {
    this.error = options.error
    this.toolName = options.toolName
    this.encoded = options.encoded
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  /** The step of the strategy that the call belongs to; for events. */
  readonly step?: number | undefined
  /** Time for one attempt of a tool without its own timeout. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Attempts in all for a tool without its own limit. */
  readonly maxAttempts?: number | undefined
  /** Characters of a result that reach the model. */
  readonly maxResultChars?: number | undefined
  /** Refuses the call: the error becomes its result, and no interceptor sees it. */
  readonly refuse?: ToolError | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Runs one call to its end. Every failure is an `Outcome` that the model can act on; the effect fails only with
   * failures that the tool declares fatal. Emits exactly one `ToolCall` before and one `ToolResult` after, also when it
   * is interrupted.
   */
  readonly run: (tools: Bound, call: ToolCall, options?: RunOptions | undefined) => Effect.Effect<Outcome, Fatality>
  /**
   * The set as the calling module (`CallerModule`) may see it, for the definitions sent to models. The same set where
   * nothing is hidden. A call of a hidden tool is denied.
   */
  readonly visible: (tools: Bound) => Effect.Effect<Bound>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ToolRunner extends Context.Tag("effect-lexigram/tool/ToolRunner")<ToolRunner, Service>() {}

/**
 * A wrapper around every call of a run. Guards, governance and hooks see calls and observations through it.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolInterceptor = (
  call: ToolCall,
  next: (call: ToolCall) => Effect.Effect<Outcome, Fatality>
) => Effect.Effect<Outcome, Fatality>

/**
 * The wrappers of the current run, outermost first.
 *
 * @since 0.1.0
 * @category tags
 */
export class ToolInterceptors extends Ambient.Reference<ToolInterceptors>()(
  "effect-lexigram/tool/ToolRunner/ToolInterceptors",
  { defaultValue: (): ReadonlyArray<ToolInterceptor> => [] }
) {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  timeout: Duration.seconds(30),
  maxAttempts: 3,
  maxResultChars: 10_000
} as const

/**
 * Truncates a text to `max` characters and marks the cut. A surrogate pair is never split.
 *
 * @since 0.1.0
 * @category conversions
 */
export const truncate: typeof Observation.truncate = Observation.truncate

/**
 * The module of the current agent. `ModuleGraph` decides visibility by it.
 *
 * @since 0.1.0
 * @category tags
 */
export class CallerModule extends Ambient.Reference<CallerModule>()("effect-lexigram/tool/ToolRunner/CallerModule", {
  defaultValue: (): string | undefined => undefined
}) {}
