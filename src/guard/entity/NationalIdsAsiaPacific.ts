/**
 * Identifiers of Australia, India, Korea, Nigeria, the Philippines, Singapore and Thailand.
 *
 * @private
 * @since 0.1.0
 */
import * as DocumentWords from "./DocumentWords.js"
import * as NationalId from "./NationalId.js"
import type * as PiiEntity from "./PiiEntity.js"

const isBusiness = (digits: string): boolean =>
  (NationalId.weighted(digits, [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) - 10) % 89 === 0

const isCompany = (digits: string): boolean =>
  NationalId.isVaried(digits) &&
  (10 - (NationalId.weighted(digits, [8, 7, 6, 5, 4, 3, 2, 1]) % 10)) % 10 === Number(digits[8])

const isTaxFile = (digits: string): boolean =>
  NationalId.isVaried(digits) && NationalId.weighted(digits, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0

const isMedicare = (digits: string): boolean =>
  NationalId.isVaried(digits) && NationalId.weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === Number(digits[8])

/**
 * @since 0.1.0
 * @category entities
 */
export const australia: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "AU_ABN",
    maxLength: 14,
    needs: { digits: 11 },
    context: ["abn", "australian business", ...DocumentWords.company],
    shapes: [{ pattern: /[1-9]\d([ -]?)\d{3}\1\d{3}\1\d{3}/, confidence: 0.55, check: isBusiness }]
  }),
  NationalId.make({
    type: "AU_ACN",
    maxLength: 11,
    needs: { digits: 9 },
    context: ["acn", "australian company", "asic", ...DocumentWords.company],
    shapes: [{ pattern: /\d{3}([ -]?)\d{3}\1\d{3}/, confidence: 0.4, check: isCompany }]
  }),
  NationalId.make({
    type: "AU_TFN",
    maxLength: 11,
    needs: { digits: 9 },
    context: ["tfn", "ato", ...DocumentWords.tax],
    shapes: [{ pattern: /\d{3}([ -]?)\d{3}\1\d{3}/, confidence: 0.4, check: isTaxFile }]
  }),
  NationalId.make({
    type: "AU_MEDICARE",
    maxLength: 14,
    needs: { digits: 10 },
    context: ["medicare*", "irn", ...DocumentWords.health],
    shapes: [{ pattern: /[2-6]\d{3}([ -]?)\d{5}\1\d(?:[ /-]\d)?/, confidence: 0.45, check: isMedicare }]
  })
]

const isAadhaar = (digits: string): boolean =>
  digits !== [...digits].reverse().join("") && NationalId.isVaried(digits) && NationalId.isVerhoeff(digits)

/** Base 36: every second character is doubled, and the base-36 digits of each product are summed. */
const isGstin = (value: string): boolean => {
  let sum = 0
  for (let index = 0; index < 14; index++) {
    const product = Number.parseInt(value[index]!, 36) * (index % 2 === 0 ? 1 : 2)
    sum += Math.floor(product / 36) + (product % 36)
  }
  return (36 - (sum % 36)) % 36 === Number.parseInt(value[14]!, 36)
}

const gstin = /(?:0[1-9]|[12]\d|3[0-8]|9[679])[A-Z]{5}\d{4}[A-Z][1-9A-Z]Z[0-9A-Z]/

/**
 * @since 0.1.0
 * @category entities
 */
export const india: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "IN_AADHAAR",
    maxLength: 14,
    needs: { digits: 4 },
    context: ["aadhaar*", "aadhar*", "uidai", "uid", "आधार", ...DocumentWords.identity],
    shapes: [{ pattern: /[2-9]\d{3}([ :-]?)\d{4}\1\d{4}/, confidence: 0.55, check: isAadhaar }]
  }),
  NationalId.make({
    type: "IN_PAN",
    maxLength: 10,
    context: ["pan", "permanent account", "income tax", "pan card", "pan#", ...DocumentWords.tax],
    shapes: [
      { pattern: /[A-Z]{3}[ABCEFGHJKLPT][A-Z](?!0000)\d{4}[A-Z]/, confidence: 0.55 },
      { pattern: /[A-Z]{5}\d{4}[A-Z]/, confidence: 0.3 }
    ]
  }),
  NationalId.make({
    type: "IN_GSTIN",
    maxLength: 15,
    context: ["gst*", "goods and services", ...DocumentWords.tax],
    shapes: [
      { pattern: gstin, confidence: 0.95, check: isGstin },
      { pattern: gstin, confidence: 0.3, inContext: 0.7 }
    ]
  }),
  NationalId.make({
    type: "IN_PASSPORT",
    maxLength: 9,
    needs: { digits: 4 },
    context: DocumentWords.passport,
    shapes: [{ pattern: /[A-PR-WY][1-9]\d ?\d{4}[1-9]/, confidence: 0.3 }]
  }),
  NationalId.make({
    type: "IN_VEHICLE_REGISTRATION",
    maxLength: 14,
    needs: { digits: 4 },
    context: ["rto", "registration*", "car", "regn*", ...DocumentWords.plate],
    shapes: [
      {
        pattern:
          /(?:A[NPRS]|BR|C[GH]|D[DLN]|G[AJ]|H[PR]|J[HK]|K[AL]|L[AD]|M[HLNPZ]|NL|O[DR]|P[BY]|RJ|SK|T[GNRS]|U[AKP]|WB)[ -]?\d{1,2}[ -]?[A-Z]{0,3}[ -]?(?!0000)\d{4}/,
        confidence: 0.5
      },
      // Plates valid in all states: the year first.
      { pattern: /[2-9]\d[ -]?BH[ -]?(?!0000)\d{4}[ -]?[A-HJ-NP-Z]{1,2}/, confidence: 0.6 }
    ]
  }),
  NationalId.make({
    type: "IN_VOTER",
    maxLength: 10,
    needs: { digits: 7 },
    context: ["voter*", "epic", "elector*", "election*"],
    shapes: [{ pattern: /[A-Z]{3}\d{7}/, confidence: 0.35 }]
  })
]

