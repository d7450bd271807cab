import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as PiiDetector from "../../src/guard/pii/PiiDetector.js"
import * as PiiEntities from "../../src/guard/pii/PiiEntities.js"
import * as PiiCorpus from "../support/PiiCorpus.js"

const keys = (spans: ReadonlyArray<readonly [number, number]>) => spans.map(([start, end]) => `${start}-${end}`)

describe("PiiCorpus", () => {
  it("has texts for every promised type", () => {
    assert.deepStrictEqual([...PiiEntities.types].sort(), PiiCorpus.types)
  })

  it.effect("finds at least 95 % exactly, with at least 95 % of findings correct", () =>
    Effect.gen(function* () {
      const detector = PiiDetector.make({ entities: yield* PiiEntities.make() })
      for (const type of PiiCorpus.types) {
        const { negatives, positives } = PiiCorpus.load(type)
        const wanted = positives.reduce((count, { spans }) => count + spans.length, 0)
        assert.isAtLeast(wanted, 40, type)
        assert.isAtLeast(new Set(negatives.map(({ text }) => text)).size, 100, type)
        let right = 0
        const wrong: Array<string> = []
        for (const { spans, text } of [...positives, ...negatives]) {
          const expected = new Set(keys(spans))
          for (const found of detector.find(text)) {
            if (found.type !== type) continue
            if (expected.has(`${found.start}-${found.end}`)) right++
            else wrong.push(text.slice(found.start, found.end))
          }
        }
        assert.isAtLeast(right / wanted, 0.95, `recall of ${type}`)
        assert.isAtLeast(right / (right + wrong.length), 0.95, `precision of ${type}: ${wrong.join(" | ")}`)
      }
    })
  )

  it.effect("finds at a higher sensitivity all that it finds at a lower one, which errs less", () =>
    Effect.gen(function* () {
      const entities = yield* PiiEntities.make()
      const [low, medium, high] = (["low", "medium", "high"] as const).map((sensitivity) =>
        PiiDetector.make({ entities, sensitivity })
      )
      const covered = (detector: PiiDetector.PiiDetector, text: string): number =>
        detector.find(text).reduce((sum, { end, start }) => sum + end - start, 0)
      const total = { low: 0, medium: 0, high: 0 }
      for (const type of PiiCorpus.types) {
        const { negatives, positives } = PiiCorpus.load(type)
        for (const { text } of [...positives.slice(0, 20), ...negatives.slice(0, 20)]) {
          const counts = { low: covered(low!, text), medium: covered(medium!, text), high: covered(high!, text) }
          assert.isAtMost(counts.low, counts.medium, text)
          assert.isAtMost(counts.medium, counts.high, text)
          total.low += counts.low
          total.medium += counts.medium
          total.high += counts.high
        }
      }
      assert.isBelow(total.low, total.medium)
      assert.isBelow(total.medium, total.high)
    })
  )
})
