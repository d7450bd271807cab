/**
 * Effects that are done within one step of their fiber as long as nothing has to be waited for: SQLite answers a
 * statement at once, and a transaction of five statements would otherwise cost some forty steps, as much as the
 * statements do. Whatever does have to wait (a lock, another database) goes on from there as any effect does.
 *
 * Nobody can interrupt what is done at once, as nobody can interrupt a function.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { type YieldWrap, yieldWrapGet } from "effect/Utils"

type Running = Fiber.RuntimeFiber<any, any>
type Yielded = YieldWrap<Effect.Effect<any, any, any>>
type ErrorOf<Eff> = [Eff] extends [never]
  ? never
  : [Eff] extends [YieldWrap<Effect.Effect<any, infer E, any>>]
    ? E
    : never
type ContextOf<Eff> = [Eff] extends [never]
  ? never
  : [Eff] extends [YieldWrap<Effect.Effect<any, any, infer R>>]
    ? R
    : never

class Immediate<out A, out E, out R> extends Effectable.Class<A, E, R> {
  readonly attempt: (fiber: Running) => Effect.Effect<A, E, R>
  constructor(attempt: (fiber: Running) => Effect.Effect<A, E, R>) {
    super()
    this.attempt = attempt
  }
  commit(): Effect.Effect<A, E, R> {
    return Effect.withFiberRuntime((fiber) => this.attempt(fiber))
  }
}

/**
 * `attempt` gives the exit, or what is left to be done.
 *
 * @category constructors
 */
export const make = <A, E = never, R = never>(
  attempt: (fiber: Running) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => new Immediate(attempt)

/**
 * As much of an effect as can be done at once: its exit, or what is left. To be called in the fiber that goes on with
 * what is left.
 *
 * @category running
 */
export const attempt = <A, E, R>(effect: Effect.Effect<A, E, R>, fiber: Running): Effect.Effect<A, E, R> => {
  let rest: Effect.Effect<A, E, R> = effect
  while (rest instanceof Immediate) rest = rest.attempt(fiber)
  return rest
}

const isExit = <A, E>(effect: Effect.Effect<A, E, any>): effect is Exit.Exit<A, E> => Exit.isExit(effect)

/** As many yields a fiber has about as long to itself as with any other effect. */
const MOST = 256

const drive = <A, E, R>(
  steps: Iterator<YieldWrap<Effect.Effect<unknown, E, R>>, A, unknown>,
  fiber: Running,
  sent: unknown
): Effect.Effect<A, E, R> => {
  try {
    let step = steps.next(sent)
    for (let done = 1; step.done !== true; done++) {
      const rest = attempt(yieldWrapGet(step.value), fiber)
      if (!isExit(rest)) return Effect.flatMap(rest, (value) => drive(steps, fiber, value))
      if (Exit.isFailure(rest)) return rest as Exit.Exit<never, E>
      const { value } = rest
      if (done === MOST) return Effect.flatMap(Effect.yieldNow(), () => drive(steps, fiber, value))
      step = steps.next(value)
    }
    return Exit.succeed(step.value)
  } catch (defect) {
    return Exit.die(defect)
  }
}

/**
 * As `Effect.fnUntraced`.
 *
 * @category constructors
 */
export const fn =
  <Args extends ReadonlyArray<any>, Eff extends Yielded, A>(
    body: (...args: Args) => Generator<Eff, A, never>
  ): ((...args: Args) => Effect.Effect<A, ErrorOf<Eff>, ContextOf<Eff>>) =>
  (...args) =>
    new Immediate((fiber) => drive(body(...args) as Iterator<any, A, unknown>, fiber, undefined))

/**
 * As `Effect.map`.
 *
 * @category mapping
 */
export const map = <A, E, R, B>(effect: Effect.Effect<A, E, R>, f: (value: A) => B): Effect.Effect<B, E, R> =>
  new Immediate((fiber) => {
    const rest = attempt(effect, fiber)
    return isExit(rest) ? Exit.map(rest, f) : Effect.map(rest, f)
  })

/**
 * As `Effect.flatMap`.
 *
 * @category sequencing
 */
export const flatMap = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  f: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2> =>
  new Immediate<B, E | E2, R | R2>((fiber) => {
    const rest = attempt(effect, fiber)
    if (!isExit(rest)) return Effect.flatMap(rest, f)
    return Exit.isSuccess(rest) ? attempt(f(rest.value), fiber) : Exit.failCause(rest.cause)
  })

/**
 * As `Effect.suspend`.
 *
 * @category constructors
 */
export const suspend = <A, E, R>(effect: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  new Immediate((fiber) => attempt(effect(), fiber))

/**
 * As `Effect.exit`; what is left to be waited for is put through `around`.
 *
 * @category sequencing
 */
export const exit = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  around?: (rest: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  new Immediate<Exit.Exit<A, E>, never, R>((fiber) => {
    let rest: Effect.Effect<A, E, R>
    try {
      rest = attempt(effect, fiber)
    } catch (defect) {
      return Exit.succeed(Exit.die(defect))
    }
    return isExit(rest) ? Exit.succeed(rest) : Effect.exit(around === undefined ? rest : around(rest))
  })
