/**
 * Building blocks of national identifier recognizers: whole-word matching, common check digits, date validation.
 *
 * @private
 * @since 0.1.0
 */
import * as DocumentWords from "./DocumentWords.js"
import * as FoldedText from "./FoldedText.js"
import * as PiiEntity from "./PiiEntity.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Shape {
  /** Bounded, without borders: it matches whole words only, case-insensitively unless `exact`. */
  readonly pattern: RegExp
  readonly confidence: number
  /** Default: 0.95 with a `check`, otherwise 0.85. */
  readonly inContext?: number | undefined
  /** Receives the value in capitals without separators. */
  readonly check?: ((value: string) => boolean) | undefined
  /** Case-sensitive. */
  readonly exact?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly type: string
  /** In visible characters. */
  readonly maxLength: number
  readonly needs?: PiiEntity.Needs | undefined
  readonly context: ReadonlyArray<string>
  readonly shapes: ReadonlyArray<Shape>
}

// What is counted or paid behind a number: then it is a quantity.
const units =
  "%|\\$|£|eur|euros?|usd|gbp|chf|dollars?|pounds?|people|persons?|users?|visitors?|customers?|times|bytes|[kmg]b|rows|lines|" +
  "items|pieces|entries|requests|ms|seconds?|minutes|hours|days|years|km|kg|menschen|personen|mal|stück|tage|jahre|" +
  "personnes|fois|jours|ans|personas|veces|días|años|persone|volte|giorni|anni"

const quantity = `(?!(?<=[0-9])[ ]?(?:${units})(?![\\p{L}\\p{N}_]))`

// Allowance for invisible characters between the visible ones.
const invisible = 8

// "Order number: ", "Tracking number is ".
const againstBefore = 14

/** Confidence from which a shape counts whatever stands before it. */
const certain = 0.6

const isBare = /^[0-9A-Z]*$/

/** Returns only the letters and digits, in capitals. */
const bare = (value: string): string => {
  if (isBare.test(value)) return value
  let result = ""
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index)
    if ((code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code >= 192) {
      result += value[index]
    }
  }
  return result.toUpperCase()
}

// Caches the last text: all recognizers read the same text one after another.
let lastText = ""
let lastNarrow = ""

/** The shapes contain no character beyond Latin-1. */
const narrowing =
  (find: PiiEntity.Find): PiiEntity.Find =>
  (text) => {
    if (text !== lastText) {
      lastText = text
      lastNarrow = FoldedText.narrow(text)
    }
    return find(lastNarrow)
  }

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): PiiEntity.PiiEntity => {
  const entity = PiiEntity.fromPatterns({
    type: options.type,
    maxLength: options.maxLength + invisible,
    around: 12,
    standsAlone: true,
    needs: options.needs,
    context: options.context,
    against: DocumentWords.other,
    againstBefore,
    patterns: options.shapes.map(({ check, confidence, exact, inContext, pattern }) => ({
      pattern: new RegExp(
        `(?<![\\p{L}\\p{N}_])(?:${pattern.source})(?![\\p{L}\\p{N}_])${confidence < certain ? quantity : ""}`,
        exact === true ? "u" : "iu"
      ),
      confidence,
      // No word makes a doubt of what few texts pass.
      outOfContext: confidence >= certain ? confidence : undefined,
      inContext: inContext ?? (check === undefined ? 0.85 : 0.95),
      validate: check === undefined ? undefined : (value) => check(bare(value))
    }))
  })
  return {
    ...entity,
    find: narrowing(entity.find),
    finders: entity.finders?.map((finder) => ({ ...finder, find: narrowing(finder.find) }))
  }
}

/**
 * `0000000000` passes most checks and is never issued.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isVaried = (digits: string): boolean => {
  for (let index = 1; index < digits.length; index++) {
    if (digits.charCodeAt(index) !== digits.charCodeAt(0)) return true
  }
  return false
}

/**
 * Weighted sum of the digits, with one weight per digit.
 *
 * @since 0.1.0
 * @category checks
 */
export const weighted = (digits: string, weights: ReadonlyArray<number>): number => {
  let sum = 0
  for (let index = 0; index < weights.length; index++) sum += (digits.charCodeAt(index) - 48) * weights[index]!
  return sum
}

/**
 * Sum of the digits of the products; with the weights 1 and 2 this is the Luhn sum.
 *
 * @since 0.1.0
 * @category checks
 */
export const crossSum = (digits: string, weights: ReadonlyArray<number>): number => {
  let sum = 0
  for (let index = 0; index < weights.length; index++) {
    const product = (digits.charCodeAt(index) - 48) * weights[index]!
    sum += Math.floor(product / 10) + (product % 10)
  }
  return sum
}

/**
 * Replaces a letter by two digits, `A` by `01`.
 *
 * @since 0.1.0
 * @category checks
 */
export const spelled = (value: string): string =>
  value.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 64).padStart(2, "0"))

/**
 * ISO 7064, MOD 11,10: the last digit checks the others.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isMod11And10 = (digits: string): boolean => {
  let product = 10
  for (let index = 0; index < digits.length - 1; index++) {
    const sum = (digits.charCodeAt(index) - 48 + product) % 10
    product = ((sum === 0 ? 10 : sum) * 2) % 11
  }
  return (11 - product) % 10 === digits.charCodeAt(digits.length - 1) - 48
}

const verhoeffStep = "1576283094"

// Multiplies in the dihedral group of ten elements: 0 to 4 rotate, 5 to 9 reflect.
const dihedral = (a: number, b: number): number => {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b - 5) % 5)
  return b < 5 ? 5 + ((a - b + 5) % 5) : (a - b + 5) % 5
}

/**
 * Verifies a Verhoeff check digit, the last one.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isVerhoeff = (digits: string): boolean => {
  let check = 0
  for (let index = digits.length - 1, place = 0; index >= 0; index--, place = (place + 1) % 8) {
    let digit = digits.charCodeAt(index) - 48
    for (let times = 0; times < place; times++) digit = verhoeffStep.charCodeAt(digit) - 48
    check = dihedral(check, digit)
  }
  return check === 0
}

/**
 * True if the month has this day; February 29 counts when the year is unknown.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isDay = (month: number, day: number, year?: number): boolean => {
  if (month < 1 || month > 12 || day < 1) return false
  if (month !== 2) return day <= (month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31)
  if (year === undefined) return day <= 29
  return day <= (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28)
}
