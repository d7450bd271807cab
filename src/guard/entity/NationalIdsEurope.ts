/**
 * Identifiers of Spain, Finland, Italy, Poland, Sweden and Turkey.
 *
 * @private
 * @since 0.1.0
 */
import * as DocumentWords from "./DocumentWords.js"
import * as NationalId from "./NationalId.js"
import { isLuhn } from "./PaymentEntities.js"
import type * as PiiEntity from "./PiiEntity.js"

const spanishLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

const isSpanish = (value: string): boolean => {
  const digits = value.slice(0, -1).replace(/^[XYZ]/, (letter) => String(letter.charCodeAt(0) - 88))
  return spanishLetters[Number(digits) % 23] === value[value.length - 1]
}

/**
 * @since 0.1.0
 * @category entities
 */
export const spain: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "ES_NIF",
    maxLength: 13,
    needs: { digits: 7 },
    context: ["nif", "dni", "identificación", "identificacion", "cif", ...DocumentWords.identity, ...DocumentWords.tax],
    shapes: [
      {
        pattern: /\d{7,8}[ -]?[A-HJ-NP-TV-Z]|\d{1,2}([. ])\d{3}\1\d{3}[ -]?[A-HJ-NP-TV-Z]/,
        confidence: 0.55,
        check: isSpanish
      },
      // Spaniards abroad, children without a card, and foreigners without a number.
      { pattern: /[KLM][ -]?\d{7}[ -]?[A-HJ-NP-TV-Z]/, confidence: 0.6, check: (value) => isSpanish(value.slice(1)) },
      // In small letters and apart the country is a word.
      { pattern: /ES-?\d{8}[ -]?[A-HJ-NP-TV-Z]/, confidence: 0.75, check: (value) => isSpanish(value.slice(2)) }
    ]
  }),
  NationalId.make({
    type: "ES_NIE",
    maxLength: 14,
    needs: { digits: 7 },
    context: ["nie", "extranjero*", "numero de identificacion", ...DocumentWords.identity, ...DocumentWords.tax],
    shapes: [
      {
        pattern: /[XYZ][ -]?(?:\d{7,8}|\d([. ])\d{3}\1\d{3})[ -]?[A-HJ-NP-TV-Z]/,
        confidence: 0.75,
        check: isSpanish
      },
      {
        pattern: /ES-?[XYZ][ -]?\d{7}[ -]?[A-HJ-NP-TV-Z]/,
        confidence: 0.75,
        check: (value) => isSpanish(value.slice(2))
      }
    ]
  }),
  NationalId.make({
    type: "ES_PASSPORT",
    maxLength: 9,
    needs: { digits: 6 },
    context: DocumentWords.passport,
    shapes: [
      { pattern: /[A-Z]{3}\d{6}/, confidence: 0.3 },
      { pattern: /[A-Z]{2}\d{6}/, confidence: 0.2, inContext: 0.75 }
    ]
  })
]

const finnishChecks = "0123456789ABCDEFHJKLMNPRSTUVWXY"

const isFinnish = (value: string): boolean => {
  const century = value[6] === "+" ? 18 : /[A-F]/.test(value[6]!) ? 20 : 19
  return (
    NationalId.isDay(Number(value.slice(2, 4)), Number(value.slice(0, 2)), century * 100 + Number(value.slice(4, 6))) &&
    // People have 002 to 899; from 900 on are temporary numbers of hospitals and registers.
    Number(value.slice(7, 10)) > 1 &&
    finnishChecks[Number(value.slice(0, 6) + value.slice(7, 10)) % 31] === value[10]
  )
}

/**
 * @since 0.1.0
 * @category entities
 */
export const finland: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "FI_PERSONAL_IDENTITY_CODE",
    maxLength: 11,
    needs: { digits: 6 },
    context: [
      "hetu",
      "personbeteckning*",
      "personal identity",
      "sotu",
      ...DocumentWords.identity,
      ...DocumentWords.social
    ],
    shapes: [
      {
        pattern: /\d{6}[ABCDEFYXWVU]\d{3}[0-9A-FHJ-NPR-Y]/,
        confidence: 0.9,
        check: isFinnish
      },
      {
        pattern: /\d{6}-\d{3}[0-9A-FHJ-NPR-Y]/,
        confidence: 0.85,
        check: (value) => isFinnish(`${value.slice(0, 6)}-${value.slice(6)}`)
      },
      {
        pattern: /\d{6}\+\d{3}[0-9A-FHJ-NPR-Y]/,
        confidence: 0.85,
        check: (value) => isFinnish(`${value.slice(0, 6)}+${value.slice(6)}`)
      }
    ]
  })
]

