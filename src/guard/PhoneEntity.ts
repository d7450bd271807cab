/**
 * Telephone numbers: international ones of every country, and those written as people of some countries write them at home.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PiiEntity from "./PiiEntity.js"

/**
 * The part of a numbering plan that says whether a number can exist.
 *
 * @since 0.1.0
 * @category models
 */
export interface NumberingPlan {
  readonly country: string
  readonly callingCode: string
  /** What stands before the area code inside the country: `0`, `1`, or nothing. */
  readonly trunk: string
  /** Of a number without trunk prefix and calling code. */
  readonly isNumber: (digits: string) => boolean
}

// No area code is 555: it stands in invented numbers, which people take for numbers all the same.
const isNorthAmerican = (digits: string): boolean => /^(?:[2-9](?!11|9)\d{2}[2-9](?!11)\d{6}|555\d{7})$/.test(digits)

// What only looks like a number of North America, and is meant as one where a word says so.
const isLooselyNorthAmerican = /^(?:(?:1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}|[2-9]\d{2}[.-]\d{4})$/

/** Loaded once, when the first detector of telephone numbers is built: the data are large, the code that reads them elsewhere larger. */
const plans: Effect.Effect<ReadonlyArray<NumberingPlan>> = Effect.map(
  Effect.promise(() => import("libphonenumber-js/metadata.min.json")),
  ({ default: metadata }) =>
    Object.entries(metadata.countries).map(([country, fields]): NumberingPlan => {
      const data = fields as unknown as ReadonlyArray<unknown>
      const pattern = new RegExp(`^(?:${data[2]})$`)
      const lengths = data[3] as ReadonlyArray<number>
      const callingCode = String(data[0])
      return {
        country,
        callingCode,
        trunk: typeof data[5] === "string" ? data[5] : "",
        isNumber: (digits) =>
          lengths.includes(digits.length) && pattern.test(digits) && (callingCode !== "1" || isNorthAmerican(digits))
      }
    })
)

