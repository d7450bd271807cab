/** National numbers as `stdnum` judges them: what it accepts is found, and no more of random strings of the shape. */
import { assert, describe, it } from "@effect/vitest"
import { stdnum } from "stdnum"
import * as NationalEntities from "../../../src/guard/entity/NationalEntities.js"
import * as PiiDetector from "../../../src/guard/pii/PiiDetector.js"
import * as PiiCorpus from "../../support/PiiCorpus.js"

type Pick = PiiCorpus.Random

interface Validator {
  readonly validate: (value: string) => { readonly isValid: boolean }
}

interface Row {
  readonly type: string
  readonly standard: Validator
  readonly make: (pick: Pick) => string
  /** Accepted there and not found here: why that is on purpose. */
  readonly fewer?: readonly [reason: string, isSo: (value: string) => boolean] | undefined
  /** Found here and not accepted there: why that is on purpose. */
  readonly more?: readonly [reason: string, isSo: (value: string) => boolean] | undefined
}

const of = (country: string, name: string): Validator => {
  const validator = stdnum[country]?.[name]
  assert.isDefined(validator, `${country}.${name}`)
  return validator!
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
const oneOf = (pick: Pick, from: string): string => from[pick(from.length)]!

/** `#` is a digit, `@` a letter, `%` either. */
const fill = (pick: Pick, shape: string): string =>
  shape.replace(/[#@%]/g, (kind) =>
    oneOf(pick, kind === "#" ? "0123456789" : kind === "@" ? letters : `0123456789${letters}`)
  )

const shaped =
  (...shapes: ReadonlyArray<string>) =>
  (pick: Pick): string =>
    fill(pick, shapes[pick(shapes.length)]!)

const two = (value: number): string => String(value).padStart(2, "0")

/** In the last century: what stdnum accepts depends on the day otherwise. */
const born = (pick: Pick): { readonly year: string; readonly month: string; readonly day: string } => ({
  year: two(50 + pick(50)),
  month: two(1 + pick(12)),
  day: two(1 + pick(28))
})

const always = (): boolean => true

const rows: ReadonlyArray<Row> = [
  {
    type: "AU_ABN",
    standard: of("AU", "abn"),
    make: shaped("###########"),
    more: ["the remainder of 89 leaves two pairs of check digits", (value) => /^10/.test(value)]
  },
  { type: "AU_ACN", standard: of("AU", "acn"), make: shaped("#########") },
  { type: "AU_TFN", standard: of("AU", "tfn"), make: shaped("#########") },
  {
    type: "CA_SIN",
    standard: of("CA", "sin"),
    make: shaped("#########"),
    fewer: ["no person has one that begins with 0 or 8", (value) => /^[08]/.test(value)]
  },
  {
    type: "DE_TAX_ID",
    standard: of("DE", "idnr"),
    make: shaped("###########"),
    more: ["the check digit is enough as a whole and beside a word", always]
  },
  {
    type: "DE_VAT_ID",
    standard: of("DE", "vat"),
    make: shaped("DE#########"),
    fewer: ["the first digit is none", (value) => value[2] === "0"]
  },
  {
    type: "DE_SOCIAL_SECURITY",
    standard: of("DE", "svnr"),
    make: (pick) => {
      const { day, month, year } = born(pick)
      return fill(pick, `##${day}${month}${year}@###`)
    },
    more: ["a carrier that is not known is found as a whole and beside a word", always]
  },
  {
    type: "DE_PASSPORT",
    standard: of("DE", "passport"),
    make: (pick) => oneOf(pick, "CFGHJK") + fill(pick, "#") + oneOf(pick, "CFGHJKLMNPRTVWXYZ") + fill(pick, "#######")
  },
  {
    type: "ES_NIF",
    standard: of("ES", "nif"),
    make: shaped("########@", "K#######@", "L#######@", "M#######@")
  },
  { type: "ES_NIE", standard: of("ES", "nie"), make: shaped("X#######@", "Y#######@", "Z#######@") },
  {
    type: "FI_PERSONAL_IDENTITY_CODE",
    standard: of("FI", "hetu"),
    make: (pick) => {
      const { day, month, year } = born(pick)
      return fill(pick, `${day}${month}${year}${oneOf(pick, "-+A")}###%`)
    },
    fewer: ["000 and 001 are not given to people", (value) => /^.{7}00[01]/.test(value)],
    more: ["birthdays of the future: nothing here depends on a clock", (value) => value[6] === "A"]
  },
  { type: "IN_AADHAAR", standard: of("IN", "aadhaar"), make: shaped("############") },
  {
    type: "IN_PAN",
    standard: of("IN", "pan"),
    make: shaped("@@@@@####@"),
    more: ["all holders are found as a whole and beside a word", (value) => /^.....0000|^...[^ABCFGHJLPT]/.test(value)]
  },
  {
    type: "IN_VOTER",
    standard: of("IN", "epic"),
    make: shaped("@@@#######"),
    more: ["old cards have no check digit", always]
  },
  {
    type: "IN_GSTIN",
    standard: of("IN", "gstin"),
    make: (pick) => fill(pick, `${two(1 + pick(37))}@@@${oneOf(pick, "ABCFGHJLPT")}@####@#Z%`),
    more: ["a wrong check digit is a misprint of a shape that nothing else has", always]
  },
  {
    type: "IT_FISCAL_CODE",
    standard: of("IT", "codicefiscale"),
    make: (pick) => {
      const { day, year } = born(pick)
      return fill(pick, `@@@@@@${year}${oneOf(pick, "ABCDEHLMPRST")}${day}@###@`)
    },
    fewer: ["no place has a code with this letter", (value) => /^.{11}[N-Y]/.test(value)]
  },
  { type: "IT_VAT_CODE", standard: of("IT", "iva"), make: shaped("#######0###") },
  {
    type: "KR_BRN",
    standard: of("KR", "brn"),
    make: shaped("##########"),
    more: ["a serial number of zeros, or office 100", (value) => /^100|^.{5}0000/.test(value)]
  },
  {
    type: "KR_RRN",
    standard: of("KR", "rrn"),
    make: (pick) => {
      const { day, month, year } = born(pick)
      return fill(pick, `${year}${month}${day}${oneOf(pick, "1234")}######`)
    },
    more: ["numbers since October 2020 have no check digit", always]
  },
  {
    type: "PL_PESEL",
    standard: of("PL", "pesel"),
    make: (pick) => {
      const { day, month, year } = born(pick)
      return fill(pick, `${year}${month}${day}#####`)
    }
  },
  {
    type: "SE_PERSONNUMMER",
    standard: of("SE", "personnummer"),
    make: (pick) => {
      const { day, month, year } = born(pick)
      return fill(pick, `${year}${month}${day}-####`)
    }
  },
  {
    type: "SE_ORGANISATIONSNUMMER",
    standard: of("SE", "orgnr"),
    make: shaped("##########"),
    fewer: ["no group 0 or 4, and a third digit from 2", (value) => /^[04]|^..[01]/.test(value)]
  },
  {
    type: "SG_UEN",
    standard: of("SG", "uen"),
    make: shaped("########@", "20#######@", "T##LL####@", "S##FC####@"),
    more: ["years of the future: nothing here depends on a clock", (value) => /^(?:[ST]\d\d|20[3-9])/.test(value)]
  },
  {
    type: "TH_TNIN",
    standard: of("TH", "idnr"),
    make: shaped("#############"),
    fewer: ["no province below 10", (value) => value[1] === "0"]
  },
  { type: "TR_NATIONAL_ID", standard: of("TR", "tckimlik"), make: shaped("###########") },
  { type: "UK_NINO", standard: of("GB", "nino"), make: shaped("@@######A", "@@######D") },
  { type: "US_SSN", standard: of("US", "ssn"), make: shaped("#########") }
]

const isSpecialTaxId = (value: string): boolean => {
  const counts = [..."0123456789"].map((digit) => value.slice(0, 10).split(digit).length - 1)
  return counts.filter((count) => count > 1).length !== 1
}

describe("StandardNumbers", () => {
  for (const { fewer, make, more, standard, type } of rows) {
    it(`${type}: agrees with stdnum`, () => {
      const detector = PiiDetector.make({ entities: NationalEntities.all.filter((entity) => entity.type === type) })
      const isFound = (value: string): boolean => {
        const [first, ...rest] = detector.find(value)
        return first !== undefined && rest.length === 0 && first.start === 0 && first.end === value.length
      }
      const pick = PiiCorpus.random(type.length * 97 + 13)
      let both = 0
      const ours: Array<string> = []
      const theirs: Array<string> = []
      for (let count = 0; count < 8_000; count++) {
        const value = make(pick)
        const found = isFound(value)
        const accepted = standard.validate(value).isValid
        if (found && accepted) both++
        if (found && !accepted && more?.[1](value) !== true) ours.push(value)
        if (accepted && !found && fewer?.[1](value) !== true) theirs.push(value)
      }
      assert.isAtLeast(both, 20)
      assert.deepStrictEqual(ours, [])
      assert.deepStrictEqual(theirs, [])
    })
  }

  it("finds a German tax id by itself only if one digit repeats, as the law says and stdnum does not", () => {
    const detector = PiiDetector.make({ entities: NationalEntities.all.filter(({ type }) => type === "DE_TAX_ID") })
    const pick = PiiCorpus.random(7)
    let rejected = 0
    for (let count = 0; count < 20_000; count++) {
      const value = fill(pick, "###########")
      if (detector.find(`the ${value} of it`).length > 0) {
        assert.isTrue(of("DE", "idnr").validate(value).isValid)
        assert.isFalse(isSpecialTaxId(value), value)
      } else if (of("DE", "idnr").validate(value).isValid) rejected++
    }
    assert.isAbove(rejected, 0)
  })
})
