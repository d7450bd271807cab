/**
 * Recognizes telephone numbers: international ones of every country, and national forms of some countries.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { GuardConfigurationError } from "../pipeline/GuardError.js"
import * as PhonePlans from "./PhonePlans.js"
import * as PhoneRows from "./PhoneRows.js"
import type * as PiiEntity from "./PiiEntity.js"

// Resembles a North American number; counts as one beside a word that announces it.
const isLooselyNorthAmerican = /^(?:(?:1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}|[2-9]\d{2}[.-]\d{4})$/

const extension = /^,?\s{0,2}(?:x|ext\.?|extension|#|poste|Durchwahl|DW)\s?\.?:?\s?\d{1,6}(?![A-Za-z0-9_])/i

/** The start of a longer row of digits counts as a number only if a space ends it. */
const isWhole = (text: string, row: PhoneRows.Row, end: number): boolean => end === row.end || text[end] === " "

/** Includes the digit that must not follow it. */
const longestDate = 11

/** Returns the length of a date at the start of a row; 0 for none. */
const dateIn = (row: string): number =>
  /^(?:\d{4}([-./ ])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])|(?:0?[1-9]|[12]\d|3[01])([-./ ])(?:0?[1-9]|[12]\d|3[01])\2(?:19|20)\d\d)(?!\d)/.exec(
    row
  )?.[0].length ?? 0

/** A version and its day: `1.0.0 / 2014-04-30`. */
const endsWithDay = /[ /](?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/

const hasThreeDigits = (digits: string): boolean => {
  const [first] = digits
  let second: string | undefined
  for (const digit of digits) {
    if (digit === first || digit === second) continue
    if (second !== undefined) return true
    second = digit
  }
  return false
}

/** No shape has a single digit in its middle, or two gaps of more than one character. */
const isShapeless = /[ ./-]\d[ ./-]|[ ./-]{2}[\s\S]*[ ./-]{2}/

interface Shape {
  readonly countries: ReadonlyArray<string>
  readonly shape: RegExp
  readonly confidence: number
}

// Customary groupings of national numbers. Other groupings count only beside a word that announces a number.
const shapes: ReadonlyArray<Shape> = [
  {
    countries: ["US", "CA"],
    shape: /^(?:1[ .-]?)?(?:\(\d{3}\)[ -]?\d{3}[ .-]\d{4}|\d{3}([.-])\d{3}\1\d{4})$/,
    confidence: 0.8
  },
  { countries: ["US", "CA"], shape: /^(?:1[ .-])?\d{3}[ /]\d{3}[ -]\d{4}$/, confidence: 0.7 },
  {
    countries: ["GB"],
    shape:
      /^\(?0(?:2\d\)?[ -]\d{4}[ -]?\d{4}|1\d1\)?[ -]\d{3}[ -]?\d{4}|11\d\)?[ -]\d{3}[ -]?\d{4}|[1-9]\d{3}\)?[ -]\d{3}[ -]?\d{3}|[38]\d{2}\)?[ -]\d{3}[ -]?\d{4})$/,
    confidence: 0.75
  },
  { countries: ["FR", "BE"], shape: /^0[1-9](?:([ .-])\d{2})(?:\1\d{2}){3}$/, confidence: 0.8 },
  {
    countries: ["DE", "AT"],
    shape: /^(?:\(0[1-9]\d{1,4}\) ?|0[1-9]\d{1,4}(?:\/| \/ | - |-| ))\d{2,4}(?:[ -]?\d{2,4}){1,3}$/,
    confidence: 0.65
  },
  { countries: ["CH"], shape: /^0[1-9]\d[ ]\d{3}[ ]\d{2}[ ]\d{2}$/, confidence: 0.75 },
  { countries: ["NL", "BE"], shape: /^\(?0[1-9]\d{1,2}\)?[ -]\d{3}[ ]?\d{2}[ ]?\d{2}$/, confidence: 0.65 },
  { countries: ["NL"], shape: /^06[ -](?:\d{8}|\d{2}(?: \d{2}){3}|\d{4} ?\d{4})$/, confidence: 0.7 },
  { countries: ["IT"], shape: /^(?:0\d{1,3}[ /-]\d{3,4}[ ]?\d{3,4}|3\d{2}[ /-]\d{3}[ ]?\d{4})$/, confidence: 0.65 },
  {
    countries: ["AU"],
    shape: /^(?:\(0[2378]\) ?\d{4} \d{4}|0[2378] \d{4} \d{4}|04\d{2} \d{3} \d{3})$/,
    confidence: 0.75
  },
  { countries: ["JP"], shape: /^0(?:\d-\d{4}|\d{2}-\d{3,4}|\d{3}-\d{2}|[789]0-\d{4})-\d{4}$/, confidence: 0.75 },
  { countries: ["BR"], shape: /^\(\d{2}\) ?9?\d{4}-\d{4}$/, confidence: 0.75 },
  { countries: ["PL"], shape: /^\d{2} \d{3} \d{2} \d{2}$/, confidence: 0.62 },
  { countries: ["ES"], shape: /^[67]\d{2} \d{2} \d{2} \d{2}$|^9\d{2} \d{2} \d{2} \d{2}$/, confidence: 0.62 },
  { countries: ["RU"], shape: /^8 ?\(\d{3}\) ?\d{3}-\d{2}-\d{2}$|^8[ -]\d{3}[ -]\d{3}-\d{2}-\d{2}$/, confidence: 0.8 },
  { countries: ["KR"], shape: /^01[016789]-\d{3,4}-\d{4}$/, confidence: 0.75 },
  { countries: ["IN"], shape: /^0?[6-9]\d{4}[ -]\d{5}$/, confidence: 0.62 }
]

