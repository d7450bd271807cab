/** Places of findings: in text with emoji and accents, where findings overlap, and where a stream is cut. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as NationalEntities from "../../../src/guard/entity/NationalEntities.js"
import * as PiiDetector from "../../../src/guard/pii/PiiDetector.js"
import * as PiiEntities from "../../../src/guard/pii/PiiEntities.js"
import * as PiiGuard from "../../../src/guard/pii/PiiGuard.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Growth from "../../support/Growth.js"
import * as PiiCases from "../../support/PiiCases.js"
import type * as PiiCorpus from "../../support/PiiCorpus.js"

const types = [...PiiEntities.types, ...PiiEntities.optional]

const entities = Effect.map(Effect.orDie(PiiEntities.make()), (ready) => [...ready, ...NationalEntities.all])

/** Some texts of a type with one value each. */
const samplesOf = (type: string, most: number): ReadonlyArray<PiiCorpus.Sample> =>
  PiiCases.of(type)
    .positives.filter(({ spans, text }) => spans.length === 1 && text.length < 400)
    .slice(0, most)

/** Characters of two units, marks on letters, joined emoji, and letters of several scripts. */
const ornate = "😀 é à 👨‍👩‍👧 – ﬁn, 𝔘𝔫𝔦, नमस्ते 🇩🇪 ё. "

describe("places of personal data", () => {
  it.effect("are those of the original text between characters of any length", () =>
    Effect.gen(function* () {
      const all = yield* entities
      for (const type of types) {
        const detector = PiiDetector.make({ entities: all.filter((entity) => entity.type === type) })
        for (const { spans, text } of samplesOf(type, 6)) {
          const [start, end] = spans[0]!
          const values = (whole: string) => detector.find(whole).map((found) => whole.slice(found.start, found.end))
          assert.deepStrictEqual(values(`${ornate}\n${text}\n${ornate}`), [text.slice(start, end)], `${type}: ${text}`)
        }
      }
    })
  )

  it.effect("cover with all types what any single type covers, in order and without overlaps", () =>
    Effect.gen(function* () {
      const all = yield* entities
      const detector = PiiDetector.make({ entities: all })
      const single = types.map((type) => PiiDetector.make({ entities: all.filter((entity) => entity.type === type) }))
      const texts = types.flatMap((type) => samplesOf(type, 3).map(({ text }) => text))
      FastCheck.assert(
        FastCheck.property(
          FastCheck.array(FastCheck.constantFrom(...texts), { minLength: 1, maxLength: 4 }),
          FastCheck.constantFrom("\n", " ", ", ", " 😀 ", "\u0301 "),
          (parts, glue) => {
            const text = parts.join(glue)
            const covered = new Array<boolean>(text.length).fill(false)
            let last = 0
            for (const { end, start } of detector.find(text)) {
              assert.isAtLeast(start, last)
              assert.isAbove(end, start)
              covered.fill(true, start, end)
              last = end
            }
            for (const one of single) {
              for (const { end, start, type } of one.find(text)) {
                assert.notInclude(covered.slice(start, end), false, `${type}: ${text.slice(start, end)}`)
              }
            }
          }
        ),
        { numRuns: 60 }
      )
    })
  )

  it.effect("hold wherever a stream is cut in a value of any type", () =>
    Effect.gen(function* () {
      const filler = "so 😀 the é day went on and on, "
      for (const type of types) {
        const guard = yield* PiiGuard.make({ entities: [type] })
        const pipeline = yield* DefaultGuardPipeline.fromGuards([guard])
        const { reach } = guard.window!
        const fill = filler.repeat(Math.ceil((reach + 40) / filler.length))
        const [{ spans, text }] = samplesOf(type, 1) as [PiiCorpus.Sample]
        const [start, end] = spans[0]!
        const whole = `${fill}\n${text}\n${fill}`
        const from = fill.length + 1 + start
        const expected = `${whole.slice(0, from)}[REDACTED:${type}]${whole.slice(from + end - start)}`
        const first = yield* pipeline.checkOutput(whole, {})
        assert.strictEqual(first.finalContent, expected, type)
        // What has arrived reaches so far that the text is cut at this place of the value, and then at every next one.
        for (let place = from - 1; place <= from + end - start; place++) {
          const window = pipeline.openOutput!({})
          let shown = window.push(whole.slice(0, place + reach)).text
          shown += window.push(whole.slice(place + reach, place + reach + 1)).text
          shown += window.push(whole.slice(place + reach + 1)).text
          assert.strictEqual(shown + window.end().text, expected, `${type} at ${place - from}`)
        }
      }
    })
  )

  it.effect("take linear time on a megabyte of digits, signs and separators", () =>
    Effect.gen(function* () {
      const detector = PiiDetector.make({ entities: yield* entities })
      const texts = ["1", "@", " ", "-.", "1 ", "passport order 9"]
      Growth.assertLinearTexts(texts, (text) => detector.find(text), 1_000_000)
    })
  )
})
