/**
 * The default prompts with overrides and custom instructions given in code.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as DefaultPrompts from "./defaults/DefaultPrompts.js"
import * as PromptLibrary from "./PromptLibrary.js"
import type { PromptLibraryError, PromptTemplateError } from "./template/PromptError.js"

/**
 * Puts options on top of the default prompts. An override for an unknown step is a `PromptLibraryError`, and a variable
 * that its step does not have is a `PromptTemplateError`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: PromptLibrary.Options = {}
): Either.Either<PromptLibrary.Service, PromptTemplateError | PromptLibraryError> =>
  PromptLibrary.make(DefaultPrompts.steps, options)

/**
 * `make` as a layer.
 *
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { CustomPrompts } from "effect-lexigram/prompt"
 *
 * const agents = Agents.layerWith({
 *   prompts: CustomPrompts.layer({ instructions: "Answer in the language of the customer." })
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: PromptLibrary.Options = {}
): Layer.Layer<PromptLibrary.PromptLibrary, PromptTemplateError | PromptLibraryError> =>
  Layer.effect(
    PromptLibrary.PromptLibrary,
    Effect.suspend(() => make(options))
  )
