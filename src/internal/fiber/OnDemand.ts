/**
 * Loads a module on first use.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

const made: Array<Effect.Effect<unknown>> = []

/**
 * Loads the module once; after that the effect succeeds immediately. Use it for module constants: each is remembered.
 */
export const make = <A>(load: () => Promise<A>): Effect.Effect<A> => {
  let loaded: { readonly module: A } | undefined
  const effect = Effect.suspend(() =>
    loaded === undefined
      ? Effect.map(Effect.promise(load), (module) => {
          loaded = { module }
          return module
        })
      : Effect.succeed(loaded.module)
  )
  made.push(effect)
  return effect
}

const loadFrom = (index: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const next = made[index]
    return next === undefined ? Effect.void : Effect.zipRight(next, loadFrom(index + 1))
  })

/** Loads everything that the loaded modules, and the modules this loads, would load on first use. */
export const loadAll: Effect.Effect<void> = loadFrom(0)
