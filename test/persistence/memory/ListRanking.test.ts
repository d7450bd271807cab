import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as LexicalIndex from "../../../src/memory/text/LexicalIndex.js"
import * as ListRanking from "../../../src/persistence/memory/ListRanking.js"

interface Text {
  readonly serial: number
  readonly times: ReadonlyArray<number>
  readonly others: number
}

const weights = [0.7, 0.1, 3]
const average = 9

const lengthOf = ({ others, times }: Text): number => times.reduce((sum, count) => sum + count, others)

const scoreOf = (text: Text): number =>
  text.times.reduce(
    (sum, count, at) =>
      count === 0 ? sum : sum + LexicalIndex.share(weights[at] as number, count, lengthOf(text), average),
    0
  )

const rankingOf = (texts: ReadonlyArray<Text>, tellsLengths: boolean): ListRanking.Ranking =>
  ListRanking.make(
    weights.map((weight, at) => {
      const having = texts.filter(({ times }) => (times[at] as number) > 0)
      return {
        weight,
        serials: having.map(({ serial }) => serial),
        times: having.map(({ times }) => times[at] as number),
        lengths: tellsLengths ? having.map(lengthOf) : undefined
      }
    }),
    average
  )

const serial = FastCheck.oneof(FastCheck.nat(300), FastCheck.maxSafeNat())
const text = FastCheck.record({
  serial,
  times: FastCheck.array(FastCheck.oneof(FastCheck.constant(0), FastCheck.nat(4)), { minLength: 3, maxLength: 3 }),
  others: FastCheck.nat(30)
})
const texts = FastCheck.uniqueArray(text, { maxLength: 60, selector: (one) => one.serial })

describe("ListRanking", () => {
  it("returns each entry of a list once", () => {
    FastCheck.assert(
      FastCheck.property(texts, FastCheck.boolean(), FastCheck.integer({ min: 1, max: 9 }), (all, tells, count) => {
        const ranking = rankingOf(all, tells)
        const found: Array<number> = []
        for (;;) {
          const some = ranking.next(count, 0)
          if (some.length === 0) break
          found.push(...some)
        }
        const held = all.filter(({ times }) => times.some((count) => count > 0)).map((one) => one.serial)
        assert.deepStrictEqual(
          found.sort((a, b) => a - b),
          held.sort((a, b) => a - b)
        )
      })
    )
  })

  it("omits only entries below the given score, and scores as the index in memory", () => {
    FastCheck.assert(
      FastCheck.property(texts, FastCheck.boolean(), FastCheck.nat(100), (all, tells, at) => {
        const scores = all.map(scoreOf)
        const least = scores[at % Math.max(1, scores.length)] ?? 0
        const ranking = rankingOf(all, tells)
        const found = new Set(ranking.next(Number.POSITIVE_INFINITY, least))
        const wanted = all.filter((_, at) => (scores[at] as number) > 0 && (scores[at] as number) >= least)
        for (const one of wanted) assert.isTrue(found.has(one.serial))
        assert.deepStrictEqual(
          Array.from(
            ranking.scores(
              wanted.map((one) => one.serial),
              wanted.map(lengthOf)
            )
          ),
          wanted.map(scoreOf)
        )
      })
    )
  })

  it("reads few of many entries when only some have all of the words", () => {
    const all = Array.from({ length: 10_000 }, (_, at) => ({
      serial: at * 3,
      times: at % 100 === 0 ? [1, 1, 1] : [1, 0, 0],
      others: 8
    }))
    const ranking = rankingOf(all, false)
    const first = ranking.next(50, 0)
    assert.strictEqual(first.length, 100)
    assert.deepStrictEqual(ranking.next(10_000, scoreOf(all[0] as Text)), [])
  })
})
