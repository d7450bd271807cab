/**
 * Guard that limits the length of a text.
 *
 * @since 0.1.0
 */
import type * as Guard from "./pipeline/Guard.js"
import * as WindowGuard from "./pipeline/WindowGuard.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Longest text, in UTF-16 code units (`length` of a string). */
  readonly maxChars: number
  /**
   * Default `block`. `redact` cuts a longer text at the limit, or one unit before it to keep a surrogate pair whole.
   */
  readonly action?: "block" | "redact" | "warn" | undefined
  /** Default `input` and `output`. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /** Default `length`. */
  readonly name?: string | undefined
}

/**
 * Text before the limit does not wait for the rest: a streamed answer is shown up to the limit.
 *
 * @example
 * ```ts
 * import { DefaultGuardPipeline, LengthGuard } from "effect-lexigram/guard"
 *
 * const guards = DefaultGuardPipeline.layerGuards([
 *   LengthGuard.make({ maxChars: 8000, stages: ["input"] }),
 *   LengthGuard.make({ name: "answer", maxChars: 2000, stages: ["output"], action: "redact" })
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Guard.Guard => {
  const { maxChars } = options
  const finding = {
    label: "LENGTH",
    action: options.action ?? "block",
    replacement: "",
    reason: `longer than ${maxChars} characters`
  } as const
  return WindowGuard.make({
    name: options.name ?? "length",
    stages: options.stages ?? ["input", "output"],
    window: {
      // Whether a surrogate pair is split depends on both sides of the limit.
      reach: 2,
      find: (text, from) => {
        const limit = maxChars - from
        if (text.length <= limit) return []
        return [{ start: Math.max(0, isTorn(text, limit) ? limit - 1 : limit), end: text.length, ...finding }]
      }
    }
  })
}

const isTorn = (text: string, at: number): boolean =>
  (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00