/**
 * Countries whose national forms are found by default.
 *
 * @since 0.1.0
 * @category constants
 */
export const countries: ReadonlyArray<string> = [
  "US",
  "CA",
  "GB",
  "DE",
  "FR",
  "AT",
  "CH",
  "NL",
  "BE",
  "IT",
  "ES",
  "PL",
  "PT",
  "SE",
  "AU",
  "JP",
  "KR",
  "IN",
  "BR",
  "RU",
  "CN"
]

const context = [
  "phone*",
  "telephone",
  "tel",
  "telef*",
  "téléphone",
  "tél",
  "call",
  "calls",
  "dial",
  "ring",
  "mobile",
  "mobil",
  "mobiel",
  "mobilfunk*",
  "móvil",
  "celular",
  "cell phone",
  "cell number",
  "cell no",
  "my cell",
  "his cell",
  "her cell",
  "cellphone",
  "fax",
  "sms",
  "text me",
  "whatsapp",
  "signal",
  "hotline",
  "landline",
  "handy",
  "handynummer",
  "rufnummer",
  "*telefon*",
  "anrufen",
  "portable",
  "appel*",
  "llama*",
  "llám*",
  "chiama*",
  "cellulare",
  "bel",
  "bellen",
  "тел",
  "телефон*",
  "моб*",
  "звон*",
  "电话",
  "手机",
  "電話",
  "携帯",
  "전화",
  "휴대폰",
  "contact number",
  "reach me",
  "my number",
  "your number",
  "her number",
  "his number",
  "mi número",
  "meine nummer",
  "mon numéro",
  "reach us",
  "☎",
  "📞"
]

const against = [
  "order",
  "invoice",
  "ticket",
  "case",
  "part",
  "part no",
  "sku",
  "isbn",
  "issn",
  "doi",
  "ean",
  "upc",
  "gtin",
  "serial",
  "tracking",
  "version",
  "account",
  "acct",
  "ref",
  "reference",
  "id",
  "ids",
  "no",
  "nr",
  "batch",
  "lot",
  "model",
  "imei",
  "ssn",
  "vat",
  "card",
  "policy",
  "build",
  "article",
  "artikel*",
  "bestell*",
  "rechnung*",
  "kunden*",
  "commande",
  "facture",
  "pedido",
  "factura",
  "coordinates",
  "lat",
  "lon",
  "lng",
  "timestamp",
  "rfc",
  "page",
  "pages",
  "rows",
  "case no",
  "docket",
  "siret",
  "siren",
  "订单*",
  "编号"
]

const maxLength = 48

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Two-letter ISO 3166 codes; default `PhoneEntity.countries`. */
  readonly countries?: ReadonlyArray<string> | undefined
  /** Loads `libphonenumber-js/metadata.min.json`; default: imports it. */
  readonly metadata?: PhonePlans.LoadMetadata | undefined
}

/** Builds the matcher for digits of international numbers, without their prefix. */
const makeInternational = (all: ReadonlyArray<PhonePlans.NumberingPlan>): ((digits: string) => boolean) => {
  const sharing = new Map<string, Array<PhonePlans.NumberingPlan>>()
  for (const plan of all) {
    const plans = sharing.get(plan.callingCode)
    if (plans === undefined) sharing.set(plan.callingCode, [plan])
    else plans.push(plan)
  }
  const byCode = new Map(
    Array.from(sharing, ([code, plans]) => [
      code,
      PhonePlans.byLength((length) => {
        const possible = plans.filter(({ lengths }) => lengths.includes(length))
        return PhonePlans.ofCode(
          code,
          possible.map(({ number }) => number)
        )
      })
    ])
  )
  return (digits) => {
    for (let length = 1; length <= 3; length++) {
      const isNumber = byCode.get(digits.slice(0, length))
      if (isNumber === undefined) continue
      const rest = digits.slice(length)
      // `+44 (0)20 …`: the trunk prefix in parentheses is not dialed from abroad.
      return isNumber(rest) || (rest.startsWith("0") && isNumber(rest.slice(1)))
    }
    return false
  }
}

