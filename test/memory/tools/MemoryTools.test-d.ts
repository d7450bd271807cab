import { describe, expectTypeOf, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as MemoryBlock from "../../../src/memory/tools/MemoryBlock.js"
import * as MemoryTools from "../../../src/memory/tools/MemoryTools.js"

const profile = MemoryBlock.make("profile", { description: "who it is", fields: { name: Schema.String } })

type Services = Agent.Agent<string, never, MemoryStore.MemoryStore>

describe("memory tools in the definition of an agent", () => {
  it("require the memory store and nothing else", () => {
    expectTypeOf(Agent.make("a", { tools: [MemoryBlock.updateTool(profile)] })).toEqualTypeOf<Services>()
    expectTypeOf(Agent.make("a", { tools: [MemoryTools.remember()] })).toEqualTypeOf<Services>()
    expectTypeOf(Agent.make("a", { tools: [MemoryTools.search(), MemoryTools.forget()] })).toEqualTypeOf<Services>()
    expectTypeOf(Agent.make("a", { tools: MemoryTools.make() })).toEqualTypeOf<Services>()
  })
})
