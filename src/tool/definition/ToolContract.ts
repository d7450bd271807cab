/**
 * The type of tools, as agents and runners use it.
 *
 * @internal
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type { Issue } from "./JsonSchemaValidator.js"
import type { ToolDefinitionError } from "./ToolError.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/tool/Tool")

/**
 * What a handler may want to know about the call it serves. `id` is the same on every attempt: an idempotency key.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallInfo {
  readonly id: string
  /** From 1. */
  readonly attempt: number
}

/**
 * How a tool is to be treated. What is unset comes from the runner: 30 s, and 3 attempts in all.
 *
 * @since 0.1.0
 * @category models
 */
export interface Annotations {
  /** Time for one attempt; the wait for an approval does not count. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Re-tries after a transient failure, at most: 2 make 3 attempts. */
  readonly retries?: number | undefined
  /**
   * Calling it twice does no more than once: only then is it tried again after a timeout. Default that of `readOnly`.
   */
  readonly idempotent?: boolean | undefined
  /** It changes nothing, here or elsewhere: a search (`Lats`) may try it as often as it likes. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * It waits, or asks how something stands (`get_status`, `wait`): the same result again is no sign of a loop that goes
   * in circles. Default false.
   */
  readonly polling?: boolean | undefined
  /** The module it belongs to; a tool without one is visible to all. */
  readonly owner?: string | undefined
  /**
   * Arguments, at any depth, that the public view of events does not show. Those whose JSON Schema has `writeOnly:
   * true` or `format: "password"` are secret without being named.
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
  /** What is wrong with the definition, if anything: an agent with such a tool fails before its first model call. */
  readonly problem: ToolDefinitionError | undefined
  /** The handler with its types erased: for `ToolRunner`. */
  readonly erased: Erased
}

/**
 * A tool as its runner sees it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Erased {
  readonly decode: (args: unknown) => Effect.Effect<unknown, ReadonlyArray<Issue>>
  /** May throw, or be no Effect: it is the user's. */
  readonly handle: (params: any, call: CallInfo) => Effect.Effect<unknown, unknown, any>
  readonly encode: (value: unknown) => Effect.Effect<unknown, string>
  readonly encodeFailure: (error: unknown) => unknown
  /** The parameters as whoever approves a call may read them; `undefined` when they cannot be encoded. */
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
 * A tool of parts that were made elsewhere: for adapters. Everything is the caller's to get right.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromParts = <P, A, E = never, R = never, F = never>(
  parts: Pick<Any, "name" | "description" | "parameters" | "annotations" | "problem" | "erased">
): Tool<P, A, E, R, F> => build(parts)
