/**
 * Tests that share what a layer builds: it is built for the first of them and released after the last. They run on the live clock.
 *
 * The `layer` of @effect/vitest is not used, because it puts its own `effect` and `scoped` into the `it` that all tests of a process have
 * in common, and leaves them there: every test that is registered later would run on that layer, and on its clock.
 */
import { afterAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"

export type Test<R> = (fact: string, self: () => Effect.Effect<void, unknown, R>) => void

export const suite = <R, E>(name: string, layer: Layer.Layer<R, E>, tests: (test: Test<R>) => void): void => {
  describe(name, () => {
    const runtime = ManagedRuntime.make(layer)
    afterAll(() => runtime.dispose())
    tests((fact, self) => it.live(fact, () => Effect.provide(self(), runtime)))
  })
}
