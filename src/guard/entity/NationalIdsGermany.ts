/**
 * Identifiers of Germany.
 *
 * @private
 * @since 0.1.0
 */
import * as DocumentWords from "./DocumentWords.js"
import * as NationalId from "./NationalId.js"
import type * as PiiEntity from "./PiiEntity.js"

/** Exactly one of the first ten digits repeats, two or three times, but not three times in a row (§ 139b AO). */
const repeatsOne = (digits: string): boolean => {
  const counts = new Map<string, number>()
  for (const digit of digits) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  const repeated = Array.from(counts.values()).filter((count) => count > 1)
  return repeated.length === 1 && repeated[0]! <= 3 && !/(.)\1\1/.test(digits)
}

const isTaxId = (digits: string): boolean => repeatsOne(digits.slice(0, 10)) && NationalId.isMod11And10(digits)

const isSpecimen = (digits: string): boolean => NationalId.isVaried(digits) && NationalId.isMod11And10(digits)

const cardWeights = [7, 3, 1, 7, 3, 1, 7, 3, 1]

/** ICAO 9303: digits have their own value, letters count from 10, weighted 7, 3, 1. */
const isDocument = (value: string): boolean => {
  let sum = 0
  for (let index = 0; index < 9; index++) sum += Number.parseInt(value[index]!, 36) * cardWeights[index]!
  return sum % 10 === Number(value[9])
}

const hasDigit = (value: string): boolean => /\d/.test(value)

const isHealthInsurance = (value: string): boolean =>
  NationalId.isVaried(value.slice(1)) &&
  NationalId.crossSum(NationalId.spelled(value), [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]) % 10 === Number(value[9])

const isSocialSecurity = (value: string): boolean => {
  const day = Number(value.slice(2, 4))
  if (!NationalId.isDay(Number(value.slice(4, 6)), day > 50 ? day - 50 : day)) return false
  return NationalId.crossSum(NationalId.spelled(value), [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]) % 10 === Number(value[11])
}

const isDoctor = (digits: string): boolean =>
  NationalId.isVaried(digits) &&
  digits.slice(7) !== "00" &&
  (10 - (NationalId.weighted(digits, [4, 9, 4, 9, 4, 9]) % 10)) % 10 === Number(digits[6])

// Carriers of pension insurance, and the numbers that these added forty to.
const areas = /^(?:0[23489]|1\d|2[01345689]|3[89]|[4-7]\d|8[0-29])/

const isIssuedSocialSecurity = (value: string): boolean => areas.test(value) && isSocialSecurity(value)

/**
 * @since 0.1.0
 * @category entities
 */
