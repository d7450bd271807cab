/**
 * Identifiers of the United States and Canada.
 *
 * @private
 * @since 0.1.0
 */
import * as DocumentWords from "./DocumentWords.js"
import * as NationalId from "./NationalId.js"
import { isLuhn } from "./PaymentEntities.js"
import type * as PiiEntity from "./PiiEntity.js"

const isRouting = (digits: string): boolean =>
  NationalId.isVaried(digits) && NationalId.weighted(digits, [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0

const isRegistrant = (value: string): boolean => {
  const digits = value.slice(2)
  return NationalId.isVaried(digits) && NationalId.weighted(digits, [1, 2, 1, 2, 1, 2]) % 10 === Number(digits[6])
}

const isProvider = (digits: string): boolean => NationalId.isVaried(digits) && isLuhn(`80840${digits}`)

// Printed in advertisements and manuals, and therefore invalid.
const unissued = new Set(["078051120", "219099999", "457555462", "123456789", "987654320"])

const isSocialSecurity = (digits: string): boolean =>
  NationalId.isVaried(digits) && !unissued.has(digits) && /^(?!000|666|9)...(?!00)..(?!0000)/.test(digits)

const isSocialInsurance = (digits: string): boolean => NationalId.isVaried(digits) && isLuhn(digits)

/**
 * @since 0.1.0
 * @category entities
 */
export const unitedStates: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "US_ABA_ROUTING",
    maxLength: 11,
    needs: { digits: 9 },
    context: ["aba", "routing", "rtn", "transit", "wire", "ach", ...DocumentWords.bank],
    shapes: [
      { pattern: /(?:0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)\d{7}/, confidence: 0.4, check: isRouting },
      { pattern: /(?:0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)\d{2}-\d{4}-\d/, confidence: 0.55, check: isRouting }
    ]
  }),
  NationalId.make({
    type: "US_BANK_NUMBER",
    maxLength: 17,
    needs: { digits: 8 },
    context: ["checking", "savings", "deposit", "debit", ...DocumentWords.bank],
    shapes: [{ pattern: /\d{8,17}/, confidence: 0.3, inContext: 0.7 }]
  }),
  NationalId.make({
    type: "US_DRIVER_LICENSE",
    maxLength: 19,
    context: ["permit", "dl", "dl#", "dln", "dmv", "id card", ...DocumentWords.drivingLicense],
    shapes: [
      // State formats: one or two letters and digits, digits and letters, or Washington's name-based form.
      {
        pattern:
          /[A-Z]\d{3,14}|[A-Z]\d{18}|[A-Z]{2}\d{2,7}|\d{2}[A-Z]{3}\d{5,6}|[A-Z]\d{6}R|\d{9}[A-Z]|[A-Z]{2}\d{6}[A-Z]|\d{8}[A-Z]{2}|\d{3}[A-Z]{2}\d{4}|\d{7,8}[A-Z]|[A-Z]\d[A-Z]\d[A-Z]/,
        confidence: 0.3,
        inContext: 0.75
      },
      {
        pattern: /[A-Z]{7}\d{3}[A-Z0-9]{2}|(?=[A-Z0-9]{1,11}\*)(?=[A-Z*]{1,11}\d)[A-Z][A-Z0-9*]{11}|WDL[A-Z0-9]{9}/,
        confidence: 0.3
      },
      { pattern: /\d{6,14}|\d{16}/, confidence: 0.3, inContext: 0.7 }
    ]
  }),
  NationalId.make({
    type: "US_ITIN",
    maxLength: 11,
    needs: { digits: 9 },
    context: ["itin*", "tax payer", ...DocumentWords.tax],
    shapes: [
      { pattern: /9\d{2}([ -])(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])\1\d{4}/, confidence: 0.55 },
      { pattern: /9\d{2}[ -]?(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])[ -]?\d{4}/, confidence: 0.3 }
    ]
  }),
  NationalId.make({
    type: "US_MBI",
    maxLength: 13,
    context: ["mbi", "medicare*", "beneficiary", "cms", ...DocumentWords.health],
    shapes: [
      {
        pattern:
          /[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d([ -]?)[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d\1[AC-HJKMNP-RT-Y]{2}\d{2}/,
        confidence: 0.55
      }
    ]
  }),
  NationalId.make({
    type: "US_NPI",
    maxLength: 12,
    needs: { digits: 10 },
    context: ["npi*", "national provider", ...DocumentWords.doctor],
    shapes: [{ pattern: /[12]\d{3}([ -]?)\d{3}\1\d{3}/, confidence: 0.4, check: isProvider }]
  }),
  NationalId.make({
    type: "US_DEA",
    maxLength: 9,
    needs: { digits: 7 },
    context: ["dea*", "medical licen*", "certificate", "registration", "medical", ...DocumentWords.doctor],
    shapes: [
      // Businesses have a nine in place of the first letter of a name.
      { pattern: /[A-HJ-MPR-UX]9\d{7}/, confidence: 0.6, check: isRegistrant },
      { pattern: /[A-HJ-MPR-UX][A-Z]\d{7}/, confidence: 0.5, check: isRegistrant }
    ]
  }),
  NationalId.make({
    type: "US_PASSPORT",
    maxLength: 9,
    needs: { digits: 8 },
    context: DocumentWords.passport,
    shapes: [{ pattern: /\d{9}|[A-Z]\d{8}/, confidence: 0.3 }]
  }),
  NationalId.make({
    type: "US_SSN",
    maxLength: 11,
    needs: { digits: 9 },
    context: ["ssn*", "social sec", "social", "ss#", "ss no", ...DocumentWords.social, ...DocumentWords.tax],
    shapes: [
      { pattern: /\d{3}([ .-])\d{2}\1\d{4}/, confidence: 0.55, check: isSocialSecurity },
      { pattern: /\d{5}-\d{4}|\d{3}-\d{6}|\d{9}/, confidence: 0.3, inContext: 0.8, check: isSocialSecurity }
    ]
  })
]

/**
 * @since 0.1.0
 * @category entities
 */
export const canada: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "CA_SIN",
    maxLength: 11,
    needs: { digits: 9 },
    context: ["sin", "nas", "sin#", "numéro d'assurance", ...DocumentWords.social],
    shapes: [{ pattern: /[1-79]\d{2}([ -]?)\d{3}\1\d{3}/, confidence: 0.45, check: isSocialInsurance }]
  })
]