const isKoreanBirth = (digits: string): boolean =>
  NationalId.isDay(Number(digits.slice(2, 4)), Number(digits.slice(4, 6)))

const koreanCheck = (digits: string, base: number): boolean =>
  isKoreanBirth(digits) &&
  (base - (NationalId.weighted(digits, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10 === Number(digits[12])

const isKoreanBusiness = (digits: string): boolean => {
  const ninth = (digits.charCodeAt(8) - 48) * 5
  const sum = NationalId.weighted(digits, [1, 3, 7, 1, 3, 7, 1, 3]) + Math.floor(ninth / 10) + (ninth % 10)
  return NationalId.isVaried(digits) && (10 - (sum % 10)) % 10 === Number(digits[9])
}

/**
 * @since 0.1.0
 * @category entities
 */
export const korea: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "KR_RRN",
    maxLength: 14,
    needs: { digits: 13 },
    context: ["rrn", "resident registration", "주민등록번호", "주민번호", "korean rrn", ...DocumentWords.identity],
    shapes: [
      { pattern: /\d{6}[ -]?[1-4]\d{6}/, confidence: 0.8, check: (digits) => koreanCheck(digits, 11) },
      // Since October 2020 the digits after the first one are random.
      { pattern: /\d{6}[ -]?[1-4]\d{6}/, confidence: 0.4, check: isKoreanBirth }
    ]
  }),
  NationalId.make({
    type: "KR_FRN",
    maxLength: 14,
    needs: { digits: 13 },
    context: [
      "frn",
      "arc",
      "alien registration",
      "foreigner registration",
      "외국인등록번호",
      ...DocumentWords.identity
    ],
    shapes: [
      { pattern: /\d{6}[ -]?[5-8]\d{6}/, confidence: 0.8, check: (digits) => koreanCheck(digits, 13) },
      { pattern: /\d{6}[ -]?[5-8]\d{6}/, confidence: 0.4, check: isKoreanBirth }
    ]
  }),
  NationalId.make({
    type: "KR_BRN",
    maxLength: 12,
    needs: { digits: 10 },
    context: ["brn", "사업자등록번호", "사업자번호", ...DocumentWords.company],
    shapes: [{ pattern: /[1-9]\d{2}-?(?!00)\d{2}-?\d{5}/, confidence: 0.5, check: isKoreanBusiness }]
  }),
  NationalId.make({
    type: "KR_DRIVER_LICENSE",
    maxLength: 15,
    needs: { digits: 12 },
    context: ["운전면허*", "면허번호", "driving*", ...DocumentWords.drivingLicense],
    shapes: [
      { pattern: /(?:1[1-9]|2[0-68])-\d{2}-\d{6}-\d{2}/, confidence: 0.55 },
      { pattern: /(?:1[1-9]|2[0-68]) ?\d{2} ?\d{6} ?\d{2}/, confidence: 0.3 }
    ]
  }),
  NationalId.make({
    type: "KR_PASSPORT",
    maxLength: 9,
    needs: { digits: 3 },
    context: ["여권*", ...DocumentWords.passport],
    shapes: [
      { pattern: /[DGMORS]\d{3}[A-Z]\d{4}/, confidence: 0.4 },
      { pattern: /[DGMORS]\d{8}/, confidence: 0.3 }
    ]
  })
]

/**
 * @since 0.1.0
 * @category entities
 */