/** Confidence that a text without an international prefix is a number of one of these plans; 0 for none. */
type ConfidenceOf = (value: string, digits: string) => number

const makeConfidence = (home: ReadonlyArray<PhonePlans.NumberingPlan>): ConfidenceOf => {
  const isAmerican = home.some((plan) => plan.callingCode === "1")
  const forms = shapes.flatMap(({ countries, ...shape }) => {
    const plans = home.filter(({ country }) => countries.includes(country))
    const isNumber = PhonePlans.byLength((length) => plans.flatMap((plan) => PhonePlans.atHome(plan, length)))
    return plans.length === 0 ? [] : [{ ...shape, isNumber }]
  })
  const isNational = PhonePlans.byLength((length) => home.flatMap((plan) => PhonePlans.atHome(plan, length)))
  return (value, digits) => {
    if (!hasThreeDigits(digits)) return 0
    let best = 0
    for (const { confidence, isNumber, shape } of isShapeless.test(value) ? [] : forms) {
      if (confidence > best && shape.test(value) && isNumber(digits)) best = confidence
    }
    if (best > 0) return best
    if (isNational(digits)) return 0.35
    return isAmerican && isLooselyNorthAmerican.test(value) ? 0.3 : 0
  }
}

const withExtension = (text: string, end: number): number =>
  end + (extension.exec(text.slice(end, end + 24))?.[0].length ?? 0)

const findInternational = (
  text: string,
  isInternational: (digits: string) => boolean
): ReadonlyArray<PiiEntity.Candidate> =>
  PhoneRows.internationalIn(text).flatMap((row) => {
    const piece = row.pieces.find(
      ({ digits, end, isBalanced }) => isBalanced && isWhole(text, row, end) && isInternational(digits)
    )
    if (piece === undefined) return []
    const confidence = text[row.start] === "+" ? 0.95 : 0.6
    const end = withExtension(text, piece.end)
    return [{ start: row.start, end, confidence, outOfContext: confidence - 0.1, validated: true }]
  })

const findAtHome = (text: string, confidenceOf: ConfidenceOf): ReadonlyArray<PiiEntity.Candidate> =>
  PhoneRows.homeIn(text).flatMap((row) => {
    const date = row.start + dateIn(text.slice(row.start, row.start + longestDate))
    for (const { digits, end, isBalanced } of row.pieces) {
      if (!isBalanced || (date > row.start && end >= date)) continue
      const value = text.slice(row.start, end)
      const confidence = endsWithDay.test(value) ? 0 : confidenceOf(value, digits)
      if (confidence === 0) continue
      if (!isWhole(text, row, end) || (end < row.end && confidence < 0.65)) return []
      const inContext = confidence < 0.5 ? confidence + 0.35 : 0.95
      return [{ start: row.start, end: withExtension(text, end), confidence, inContext }]
    }
    return []
  })

/**
 * Builds the recognizer. It finds numbers with `+` or `00` and a calling code of any country, and national forms of the
 * given countries where the grouping is customary or a word beside it announces a number. Fails when
 * `libphonenumber-js` is not installed.
 *
 * @example
 * ```ts
 * import { PhoneEntity, PiiDetector } from "effect-lexigram/guard"
 * import * as Effect from "effect/Effect"
 *
 * const find = Effect.map(PhoneEntity.make({ countries: ["DE", "AT"] }), (phone) =>
 *   PiiDetector.make({ entities: [phone] }).find("Call +49 30 901820.")
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Effect.Effect<PiiEntity.PiiEntity, GuardConfigurationError> =>
  Effect.map(PhonePlans.load(options?.metadata), (all) => {
    const wanted = options?.countries ?? countries
    const home = wanted.flatMap((country) => all.find((plan) => plan.country === country.toUpperCase()) ?? [])
    const isInternational = makeInternational(all)
    const confidenceOf = makeConfidence(home)
    return {
      type: "PHONE",
      category: "personal",
      maxLength,
      around: 80,
      needs: { digits: 7 },
      context,
      against,
      againstBefore: 8,
      contextBefore: 32,
      contextAfter: 16,
      find: (text) => [...findInternational(text, isInternational), ...findAtHome(text, confidenceOf)]
    }
  })
