import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as NationalEntities from "../../../src/guard/entity/NationalEntities.js"
import * as PiiDetector from "../../../src/guard/pii/PiiDetector.js"
import * as PiiEntities from "../../../src/guard/pii/PiiEntities.js"
import * as PiiGuard from "../../../src/guard/pii/PiiGuard.js"
import type * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as Growth from "../../support/Growth.js"
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

// Check digits by their definitions, written apart from those under test.
const digitAt = (digits: string, index: number): number => Number(digits[index])
const dot = (digits: string, weights: ReadonlyArray<number>): number =>
  weights.reduce((sum, weight, index) => sum + weight * digitAt(digits, index), 0)
const cross = (value: number): number => [...String(value)].reduce((sum, digit) => sum + Number(digit), 0)
const ending = (digits: string, isRight: (value: string) => boolean, endings = "0123456789"): string | undefined => {
  const right = [...endings].filter((character) => isRight(digits + character))
  return right.length === 1 ? digits + right[0] : undefined
}
const luhn = (digits: string): boolean =>
  [...digits].reverse().reduce((sum, digit, index) => sum + cross(Number(digit) * (1 + (index % 2))), 0) % 10 === 0

const turned = [
  "0123456789",
  "1234067895",
  "2340178956",
  "3401289567",
  "4012395678",
  "5987604321",
  "6598710432",
  "7659821043",
  "8765932104",
  "9876543210"
]
const moved = [
  "0123456789",
  "1576283094",
  "5803796142",
  "8916043527",
  "9453126870",
  "4286573901",
  "2793806415",
  "7046913258"
]
const verhoeff = (digits: string): boolean =>
  [...digits]
    .reverse()
    .reduce((check, digit, index) => digitAt(turned[check]!, digitAt(moved[index % 8]!, Number(digit))), 0) === 0

const iso11and10 = (digits: string): boolean => {
  let product = 10
  for (const digit of digits.slice(0, -1)) {
    product = (product + Number(digit)) % 10
    product = ((product === 0 ? 10 : product) * 2) % 11
  }
  return (product + Number(digits.at(-1))) % 10 === 1
}

interface Numbered {
  readonly type: string
  readonly digits: number
  /** From random digits to an identifier; none where these have none. */
  readonly make: (digits: string) => string | undefined
}

