/**
 * The type of tools, for agents and runners.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import type { StandardSchema } from "../../internal/text/StandardSchema.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type { Issue } from "./JsonSchemaText.js"
import type { ToolDefinitionError } from "./ToolError.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/tool/Tool")

/**
 * The call that a handler serves.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallInfo {
  /** The id that the model's provider gave; unique within a turn. */
  readonly id: string
  /**
   * Names the call for other systems: the same on every attempt, also after the process died, and unique otherwise. At
   * most 200 characters.
   */
  readonly idempotencyKey: string
  /** From 1. */
  readonly attempt: number
}

/**
 * The compensation that undoes a call. `id` is that of the call; `idempotencyKey` is another key than that of the call,
 * the same on every attempt at the compensation.
 *
 * @since 0.1.0
 * @category models
 */
export interface CompensationInfo extends CallInfo {
  /** The `idempotencyKey` of the call that is undone. */
  readonly callKey: string
  /** Whether the run failed or was interrupted. */
  readonly reason: "failed" | "interrupted"
}

/**
 * How a tool is run. Unset fields take the defaults of the runner: 30 s, and 3 attempts in all.
 *
 * @since 0.1.0
 * @category models
 */
export interface Annotations {
  /** Time for one attempt; the wait for an approval does not count. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Retries after a transient failure, at most: 2 make 3 attempts. */
  readonly retries?: number | undefined
  /**
   * A second call has no further effect: only then is a call retried after a timeout. Defaults to `readOnly`.
   */
  readonly idempotent?: boolean | undefined
  /**
   * What comes of a call of a tool that is not idempotent, if the process of a durable run died while it ran and
   * `outcome` does not know its end: `fail` ends the run with `ToolUnknownOutcomeError`, `ask` asks a person whether to
   * run it again. Default `fail`.
   */
  readonly onUnknown?: "fail" | "ask" | undefined
  /** It changes nothing, here or elsewhere: a search (`Lats`) may call it any number of times. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * It waits or polls a status (`get_status`, `wait`): an equal result is no sign of a loop. Default false.
   */
  readonly polling?: boolean | undefined
  /** The module it belongs to; a tool without one is visible to all. */
  readonly owner?: string | undefined
  /**
   * Arguments, at any depth, that the public view of events hides. Those whose JSON Schema has `writeOnly: true` or
   * `format: "password"` are secret without being named.
   */
  readonly secretParams?: ReadonlyArray<string> | undefined
}

/**
 * `P` parameters, `A` result, `E` failures that end the run, `R` requirements of the handler, `F` all failures of the
 * handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tool<in P, out A, out E = never, out R = never, out F = never> extends Pipeable {
  readonly [TypeId]: {
    readonly _Params: (_: P) => void
    readonly _Result: () => A
    readonly _Fatal: () => E
    readonly _Services: () => R
    readonly _Failure: () => F
  }
  readonly name: string
  readonly description: string
  /** The parameters as the model sees them. */
  readonly parameters: JsonSchema
  readonly annotations: Annotations
  /** The problem of the definition, if any: an agent with such a tool fails before its first model call. */
  readonly problem: ToolDefinitionError | undefined
  /** The handler with its types erased: for `ToolRunner`. */
  readonly erased: Erased
}

/**
 * How calls of a tool are undone, as its runner sees it. The result of a call is kept as `encode` returns it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Compensation {
  /** User code: it may throw, or return something else than an Effect. */
  readonly run: (params: any, result: any, info: CompensationInfo) => Effect.Effect<unknown, unknown, any>
  readonly encode: (result: unknown) => Effect.Effect<unknown, string>
  readonly decode: (encoded: unknown) => Effect.Effect<unknown, string>
}

/**
 * A tool as its runner sees it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Erased {
  readonly decode: (args: unknown) => Effect.Effect<unknown, ReadonlyArray<Issue>>
  /** User code: it may throw, or return something else than an Effect. */
  readonly handle: (params: any, call: CallInfo) => Effect.Effect<unknown, unknown, any>
  readonly encode: (value: unknown) => Effect.Effect<unknown, string>
  /** The schema of the result, where the tool has one, for protocols that describe it. */
  readonly success?: Schema.Schema<any, any, never> | StandardSchema<any, any> | undefined
  readonly encodeFailure: (error: unknown) => unknown
  /** The failure that `encodeFailure` encoded; `undefined` without a schema. */
  readonly decodeFailure: (encoded: unknown) => unknown
  /** Looks for the result of a call whose end is unknown. */
  readonly outcome?: ((params: any, call: CallInfo) => Effect.Effect<Option.Option<unknown>, unknown, any>) | undefined
  /** How its calls are undone. */
  readonly compensation?: Compensation | undefined
  /**
   * Its handler is made of steps, as an agent is: a durable run records those and not the call.
   */
  readonly isComposed?: boolean | undefined
  /** The caller of the run executes it. */
  readonly isClient?: boolean | undefined
  /** The parameters for the person who approves a call; `undefined` when they cannot be encoded. */
  readonly encodeParams: (params: unknown) => unknown
  readonly requiresApproval: (params: any) => boolean
  readonly isFatal: (error: unknown) => boolean
  readonly isRetryable: (error: unknown) => boolean
}

/**
 * Any tool.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = Tool<never, unknown, unknown, unknown, unknown>

/**
 * The failures of a tool that end the run.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<T extends Any> = T extends Tool<never, unknown, infer E, unknown, unknown> ? E : never

/**
 * What a tool's handler requires.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<T extends Any> = T extends Tool<never, unknown, unknown, infer R, unknown> ? R : never

/**
 * @since 0.1.0
 * @category guards
 */
export const isTool = (u: unknown): u is Any => typeof u === "object" && u !== null && TypeId in u

const variance = {
  _Params: () => {},
  _Result: () => undefined as never,
  _Fatal: () => undefined as never,
  _Services: () => undefined as never,
  _Failure: () => undefined as never
}

const proto = {
  [TypeId]: variance,
  pipe() {
    // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
}

/** A tool of its parts, with its types erased. */
export const build = (fields: Omit<Any, typeof TypeId | "pipe">): any => Object.assign(Object.create(proto), fields)

/**
 * A tool of given parts, for adapters. The caller is responsible for their consistency.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromParts = <P, A, E = never, R = never, F = never>(
  parts: Pick<Any, "name" | "description" | "parameters" | "annotations" | "problem" | "erased">
): Tool<P, A, E, R, F> => build(parts)
