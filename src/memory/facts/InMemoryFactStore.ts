/**
 * A fact store in this process. Its facts end with the process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultFactStore from "./DefaultFactStore.js"
import { FactStore, type Service } from "./FactStore.js"
import * as FactTable from "./FactTable.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultFactStore.Options, FactTable.Options {}

/**
 * Makes a store.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service> =>
  Effect.sync(() => DefaultFactStore.fromBackend(FactTable.make(options), options))

/**
 * A fact store in this process.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { FactStore, InMemoryFactStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const facts = yield* FactStore.FactStore
 *   yield* facts.assert("ada", [{ subject: "Anna", predicate: "lives in", object: "Paris" }])
 *   yield* facts.assert("ada", [{ subject: "Anna", predicate: "lives in", object: "Ghent" }])
 *   return yield* facts.query("ada", { entity: "Anna", includeClosed: true })
 * }).pipe(Effect.provide(InMemoryFactStore.layer()))
 * // The fact about Paris ends when the one about Ghent begins.
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<FactStore> => Layer.effect(FactStore, make(options))
