/**
 * Loads a module when it is first needed.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Loads the module once; after that the effect succeeds immediately. */
export const make = <A>(load: () => Promise<A>): Effect.Effect<A> => {
  let loaded: { readonly module: A } | undefined
  return Effect.suspend(() =>
    loaded === undefined
      ? Effect.map(Effect.promise(load), (module) => {
          loaded = { module }
          return module
        })
      : Effect.succeed(loaded.module)
  )
}
