/**
 * Whether a streamed answer has begun to be shown: from then on a call may not be made again, or its text would come
 * twice.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"

export interface Handed<Options> {
  /** The same options, watched. */
  readonly options: Options
  /** True once a part was handed on. */
  readonly begun: () => boolean
}

export const watch = <
  Part,
  Options extends { readonly onParts?: ((parts: ReadonlyArray<Part>) => Effect.Effect<void>) | undefined } | undefined
>(
  options: Options
): Handed<Options> => {
  const onParts = options?.onParts
  if (onParts === undefined) return { options, begun: () => false }
  let begun = false
  return {
    options: {
      ...options,
      onParts: (parts: ReadonlyArray<Part>) => {
        if (parts.length > 0) begun = true
        return onParts(parts)
      }
    },
    begun: () => begun
  }
}
