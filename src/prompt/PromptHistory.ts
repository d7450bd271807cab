/**
 * Where the versions of the prompts are kept, for those who show or compare them: a file, a row, a service.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as PromptVersions from "./PromptVersions.js"
import type { PromptLibraryError } from "./template/PromptError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The versions as they are now. Fails if they cannot be read. */
  readonly versions: Effect.Effect<PromptVersions.PromptVersions, PromptLibraryError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class PromptHistory extends Context.Tag("effect-lexigram/prompt/PromptHistory")<PromptHistory, Service>() {}

/**
 * Versions that are given, or are read whenever somebody asks.
 *
 * @example
 * ```ts
 * import { PromptHistory, PromptVersions } from "effect-lexigram/prompt"
 *
 * const { versions } = PromptVersions.add(PromptVersions.empty, {
 *   instructions: "Answer in the language of the customer.",
 *   note: "Customers abroad got English answers"
 * })
 *
 * const history = PromptHistory.layer(versions)
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  versions: PromptVersions.PromptVersions | Effect.Effect<PromptVersions.PromptVersions, PromptLibraryError>
): Layer.Layer<PromptHistory> =>
  Layer.succeed(PromptHistory, { versions: Effect.isEffect(versions) ? versions : Effect.succeed(versions) })
