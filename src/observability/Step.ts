/**
 * The seam for durability. Everything whose outcome must survive a crash goes through `Step`; `Place` names it by its
 * position in the run, which is the same on every replay. Without a durable layer a step is the effect itself and costs
 * one look-up.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as Parallel from "../internal/fiber/Parallel.js"

/**
 * What a durable layer needs to record an effect.
 *
 * @since 0.1.0
 * @category models
 */
export interface StepOptions<A, E, R = never> {
  /** `llm`, `tool`, `memory`, … */
  readonly kind: string
  /** A fingerprint of the input, computed on demand. A replay with another one fails, naming the step. */
  readonly hash?: (() => string) | undefined
  readonly success: Schema.Schema<A, any>
  /** `Schema.make<never, any>(Schema.Never.ast)` for an effect that does not fail. */
  readonly error: Schema.Schema<E, any>
  /**
   * Given for an effect that must not run twice. It decides what comes of an attempt that began and whose end is
   * unknown, because its process died: an outcome, or, with none, another attempt.
   */
  readonly lost?: Effect.Effect<Option.Option<A>, E, R> | undefined
  /**
   * True for an effect that changes nothing outside, or nothing more when it runs again. Its outcome is recorded with
   * that of the next step, so it costs no commit of its own; a process that dies before that runs it again.
   */
  readonly isRead?: boolean | undefined
}

/**
 * How a durable run waits without a process.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sleeping {
  /**
   * Waits for a value from outside. `pending` asks for it without waiting. While there is none, the run sleeps, and it
   * is woken by `name`, unique within the run.
   */
  readonly wait: <A, R>(
    options: { readonly name: string; readonly value: Schema.Schema<A, any> },
    pending: Effect.Effect<Option.Option<A>, never, R>
  ) => Effect.Effect<A, never, R>
  /** Waits until a time, in milliseconds since the epoch. */
  readonly until: (millis: number) => Effect.Effect<void>
}

/**
 * How a run ends that undoes its calls. `details` are plain data.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ending {
  readonly cause: Cause.Cause<unknown>
  readonly details: unknown
}

/**
 * Keeps how runs end that undo their calls. Once that is decided, no process may go on with such a run: a time limit or
 * an interruption, which are not recorded, might not come again.
 *
 * @since 0.1.0
 * @category models
 */
export interface Endings {
  readonly find: (runId: string) => Effect.Effect<Option.Option<Ending>>
  readonly keep: (runId: string, ending: Ending) => Effect.Effect<void>
  /** Takes what is recorded. A step that is not waits until it is interrupted. */
  readonly onlyRecorded: Service
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Runs the effect, or returns its recorded outcome. */
  readonly run: <A, E, R, R2 = never>(
    options: StepOptions<A, E, R2>,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R | R2>
  /**
   * True while a durable run is being suspended: its end is not the end of the run, and nothing may be written as if it
   * were.
   */
  readonly isSuspended: () => boolean
  /** True for a run that tries out another course of a run before: it adds nothing to its session or to memory. */
  readonly isDetached?: boolean | undefined
  /** True where a fork takes steps of another run: what they did belongs to that run. */
  readonly isTaking?: (() => boolean) | undefined
  readonly endings?: Endings | undefined
  /** Makes a write of the run, or interrupts it if the run is another process's by now. Absent: every write is made. */
  readonly guard?: (<A, E, R>(write: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) | undefined
  /** Absent where a wait keeps its fiber. */
  readonly sleeping?: Sleeping | undefined
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
 * A short write of a run to stores that it shares with other runs, such as its session: refused once the run goes on in
 * another process. It is part of a transaction, so it asks nobody else.
 *
 * @since 0.1.0
 * @category combinators
 */
export const guarded = <A, E, R>(write: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const { guard } = Context.get(fiber.currentContext as Context.Context<Step>, Step)
    return guard === undefined ? write : guard(write)
  })

/**
 * Runs an effect as a step.
 *
 * @example
 * ```ts
 * import { Step } from "effect-lexigram/observability"
 * import * as Effect from "effect/Effect"
 * import * as Random from "effect/Random"
 * import * as Schema from "effect/Schema"
 *
 * const side = Effect.flatMap(Random.nextIntBetween(0, 7), (n) => (n > 0 ? Effect.succeed(n) : Effect.fail("lost")))
 *
 * // A durable run that goes on in another process has the same side again.
 * const rolled = Step.run({ kind: "dice", success: Schema.Int, error: Schema.String }, side)
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = <A, E, R, R2 = never>(
  options: StepOptions<A, E, R2>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | R2> =>
  Effect.flatMap(Step, (step) => (step === identity ? effect : step.run(options, effect)))

/**
 * Waits until a time, in milliseconds since the epoch. A durable run sleeps meanwhile, across restarts.
 *
 * @since 0.1.0
 * @category combinators
 */
export const until = (millis: number): Effect.Effect<void> =>
  Effect.flatMap(Step, ({ sleeping }) =>
    sleeping === undefined
      ? Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(Math.max(0, millis - now)))
      : sleeping.until(millis)
  )

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
  /** The next name of something that is numbered apart from the steps: an event (`e`), an id (`i`), a number (`r`). */
  readonly draw: (kind: string) => string
  /**
   * Takes the next number for a fan-out and returns the place of each of its branches, each with a counter of its own.
   */
  readonly fork: () => (branch: string | number) => PlaceService
  /** The time of the last step that ended here, in milliseconds since the epoch; 0 before the first. */
  readonly at: () => number
  /** Takes over a time, if it is later. */
  readonly reach: (at: number) => void
}

const plainBranch = /^[\w-]{1,32}$/

/**
 * A place. `shorten` replaces names of branches that a model may have given by short ones.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makePlace = (
  path: string = "",
  options: { readonly at?: number | undefined; readonly shorten?: ((text: string) => string) | undefined } = {}
): PlaceService => {
  const { shorten } = options
  const drawn = new Map<string, number>()
  let counter = 0
  let time = options.at ?? 0
  const next = () => `${path}/${counter++}`
  return {
    path,
    next,
    draw: (kind) => {
      const number = drawn.get(kind) ?? 0
      drawn.set(kind, number + 1)
      return `${path}#${kind}${number}`
    },
    fork: () => {
      const base = next()
      return (branch) => {
        const isPlain = shorten === undefined || typeof branch === "number" || plainBranch.test(branch)
        return makePlace(`${base}.${isPlain ? branch : shorten(branch)}`, { at: time, shorten })
      }
    },
    at: () => time,
    reach: (reached) => {
      time = Math.max(time, reached)
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
      const places = items.map((_, index) => fork(index))
      // A branch that is suspended interrupts its own fiber, and no other one.
      const branch = (item: A, index: number) =>
        Effect.acquireUseRelease(
          Effect.forkDaemon(
            Effect.provideService(Effect.interruptible(f(item, index)), Place, places[index] as PlaceService)
          ),
          Fiber.await,
          Fiber.interrupt
        )
      return Effect.flatMap(Parallel.forEach(items, branch, concurrency), (exits) => {
        for (const reached of places) place.reach(reached.at())
        const failed = (step.isSuspended() ? exits.find(Exit.isInterrupted) : undefined) ?? exits.find(Exit.isFailure)
        return failed === undefined || Exit.isSuccess(failed)
          ? Effect.succeed(exits.map((exit) => (exit as Exit.Success<B, E>).value))
          : Effect.failCause(failed.cause)
      })
    })
  })
}
