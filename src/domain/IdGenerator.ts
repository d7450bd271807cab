/**
 * Generates ids that sort by creation time. The default reads Effect's `Clock` and `Random`, so a program under
 * `TestClock` and a seeded `Random` generates the same ids on every run.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Ambient from "../internal/fiber/Ambient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** A new, unique id. Ids of a later millisecond sort after those of an earlier one. */
  readonly next: Effect.Effect<string>
}

/** The hexadecimal digits of a number below `limit`, a power of 16, with leading zeros. */
const hex = (value: number, limit: number): string => (limit + value).toString(16).slice(1)

/** UUID version 7 (RFC 9562): 48 bits of milliseconds, then 74 random bits, 42 of them in `high`. */
const uuid7 = (millis: number, high: number, low: number): string => {
  const time = hex(millis % 0x1000000000000, 0x1000000000000)
  const rest = Math.floor(high / 0x1000)
  return `${time.slice(0, 8)}-${time.slice(8)}-${(0x7000 | (high % 0x1000)).toString(16)}-${(0x8000 | (rest % 0x4000)).toString(16)}-${hex(Math.floor(rest / 0x4000), 0x10000)}${hex(low, 0x100000000)}`
}

// Reads the fiber once: an effect for each service costs more than the id.
const next: Effect.Effect<string> = Effect.withFiberRuntime((fiber) => {
  const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
  const random = Context.get(fiber.currentDefaultServices, Random.Random)
  return Effect.flatMap(random.next, (high) =>
    Effect.map(random.next, (low) =>
      uuid7(clock.unsafeCurrentTimeMillis(), Math.floor(high * 2 ** 42), Math.floor(low * 2 ** 32))
    )
  )
})

/**
 * The source of ids. Default: UUID version 7 from `Clock` and `Random`.
 *
 * @since 0.1.0
 * @category tags
 */
export class IdGenerator extends Ambient.Reference<IdGenerator>()("effect-lexigram/domain/IdGenerator", {
  defaultValue: (): Service => ({ next })
}) {}

/**
 * Counts `id-000000001`, `id-000000002`, …: readable ids for tests. They begin with `prefix`, by default `id-`, and
 * sort by creation up to a billion ids.
 *
 * @example
 * ```ts
 * import { IdGenerator } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 *
 * // order-000000001, order-000000002
 * const ids = Effect.all([IdGenerator.generate, IdGenerator.generate]).pipe(
 *   Effect.provide(IdGenerator.layerSequential({ prefix: "order-" }))
 * )
 * ```
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
export const generate: Effect.Effect<string> = Effect.withFiberRuntime(
  (fiber) => Context.get(fiber.currentContext, IdGenerator).next
)
