import { describe, expectTypeOf, it } from "vitest"
import type { CacheBackend } from "../../../src/llm/CacheBackend.js"
import type * as Strategy from "../../../src/strategy/definition/Strategy.js"
import * as SelfDiscovery from "../../../src/strategy/discovery/SelfDiscovery.js"

describe("SelfDiscovery", () => {
  it("needs a cache backend only with a cache", () => {
    expectTypeOf(SelfDiscovery.make()).toEqualTypeOf<Strategy.Strategy>()
    expectTypeOf(SelfDiscovery.make({ solve: "structure" })).toEqualTypeOf<Strategy.Strategy>()
    expectTypeOf(SelfDiscovery.make({ cache: { key: () => "kind" } })).toEqualTypeOf<
      Strategy.Strategy<never, CacheBackend>
    >()
  })

  it("takes names of modules that exist", () => {
    SelfDiscovery.make({ modules: ["first_principles"] })
    // @ts-expect-error there is no such module
    SelfDiscovery.make({ modules: ["first_principle"] })
  })
})