export const nigeria: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "NG_NIN",
    maxLength: 13,
    needs: { digits: 11 },
    context: ["nin", "national identification", "national identity", "nimc", ...DocumentWords.identity],
    shapes: [
      {
        pattern: /\d{11}|\d{4}([ -])\d{3}\1\d{4}/,
        confidence: 0.45,
        check: (digits) => NationalId.isVaried(digits) && NationalId.isVerhoeff(digits)
      }
    ]
  }),
  NationalId.make({
    type: "NG_VEHICLE_REGISTRATION",
    maxLength: 10,
    needs: { digits: 3 },
    context: ["registration*", "frsc", "car", ...DocumentWords.plate],
    shapes: [{ pattern: /[A-Z]{3}[ -]?\d{3}[ -]?[A-Z]{2}/, confidence: 0.4 }]
  })
]

/**
 * @since 0.1.0
 * @category entities
 */
export const philippines: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "PH_MOBILE_NUMBER",
    maxLength: 20,
    needs: { digits: 10 },
    context: ["mobile*", "phone*", "cell*", "cp", "text", "call", "contact*", "globe", "smart"],
    shapes: [
      // Prefixes of mobile networks.
      {
        pattern: /(?<!\+)09(?:0[5-9]|1[0-24-9]|[235-7]\d|4[2-9]|8[135-9]|9[1-9])[ -]?\d{3}[ -]?\d{4}/,
        confidence: 0.6
      },
      { pattern: /(?<!\+)09\d{2}[ -]?\d{3}[ -]?\d{4}/, confidence: 0.4 },
      { pattern: /(?<!\+)639\d{2}[ -]?\d{3}[ -]?\d{4}/, confidence: 0.6 },
      { pattern: /\+63[ -]?(?:\(9\d{2}\)|9\d{2})[ -]?\d{3}[ -]?\d{4}/, confidence: 0.9 }
    ]
  })
]

const isNric = (value: string): boolean => {
  const series = value[0]!
  const offset = series === "T" || series === "G" ? 4 : series === "M" ? 3 : 0
  const rest = (NationalId.weighted(value.slice(1), [2, 7, 6, 5, 4, 3, 2]) + offset) % 11
  if (series === "S" || series === "T") return "JZIHGFEDCBA"[rest] === value[8]
  return (series === "M" ? "XWUTRQPNJLK" : "XWUTRQPNMLK")[rest] === value[8]
}

const uenLetters = "ABCDEFGHJKLMNPQRSTUVWX0123456789"

const isUen = (value: string): boolean => {
  const check = value[value.length - 1]
  if (value.length === 9) {
    return "XMKECAWLJDB"[NationalId.weighted(value, [10, 4, 9, 3, 8, 2, 7, 1]) % 11] === check
  }
  if (/^\d/.test(value)) {
    return "ZKCMDNERGWH"[NationalId.weighted(value, [10, 8, 6, 4, 9, 7, 5, 3, 1]) % 11] === check
  }
  let sum = 0
  for (const [index, weight] of [4, 3, 5, 3, 10, 2, 2, 5, 7].entries())
    sum += uenLetters.indexOf(value[index]!) * weight
  return uenLetters[(((sum - 5) % 11) + 11) % 11] === check
}

/**
 * @since 0.1.0
 * @category entities
 */
export const singapore: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "SG_FIN",
    maxLength: 9,
    needs: { digits: 7 },
    context: ["fin", "nric", "ic number", "singapore id", ...DocumentWords.identity],
    shapes: [
      { pattern: /[STFGM]\d{7}[A-Z]/, confidence: 0.85, check: isNric },
      { pattern: /[A-Z]\d{7}[A-Z]/, confidence: 0.3, inContext: 0.6 }
    ]
  }),
  NationalId.make({
    type: "SG_UEN",
    maxLength: 10,
    needs: { digits: 4 },
    context: ["uen", "unique entity", "acra", ...DocumentWords.company],
    shapes: [
      { pattern: /\d{8}[A-Z]/, confidence: 0.55, check: isUen },
      { pattern: /(?:19|20)\d{7}[A-Z]/, confidence: 0.7, check: isUen },
      {
        pattern:
          /[RST]\d{2}(?:C[CDHLMPSX]|DP|F[BCMN]|G[ABS]|H[CS]|L[LP]|M[BCDHMQ]|N[BR]|P[ABF]|R[FP]|S[MS]|T[CU]|VH|XL)\d{4}[A-Z0-9]/,
        confidence: 0.8,
        check: isUen
      }
    ]
  })
]

const isThai = (digits: string): boolean =>
  NationalId.isVaried(digits) &&
  (11 - (NationalId.weighted(digits, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === Number(digits[12])

/**
 * @since 0.1.0
 * @category entities
 */
export const thailand: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "TH_TNIN",
    maxLength: 17,
    needs: { digits: 13 },
    context: ["thai id", "tnin", "บัตรประชาชน", "เลขประจำตัวประชาชน", "บัตรประจำตัวประชาชน", ...DocumentWords.identity],
    shapes: [
      // The office (digits two to five) begins with a province, from 10 upward.
      { pattern: /[1-8]([ -]?)[1-9]\d{3}\1\d{5}\1\d{2}\1\d/, confidence: 0.55, check: isThai }
    ]
  })
]