/** Those whose check finds every single wrong digit. */
const checked: ReadonlyArray<Numbered> = [
  {
    type: "US_ABA_ROUTING",
    digits: 6,
    make: (d) => ending(`12${d}`, (v) => dot(v, [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0)
  },
  {
    type: "AU_ABN",
    digits: 9,
    make: (d) => {
      const rest = (89 - (dot(`00${d}`, [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) % 89)) % 89
      return `${rest + 10}${d}`
    }
  },
  {
    type: "AU_TFN",
    digits: 8,
    make: (d) => ending(d, (v) => dot(v, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0)
  },
  {
    type: "AU_MEDICARE",
    digits: 7,
    make: (d) => {
      const stem = `2${d}`
      return `${stem}${dot(stem, [1, 3, 7, 9, 1, 3, 7, 9]) % 10}1`
    }
  },
  { type: "CA_SIN", digits: 7, make: (d) => ending(`1${d}`, luhn) },
  { type: "US_NPI", digits: 8, make: (d) => ending(`1${d}`, (v) => luhn(`80840${v}`)) },
  {
    type: "UK_NHS",
    digits: 9,
    make: (d) => ending(d, (v) => dot(v, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0)
  },
  {
    type: "DE_TAX_ID",
    digits: 9,
    make: (d) => {
      const twice = [...new Set(`5${d}`)].filter((digit) => `5${d}`.split(digit).length > 2)
      const times = `5${d}`.split(twice[0] ?? "-").length - 1
      const isRight = twice.length === 1 && times <= 3 && !`5${d}`.includes((twice[0] ?? "-").repeat(3))
      return isRight ? ending(`5${d}`, iso11and10) : undefined
    }
  },
  {
    type: "DE_VAT_ID",
    digits: 7,
    make: (d) => ending(`3${d}`, iso11and10)?.replace(/^/, "DE")
  },
  {
    type: "DE_HEALTH_INSURANCE",
    digits: 8,
    make: (d) => {
      const sum = [...`03${d}`].reduce((all, digit, index) => all + cross(Number(digit) * (1 + (index % 2))), 0)
      return `C${d}${sum % 10}`
    }
  },
  {
    type: "ES_NIF",
    digits: 8,
    make: (d) => `${d}${"TRWAGMYFPDXBNJZSQVHLCKE"[Number(d) % 23]}`
  },
  {
    type: "ES_NIE",
    digits: 7,
    make: (d) => `Y${d}${"TRWAGMYFPDXBNJZSQVHLCKE"[Number(`1${d}`) % 23]}`
  },
  {
    type: "FI_PERSONAL_IDENTITY_CODE",
    digits: 3,
    make: (d) => `131052-${d}${"0123456789ABCDEFHJKLMNPRSTUVWXY"[Number(`131052${d}`) % 31]}`
  },
  { type: "IT_VAT_CODE", digits: 10, make: (d) => ending(d, luhn) },
  {
    type: "PL_PESEL",
    digits: 4,
    make: (d) => ending(`840229${d}`, (v) => dot(v, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0)
  },
  { type: "SE_PERSONNUMMER", digits: 3, make: (d) => ending(`811228${d}`, luhn) },
  { type: "SE_ORGANISATIONSNUMMER", digits: 6, make: (d) => ending(`556${d}`, luhn) },
  {
    type: "TR_NATIONAL_ID",
    digits: 8,
    make: (d) => {
      const stem = `4${d}`
      const odd = dot(stem, [1, 0, 1, 0, 1, 0, 1, 0, 1])
      const even = dot(stem, [0, 1, 0, 1, 0, 1, 0, 1, 0])
      const tenth = (odd * 7 + even * 9) % 10
      return `${stem}${tenth}${(odd + even + tenth) % 10}`
    }
  },
  { type: "IN_AADHAAR", digits: 10, make: (d) => ending(`3${d}`, verhoeff) },
  { type: "NG_NIN", digits: 10, make: (d) => ending(d, verhoeff) },
  {
    type: "KR_BRN",
    digits: 9,
    make: (d) =>
      ending(d, (v) => (dot(v, [1, 3, 7, 1, 3, 7, 1, 3, 5, 1]) + Math.floor((digitAt(v, 8) * 5) / 10)) % 10 === 0)
  }
]

/** The last digit or letter follows from the others, but some wrong digits stay unseen. */
const completed: ReadonlyArray<Numbered> = [
  {
    type: "AU_ACN",
    digits: 8,
    make: (d) => ending(d, (v) => (dot(v, [8, 7, 6, 5, 4, 3, 2, 1]) + digitAt(v, 8)) % 10 === 0)
  },
  {
    type: "US_DEA",
    digits: 6,
    make: (d) =>
      `BM${d}${(digitAt(d, 0) + digitAt(d, 2) + digitAt(d, 4) + 2 * (digitAt(d, 1) + digitAt(d, 3) + digitAt(d, 5))) % 10}`
  },
  {
    type: "DE_LANR",
    digits: 6,
    make: (d) => ending(d, (v) => (dot(v, [4, 9, 4, 9, 4, 9]) + digitAt(v, 6)) % 10 === 0)?.concat("07")
  },
  {
    type: "DE_SOCIAL_SECURITY",
    digits: 2,
    make: (d) => {
      const sum = [..."15070649", "0", "3", ...d].reduce(
        (all, digit, index) => all + cross(Number(digit) * [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1][index]!),
        0
      )
      return `15070649C${d}${sum % 10}`
    }
  },
  {
    type: "KR_RRN",
    digits: 6,
    make: (d) => {
      const stem = `9401231${d.slice(0, 5)}`
      return `${stem}${(11 - (dot(stem, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10}`
    }
  },
  {
    type: "TH_TNIN",
    digits: 11,
    make: (d) => {
      const stem = `1${d.replace(/^0/, "1")}`
      return `${stem}${(11 - (dot(stem, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10}`
    }
  },
  {
    type: "SG_FIN",
    digits: 7,
    make: (d) => `S${d}${"ABCDEFGHIZJ"[10 - (dot(d, [2, 7, 6, 5, 4, 3, 2]) % 11)]}`
  },
  { type: "SG_UEN", digits: 8, make: (d) => `${d}${"XMKECAWLJDB"[dot(d, [10, 4, 9, 3, 8, 2, 7, 1]) % 11]}` }
]

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
    const texts = 4000
    const passing = (detector: PiiDetector.PiiDetector, value: string): number => {
      let passed = 0
      for (let count = 0; count < texts; count++) {
        const text = like(value)
        if (found(detector, inText(text)).includes(text)) passed++
      }
      return passed / texts
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
        if (isAlone) assert.isBelow(rate, 0.0125, `${type}: ${value}`)
        else assert.isAtLeast(rate, 0.007, `${type}: ${value}`)
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
