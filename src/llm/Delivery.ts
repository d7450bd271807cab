/**
 * Records whether any part of a streamed answer was delivered. After that a call must not be retried, or the consumer
 * would see the text twice.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"

export interface Watched<Options> {
  /** The same options, with `onParts` observed. */
  readonly options: Options
  /** True once a part was delivered. */
  readonly hasBegun: () => boolean
}

export const watch = <
  Part,
  Options extends { readonly onParts?: ((parts: ReadonlyArray<Part>) => Effect.Effect<void>) | undefined } | undefined
>(
  options: Options
): Watched<Options> => {
  const onParts = options?.onParts
  if (onParts === undefined) return { options, hasBegun: () => false }
  let begun = false
  return {
    options: {
      ...options,
      onParts: (parts: ReadonlyArray<Part>) => {
        if (parts.length > 0) begun = true
        return onParts(parts)
      }
    },
    hasBegun: () => begun
  }
}
