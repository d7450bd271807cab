/**
 * All guards of an application or an agent as one: what the executor and the tool runner ask.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Guard from "./Guard.js"
import { GuardPipelineError } from "./GuardError.js"

/**
 * What may be shown of a text so far.
 *
 * @since 0.1.0
 * @category models
 */
export interface Released {
  /** Text that was judged and was not shown before; may be empty. */
  readonly text: string
  /** What was found in it, warnings included. */
  readonly results: ReadonlyArray<Guard.GuardResult>
  /** The text must not go on: nothing at or after the finding comes out, now or later. */
  readonly blockingResult?: Guard.GuardResult | undefined
}

/**
 * Judges one text as it is written. Stateful: a window belongs to one text.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputWindow {
  readonly push: (text: string) => Released
  /** The text is whole. */
  readonly end: () => Released
}

/**
 * Every method gives what the guards of its stage found. A block is a value, never a failure; a failure means that the text could not be
 * judged and must be held back. Without guards everything passes unchanged. A check changes nothing and may be repeated.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The stages at which some guard looks: at the others nothing need be asked. */
  readonly stages: ReadonlySet<Guard.GuardStage>
  /** The user's message, before anything else reads it. */
  readonly checkInput: (
    content: string,
    context: Guard.CheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /** The agent's answer, whole, before anybody reads it. */
  readonly checkOutput: (
    content: string,
    context: Guard.CheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /**
   * The same while the answer is still being written. Absent when some guard of answers needs the whole text: then nothing may be shown
   * before it was judged. What comes out of a window, put together, is what `checkOutput` makes of the whole text.
   */
  readonly openOutput?: ((context: Guard.CheckContext) => OutputWindow) | undefined
  /** The parameters of a tool call as JSON text, before the tool runs. */
  readonly checkToolInput: (
    content: string,
    context: Guard.ToolCheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /** What a tool gave back, before the model reads it. */
  readonly checkToolOutput: (
    content: string,
    context: Guard.ToolCheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class GuardPipeline extends Context.Tag("effect-lexigram/guard/GuardPipeline")<GuardPipeline, Service>() {}

const nothing = (content: string): Effect.Effect<Guard.AggregateGuardResult> =>
  Effect.succeed(Guard.aggregate([], content))

const runAll = Effect.fnUntraced(function* <R>(
  guards: ReadonlyArray<Guard.Guard<unknown, R>>,
  content: string,
  context: Guard.GuardContext
) {
  const results: Array<Guard.GuardResult> = []
  let current = content
  for (const guard of guards) {
    const result = yield* Effect.mapError(
      guard.check(current, context),
      (cause) =>
        new GuardPipelineError({
          message: `The guard ${guard.name} could not judge (${context.stage})`,
          guard: guard.name,
          stage: context.stage,
          cause
        })
    )
    results.push(result)
    if (result.action === "block") break
    if (result.action === "redact") current = result.redactedContent
  }
  return Guard.aggregate(results, content)
})

/**
 * Guards in their order: each sees what the one before it left, a block ends the check, and a guard that fails holds the text back. What
 * the guards require is taken from the context once, here; services that a check finds around it win over those.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromGuards = <const G extends ReadonlyArray<Guard.Any>>(
  guards: G
): Effect.Effect<Service, never, Guard.Services<G[number]>> =>
  Effect.map(Effect.context<Guard.Services<G[number]>>(), (captured) => {
    const at = (stage: Guard.GuardStage): ReadonlyArray<Guard.Guard<unknown, Guard.Services<G[number]>>> =>
      guards.filter((guard) => guard.stages.includes(stage))
    const checker = <C extends Guard.CheckContext>(
      stage: Guard.GuardStage,
      withStage: (context: C) => Guard.GuardContext
    ) => {
      const selected = at(stage)
      if (selected.length === 0) return nothing
      return (content: string, context: C) =>
        Effect.mapInputContext(runAll(selected, content, withStage(context)), (current: Context.Context<never>) =>
          Context.merge(captured, current)
        )
    }
    return {
      stages: new Set(guards.flatMap((guard) => guard.stages)),
      checkInput: checker("input", (context: Guard.CheckContext) => ({ ...context, stage: "input" })),
      checkOutput: checker("output", (context: Guard.CheckContext) => ({ ...context, stage: "output" })),
      checkToolInput: checker("toolInput", (context: Guard.ToolCheckContext) => ({ ...context, stage: "toolInput" })),
      checkToolOutput: checker("toolOutput", (context: Guard.ToolCheckContext) => ({ ...context, stage: "toolOutput" }))
    }
  })

/**
 * The pipeline of these guards, in their order.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerGuards = <const G extends ReadonlyArray<Guard.Any>>(
  guards: G
): Layer.Layer<GuardPipeline, never, Guard.Services<G[number]>> => Layer.effect(GuardPipeline, fromGuards(guards))

/**
 * No guards: everything passes unchanged.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<GuardPipeline> = Layer.succeed(GuardPipeline, {
  stages: new Set<Guard.GuardStage>(),
  checkInput: nothing,
  checkOutput: nothing,
  checkToolInput: nothing,
  checkToolOutput: nothing
})
