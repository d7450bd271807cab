/**
 * A task of a crew.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/agent/CrewTask")

/**
 * An output to check: its text, and its encoded value if it has a schema.
 *
 * @since 0.1.0
 * @category models
 */
export interface Output {
  readonly text: string
  readonly value: unknown
}

/**
 * A custom check: `true`, or why the output is not accepted.
 *
 * @since 0.1.0
 * @category models
 */
export type Check<E = never, R = never> = (output: Output) => Effect.Effect<true | string, E, R>

/**
 * `E` and `R` are those of its check.
 *
 * @since 0.1.0
 * @category models
 */
export interface Task<out E = never, out R = never> {
  readonly [TypeId]: { readonly _E: () => E; readonly _R: () => R }
  readonly name: string
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly output: Schema.Schema<any, any, never> | undefined
  readonly agent: string | undefined
  readonly context: ReadonlyArray<string> | undefined
  readonly check: "none" | "judge" | Check<any, any> | undefined
  readonly retries: number | undefined
}

/**
 * Any task.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = Task<unknown, unknown>

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> {
  readonly description: string
  /** In words. The agent is told, and the output is judged by it. */
  readonly expectedOutput?: string | undefined
  /** The schema of the output. An answer that does not match goes back to the agent, then the task fails. */
  readonly output?: Schema.Schema<any, any, never> | undefined
  /** The name of its agent; default: the manager chooses. */
  readonly agent?: string | undefined
  /**
   * Tasks whose outputs it gets. Default: the task before it; in a parallel crew none. In a sequential crew they must
   * come before it.
   */
  readonly context?: ReadonlyArray<string> | undefined
  /**
   * How the output is checked besides its schema: by the manager against the expected output (`judge`, the default with
   * an `expectedOutput` and in hierarchical crews), by a function, or not at all.
   */
  readonly check?: "none" | "judge" | Check<E, R> | undefined
  /** Further attempts after a rejected output, each with the reason; default 2. Then the task fails. */
  readonly retries?: number | undefined
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { CrewTask } from "effect-lexigram/agent"
 * import * as Effect from "effect/Effect"
 *
 * const draft = CrewTask.make("draft", {
 *   description: "Write the announcement",
 *   agent: "writer",
 *   check: ({ text }) => Effect.succeed(text.length <= 600 || "Shorten it to 600 characters"),
 *   retries: 3
 * })
 * ```
 */
export const make = <E = never, R = never>(
  name: string,
  options: Options<E, R>
  // Inferred from the check alone; a list of any tasks would make it `unknown`.
): Task<NoInfer<E>, NoInfer<R>> => ({
  [TypeId]: { _E: () => undefined as never, _R: () => undefined as never },
  name,
  description: options.description,
  expectedOutput: options.expectedOutput,
  output: options.output,
  agent: options.agent,
  context: options.context,
  check: options.check,
  retries: options.retries
})
