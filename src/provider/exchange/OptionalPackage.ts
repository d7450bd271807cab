/**
 * Loads optional packages.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { LlmConfigurationError } from "../../llm/model/LlmError.js"

/**
 * Loads modules of a package, and names the package to install if it is missing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const load = <A>(options: {
  readonly name: string
  /** How it is installed where its newest version is not the one that this package needs. */
  readonly install?: string | undefined
  readonly provider: string
  readonly modules: () => Promise<A>
}): Effect.Effect<A, LlmConfigurationError> =>
  Effect.tryPromise({
    try: options.modules,
    catch: (cause) => {
      const code = (cause as { readonly code?: unknown } | null)?.code
      const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND"
      return new LlmConfigurationError({
        provider: options.provider,
        message: isMissing
          ? `The provider ${options.provider} needs the package ${options.name}, which is not installed.`
          : `The package ${options.name} could not be loaded.`,
        hint: options.install ?? `npm install ${options.name}`,
        cause
      })
    }
  })
