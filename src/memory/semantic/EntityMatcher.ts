/**
 * The port that decides which known person or thing a mention means where the rules of `EntityResolution` are
 * undecided.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { FactExtractionError } from "../entry/MemoryError.js"

/**
 * A mention that fits several known names, or is near some.
 *
 * @since 0.1.0
 * @category models
 */
export interface Undecided {
  readonly mention: string
  /** What was said of it, for its context. */
  readonly text: string
  /** Known names, at least one. */
  readonly candidates: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** For each mention the index of the candidate that it means, or none, in their order. */
  readonly match: (
    undecided: ReadonlyArray<Undecided>
  ) => Effect.Effect<ReadonlyArray<number | undefined>, FactExtractionError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EntityMatcher extends Context.Tag("effect-lexigram/memory/EntityMatcher")<EntityMatcher, Service>() {}