// Values of characters at odd positions; at even positions a character has its own value.
const italianOdd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]

const italianDigit = (character: string): number => {
  const letter = "LMNPQRSTUV".indexOf(character)
  return letter < 0 ? Number(character) : letter
}

/** Digits eight to ten are the province, or an office for those without one. */
const isItalianVat = (digits: string): boolean => {
  const office = Number(digits.slice(7, 10))
  return (
    ((office > 0 && office <= 100) || office === 120 || office === 121 || office === 888 || office === 999) &&
    NationalId.isVaried(digits) &&
    isLuhn(digits)
  )
}

const isFiscalCode = (value: string): boolean => {
  // Letters replace digits where two people would share a code.
  const day = italianDigit(value[9]!) * 10 + italianDigit(value[10]!)
  if (!NationalId.isDay("ABCDEHLMPRST".indexOf(value[8]!) + 1, day > 40 ? day - 40 : day)) return false
  let sum = 0
  for (let index = 0; index < 15; index++) {
    const code = value.charCodeAt(index)
    const own = code < 65 ? code - 48 : code - 65
    sum += index % 2 === 0 ? italianOdd[own]! : own
  }
  return String.fromCharCode(65 + (sum % 26)) === value[15]
}

/**
 * @since 0.1.0
 * @category entities
 */
export const italy: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "IT_FISCAL_CODE",
    maxLength: 20,
    context: ["codice fiscale", "cod fiscale", "cod fisc", "cf", "c.f.", "fiscal code", ...DocumentWords.tax],
    shapes: [
      {
        pattern: /[A-Z]{6}[0-9LMNP-V]{2}[ABCDEHLMPRST][0-9LMNP-V]{2}[A-MZ][0-9LMNP-V]{3}[A-Z]/,
        confidence: 0.95,
        check: isFiscalCode
      },
      // In the groups of the card: name, date, place and check.
      {
        pattern: /[A-Z]{3}([ -])[A-Z]{3}\1[0-9LMNP-V]{2}[ABCDEHLMPRST][0-9LMNP-V]{2}\1[A-MZ][0-9LMNP-V]{3}\1?[A-Z]/,
        confidence: 0.95,
        check: isFiscalCode
      },
      // Companies, and people for whom the code is provisional.
      { pattern: /\d{11}/, confidence: 0.2, inContext: 0.85, check: isItalianVat }
    ]
  }),
  NationalId.make({
    type: "IT_VAT_CODE",
    maxLength: 22,
    context: ["piva", "partita iva", "p.iva", "p. iva", "pi", ...DocumentWords.vat],
    shapes: [
      {
        pattern: /\d(?:[ _]?\d){10}/,
        confidence: 0.5,
        check: isItalianVat
      },
      {
        pattern: /IT-?\d(?:[ _]?\d){10}/,
        confidence: 0.9,
        check: (value) => isItalianVat(value.slice(2))
      },
      { pattern: /IT \d(?:[ _]?\d){10}/, confidence: 0.3, check: (value) => isItalianVat(value.slice(2)) },
      {
        pattern: /IT \d(?:[ _]?\d){10}/,
        confidence: 0.9,
        check: (value) => isItalianVat(value.slice(2)),
        exact: true
      }
    ]
  }),
  NationalId.make({
    type: "IT_DRIVER_LICENSE",
    maxLength: 10,
    context: ["licenza*", ...DocumentWords.drivingLicense],
    shapes: [
      { pattern: /U1[B-DF-HJ-NPR-Z0-9]{7}[A-Z]/, confidence: 0.6 },
      { pattern: /[A-Z]{2}\d{7}[A-Z]/, confidence: 0.35 }
    ]
  }),
  NationalId.make({
    type: "IT_PASSPORT",
    maxLength: 9,
    needs: { digits: 7 },
    context: DocumentWords.passport,
    shapes: [{ pattern: /[A-Z]{2}\d{7}/, confidence: 0.3 }]
  }),
  NationalId.make({
    type: "IT_IDENTITY_CARD",
    maxLength: 10,
    needs: { digits: 5 },
    context: ["carta identità", "documento", "identità", "cie", ...DocumentWords.identity],
    shapes: [{ pattern: /[A-Z]{2} ?\d{7}|\d{7}[A-Z]{2}|[A-Z]{2}\d{5}[A-Z]{2}/, confidence: 0.3 }]
  })
]

