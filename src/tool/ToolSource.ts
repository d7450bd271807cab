/**
 * Tools that may change between the steps of a run.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import { count } from "../internal/Count.js"
import type * as Tool from "./definition/Tool.js"
import { ToolRegistry } from "./ToolRegistry.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/tool/ToolSource")

/**
 * A source did not answer in time.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolSourceError extends ErrorCode.TaggedError<ToolSourceError>(
  "effect-lexigram/tool/ToolSource/ToolSourceError"
)("ToolSourceError", {
  ...ErrorCode.fields("LEX_ERR_AGT_118"),
  source: Schema.String,
  timeoutMs: Schema.Number
}) {}

/**
 * One source with its types erased.
 *
 * @since 0.1.0
 * @category models
 */
export interface Source {
  readonly name: string
  /** All tools now. A tool that did not change is the same object as before. */
  readonly tools: Effect.Effect<ReadonlyArray<Tool.Any>, any, any>
  readonly maxTools: number
}

/**
 * One or several sources. `E` are their failures and the fatal failures of their tools, `R` the requirements of both.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolSource<out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: { readonly _E: () => E; readonly _R: () => R }
  /** In their order: of tools with one name the first one stays. */
  readonly sources: ReadonlyArray<Source>
}

const fromSources = (sources: ReadonlyArray<Source>): ToolSource<any, any> => ({
  [TypeId]: { _E: () => undefined as never, _R: () => undefined as never },
  sources,
  pipe() {
    // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
})

/**
 * Makes a source. A run asks it when it begins and before each further step. Return the same object for a tool that did
 * not change: its definition is then neither encoded nor indexed again.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent, Tool } from "effect-lexigram"
 * import { ToolSource } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 * import * as Ref from "effect/Ref"
 *
 * const time = Tool.make("time", { description: "The time now", handler: () => Effect.succeed("12:00") })
 *
 * const program = Effect.gen(function* () {
 *   const plugins = yield* Ref.make([time])
 *   const source = ToolSource.make({ name: "plugins", tools: Ref.get(plugins) })
 *   return Agent.make("clerk").pipe(Agent.withToolSource(source))
 * })
 * ```
 */
export const make = <T extends Tool.Any = Tool.Tool<never, unknown>, E = never, R = never>(options: {
  /** For errors and events. */
  readonly name: string
  readonly tools: Effect.Effect<ReadonlyArray<T>, E, R>
  /** The tools after that many are left out, with a `Degraded` event. Default 1,000. */
  readonly maxTools?: number | undefined
  /** Time for one answer; then it fails with `ToolSourceError`. Default 10 s. */
  readonly timeout?: Duration.DurationInput | undefined
}): ToolSource<E | Tool.ErrorOf<T> | ToolSourceError, R | Tool.ServicesOf<T>> => {
  const timeout = Duration.decode(options.timeout ?? Duration.seconds(10))
  const tools = Effect.timeoutFail(options.tools, {
    duration: timeout,
    onTimeout: () => {
      const timeoutMs = Duration.toMillis(timeout)
      return new ToolSourceError({
        source: options.name,
        timeoutMs,
        message: `The tool source "${options.name}" did not answer within ${timeoutMs} ms`,
        hint: "Raise its `timeout`, or let it answer from memory and read the tools in the background"
      })
    }
  })
  return fromSources([{ name: options.name, tools, maxTools: count(options.maxTools, 1000, 0) }])
}

/**
 * The tools of the registry in the context, as far as the agent's module may see them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromRegistry: ToolSource<ToolSourceError, ToolRegistry> = make({
  name: "registry",
  tools: Effect.flatMap(
    ToolRegistry,
    ({ listVisible }) => listVisible as Effect.Effect<ReadonlyArray<Tool.Tool<never, unknown>>>
  )
})

/**
 * Combines sources, which keep their own limits: one that fails does not affect the others.
 *
 * @since 0.1.0
 * @category combining
 */
export const merge = <const S extends ReadonlyArray<ToolSource<unknown, unknown>>>(
  ...sources: S
): ToolSource<ErrorOf<S[number]>, ServicesOf<S[number]>> => fromSources(sources.flatMap((one) => one.sources))

/**
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<S> = S extends ToolSource<infer E, unknown> ? E : never

/**
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<S> = S extends ToolSource<unknown, infer R> ? R : never