export const germany: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "DE_TAX_ID",
    maxLength: 14,
    needs: { digits: 11 },
    context: ["*identifikationsnummer", "idnr", "id nr", "steuer*", ...DocumentWords.tax],
    shapes: [
      { pattern: /[1-9]\d([ -]?)\d{3}\1\d{3}\1\d{3}/, confidence: 0.6, check: isTaxId },
      // Specimens, and numbers with a digit that was misread, keep only the rule of the check digit.
      { pattern: /[1-9]\d([ -]?)\d{3}\1\d{3}\1\d{3}/, confidence: 0.3, inContext: 0.7, check: isSpecimen }
    ]
  }),
  NationalId.make({
    type: "DE_TAX_NUMBER",
    maxLength: 15,
    needs: { digits: 8 },
    context: ["steuernr", "st nr", "st.-nr", "stnr", "finanzamt", ...DocumentWords.tax],
    shapes: [
      // Prefixes of the states in the federal format.
      { pattern: /(?:1[01]|2[1-46-8]|3[0-2]|4[01]|5\d|9\d)\d{2}0\d{8}/, confidence: 0.4 },
      { pattern: /\d{2,3}\/\d{3}\/\d{4}(?:\d| ?\/? ?\d)|\d{3}\/\d{4}\/\d{3} ?\d|\d{5}\/\d{5}/, confidence: 0.5 },
      { pattern: /\d{2,3}([ .-])\d{3}\1\d{5}|\d{3}([ .-])\d{4}\2\d{4}|\d{5} \d{5}/, confidence: 0.2 },
      { pattern: /\d{10,11}/, confidence: 0.2, inContext: 0.7, check: NationalId.isVaried }
    ]
  }),
  NationalId.make({
    type: "DE_VAT_ID",
    maxLength: 20,
    needs: { digits: 9 },
    context: ["steuer*", ...DocumentWords.vat],
    shapes: [
      {
        pattern: /DE[.-]?[1-9](?:[ .-]?\d){8}/,
        confidence: 0.9,
        check: (value) => isSpecimen(value.slice(2))
      },
      // In small letters and apart it may be a word of French, Spanish and Portuguese.
      { pattern: /DE [1-9](?:[ .-]?\d){8}/, confidence: 0.3, check: (value) => isSpecimen(value.slice(2)) },
      {
        pattern: /DE [1-9](?:[ .-]?\d){8}/,
        confidence: 0.9,
        check: (value) => isSpecimen(value.slice(2)),
        exact: true
      },
      // A field of a form has the country before it.
      { pattern: /[1-9]\d{2}([ .]?)\d{3}\1\d{3}/, confidence: 0.2, inContext: 0.85, check: isSpecimen }
    ]
  }),
  NationalId.make({
    type: "DE_ID_CARD",
    maxLength: 11,
    context: DocumentWords.identity,
    shapes: [
      // The more of these letters are required, the fewer other words pass.
      {
        pattern: /[LMNPRTVWXY](?=(?:[0-9]{0,4}[A-Z]){4})[0-9CFGHJKLMNPRTVWXYZ]{8} ?\d/,
        confidence: 0.6,
        check: isDocument
      },
      { pattern: /[LMNPRTVWXY][0-9CFGHJKLMNPRTVWXYZ]{8} ?\d/, confidence: 0.55, check: isDocument },
      { pattern: /[LMNPRTVWXY][0-9CFGHJKLMNPRTVWXYZ]{8}/, confidence: 0.3, inContext: 0.85, check: hasDigit }
    ]
  }),
  NationalId.make({
    type: "DE_PASSPORT",
    maxLength: 11,
    context: ["pass", ...DocumentWords.passport],
    shapes: [
      {
        pattern: /[CFGHJK](?=(?:[0-9]{0,6}[A-Z]){2})[0-9CFGHJKLMNPRTVWXYZ]{8} ?\d/,
        confidence: 0.6,
        check: isDocument
      },
      { pattern: /[CFGHJK][0-9CFGHJKLMNPRTVWXYZ]{8} ?\d/, confidence: 0.55, check: isDocument },
      { pattern: /[CFGHJK][0-9CFGHJKLMNPRTVWXYZ]{8}/, confidence: 0.3, inContext: 0.85, check: hasDigit }
    ]
  }),
  NationalId.make({
    type: "DE_FUEHRERSCHEIN",
    maxLength: 11,
    context: DocumentWords.drivingLicense,
    shapes: [
      { pattern: /[A-Z]{2}\d{8}[A-Z0-9]/, confidence: 0.35 },
      // Authority, serial number, check digit, number of replacements.
      { pattern: /[A-Z]\d{2}[A-Z0-9](?=\d{0,4}[A-Z])[A-Z0-9]{5}[0-9X][A-Z0-9]/, confidence: 0.3 }
    ]
  }),
  NationalId.make({
    type: "DE_HEALTH_INSURANCE",
    maxLength: 13,
    needs: { digits: 9 },
    context: ["*versichertennummer*", "*versichertennr*", "kvnr", "kv nr", "kv nummer", ...DocumentWords.health],
    shapes: [{ pattern: /[A-Z](?:\d{9}| \d{9}| ?\d{3} \d{3} \d{3})/, confidence: 0.5, check: isHealthInsurance }]
  }),
  NationalId.make({
    type: "DE_SOCIAL_SECURITY",
    maxLength: 15,
    needs: { digits: 8 },
    context: [
      "rvnr",
      "svnr",
      "sv nr",
      "sv nummer",
      "*versicherungsnummer*",
      "*versicherungsnr*",
      "vsnr",
      ...DocumentWords.social
    ],
    shapes: [
      {
        pattern: /\d{2}([ ./-]?)\d{6}\1[A-Z]\1\d{3}|\d{8} ?[A-Z] ?\d{3}/,
        confidence: 0.7,
        check: isIssuedSocialSecurity
      },
      { pattern: /\d{2} \d{2} \d{2} \d{2} [A-Z] \d{2} ?\d/, confidence: 0.7, check: isIssuedSocialSecurity },
      { pattern: /(?!0[01])\d{2}([ ./-]?)\d{6}\1[A-Z]\1\d{3}/, confidence: 0.3, check: isSocialSecurity }
    ]
  }),
  NationalId.make({
    type: "DE_LANR",
    maxLength: 9,
    needs: { digits: 9 },
    context: ["lanr", ...DocumentWords.doctor],
    shapes: [{ pattern: /\d{9}/, confidence: 0.35, check: isDoctor }]
  }),
  NationalId.make({
    type: "DE_BSNR",
    maxLength: 9,
    needs: { digits: 9 },
    context: ["bsnr", "*betriebsstätte*", "*betriebsstaette*", "nbsnr", "*praxis*"],
    shapes: [{ pattern: /(?!00)\d{9}/, confidence: 0.3, inContext: 0.85, check: NationalId.isVaried }]
  }),
  NationalId.make({
    type: "DE_HANDELSREGISTER",
    maxLength: 24,
    context: ["handelsregister*", "amtsgericht", "registergericht", "registernummer", "hrb", "hra"],
    shapes: [
      {
        pattern: /[Hh][Rr][AaBb](?: ?[:-] ?| {1,2}|\.? ?[Nn][Rr]\.? ?)?[1-9]\d{0,5}(?: ?[A-Z]{1,2})?/,
        confidence: 0.7,
        exact: true
      }
    ]
  }),
  NationalId.make({
    type: "DE_KFZ",
    maxLength: 12,
    context: DocumentWords.plate,
    shapes: [{ pattern: /[A-ZÄÖÜ]{1,3}(?:-| - | )[A-Z]{1,2}[ -]?[1-9]\d{0,3}(?: ?[EH])?/, confidence: 0.4 }]
  }),
  NationalId.make({
    type: "DE_PLZ",
    maxLength: 5,
    needs: { digits: 5 },
    context: ["ort", "*straße", "*strasse", "wohnort", ...DocumentWords.address],
    shapes: [{ pattern: /(?!01000|99999)(?:0[1-9]|[1-9]\d)\d{3}/, confidence: 0.3, inContext: 0.7 }]
  })
]
