/**
 * Identifiers of the United Kingdom.
 *
 * @private
 * @since 0.1.0
 */
import * as DocumentWords from "./DocumentWords.js"
import * as NationalId from "./NationalId.js"
import type * as PiiEntity from "./PiiEntity.js"

const isHealthService = (digits: string): boolean =>
  NationalId.isVaried(digits) &&
  (11 - (NationalId.weighted(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === Number(digits[9])

/**
 * `MORGA657054SM9IJ`: five letters of the name, decade, month (women: from 51), day, year, initials, three characters
 * to disambiguate.
 */
const isDriver = (value: string): boolean => {
  const month = Number(value.slice(6, 8))
  return NationalId.isDay(month > 50 ? month - 50 : month, Number(value.slice(8, 10)))
}

/**
 * @since 0.1.0
 * @category entities
 */
export const unitedKingdom: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "UK_NHS",
    maxLength: 12,
    needs: { digits: 10 },
    context: ["nhs*", "national health", "health authority", "gp", ...DocumentWords.health],
    shapes: [{ pattern: /\d{3}[ -]?\d{3}[ -]?\d{4}/, confidence: 0.5, check: isHealthService }]
  }),
  NationalId.make({
    type: "UK_NINO",
    maxLength: 13,
    context: ["nino", "ni number", "ni no", "hmrc", ...DocumentWords.social],
    shapes: [
      {
        pattern: /(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][ -]?\d{2}[ -]?\d{2}[ -]?\d{2}[ -]?[A-D]/,
        confidence: 0.55
      }
    ]
  }),
  NationalId.make({
    type: "UK_POSTCODE",
    maxLength: 8,
    context: ["royal mail", ...DocumentWords.address],
    shapes: [
      { pattern: /GIR ?0AA/, confidence: 0.6 },
      {
        pattern:
          /(?:[A-PR-UWYZ]\d{1,2}|[A-PR-UWYZ][A-HK-Y]\d{1,2}|[A-PR-UWYZ]\d[A-HJKPSTUW]|[A-PR-UWYZ][A-HK-Y]\d[ABEHMNPRV-Y]) \d[ABD-HJLNP-UW-Z]{2}/,
        confidence: 0.5
      },
      {
        pattern:
          /(?:[A-PR-UWYZ]\d{1,2}|[A-PR-UWYZ][A-HK-Y]\d{1,2}|[A-PR-UWYZ]\d[A-HJKPSTUW]|[A-PR-UWYZ][A-HK-Y]\d[ABEHMNPRV-Y])\d[ABD-HJLNP-UW-Z]{2}/,
        confidence: 0.3
      }
    ]
  }),
  NationalId.make({
    type: "UK_PASSPORT",
    maxLength: 9,
    needs: { digits: 7 },
    context: ["hmpo", ...DocumentWords.passport],
    shapes: [
      { pattern: /[A-Z]{2}\d{7}/, confidence: 0.3 },
      { pattern: /\d{9}/, confidence: 0.2, inContext: 0.75 }
    ]
  }),
  NationalId.make({
    type: "UK_DRIVING_LICENCE",
    maxLength: 18,
    context: ["dvla", ...DocumentWords.drivingLicense],
    shapes: [
      // Padded with nines: a short name, or fewer than two initials.
      {
        pattern:
          /(?:[A-Z]{4}9|[A-Z]{3}9{2}|[A-Z]{2}9{3}|[A-Z]9{4}) ?\d[0156]\d[0-3]\d{2} ?(?:[A-Z]{2}|[A-Z]9|99)[A-Z0-9][A-Z]{2}|[A-Z]{5} ?\d[0156]\d[0-3]\d{2} ?(?:[A-Z]9|99)[A-Z0-9][A-Z]{2}/,
        confidence: 0.8,
        check: isDriver
      },
      {
        pattern:
          /(?:[A-Z]{5}|[A-Z]{4}9|[A-Z]{3}9{2}|[A-Z]{2}9{3}|[A-Z]9{4}) ?\d[0156]\d[0-3]\d{2} ?(?:[A-Z]{2}|[A-Z]9|99)[A-Z0-9][A-Z]{2}/,
        confidence: 0.55,
        check: isDriver
      }
    ]
  }),
  NationalId.make({
    type: "UK_VEHICLE_REGISTRATION",
    maxLength: 8,
    context: ["registration*", "car", "vrm", "reg", "dvla", ...DocumentWords.plate],
    shapes: [
      { pattern: /[A-HJ-PR-Y]{2}(?!0[01]|50)\d{2}[ -]?[A-HJ-PR-Z]{3}/, confidence: 0.5 },
      { pattern: /[A-HJ-NPR-TV-Y][1-9]\d{0,2}[ -]?[A-HJ-PR-Y]{3}/, confidence: 0.3 },
      { pattern: /[A-HJ-PR-Y]{3}[ -]?[1-9]\d{0,2}[A-HJ-NPR-TV-Y]/, confidence: 0.3 }
    ]
  })
]