const international = PiiEntity.matches(
  /(?<![A-Za-z0-9_+])(?<![0-9][.,]?)(?:\+ ?|00 ?)\(?[1-9](?:[ ./-]{0,2}(?:\(0?\)|[()])?[ ./-]?\d){6,17}(?![A-Za-z0-9_])/
)
const national = PiiEntity.matches(
  /(?<![A-Za-z0-9_+#$€£¥@&?])(?<![A-Za-z0-9][./+-]|[A-Za-z0-9]\(|[0-9][: ]|[/\\.:]{2})\(?\d(?:[ ./-]{0,3}[()]?[ ./-]?\d){6,13}(?![A-Za-z0-9_%€$£°])(?![./:+-][A-Za-z0-9]|,\d\d?(?!\d)| ?[€$£%])/
)
const extension = /^,?\s{0,2}(?:x|ext\.?|extension|#|poste|Durchwahl|DW)\s?\.?:?\s?\d{1,6}(?![A-Za-z0-9_])/i

const digitsOf = (text: string): string => text.replace(/[^0-9]/g, "")

/** Where the groups of digits of a text end, the last first. */
const groupEnds = (value: string): ReadonlyArray<number> => {
  const ends: Array<number> = []
  for (const group of value.matchAll(/\d+\)?/g)) ends.push(group.index + group[0].length)
  return ends.reverse()
}

const isBalanced = (value: string): boolean => {
  let open = 0
  for (const character of value) {
    if (character === "(") open++
    else if (character === ")") open--
    if (open < 0 || open > 1) return false
  }
  return open === 0
}

/** The beginning of a longer row of digits may be a number by itself only where a space ends it. */
const isWhole = (row: string, length: number): boolean => length === row.length || row[length] === " "

const isDate = (value: string): boolean =>
  /^(?:\d{4}([-./ ])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])|(?:0?[1-9]|[12]\d|3[01])([-./ ])(?:0?[1-9]|[12]\d|3[01])\2(?:19|20)\d\d)(?!\d)/.test(
    value
  )

// The prefix is left out at home too.
const withoutTrunk = new Set(["IT", "BR", "IN", "CN"])

interface Shape {
  readonly countries: ReadonlyArray<string>
  readonly shape: RegExp
  readonly confidence: number
}

// How numbers are grouped where they are dialled. What has no shape of its own here counts only beside a word that announces it.
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
 * The countries whose national forms are looked for when none are given.
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
 * Numbers with `+` or `00` and a calling code are found for every country; forms without one for these countries, where the grouping is
 * the customary one or a word beside it announces a number.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: {
  /** Two letters each (ISO 3166); default `PhoneEntity.countries`. */
  readonly countries?: ReadonlyArray<string> | undefined
}): Effect.Effect<PiiEntity.PiiEntity> =>
  Effect.map(plans, (all) => {
    const byCode = new Map<string, Array<NumberingPlan>>()
    for (const plan of all) {
      const sharing = byCode.get(plan.callingCode)
      if (sharing === undefined) byCode.set(plan.callingCode, [plan])
      else sharing.push(plan)
    }
    const wanted = options?.countries ?? countries
    const home = wanted.flatMap((country) => all.find((plan) => plan.country === country.toUpperCase()) ?? [])

    const isAmerican = home.some((plan) => plan.callingCode === "1")

    const isInternational = (digits: string): boolean => {
      for (let length = 1; length <= 3; length++) {
        const sharing = byCode.get(digits.slice(0, length))
        if (sharing === undefined) continue
        const rest = digits.slice(length)
        // `+44 (0)20 …`: the trunk prefix in parentheses is not dialled from abroad.
        return sharing.some((plan) => plan.isNumber(rest) || (rest.startsWith("0") && plan.isNumber(rest.slice(1))))
      }
      return false
    }

    const isNational = (plan: NumberingPlan, digits: string): boolean =>
      plan.trunk === "" || !digits.startsWith(plan.trunk)
        ? (plan.trunk !== "0" || withoutTrunk.has(plan.country)) && plan.isNumber(digits)
        : plan.isNumber(digits.slice(plan.trunk.length))

    const confidenceOf = (value: string): number => {
      const digits = digitsOf(value)
      if (new Set(digits).size < 3 || isDate(value)) return 0
      let best = 0
      for (const { confidence, countries, shape } of shapes) {
        if (confidence <= best || !shape.test(value)) continue
        if (home.some((plan) => countries.includes(plan.country) && isNational(plan, digits))) best = confidence
      }
      if (best > 0) return best
      if (home.some((plan) => isNational(plan, digits))) return 0.35
      return isAmerican && isLooselyNorthAmerican.test(value) ? 0.3 : 0
    }

    const withExtension = (text: string, end: number): number =>
      end + (extension.exec(text.slice(end, end + 24))?.[0].length ?? 0)

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
      find: (text) => {
        const candidates: Array<PiiEntity.Candidate> = []
        for (const match of international(text)) {
          for (const length of groupEnds(match[0])) {
            const value = match[0].slice(0, length)
            const digits = digitsOf(value)
            if (digits.length < 7) break
            if (
              !isWhole(match[0], length) ||
              !isBalanced(value) ||
              !isInternational(match[0][0] === "+" ? digits : digits.slice(2))
            )
              continue
            const end = withExtension(text, match.index + length)
            const confidence = match[0][0] === "+" ? 0.95 : 0.6
            candidates.push({ start: match.index, end, confidence, outOfContext: confidence - 0.1, validated: true })
            break
          }
        }
        for (const match of national(text)) {
          for (const length of groupEnds(match[0])) {
            const value = match[0].slice(0, length)
            if (digitsOf(value).length < 7) break
            if (!isBalanced(value)) continue
            const confidence = confidenceOf(value)
            if (confidence === 0) continue
            if (!isWhole(match[0], length) || (length < match[0].length && confidence < 0.65)) break
            candidates.push({
              start: match.index,
              end: withExtension(text, match.index + length),
              confidence,
              inContext: confidence < 0.5 ? confidence + 0.35 : 0.95
            })
            break
          }
        }
        return candidates
      }
    }
  })
