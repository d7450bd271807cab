/**
 * Asks guards in order or all at once, and opens windows on texts being written.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Guard from "./Guard.js"
import * as GuardChecker from "./GuardChecker.js"
import * as GuardPipeline from "./GuardPipeline.js"
import * as GuardReport from "./GuardReport.js"
import * as GuardWindow from "./GuardWindow.js"

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
  readonly blockedObservations?: GuardPipeline.BlockedObservations | undefined
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

const opener = (guards: ReadonlyArray<Guard.Any>, parallel: boolean): Pick<GuardPipeline.Service, "openOutput"> => {
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
export const chain: (windows: ReadonlyArray<GuardPipeline.OutputWindow>) => GuardPipeline.OutputWindow =
  GuardWindow.chain

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
): Effect.Effect<GuardPipeline.Service, never, Guard.Services<G[number]>> =>
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
): Layer.Layer<GuardPipeline.GuardPipeline, never, Guard.Services<G[number]>> =>
  Layer.effect(GuardPipeline.GuardPipeline, fromGuards(options.guards, options))

/**
 * The pipeline of these guards, one after another.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerGuards = <const G extends ReadonlyArray<Guard.Any>>(
  guards: G
): Layer.Layer<GuardPipeline.GuardPipeline, never, Guard.Services<G[number]>> => layer({ guards })
