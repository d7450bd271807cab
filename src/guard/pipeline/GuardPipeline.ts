/**
 * All guards of an application or an agent as one: what the executor and the tool runner ask.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Run from "../../observability/Run.js"
import * as Guard from "./Guard.js"
import * as GuardChecker from "./GuardChecker.js"
import type { GuardPipelineError } from "./GuardError.js"
import * as GuardReport from "./GuardReport.js"
import * as GuardWindow from "./GuardWindow.js"

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
  /** The text is whole: what was held back comes out. Nothing is taken or given after this. */
  readonly end: () => Released
  /**
   * Calls the hooks of the check, once; to be run when the text has ended or was blocked. Before that, and a second
   * time, it does nothing.
   */
  readonly report: Effect.Effect<void>
}

/**
 * Every method gives what the guards of its stage found. A block is a value, never a failure; a failure means that the
 * text could not be judged and must be held back. Without guards everything passes unchanged. A check changes nothing
 * and may be repeated.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The stages at which some guard looks: at the others nothing need be asked. */
  readonly stages: ReadonlySet<Guard.GuardStage>
  /** What a run does when what a tool gave back is blocked, see `Options`; default `withhold`. */
  readonly blockedObservations?: BlockedObservations | undefined
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
   * The same while the answer is still being written. Absent when some guard of answers needs the whole text: then
   * nothing may be shown before it was judged. What comes out of a window, put together, is what `checkOutput` makes of
   * the whole text. Each guard holds back at most three times the reach of its window, beside a finding that has not
   * ended. `run` is told what the guards do; without one, nobody is.
   */
  readonly openOutput?: ((context: Guard.CheckContext, run?: Run.Service | undefined) => OutputWindow) | undefined
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

/**
 * `withhold`: the model is told that the tool ran, that its result is withheld and that the call must not be repeated,
 * and the run goes on. `fail`: the run fails with `ToolObservationBlockedError`.
 *
 * @since 0.1.0
 * @category models
 */
export type BlockedObservations = "withhold" | "fail"

/**
 * How the guards of a pipeline are asked.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Default false: one after another, each on the text that the one before it left, until one blocks. True: all at once
   * on the text as it came, for guards that take their time; the first block stops those that are still at it. What
   * several of them redact is redacted all together, at the spans they give; where a guard gives none, its text is
   * taken and the others that redacted are asked again about it.
   */
  readonly parallel?: boolean | undefined
  /** Default `withhold`. The executor's counts for the guards of its agents too. */
  readonly blockedObservations?: BlockedObservations | undefined
}

const nothing = (content: string): Effect.Effect<Guard.AggregateGuardResult> =>
  Effect.succeed(Guard.aggregate([], content))

const windowed = (guards: ReadonlyArray<Guard.Any>): ReadonlyArray<GuardWindow.Windowed> | undefined => {
  const found: Array<GuardWindow.Windowed> = []
  for (const { name, window } of guards) {
    if (window === undefined) return undefined
    found.push({ name, window })
  }
  return found
}

const opener = (guards: ReadonlyArray<Guard.Any>, parallel: boolean): Pick<Service, "openOutput"> => {
  const all = windowed(guards)
  if (all === undefined) return {}
  const open = () =>
    parallel && all.length > 1 ? GuardWindow.beside(all) : chain(all.map((one) => GuardWindow.beside([one])))
  const names = all.map(({ name }) => name)
  return {
    openOutput: (_context, run) =>
      run === undefined || all.length === 0 ? open() : GuardReport.watched(open(), names, run)
  }
}

/**
 * Windows one behind the other: what one lets through, the next one judges, and a block of any stops them all. None let
 * everything through.
 *
 * @since 0.1.0
 * @category combinators
 */
export const chain: (windows: ReadonlyArray<OutputWindow>) => OutputWindow = GuardWindow.chain

/**
 * Guards in their order, see `Options`; a guard that fails holds the text back. What the guards require is taken from
 * the context once, here; services that a check finds around it win over those.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromGuards = <const G extends ReadonlyArray<Guard.Any>>(
  guards: G,
  options?: Options | undefined
): Effect.Effect<Service, never, Guard.Services<G[number]>> =>
  Effect.map(Effect.context<Guard.Services<G[number]>>(), (captured) => {
    const parallel = options?.parallel ?? false
    const at = (stage: Guard.GuardStage): ReadonlyArray<Guard.Guard<unknown, Guard.Services<G[number]>>> =>
      guards.filter((guard) => guard.stages.includes(stage))
    const checker = <C extends Guard.CheckContext>(
      stage: Guard.GuardStage,
      withStage: (context: C) => Guard.GuardContext
    ) => {
      const selected = at(stage)
      if (selected.length === 0) return nothing
      const check = GuardChecker.make(selected, stage, parallel, captured)
      return (content: string, context: C) => check(content, withStage(context))
    }
    return {
      stages: new Set(guards.flatMap((guard) => guard.stages)),
      blockedObservations: options?.blockedObservations,
      checkInput: checker("input", (context: Guard.CheckContext) => ({ ...context, stage: "input" })),
      checkOutput: checker("output", (context: Guard.CheckContext) => ({ ...context, stage: "output" })),
      ...opener(at("output"), parallel),
      checkToolInput: checker("toolInput", (context: Guard.ToolCheckContext) => ({ ...context, stage: "toolInput" })),
      checkToolOutput: checker("toolOutput", (context: Guard.ToolCheckContext) => ({ ...context, stage: "toolOutput" }))
    }
  })

/**
 * The pipeline of these guards.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const G extends ReadonlyArray<Guard.Any>>(
  options: Options & { readonly guards: G }
): Layer.Layer<GuardPipeline, never, Guard.Services<G[number]>> =>
  Layer.effect(GuardPipeline, fromGuards(options.guards, options))

/**
 * The pipeline of these guards, one after another.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerGuards = <const G extends ReadonlyArray<Guard.Any>>(
  guards: G
): Layer.Layer<GuardPipeline, never, Guard.Services<G[number]>> => layer({ guards })

/**
 * No guards: everything passes unchanged.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<GuardPipeline> = Layer.effect(GuardPipeline, fromGuards([]))
