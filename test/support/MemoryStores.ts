/** Registers the suite of `MemoryStore`. */
import { describe, it } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import type { MemoryStore } from "../../src/memory/search/MemoryStore.js"
import * as MemoryStoreSuite from "../../src/testing/memory/MemoryStoreSuite.js"

export const suite = <E>(name: string, layer: Layer.Layer<MemoryStore, E>): void => {
  describe(`${name} as a MemoryStore`, () => {
    for (const one of MemoryStoreSuite.cases) it.effect(one.name, () => MemoryStoreSuite.check(one, layer))
  })
}
