/**
 * Loads national numbering plans and tells which digits can be a telephone number.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { GuardConfigurationError } from "../pipeline/GuardError.js"

/**
 * The part of a numbering plan that decides whether a number can exist.
 *
 * @since 0.1.0
 * @category models
 */
export interface NumberingPlan {
  readonly country: string
  readonly callingCode: string
  /** Prefix of the area code within the country: `0`, `1`, or empty. */
  readonly trunk: string
  /** Valid lengths in digits, without trunk prefix and calling code. */
  readonly lengths: ReadonlyArray<number>
  /** Matches a number of one of these lengths, without trunk prefix and calling code. */
  readonly number: string
}

/**
 * Loads the metadata of `libphonenumber-js`.
 *
 * @since 0.1.0
 * @category models
 */
export type LoadMetadata = () => Promise<{ readonly default: { readonly countries: object } }>

const importMetadata: LoadMetadata = () => import("libphonenumber-js/metadata.min.json")

const toPlan = ([country, fields]: [string, unknown]): NumberingPlan => {
  const data = fields as ReadonlyArray<unknown>
  return {
    country,
    callingCode: String(data[0]),
    trunk: typeof data[5] === "string" ? data[5] : "",
    lengths: data[3] as ReadonlyArray<number>,
    number: String(data[2])
  }
}

/**
 * The numbering plans of all countries. The metadata is large, so it is loaded when a recognizer of telephone numbers
 * is built. Fails when the package is not installed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const load = (
  metadata: LoadMetadata = importMetadata
): Effect.Effect<ReadonlyArray<NumberingPlan>, GuardConfigurationError> =>
  Effect.tryPromise({
    try: metadata,
    catch: (cause) =>
      new GuardConfigurationError({
        message: "The recognizer of telephone numbers cannot load the package libphonenumber-js",
        hint: "npm install libphonenumber-js, or leave PHONE out of the types",
        cause
      })
  }).pipe(Effect.map(({ default: { countries } }) => Object.entries(countries).map(toPlan)))

// No area code is 555, but invented numbers use it and readers take them for real ones.
const northAmerican = "(?=(?:[2-9](?!11|9)\\d{2}[2-9](?!11)\\d{6}|555\\d{7})$)"

/** Alternatives for the numbers of one calling code. */
export const ofCode = (callingCode: string, numbers: ReadonlyArray<string>): ReadonlyArray<string> =>
  numbers.length === 0 ? [] : [`${callingCode === "1" ? northAmerican : ""}(?:${numbers.join("|")})`]

/**
 * Builds one expression per length for all plans that may apply, so each text is tested once, however many plans there
 * are.
 */
export const byLength = (numbers: (length: number) => ReadonlyArray<string>): ((digits: string) => boolean) => {
  const known = new Map<number, RegExp | undefined>()
  return (digits) => {
    const { length } = digits
    let expression = known.get(length)
    if (expression === undefined && !known.has(length)) {
      const possible = numbers(length)
      expression = possible.length === 0 ? undefined : new RegExp(`^(?:${possible.join("|")})$`)
      known.set(length, expression)
    }
    return expression?.test(digits) ?? false
  }
}

// Countries that omit the prefix nationally too.
const withoutTrunk = new Set(["IT", "BR", "IN", "CN"])

/** Patterns of a number of this length as written within its country. */
export const atHome = (plan: NumberingPlan, length: number): ReadonlyArray<string> => {
  const { callingCode, country, lengths, trunk } = plan
  const number = ofCode(callingCode, [plan.number]).join()
  if (trunk === "") return lengths.includes(length) ? [number] : []
  const called = lengths.includes(length - trunk.length) ? [`${trunk}${number}`] : []
  return lengths.includes(length) && (trunk !== "0" || withoutTrunk.has(country))
    ? [...called, `(?!${trunk})${number}`]
    : called
}
