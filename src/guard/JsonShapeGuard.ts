/**
 * Guard that requires a text to be JSON of a given shape.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as JsonRepair from "../internal/text/JsonRepair.js"
import * as Guard from "./pipeline/Guard.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Schema whose encoded side the value must match, or a predicate. Default: any JSON. */
  readonly shape?: Schema.Schema<any, any, never> | ((value: unknown) => boolean) | undefined
  /**
   * True (default): malformed JSON (in a code fence, with single quotes, cut short, …) is repaired, and the repaired
   * text replaces it. False: it counts as invalid.
   */
  readonly repair?: boolean | undefined
  /** Action for a text that is not JSON or does not match. Default `block`. */
  readonly action?: "block" | "warn" | undefined
  /** Default `output`. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /** Default `json_shape`. */
  readonly name?: string | undefined
}

/**
 * Needs the whole text: an answer is shown only when it is complete.
 *
 * @example
 * ```ts
 * import { JsonShapeGuard } from "effect-lexigram/guard"
 * import * as Schema from "effect/Schema"
 *
 * const verdict = JsonShapeGuard.make({ shape: Schema.Struct({ score: Schema.Number }) })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Guard.Guard => {
  const name = options?.name ?? "json_shape"
  const fits = fitting(options?.shape)
  const refused = options?.action === "warn" ? Guard.warn : Guard.block
  return Guard.make({
    name,
    stages: options?.stages ?? ["output"],
    check: (content) => {
      const strict = JsonRepair.decode(content)
      const value = Either.isLeft(strict) && options?.repair !== false ? JsonRepair.parse(content) : strict
      if (Either.isLeft(value)) return Effect.succeed(refused(name, { reason: "not valid JSON" }))
      return Effect.map(fits(value.right), (fits) => {
        if (!fits) return refused(name, { reason: "does not match the shape" })
        return Either.isRight(strict)
          ? Guard.pass(name)
          : Guard.redact(name, JSON.stringify(value.right), { reason: "repaired" })
      })
    }
  })
}

const fitting = (shape: Options["shape"]): ((value: unknown) => Effect.Effect<boolean>) => {
  if (shape === undefined) return () => Effect.succeed(true)
  if (!Schema.isSchema(shape)) return (value) => Effect.sync(() => shape(value))
  const decode = ParseResult.decodeUnknown(shape)
  return (value) =>
    Effect.match(decode(value), {
      onFailure: () => false,
      onSuccess: () => true
    })
}
