/**
 * Tests that share a layer: it is built for the first of them and released after the last. They run on the live clock.
 *
 * The `layer` of @effect/vitest is not used: it adds its `effect` and `scoped` to the `it` shared by all tests of a
 * process, so every test registered later would run on that layer and its clock.
 */
import { afterAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type * as Scope from "effect/Scope"

export type Test<R> = (fact: string, self: () => Effect.Effect<void, unknown, R>) => void

export const suite = <R, E>(name: string, layer: Layer.Layer<R, E>, tests: (test: Test<R>) => void): void => {
  describe(name, () => {
    const runtime = ManagedRuntime.make(layer)
    afterAll(() => runtime.dispose())
    tests((fact, self) => it.live(fact, () => Effect.provide(self(), runtime)))
  })
}

/** Tests that open something of their own. */
export const scoped =
  <R>(test: Test<R>) =>
  (fact: string, self: () => Effect.Effect<void, unknown, R | Scope.Scope>): void =>
    test(fact, () => Effect.scoped(self()))
