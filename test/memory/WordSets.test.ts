import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as WordSets from "../../src/memory/WordSets.js"

const jaccard = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const shared = Array.from(a).filter((word) => b.has(word)).length
  return shared / (a.size + b.size - shared)
}

/** Each text with all that were kept before it. */
const compared = (texts: ReadonlyArray<string>, threshold: number): ReadonlyArray<boolean> => {
  const kept: Array<ReadonlySet<string>> = []
  return texts.map((text) => {
    const words = WordSets.words(text)
    const isDouble = words.size > 0 && kept.some((other) => other.size > 0 && jaccard(words, other) >= threshold)
    if (!isDouble) kept.push(words)
    return isDouble
  })
}

const doubles = (texts: ReadonlyArray<string>, threshold: number): ReadonlyArray<number> => {
  const doubleOf = WordSets.make(texts, threshold)
  return texts.map((_, index) => doubleOf(index))
}

describe("make", () => {
  it("finds the same texts as comparing all with all, and for each one that was kept and is similar", () => {
    const text = FastCheck.array(FastCheck.constantFrom(..."abcdefghij"), { maxLength: 14 }).map((words) =>
      words.join(" ")
    )
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(text, { maxLength: 40 }),
        FastCheck.constantFrom(0.01, 0.3, 0.5, 2 / 3, 0.7, 0.85, 1),
        (texts, threshold) => {
          const found = doubles(texts, threshold)
          assert.deepStrictEqual(
            found.map((other) => other >= 0),
            compared(texts, threshold)
          )
          found.forEach((other, index) => {
            if (other < 0) return
            assert.isBelow(other, index)
            assert.strictEqual(found[other], -1)
            const similarity = jaccard(WordSets.words(texts[index] ?? ""), WordSets.words(texts[other] ?? ""))
            assert.isAtLeast(similarity, threshold)
          })
        }
      ),
      { numRuns: 300 }
    )
  })

  it("a pair that reaches the threshold exactly is one", () => {
    const words = Array.from({ length: 20 }, (_, index) => `w${index}`)
    assert.deepStrictEqual(doubles([words.join(" "), words.slice(0, 17).join(" ")], 0.85), [-1, 0])
    assert.deepStrictEqual(doubles([words.join(" "), words.slice(0, 16).join(" ")], 0.85), [-1, -1])
  })

  it("case, order, repetition and white space make no difference, signs do", () => {
    assert.deepStrictEqual(doubles(["I like  TEA", "tea\nLike i i"], 1), [-1, 0])
    assert.deepStrictEqual(doubles(["x > 3", "x < 3"], 0.85), [-1, -1])
  })

  it("texts without words are never doubles", () => {
    assert.deepStrictEqual(doubles(["", " ", "\n"], 0.85), [-1, -1, -1])
  })

  it("words that objects bring along are words", () => {
    assert.deepStrictEqual(doubles(["__proto__ constructor", "__proto__ constructor", "toString"], 0.85), [-1, 0, -1])
  })

  const cpu = (work: () => void): number => {
    const before = process.cpuUsage()
    work()
    const { system, user } = process.cpuUsage(before)
    return (system + user) / 1000
  }

  /** The same numbers on every run. */
  const numbers = (seed: number) => () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  it("ten thousand texts take a fraction of a second", () => {
    const random = numbers(7)
    const texts = Array.from({ length: 10_000 }, () =>
      // Few words are frequent and many are rare, as in any language.
      Array.from({ length: 20 }, () => `w${Math.floor(5000 * random() ** 3)}`).join(" ")
    )
    const spent = cpu(() => {
      assert.isAbove(doubles(texts, 0.85).filter((other) => other < 0).length, 5000)
    })
    assert.isBelow(spent, 1000)
  })

  it("texts made to resemble each other without end are not compared without end", () => {
    const random = numbers(11)
    const texts = Array.from({ length: 5000 }, () => {
      const words = new Set<string>()
      while (words.size < 20) words.add(`w${Math.floor(random() * 60)}`)
      return Array.from(words).join(" ")
    })
    const spent = cpu(() => {
      doubles(texts, 0.85)
    })
    assert.isBelow(spent, 1500)
  })
})
