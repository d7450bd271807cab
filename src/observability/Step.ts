/**
 * The seam for durability. Everything whose outcome must survive a crash goes through `Step`; `Place` names it by its
 * position in the run, which is the same on every replay. Without a durable layer a step is the effect itself and costs
 * one look-up.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as Parallel from "../internal/fiber/Parallel.js"

/**
 * What a durable layer needs to record an effect: its kind (`llm`, `tool`, …), a fingerprint of its input (computed on
 * demand), and the schemas of its outcome.
 *
 * @since 0.1.0
 * @category models
 */
export interface StepOptions<A, E> {
  readonly kind: string
  readonly hash?: (() => string) | undefined
  readonly success?: Schema.Schema<A, any> | undefined
  readonly error?: Schema.Schema<E, any> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Runs the effect, or returns its recorded outcome. */
  readonly run: <A, E, R>(options: StepOptions<A, E>, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * True while a durable run is being suspended: its end is not the end of the run, and nothing may be written as if it
   * were.
   */
  readonly isSuspended: () => boolean
}

const identity: Service = { run: (_options, effect) => effect, isSuspended: () => false }

/**
 * @since 0.1.0
 * @category tags
 */
export class Step extends Ambient.Reference<Step>()("effect-lexigram/observability/Step", {
  defaultValue: (): Service => identity
}) {}

/**
 * False if steps are the effects themselves, so that callers on a hot path can skip them.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRecording = (step: Service): boolean => step !== identity

/**
 * Runs an effect as a step.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = <A, E, R>(options: StepOptions<A, E>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Step, (step) => (step === identity ? effect : step.run(options, effect)))

/**
 * A position in a run: a path of branches and a counter. Steps of one branch are numbered in the order they are
 * reached.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlaceService {
  /** `""` at the top, `"/3.1"` in the second branch of the fourth step. */
  readonly path: string
  /** The next name at this place, path and counter: `"/3.1/0"`. */
  readonly next: () => string
  /**
   * Takes the next number for a fan-out and returns the place of each of its branches, each with a counter of its own.
   */
  readonly fork: () => (branch: string | number) => PlaceService
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const makePlace = (path: string = ""): PlaceService => {
  let counter = 0
  const next = () => `${path}/${counter++}`
  return {
    path,
    next,
    fork: () => {
      const base = next()
      return (branch) => makePlace(`${base}.${branch}`)
    }
  }
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Place extends Ambient.Reference<Place>()("effect-lexigram/observability/Step/Place", {
  defaultValue: (): PlaceService => makePlace()
}) {}

/**
 * The only parallelism inside strategies, tool turns and joins. Results keep the order of the items. A single item runs
 * inline; of several, at most `concurrency` (default unbounded) run at a time, each in a branch of its own. If one
 * fails, the others are interrupted; while a durable run is being suspended, every branch may first finish or suspend.
 *
 * @since 0.1.0
 * @category combinators
 */
export const forEach = <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A, index: number) => Effect.Effect<B, E, R>,
  options?: { readonly concurrency?: number | "unbounded" | undefined } | undefined
): Effect.Effect<Array<B>, E, R> => {
  const first = items[0]
  if (items.length === 0) return Effect.succeed([])
  if (items.length === 1) return Effect.map(f(first as A, 0), (b) => [b])
  return Effect.flatMap(Step, (step) => {
    const given = options?.concurrency ?? "unbounded"
    const concurrency = given === "unbounded" ? items.length : given
    if (step === identity) return Parallel.forEach(items, f, concurrency)
    return Effect.flatMap(Place, (place) => {
      const fork = place.fork()
      return Effect.flatMap(
        Parallel.forEach(
          items,
          (item, index) => Effect.exit(Effect.provideService(f(item, index), Place, fork(index))),
          concurrency
        ),
        (exits) => {
          const failed = exits.find(Exit.isFailure)
          return failed === undefined
            ? Effect.succeed(exits.map((exit) => (exit as Exit.Success<B, E>).value))
            : Effect.failCause(failed.cause)
        }
      )
    })
  })
}
