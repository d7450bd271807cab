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
 * An output to be checked: its text, and its encoded value where a schema gave it one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Output {
  readonly text: string
  readonly value: unknown
}

/**
 * A check of one's own: `true`, or why the output is not accepted.
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
  /** In words. It is told to the agent, and the output is judged by it. */
  readonly expectedOutput?: string | undefined
  /** What the output must decode to; an answer that does not fit goes back to the agent, then the task fails. */
  readonly output?: Schema.Schema<any, any, never> | undefined
  /** The name of the agent that does it; default whom the manager chooses. */
  readonly agent?: string | undefined
  /**
   * Tasks whose outputs it is given. Default the task before it; in a parallel crew none. In a crew that works in order
   * they stand before it.
   */
  readonly context?: ReadonlyArray<string> | undefined
  /**
   * How the output is checked beside its schema: by the manager against what is expected (`judge`: the default where
   * something is expected in words, and in hierarchical crews), by a function, or not at all.
   */
  readonly check?: "none" | "judge" | Check<E, R> | undefined
  /** Further attempts after an output that was not accepted, each told why; default 2. Then the task fails. */
  readonly retries?: number | undefined
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  name: string,
  options: Options<E, R>
  // Inferred from the check alone: a list of any tasks would make it `unknown`.
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
