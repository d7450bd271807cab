import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Rope from "../../../src/persistence/engine/Rope.js"
import * as Growth from "../../support/Growth.js"

/** Text that looks like nothing, the same each time. */
const text = (length: number, seed = 1): string => {
  let state = seed
  return Array.from({ length: Math.ceil(length / 6) }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state % 1_000_000).toString(36).padStart(6, " ")
  })
    .join("")
    .slice(0, length)
}

/** As a reader puts it together: what it has asked for and got. */
const read = (rope: Rope.Rope): { readonly text: string | undefined; readonly asked: number } => {
  const known = new Map<string, string>()
  for (let asked = 0; ; asked++) {
    const { texts, wanted } = Rope.resolve([rope.ref], known)
    if (wanted.size === 0) return { text: texts.get(rope.ref), asked }
    for (const name of wanted) known.set(name, rope.pieces.get(name) as string)
  }
}

const news = (rope: Rope.Rope, before: Rope.Rope): number =>
  [...rope.pieces].reduce((sum, [name, piece]) => (before.pieces.has(name) ? sum : sum + piece.length), 0)

describe("Rope", () => {
  it("is read as written, in as many queries as its length requires", () => {
    const expected: ReadonlyArray<readonly [length: number, asked: number]> = [
      [0, 1],
      [1, 1],
      [2000, 1],
      [1_000_000, 2],
      [20_000_000, 3]
    ]
    for (const [length, asked] of expected) {
      const given = text(length)
      assert.deepStrictEqual(read(Rope.make(given)), { text: given, asked })
    }
  })

  it("round-trips any text, and stores equal ones once", () => {
    const long = FastCheck.tuple(FastCheck.string({ unit: "binary", maxLength: 50 }), FastCheck.nat(2000)).map(
      ([unit, times]) => unit.repeat(times)
    )
    FastCheck.assert(
      FastCheck.property(long, (given) => {
        const rope = Rope.make(given)
        assert.strictEqual(read(rope).text, given)
        assert.strictEqual(Rope.make(given).ref, rope.ref)
      }),
      { numRuns: 60 }
    )
  })

  it("never cuts a character in two", () => {
    for (const given of ["\u{1f600}".repeat(100_000), `x${"\u{1f600}".repeat(100_000)}`]) {
      for (const piece of Rope.make(given).pieces.values()) assert.strictEqual(Buffer.from(piece).toString(), piece)
    }
  })

  it("shares most with a slightly longer, shorter or different text", () => {
    const given = text(1_000_000)
    const before = Rope.make(given)
    const changes = {
      appended: `${given}, and something new`,
      shortened: given.slice(5000),
      inserted: `${given.slice(0, 400_000)}something new${given.slice(400_000)}`,
      changed: `${given.slice(0, 400_000)}#${given.slice(400_001)}`
    }
    for (const [change, changed] of Object.entries(changes)) {
      assert.isBelow(news(Rope.make(changed), before), 80_000, change)
    }
    assert.strictEqual(news(Rope.make(given), before), 0)
    assert.isAbove(news(Rope.make(text(1_000_000, 2)), before), 900_000)
  })

  it("takes time proportional to any text", () => {
    Growth.assertLinearTexts(["a", (size) => text(size), "\u0000\ud800"], Rope.make, 1_000_000)
  })
})
