/** The figures of `docs/guards.md`, and the bounds below which no type may fall. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as GuardTables from "../support/GuardTables.js"

const page = Fs.readFileSync(Path.join(import.meta.dirname, "../../docs/guards.md"), "utf8")

const measured = Effect.runSync(Effect.cached(GuardTables.pii))

/** A number of the right length, and nothing else to tell it by. */
const bare = new Set(["DE_BSNR", "US_BANK_NUMBER", "US_DRIVER_LICENSE", "US_PASSPORT", "US_SSN", "UK_PASSPORT"])

describe("GuardTables", () => {
  it.effect("stand in the page on guards: run npm run guards:table", () =>
    Effect.gen(function* () {
      const drawn = GuardTables.tablesOf(yield* measured)
      assert.lengthOf(Object.keys(drawn), 7)
      for (const name of Object.keys(drawn)) assert.include(page, `<!-- table: ${name} -->`)
      assert.strictEqual(GuardTables.withTables(page, drawn), page)
    })
  )

  it.effect("have enough texts of each type", () =>
    Effect.gen(function* () {
      const { optional, standard } = yield* measured
      for (const { negatives, positives, type } of [...standard, ...optional]) {
        assert.isAtLeast(positives.of, 40, type)
        assert.isAtLeast(negatives, 60, type)
      }
    })
  )

  it.effect("find 98 % of each default type, 97 % of its findings right", () =>
    Effect.gen(function* () {
      for (const row of (yield* measured).standard) {
        assert.isAtLeast(GuardTables.recall(row.positives), 0.98, row.type)
        assert.isAtLeast(GuardTables.precision(row), 0.97, row.type)
      }
    })
  )

  it.effect("find 95 % of each optional type beside a word, 97 % of findings right, 88 % of bare numbers", () =>
    Effect.gen(function* () {
      for (const row of (yield* measured).optional) {
        assert.isAtLeast(GuardTables.recall(row.positives), 0.95, row.type)
        assert.isAtLeast(GuardTables.precision(row), bare.has(row.type) ? 0.88 : 0.97, row.type)
        // Nine bare digits are a passport only beside the word.
        assert.isAtLeast(GuardTables.recall(row.whole), row.type === "UK_PASSPORT" ? 0.4 : 1, row.type)
      }
    })
  )

  it.effect("find no type without a word if a hundredth of random strings would be found", () =>
    Effect.gen(function* () {
      for (const { chance, type } of (yield* measured).optional) assert.isAtMost(chance, 0.0125, type)
    })
  )

  it("flag nine of ten attacks, and one of a hundred ordinary texts", () => {
    const { evasions, kinds, languages, ordinary } = GuardTables.injection()
    const all = GuardTables.sum(kinds)
    assert.isAtLeast(all.found / all.of, 0.9)
    const wrong = GuardTables.sum(ordinary)
    assert.isAtMost(wrong.found / wrong.of, 0.01)
    for (const [language, { found, of }] of Object.entries(languages)) assert.isAtLeast(found / of, 0.7, language)
    const hidden = Object.values(evasions).filter(({ found, of }) => found / of < 0.9)
    assert.isAtMost(hidden.length, 3)
  })
})
