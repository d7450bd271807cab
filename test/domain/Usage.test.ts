import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Usage from "../../src/domain/Usage.js"

const usage: FastCheck.Arbitrary<Usage.Usage> = FastCheck.record(
  {
    inputTokens: FastCheck.nat(1000),
    outputTokens: FastCheck.nat(1000),
    totalTokens: FastCheck.nat(1000),
    reasoningTokens: FastCheck.nat(1000),
    cachedInputTokens: FastCheck.nat(1000),
    estimatedTokens: FastCheck.nat(1000)
  },
  { requiredKeys: [] }
)

describe("Usage", () => {
  it("sums field by field, and keeps absent what nobody reported", () => {
    assert.deepStrictEqual(Usage.add({ inputTokens: 1, outputTokens: 2 }, { inputTokens: 3, reasoningTokens: 4 }), {
      inputTokens: 4,
      outputTokens: 2,
      totalTokens: 6,
      reasoningTokens: 4
    })
    assert.deepStrictEqual(Usage.add(Usage.empty, Usage.empty), {})
  })

  it("takes the provider's total over the sum", () => {
    assert.strictEqual(Usage.total({ inputTokens: 1, outputTokens: 2, totalTokens: 9 }), 9)
    assert.strictEqual(Usage.total({ inputTokens: 1, outputTokens: 2 }), 3)
    assert.strictEqual(Usage.total({ outputTokens: 2 }), 2)
    assert.strictEqual(Usage.total({}), 0)
  })

  it("the order and grouping of sums do not matter, and totals add up", () => {
    FastCheck.assert(
      FastCheck.property(usage, usage, usage, (a, b, c) => {
        assert.deepStrictEqual(Usage.add(a, b), Usage.add(b, a))
        assert.deepStrictEqual(Usage.add(Usage.add(a, b), c), Usage.add(a, Usage.add(b, c)))
        assert.strictEqual(Usage.total(Usage.add(a, b)), Usage.total(a) + Usage.total(b))
      })
    )
  })

  it("nothing changes nothing but for a total that was not spelled out", () => {
    FastCheck.assert(
      FastCheck.property(usage, (a) => {
        const { totalTokens: before, ...rest } = a
        const { totalTokens: after, ...sum } = Usage.add(a, Usage.empty)
        assert.deepStrictEqual(sum, rest)
        assert.strictEqual(after ?? 0, before ?? Usage.total(a))
      })
    )
  })

  it("a field is there exactly if one side has it", () => {
    const fields = ["inputTokens", "outputTokens", "reasoningTokens", "cachedInputTokens"] as const
    FastCheck.assert(
      FastCheck.property(usage, usage, (a, b) => {
        const sum = Usage.add(a, b)
        for (const field of fields) assert.strictEqual(field in sum, field in a || field in b)
      })
    )
  })

  it("survives JSON", () => {
    FastCheck.assert(
      FastCheck.property(usage, (a) => {
        const json = JSON.parse(JSON.stringify(Schema.encodeSync(Usage.Usage)(a)))
        assert.deepStrictEqual(Schema.decodeUnknownSync(Usage.Usage)(json), a)
      })
    )
  })
})
