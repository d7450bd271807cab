/**
 * Runs guards in order or in parallel, and opens windows on texts being written.
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
 * How a pipeline runs its guards.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * False (default): one after another, each on the text the previous one left, until one blocks. True: all at once on
   * the original text, for slow guards; the first block stops the others. Redactions of several guards are combined by
   * their spans; if a guard gives no spans, its text is used and the other redacting guards check it again.
   */
  readonly parallel?: boolean | undefined
  /** Default `withhold`. The executor's setting also applies to the guards of its agents. */
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
    parallel && all.length > 1 ? GuardWindow.make(all) : chain(all.map((one) => GuardWindow.make([one])))
  const names = all.map(({ name }) => name)
  return {
    openOutput: (_context, run) =>
      run === undefined || all.length === 0 ? open() : GuardReport.watched(open(), names, run)
  }
}

/**
 * Chains windows: each judges what the previous one released, and a block of any stops all. An empty chain passes
 * everything.
 *
 * @since 0.1.0
 * @category combinators
 */
export const chain: (windows: ReadonlyArray<GuardPipeline.OutputWindow>) => GuardPipeline.OutputWindow =
  GuardWindow.chain

/**
 * Makes a pipeline of guards in the given order, see `Options`; a guard that fails withholds the text. Takes the
 * guards' requirements from the context once, here; services around a check override them.
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
 * Layer of a pipeline of these guards.
 *
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { DefaultGuardPipeline, JudgeGuard, SecretGuard } from "effect-lexigram/guard"
 *
 * const guards = DefaultGuardPipeline.layer({
 *   guards: [SecretGuard.make(), JudgeGuard.make({ kind: "injection" })],
 *   parallel: true
 * })
 *
 * const agents = Agents.layerWith({ guards })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const G extends ReadonlyArray<Guard.Any>>(
  options: Options & { readonly guards: G }
): Layer.Layer<GuardPipeline.GuardPipeline, never, Guard.Services<G[number]>> =>
  Layer.effect(GuardPipeline.GuardPipeline, fromGuards(options.guards, options))

/**
 * Layer of a pipeline that runs these guards one after another.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerGuards = <const G extends ReadonlyArray<Guard.Any>>(
  guards: G
): Layer.Layer<GuardPipeline.GuardPipeline, never, Guard.Services<G[number]>> => layer({ guards })
