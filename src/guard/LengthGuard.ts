/**
 * No text longer than a limit.
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
  /** Longest text, in UTF-16 code units, as `length` of a string counts. */
  readonly maxChars: number
  /**
   * Default `block`. `redact` cuts a longer text at the limit, or one unit before it where that would tear a character
   * in two.
   */
  readonly action?: "block" | "redact" | "warn" | undefined
  /** Default `input` and `output`. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /** Default `length`. */
  readonly name?: string | undefined
}

/**
 * Nothing before the limit waits for what comes after it: a streamed answer is shown up to there.
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
      // A character of two units is torn or not by what stands on both sides of the limit.
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
