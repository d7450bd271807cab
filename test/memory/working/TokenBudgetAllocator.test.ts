import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Allocator from "../../../src/memory/working/TokenBudgetAllocator.js"

const sum = (allocation: Allocator.Allocation): number =>
  Allocator.sections.reduce((total, section) => total + allocation[section], 0)

const total = FastCheck.oneof(
  FastCheck.integer({ min: 0, max: 5000 }),
  FastCheck.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
)

const shares = FastCheck.record({
  systemPromptTokens: FastCheck.integer({ min: 0, max: 10_000 }),
  weights: FastCheck.tuple(
    FastCheck.double({ min: 0, max: 1, noNaN: true }),
    FastCheck.double({ min: 0, max: 1, noNaN: true }),
    FastCheck.double({ min: 0, max: 1, noNaN: true }),
    FastCheck.double({ min: 0, max: 1, noNaN: true })
  ),
  claimed: FastCheck.double({ min: 0, max: 1, noNaN: true })
}).map(({ claimed, systemPromptTokens, weights }): Allocator.Shares => {
  const all = Math.max(
    1,
    weights.reduce((a, b) => a + b, 0)
  )
  const [recent, episodic, semantic, tools] = weights.map((weight) => (weight / all) * claimed)
  return {
    systemPromptTokens,
    recentTurnsFraction: recent ?? 0,
    episodicFraction: episodic ?? 0,
    semanticFraction: semantic ?? 0,
    toolDescriptionsFraction: tools ?? 0
  }
})

describe("TokenBudgetAllocator", () => {
  it("gives the system prompt 512 tokens, and the others 40, 30, 20 and 10 percent of the rest", () => {
    assert.deepStrictEqual(Allocator.allocate(4096), {
      system_prompt: 512,
      recent_turns: 1435,
      episodic: 1075,
      semantic: 716,
      tool_descriptions: 358
    } satisfies Allocator.Allocation)
  })

  it("gives tokens left by rounding to the section with the largest fraction", () => {
    const { episodic, recent_turns, semantic, tool_descriptions } = Allocator.allocate(512 + 13)
    assert.deepStrictEqual([recent_turns, episodic, semantic, tool_descriptions], [5 + 2, 3, 2, 1])
  })

  it("gives tokens that no fraction claims to the same section", () => {
    const half = Either.getOrThrow(
      Allocator.make({
        recentTurnsFraction: 0.1,
        episodicFraction: 0.2,
        semanticFraction: 0,
        toolDescriptionsFraction: 0
      })
    )
    assert.deepStrictEqual(Allocator.allocate(1512, half), {
      system_prompt: 512,
      recent_turns: 100,
      episodic: 900,
      semantic: 0,
      tool_descriptions: 0
    })
  })

  it("gives a small total to the system prompt alone", () => {
    assert.strictEqual(Allocator.allocate(300).system_prompt, 300)
    assert.strictEqual(sum(Allocator.allocate(300)), 300)
  })

  it("gives all to the system prompt without any fraction", () => {
    const none = Either.getOrThrow(
      Allocator.make({ recentTurnsFraction: 0, episodicFraction: 0, semanticFraction: 0, toolDescriptionsFraction: 0 })
    )
    assert.strictEqual(Allocator.allocate(2000, none).system_prompt, 2000)
  })

  it("agrees with the allocation for one section", () => {
    for (const section of Allocator.sections) {
      assert.strictEqual(Allocator.budgetFor(section, 3000), Allocator.allocate(3000)[section])
    }
  })

  it("sums to the total exactly and is never negative, for any total and shares", () => {
    FastCheck.assert(
      FastCheck.property(total, shares, (total, shares) => {
        assert.isTrue(Either.isRight(Allocator.make(shares)))
        const allocation = Allocator.allocate(total, shares)
        assert.strictEqual(sum(allocation), total)
        for (const section of Allocator.sections) {
          assert.isAtLeast(allocation[section], 0)
          assert.isTrue(Number.isSafeInteger(allocation[section]))
        }
      }),
      { numRuns: 500 }
    )
  })

  it("accepts any number as a total or share", () => {
    const any = FastCheck.double()
    FastCheck.assert(
      FastCheck.property(any, any, any, any, any, any, (total, prompt, recent, episodic, semantic, tools) => {
        const allocation = Allocator.allocate(total, {
          systemPromptTokens: prompt,
          recentTurnsFraction: recent,
          episodicFraction: episodic,
          semanticFraction: semantic,
          toolDescriptionsFraction: tools
        })
        const expected = Number.isNaN(total) ? 0 : Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.floor(total)))
        assert.strictEqual(sum(allocation), expected)
        for (const section of Allocator.sections) assert.isAtLeast(allocation[section], 0)
      }),
      { numRuns: 500 }
    )
  })

  it.each([
    [{ recentTurnsFraction: 1.1 }, "recentTurnsFraction"],
    [{ episodicFraction: -0.1 }, "episodicFraction"],
    [{ semanticFraction: Number.NaN }, "semanticFraction"],
    [{ toolDescriptionsFraction: 0.2 }, "exceed 1"],
    [{ systemPromptTokens: -1 }, "systemPromptTokens"],
    [{ systemPromptTokens: 1.5 }, "systemPromptTokens"]
  ])("rejects invalid shares: %o", (options, said) => {
    const refused = Either.flip(Allocator.make(options))
    assert.isTrue(Either.isRight(refused))
    const error = Either.getOrThrow(refused)
    assert.strictEqual(error._tag, "MemorySystemError")
    assert.include(error.message, said)
  })

  it("has valid defaults", () => {
    assert.deepStrictEqual(Either.getOrThrow(Allocator.make()), Allocator.defaults)
  })
})
