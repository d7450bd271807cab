/**
 * Ids that sort by the time they were made. The default reads Effect's `Clock` and `Random`, so a program under `TestClock` and a
 * seeded `Random` makes the same ids on every run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** A new id; two calls never give the same one. Ids of a later millisecond sort after those of an earlier one. */
  readonly next: Effect.Effect<string>
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

/** UUID version 7 (RFC 9562): 48 bits of milliseconds, then 74 random bits, 42 of them in `high`. */
const uuid7 = (millis: number, high: number, low: number): string => {
  const time = hex(millis % 0x1000000000000, 12)
  const rest = Math.floor(high / 0x1000)
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex(0x7000 | (high % 0x1000), 4)}-${hex(0x8000 | (rest % 0x4000), 4)}-${hex(Math.floor(rest / 0x4000), 4)}${hex(low, 8)}`
}

const bits = (count: number) => Effect.map(Random.nextRange(0, 2 ** count), Math.floor)
const high = bits(42)
const low = bits(32)

const next: Effect.Effect<string> = Effect.clockWith((clock) =>
  Effect.flatMap(high, (a) => Effect.map(low, (b) => uuid7(clock.unsafeCurrentTimeMillis(), a, b)))
)

/**
 * Where ids come from. Without a layer: UUID version 7 from `Clock` and `Random`.
 *
 * @since 0.1.0
 * @category tags
 */
export class IdGenerator extends Context.Reference<IdGenerator>()("effect-lexigram/domain/IdGenerator", {
  defaultValue: (): Service => ({ next })
}) {}

/**
 * Counts `prefix1`, `prefix2`, ...: readable ids for tests. They sort by time up to a billion of them.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSequential = (options?: { readonly prefix?: string | undefined }): Layer.Layer<never> =>
  Layer.effect(
    IdGenerator,
    Effect.sync((): Service => {
      const prefix = options?.prefix ?? "id-"
      let count = 0
      return { next: Effect.sync(() => `${prefix}${String(++count).padStart(9, "0")}`) }
    })
  ) as Layer.Layer<never>

/**
 * @since 0.1.0
 * @category accessors
 */
export const generate: Effect.Effect<string> = Effect.flatMap(IdGenerator, (generator) => generator.next)
