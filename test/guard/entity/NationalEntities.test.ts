import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as NationalEntities from "../../../src/guard/entity/NationalEntities.js"
import * as PiiDetector from "../../../src/guard/pii/PiiDetector.js"
import * as PiiEntities from "../../../src/guard/pii/PiiEntities.js"
import * as PiiGuard from "../../../src/guard/pii/PiiGuard.js"
import type * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as Growth from "../../support/Growth.js"
import { checked, completed } from "../../support/NationalNumbers.js"
import * as PiiCorpus from "../../support/PiiCorpus.js"
import { nationalIds } from "../corpus/national-ids.js"

const at: Guard.GuardContext = { stage: "output" }

const of = (type: string, sensitivity: PiiDetector.Sensitivity = "high") => {
  const entities = NationalEntities.all.filter((entity) => entity.type === type)
  assert.lengthOf(entities, 1, type)
  return PiiDetector.make({ entities, sensitivity })
}

const found = (detector: PiiDetector.PiiDetector, text: string) =>
  detector.find(text).map(({ end, start }) => text.slice(start, end))

/** A text that says nothing about the value in it. */
const inText = (value: string): string => `on ${value} at`

const digits = (length: number) => FastCheck.stringMatching(new RegExp(`^[0-9]{${length}}$`))

