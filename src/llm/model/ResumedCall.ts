/**
 * What must be done before a recorded model call is made again, after its process ended.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Ambient from "../../internal/fiber/Ambient.js"

interface Resumed {
  readonly before: Effect.Effect<void>
}

/** A call that is made for the first time. */
export const first: Resumed = { before: Effect.void }

/** `before` runs as a part of the call if the call is made, and not where its outcome is recorded. */
export class ResumedCall extends Ambient.Reference<ResumedCall>()("effect-lexigram/llm/ResumedCall", {
  defaultValue: (): Resumed => first
}) {}
