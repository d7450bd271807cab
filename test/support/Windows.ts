/**
 * Output of a guard's window for a text written in pieces.
 */
import * as Effect from "effect/Effect"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import type * as Guard from "../../src/guard/pipeline/Guard.js"
import type * as GuardPipeline from "../../src/guard/pipeline/GuardPipeline.js"

export const written = (
  guard: Guard.Guard,
  text: string,
  size: number
): Effect.Effect<{ readonly text: string; readonly blocked: Guard.GuardResult | undefined }> =>
  Effect.map(DefaultGuardPipeline.fromGuards([guard]), (pipeline) => {
    const window = pipeline.openOutput?.({})
    if (window === undefined) throw new Error("The guard has no window")
    let out = ""
    let blocked: Guard.GuardResult | undefined
    const take = (released: GuardPipeline.Released) => {
      out += released.text
      blocked = released.blockingResult
    }
    for (let at = 0; at < text.length; at += size) take(window.push(text.slice(at, at + size)))
    take(window.end())
    return { text: out, blocked }
  })