describe("NationalEntities", () => {
  it("has a corpus for every identifier", () => {
    assert.sameMembers(Object.keys(nationalIds), [...NationalEntities.types])
    assert.strictEqual(new Set(NationalEntities.types).size, NationalEntities.all.length)
    for (const [country, entities] of Object.entries(NationalEntities.byCountry)) {
      for (const { type } of entities) assert.isTrue(type.startsWith(`${country}_`), type)
    }
  })

  for (const [type, { invalid, valid }] of Object.entries(nationalIds)) {
    it(`${type}: finds valid ones completely and rejects others`, () => {
      const detector = of(type)
      assert.isAtLeast(valid.length, 3)
      assert.isAtLeast(invalid.length, 5)
      for (const value of valid) {
        assert.deepStrictEqual(found(detector, value), [value])
        assert.deepStrictEqual(found(detector, `Take (${value}), then`), [value])
        assert.deepStrictEqual(found(detector, `x${value}x`), [], `inside a word: ${value}`)
      }
      for (const value of invalid) assert.deepStrictEqual(found(detector, value), [], value)
    })
  }

  for (const { digits: length, make, type } of [...checked, ...completed]) {
    it(`${type}: verifies the check digit of any number`, () => {
      const detector = of(type)
      FastCheck.assert(
        FastCheck.property(digits(length), (stem) => {
          const value = make(stem)
          FastCheck.pre(value !== undefined && new Set(value.replace(/\D/g, "")).size > 2)
          assert.deepStrictEqual(found(detector, value!), [value!])
        }),
        { numRuns: 60 }
      )
    })
  }

  for (const { digits: length, make, type } of checked) {
    it(`${type}: rejects one wrong digit`, () => {
      const detector = of(type)
      FastCheck.assert(
        FastCheck.property(
          digits(length),
          FastCheck.nat(),
          FastCheck.integer({ min: 1, max: 9 }),
          (stem, place, by) => {
            const value = make(stem)
            FastCheck.pre(value !== undefined)
            const places = [...value!].flatMap((character, index) => (/\d/.test(character) ? [index] : []))
            // What the Australian card ends in says whose it is, and nothing checks it.
            const index = places[place % (type === "AU_MEDICARE" ? places.length - 1 : places.length)]!
            const wrong = `${value!.slice(0, index)}${(Number(value![index]) + by) % 10}${value!.slice(index + 1)}`
            assert.deepStrictEqual(found(detector, wrong), [])
          }
        ),
        { numRuns: 100 }
      )
    })
  }

  it("finds what is the whole of a short text, as a field of a form is, but no mere shapes", () => {
    const values: ReadonlyArray<readonly [string, string, string]> = [
      ["DE_KFZ", "B-AB-1234", "B-AB-1234 and more of it"],
      ["CA_SIN", "130692544", "nr 130692544"],
      ["US_ABA_ROUTING", "3222-7162-7", "3222-7162-7 is here"]
    ]
    for (const [type, value, text] of values) {
      const detector = of(type, "medium")
      for (const whole of [value, ` ${value}\n`, `"${value}"`, `(${value}).`]) {
        assert.deepStrictEqual(found(detector, whole), [value], whole)
      }
      assert.deepStrictEqual(found(detector, text), [], text)
      assert.deepStrictEqual(detector.find(value, 3), [], "a part of a longer text")
      assert.deepStrictEqual(found(detector, `${" ".repeat(80)}${value}`), [], "a long text")
    }
    assert.deepStrictEqual(found(of("CA_SIN", "medium"), "130692545"), [], "a wrong check digit")
    assert.deepStrictEqual(found(of("UK_PASSPORT", "medium"), "123456789"), [], "nine digits of anything")
  })

  it("finds a shape without a word beside it only if fewer than one in a hundred texts pass", () => {
    const pick = PiiCorpus.random(11)
    const letter = () => String.fromCharCode(65 + pick(26))
    const like = (value: string) =>
      value.replace(/[0-9A-Za-z]/g, (char) =>
        /\d/.test(char) ? String(pick(10)) : char === char.toUpperCase() ? letter() : letter().toLowerCase()
      )
    const shapeOf = (value: string) => value.replace(/\d/g, "0").replace(/[A-Z]/g, "A").replace(/[a-z]/g, "a")
    const passing = (detector: PiiDetector.PiiDetector, value: string): number => {
      let passed = 0
      let texts = 0
      const read = (count: number): number => {
        for (const end = texts + count; texts < end; texts++) {
          const text = like(value)
          if (found(detector, inText(text)).includes(text)) passed++
        }
        return passed / texts
      }
      const rate = read(4000)
      return rate > 0.005 && rate < 0.02 ? read(30_000) : rate
    }
    let alone = 0
    let beside = 0
    let all = 0
    for (const { context, type } of Object.values(NationalEntities.byCountry).flat()) {
      const medium = of(type, "medium")
      const rates = new Map<string, number>()
      for (const value of nationalIds[type]!.valid) {
        all++
        const isAlone = found(medium, inText(value)).includes(value)
        if (isAlone) alone++
        if (found(medium, `${context![0]!.replaceAll("*", "")} ${value}`).includes(value)) beside++
        const shape = `${isAlone} ${shapeOf(value)}`
        const rate = rates.get(shape) ?? passing(isAlone ? medium : of(type), value)
        rates.set(shape, rate)
        // As far as so many texts tell.
        if (isAlone) assert.isBelow(rate, 0.0105, `${type}: ${value}`)
        else assert.isAtLeast(rate, 0.009, `${type}: ${value}`)
      }
    }
    // Beside their words all of them are found.
    assert.strictEqual(beside, all)
    assert.isAtLeast(alone / all, 0.2)
  })

  it("finds a weak shape only beside a word that announces it", () => {
    for (const [type, text] of [
      ["US_BANK_NUMBER", "account 945456787654"],
      ["US_PASSPORT", "passport 912803456"],
      ["US_DRIVER_LICENSE", "driver license H12234567"],
      ["DE_PLZ", "PLZ 10115"],
      ["DE_BSNR", "BSNR 021234568"],
      ["IT_PASSPORT", "passaporto AA1234567"],
      ["IN_VOTER", "voter KSD1287349"],
      ["UK_PASSPORT", "passport 123456789"],
      ["KR_PASSPORT", "여권번호 M12345678"]
    ] as const) {
      const value = text.slice(text.lastIndexOf(" ") + 1)
      assert.deepStrictEqual(found(of(type, "medium"), text), [value], type)
      assert.deepStrictEqual(found(of(type, "medium"), `the ${value}`), [], type)
    }
  })

  it("finds a weak shape beside the name of its document in twelve languages", () => {
    const value = "912803456"
    const detector = of("US_PASSPORT", "medium")
    for (const text of [
      "passport no. {}",
      "Reisepass-Nr. {}",
      "numéro de passeport : {}",
      "pasaporte {}",
      "passaporto n. {}",
      "paspoortnummer {}",
      "número do passaporte {}",
      "numer paszportu: {}",
      "passnummer {}",
      "pasnummer {}",
      "mitt passnummer er {}",
      "passin numero {}"
    ]) {
      assert.deepStrictEqual(found(detector, text.replace("{}", value)), [value], text)
    }
  })

  it("finds no weak shape behind a word for other numbers, unless this is a line above", () => {
    const detector = of("US_PASSPORT", "medium")
    for (const text of [
      "The passport is ready. Order no. 912803456",
      "Reisepass kopiert, Rechnung 912803456",
      "passeport reçu, commande 912803456",
      "Copia del pasaporte; pedido 912803456",
      "passport sent, tracking number: 912803456"
    ]) {
      assert.deepStrictEqual(found(detector, text), [], text)
    }
    assert.deepStrictEqual(found(detector, "order\tpassport\n912803456"), ["912803456"])
    assert.deepStrictEqual(found(detector, "passport,phone\n912803456,none"), ["912803456"])
    assert.deepStrictEqual(found(of("DE_VAT_ID", "medium"), "Rechnung DE136695976"), ["DE136695976"])
  })

  it("finds no weak shape in front of a unit", () => {
    const detector = of("US_BANK_NUMBER", "medium")
    for (const unit of ["people", " users", "%", " EUR", "kb", " personnes", " Menschen"]) {
      assert.deepStrictEqual(found(detector, `The bank has 91280345${unit}.`), [], unit)
    }
    assert.deepStrictEqual(found(detector, "bank account 91280345 peopleware"), ["91280345"])
    assert.deepStrictEqual(found(of("DE_VAT_ID", "medium"), "DE136695976 euro"), ["DE136695976"])
  })

  it("finds values right beside letters of scripts without spaces", () => {
    for (const text of ["资料是{}，请确认", "メモには{}です", "번호는 {}입니다", "เลข{}ครับ"]) {
      assert.deepStrictEqual(found(of("DE_VAT_ID", "medium"), text.replace("{}", "DE136695976")), ["DE136695976"], text)
    }
    assert.deepStrictEqual(found(of("DE_VAT_ID", "medium"), "éDE136695976"), [])
    assert.deepStrictEqual(found(of("DE_VAT_ID", "medium"), "жDE136695976"), [])
  })

  it("takes the preposition of a sentence for no country", () => {
    assert.deepStrictEqual(found(of("DE_VAT_ID", "medium"), "un total de 136 695 976 habitants"), [])
    assert.deepStrictEqual(found(of("DE_VAT_ID", "medium"), "TVA: DE 136 695 976"), ["DE 136 695 976"])
    assert.deepStrictEqual(found(of("ES_NIF", "medium"), "Mi NIF es 55555555-K"), ["55555555-K"])
    assert.deepStrictEqual(found(of("IT_VAT_CODE", "medium"), "make it 01333550323 times"), [])
  })

  it("reports places of the original text", () => {
    const detector = of("UK_NHS")
    assert.deepStrictEqual(found(detector, "💊 NHS ４０１\u00a0023\u200b\u00a02137."), [
      "４０１\u00a0023\u200b\u00a02137"
    ])
  })

  it.effect("can be selected in guards by name or value", () =>
    Effect.gen(function* () {
      const text = "NHS 401-023-2137, ada@example.com"
      const labels = (options?: PiiGuard.Options) =>
        Effect.map(
          Effect.flatMap(PiiGuard.make(options), (guard) => guard.check(text, at)),
          (result) => result.spans?.map(({ label }) => label)
        )
      assert.deepStrictEqual(yield* labels({ entities: ["UK_NHS"] }), ["UK_NHS"])
      assert.deepStrictEqual(yield* labels({ entities: ["EMAIL", "UK_NHS"] }), ["UK_NHS", "EMAIL"])
      assert.deepStrictEqual(yield* labels({ entities: ["EMAIL", ...NationalEntities.byCountry.UK] }), [
        "UK_NHS",
        "EMAIL"
      ])
      assert.deepStrictEqual(yield* labels({ entities: NationalEntities.byCountry.UK }), ["UK_NHS"])
      assert.deepStrictEqual(yield* labels({ additional: NationalEntities.byCountry.UK }), ["UK_NHS", "EMAIL"])
      assert.deepStrictEqual(yield* labels(), ["EMAIL"])
    })
  )

  it("finds none of them by default", () => {
    for (const type of NationalEntities.types) assert.isFalse(PiiEntities.types.includes(type), type)
    assert.deepStrictEqual(PiiEntities.optional, NationalEntities.types)
  })

  it("takes linear time on hostile texts of 100 kB", () => {
    const detector = PiiDetector.make({ entities: NationalEntities.all, sensitivity: "high" })
    const worst = [
      "1",
      "A",
      "a.",
      "1 ",
      "1-",
      "A1",
      "1/",
      "AB 12 ",
      "http://",
      "https://a.a",
      "x@",
      "HRB ",
      "_1",
      "٣",
      "a-"
    ]
    Growth.assertLinearTexts(worst, (text) => detector.find(text))
  })
})
