/**
 * Scorers of data in outputs: JSON, numbers, and values of a schema.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import * as AllIssues from "../../internal/text/AllIssues.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as JsonSchemaValidator from "../../tool/definition/JsonSchemaValidator.js"
import * as Scorer from "./Scorer.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface JsonOptions {
  /** The name of the scorer. */
  readonly name?: string | undefined
  /**
   * Whether JSON is also read inside of a sentence or a block of code, and repaired where it is nearly JSON. False by
   * default: the whole text is JSON.
   */
  readonly lenient?: boolean | undefined
}

/** A text as the JSON that it is; any other value as it is. */
const dataOf = (value: unknown, lenient: boolean | undefined): Either.Either<unknown, string> => {
  if (typeof value !== "string") return Either.right(value)
  if (lenient === true) return JsonText.read(value)
  try {
    return Either.right(JSON.parse(value))
  } catch {
    return Either.left("it is not JSON")
  }
}

const canonical = (value: unknown): Either.Either<string, string> =>
  Either.try({ try: () => CanonicalJson.stringify(value), catch: () => "it is cyclic or too deep" })

/**
 * 1 if the output is the same JSON as what was expected, whatever the order of keys and the space between. Texts are
 * read as JSON; other values are data. Lists are equal in the same order only. An output that is no JSON scores 0.
 *
 * @since 0.1.0
 * @category constructors
 */
export const json = (options: JsonOptions = {}): Scorer.Scorer<unknown, unknown, unknown> =>
  Scorer.makeEffect(options.name ?? "json", ({ expected, output }) =>
    Effect.gen(function* () {
      const wanted = yield* Either.mapLeft(
        Either.flatMap(dataOf(expected, false), canonical),
        (reason) => `what is expected has no JSON: ${reason}`
      )
      return Either.match(Either.flatMap(dataOf(output, options.lenient), canonical), {
        onLeft: (reason) => ({ value: 0, reason }),
        onRight: (found) => ({ value: found === wanted ? 1 : 0 })
      })
    })
  )

/**
 * 1 if the output fits a JSON Schema of draft-07 or 2020-12; the reason names what does not. Texts are read as JSON.
 * Formats are not checked. A schema that does not compile throws a `TypeError`, because scorers are constants.
 *
 * @since 0.1.0
 * @category constructors
 */
export const jsonSchema = (schema: JsonSchema, options: JsonOptions = {}): Scorer.Scorer<unknown, unknown, unknown> => {
  const { validate } = Either.getOrThrowWith(
    JsonSchemaValidator.compileAny(schema),
    (reason) => new TypeError(`DataScorer.jsonSchema: ${reason}`)
  )
  return Scorer.make(options.name ?? "jsonSchema", ({ output }) =>
    Either.match(dataOf(output, options.lenient), {
      onLeft: (reason) => ({ value: 0, reason }),
      onRight: (data) => {
        const issues = validate(data)
        if (issues.length === 0) return { value: 1 }
        return {
          value: 0,
          reason: issues.map(({ message, path }) => `${path === "" ? "it" : path} ${message}`).join("; ")
        }
      }
    })
  )
}

/**
 * 1 if a Schema decodes the output; the reason names what does not fit. A text is read as JSON first if `json` says so,
 * and is the value itself by default.
 *
 * @since 0.1.0
 * @category constructors
 */
export const schema = <A, I>(
  schema: Schema.Schema<A, I, never>,
  options: JsonOptions & { readonly json?: boolean | undefined } = {}
): Scorer.Scorer<unknown, unknown, unknown> => {
  const decode = AllIssues.decoder(schema)
  return Scorer.makeEffect(options.name ?? "schema", ({ output }) => {
    const data = options.json === true ? dataOf(output, options.lenient) : Either.right(output)
    return Effect.match(
      Effect.flatMap(data, (value) => Effect.mapError(decode(value), OutputSchema.explain)),
      { onFailure: (reason) => ({ value: 0, reason }), onSuccess: () => ({ value: 1 }) }
    )
  })
}

/**
 * @since 0.1.0
 * @category models
 */
export interface NumericOptions {
  /** The name of the scorer; `numeric` by default. */
  readonly name?: string | undefined
  /** How far the number may be from the expected one; 0 by default. */
  readonly absolute?: number | undefined
  /** How far it may be, as a part of the expected number; 0 by default. The larger tolerance counts. */
  readonly relative?: number | undefined
  /** Which number of a text counts: `only`, the default, wants a text with one number. */
  readonly which?: "only" | "first" | "last" | undefined
  /** What separates decimals: `.`, the default, or `,`. The other one may separate thousands. */
  readonly decimal?: "." | "," | undefined
  /** Numbers without this directly after or before them (`%`, `EUR`, `km`), but for a blank, do not count. */
  readonly unit?: string | undefined
}