const isPesel = (digits: string): boolean => {
  const month = Number(digits.slice(2, 4))
  const century = [1900, 2000, 2100, 2200, 1800][Math.floor(month / 20)]!
  return (
    NationalId.isDay(month % 20, Number(digits.slice(4, 6)), century + Number(digits.slice(0, 2))) &&
    NationalId.weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0
  )
}

/**
 * @since 0.1.0
 * @category entities
 */
export const poland: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "PL_PESEL",
    maxLength: 11,
    needs: { digits: 11 },
    context: ["pesel*", "numer ewidencyjny", "ewidencyjny", ...DocumentWords.identity],
    shapes: [
      // Birth dates from 1900 to 2099; other centuries encode the month differently.
      { pattern: /\d{2}[0-3]\d{8}/, confidence: 0.6, check: isPesel },
      { pattern: /\d{11}/, confidence: 0.4, check: isPesel }
    ]
  })
]

const isPersonNumber = (value: string): boolean => {
  const digits = value.slice(-10)
  const day = Number(digits.slice(4, 6))
  const year = value.length === 12 ? Number(value.slice(0, 4)) : undefined
  return (
    NationalId.isVaried(digits) &&
    // Coordination numbers count the day from 61.
    NationalId.isDay(Number(digits.slice(2, 4)), day > 60 ? day - 60 : day, year) &&
    isLuhn(digits)
  )
}

const isOrganisation = (value: string): boolean => {
  const digits = value.slice(-10)
  return NationalId.isVaried(digits) && isLuhn(digits)
}

/**
 * @since 0.1.0
 * @category entities
 */
export const sweden: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "SE_PERSONNUMMER",
    maxLength: 13,
    needs: { digits: 10 },
    context: ["personnr", "pnr", "samordningsnummer*", "swedish id", "personal identity", ...DocumentWords.identity],
    shapes: [
      { pattern: /(?:1[89]|20)\d{6}[-+ ]?\d{4}/, confidence: 0.75, check: isPersonNumber },
      { pattern: /\d{6}[-+ ]?\d{4}/, confidence: 0.6, check: isPersonNumber }
    ]
  }),
  NationalId.make({
    type: "SE_ORGANISATIONSNUMMER",
    maxLength: 18,
    needs: { digits: 10 },
    context: ["organisationsnummer*", "orgnr", "org nr", "org.nr", "organization number", ...DocumentWords.company],
    shapes: [
      { pattern: /(?:16)?[1-35-9]\d[2-9]\d{3}-?\d{4}/, confidence: 0.5, check: isOrganisation },
      // The number for value added tax.
      {
        pattern: /SE-?[1-35-9]\d[2-9]\d{3}[ -]?\d{4}[ -]?01/,
        confidence: 0.9,
        check: (value) => isOrganisation(value.slice(2, -2))
      },
      {
        pattern: /SE [1-35-9]\d[2-9]\d{3}[ -]?\d{4}[ -]?01/,
        confidence: 0.9,
        check: (value) => isOrganisation(value.slice(2, -2)),
        exact: true
      }
    ]
  })
]

const isTurkish = (digits: string): boolean => {
  const odd = NationalId.weighted(digits, [1, 0, 1, 0, 1, 0, 1, 0, 1])
  const even = NationalId.weighted(digits, [0, 1, 0, 1, 0, 1, 0, 1])
  const tenth = (((odd * 7 - even) % 10) + 10) % 10
  return tenth === Number(digits[9]) && (odd + even + tenth) % 10 === Number(digits[10])
}

/**
 * @since 0.1.0
 * @category entities
 */
export const turkey: ReadonlyArray<PiiEntity.PiiEntity> = [
  NationalId.make({
    type: "TR_NATIONAL_ID",
    maxLength: 14,
    needs: { digits: 11 },
    context: ["tc*", "t.c.", "kimlik*", "tckn", "vatandaşlık*", "nüfus*", ...DocumentWords.identity],
    shapes: [{ pattern: /[1-9]\d{10}|[1-9]\d{2}([ -])\d{3}\1\d{3}\1\d{2}/, confidence: 0.7, check: isTurkish }]
  }),
  NationalId.make({
    type: "TR_LICENSE_PLATE",
    maxLength: 12,
    context: ["plaka*", "araç", "arac", "trafik", "ruhsat", ...DocumentWords.plate],
    shapes: [
      {
        pattern:
          /(?:0[1-9]|[1-7]\d|8[01])[ -]?(?:[A-PR-VYZ][ -]?\d{4,5}|[A-PR-VYZ]{2}[ -]?\d{3,4}|[A-PR-VYZ]{3}[ -]?\d{2,3})/,
        confidence: 0.4
      }
    ]
  })
]