const forms = {
  ".": /[-+−]?(?:\d{1,3}(?:[,'’\u00a0\u202f]\d{3})+(?![\d])|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,4})?/g,
  ",": /[-+−]?(?:\d{1,3}(?:[.'’\u00a0\u202f]\d{3})+(?![\d])|\d+)(?:,\d+)?(?:[eE][-+]?\d{1,4})?/g
}

const separators = { ".": /[,'’\u00a0\u202f]/g, ",": /[.'’\u00a0\u202f]/g }

const isLetter = (character: string): boolean => /[\p{L}\p{N}_]/u.test(character)

/** Whether a unit is directly before or after the number from one place to another, and no part of a longer word. */
const hasUnit = (text: string, from: number, to: number, unit: string): boolean => {
  const after = text[to] === " " ? to + 1 : to
  const before = text[from - 1] === " " ? from - 1 : from
  const ends = after + unit.length
  const starts = before - unit.length
  return (
    (text.startsWith(unit, after) && !(isLetter(unit.at(-1) ?? "") && isLetter(text[ends] ?? ""))) ||
    (text.startsWith(unit, starts) && !(isLetter(unit[0] ?? "") && isLetter(text[starts - 1] ?? "")))
  )
}

const read = (found: string, decimal: "." | ","): number =>
  Number(found.replace("−", "-").replace(separators[decimal], "").replace(",", "."))

/** The numbers of a text, in order. A sign counts where no letter, digit or bracket is before it. */
const numbersOf = (text: string, { decimal = ".", unit }: NumericOptions): ReadonlyArray<number> =>
  Array.from(text.matchAll(forms[decimal]), (match) => {
    const [found] = match
    const isDash = /^[-+−]/.test(found) && /[\p{L}\p{N})\]]/u.test(text[match.index - 1] ?? "")
    const from = isDash ? match.index + 1 : match.index
    const to = match.index + found.length
    return unit === undefined || hasUnit(text, from, to, unit) ? read(text.slice(from, to), decimal) : undefined
  }).filter((number) => number !== undefined)

const numberOf = (value: unknown, options: NumericOptions): Either.Either<number, string> => {
  if (typeof value === "number") return Number.isFinite(value) ? Either.right(value) : Either.left(`it is ${value}`)
  if (typeof value !== "string") return Either.left("it is neither a number nor a text")
  const numbers = numbersOf(value, options)
  const { which = "only" } = options
  const found = numbers.at(which === "last" ? -1 : 0)
  const suffix = options.unit === undefined ? "" : ` with the unit ${options.unit}`
  if (found === undefined || !Number.isFinite(found)) return Either.left(`it has no number${suffix}`)
  return which === "only" && numbers.length > 1
    ? Either.left(`it has ${numbers.length} numbers${suffix}`)
    : Either.right(found)
}

/**
 * 1 if the number of the output is the expected one within a tolerance. Numbers are values, or in texts: with a sign,
 * decimals, an exponent, and thousands in groups of three digits (`1,234,567.8`, `1'234`). Text around a number does
 * not count, nor does a unit that is not asked for. Nothing is converted: `5 km` is not `5000 m`, `50%` is 50. An
 * output without a number scores 0. Tolerances below 0 throw a `TypeError`, because scorers are constants.
 *
 * @since 0.1.0
 * @category constructors
 */
export const numeric = (options: NumericOptions = {}): Scorer.Scorer<unknown, unknown, number | string> => {
  const { absolute = 0, relative = 0, unit } = options
  if (!(absolute >= 0 && relative >= 0)) {
    throw new TypeError(`DataScorer.numeric: tolerances are ${absolute} and ${relative}: give numbers of 0 or more`)
  }
  if (unit?.trim() === "") throw new TypeError("DataScorer.numeric: the unit is blank")
  return Scorer.makeEffect(options.name ?? "numeric", ({ expected, output }) =>
    Effect.gen(function* () {
      const reference = numberOf(expected, { ...options, unit: undefined })
      const wanted = yield* Either.mapLeft(reference, (reason) => `what is expected is no number: ${reason}`)
      return Either.match(numberOf(output, options), {
        onLeft: (reason) => ({ value: 0, reason }),
        onRight: (found) => {
          const tolerance = Math.max(absolute, relative * Math.abs(wanted))
          const rounding = 4 * Number.EPSILON * Math.max(Math.abs(found), Math.abs(wanted))
          const holds = Math.abs(found - wanted) <= tolerance + rounding
          return holds ? { value: 1 } : { value: 0, reason: `it is ${found}, not ${wanted}` }
        }
      })
    })
  )
}
