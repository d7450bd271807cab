/**
 * Datasets: cases with what is expected of them, from values, JSON lines, CSV or files.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as JsonDepth from "../../internal/JsonDepth.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as CsvText from "./CsvText.js"
import { DatasetError } from "./DatasetError.js"

/**
 * One case. Its id is unique within its dataset, and has 1 to 256 characters.
 *
 * @since 0.1.0
 * @category models
 */
export interface Case<out Input = unknown, out Expected = unknown> {
  readonly id: string
  readonly input: Input
  readonly expected: Expected
  /** Names of groups of cases, for summaries. */
  readonly tags: ReadonlyArray<string>
}

/**
 * A case as it is given. Without an id, its id is its place in the dataset, from 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface Given<out Input = unknown, out Expected = unknown> {
  readonly id?: string | undefined
  readonly input: Input
  readonly expected?: Expected | undefined
  readonly tags?: ReadonlyArray<string> | undefined
}

/**
 * `version` is a hash of all cases: experiments over the same version have the same cases.
 *
 * @since 0.1.0
 * @category models
 */
export interface Dataset<out Input = unknown, out Expected = unknown> {
  readonly name: string
  /** 16 hexadecimal digits. */
  readonly version: string
  readonly cases: ReadonlyArray<Case<Input, Expected>>
}

/**
 * How rows of a text become cases.
 *
 * @since 0.1.0
 * @category models
 */
export interface TextOptions<Input, Expected> {
  readonly name: string
  readonly input: Schema.Schema<Input, any>
  readonly expected: Schema.Schema<Expected, any>
  /**
   * Takes the parts of a case out of a row. Default: its fields `id`, `input`, `expected` and `tags` (in CSV the tags
   * are separated by `|`). May throw: that is an error of the row.
   */
  readonly pick?: ((row: Readonly<Record<string, unknown>>) => Given) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CsvOptions<Input, Expected> extends TextOptions<Input, Expected> {
  /** One character. Default a comma. */
  readonly delimiter?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface FileOptions<Input, Expected> extends CsvOptions<Input, Expected> {
  /** Larger files are refused. Default 64 MiB. */
  readonly maxBytes?: number | undefined
}

/** Data of a case nests at most this deep. */
const maxDepth = 64

const shown = 256

interface Place {
  readonly dataset: string
  readonly line?: number | undefined
}

const at = ({ line }: Place, what: string) => (line === undefined ? what : `${what} in line ${line}`)

const caseError = (place: Place, which: string, message: string, hint: string) =>
  new DatasetError({ reason: "case", ...place, message: `${at(place, `Case ${which}`)}: ${message}`, hint })

/** The problem of a case, if it has one. */
const problemOf = (place: Place, one: Case): DatasetError | undefined => {
  const which = JSON.stringify(String(one.id).slice(0, shown))
  if (typeof one.id !== "string" || one.id === "" || one.id.length > shown) {
    return caseError(place, which, "its id is not valid", `An id is a text of 1 to ${shown} characters`)
  }
  if (JsonDepth.isDeeper([one.input, one.expected], maxDepth)) {
    return caseError(place, which, "its data nests too deep", `At most ${maxDepth} levels`)
  }
  return undefined
}

interface Placed<Input, Expected> {
  readonly line?: number | undefined
  readonly given: Given<Input, Expected>
}

const collect = <Input, Expected>(
  name: string,
  placed: ReadonlyArray<Placed<Input, Expected>>
): Either.Either<Dataset<Input, Expected>, DatasetError> => {
  const cases = new Map<string, Case<Input, Expected>>()
  for (const [index, { given, line }] of placed.entries()) {
    const place: Place = { dataset: name, line }
    const { expected, id = String(index + 1), input, tags = [] } = given
    // Where the expected value may be absent, its type says so.
    const one: Case<Input, Expected> = { id, input, expected: expected as Expected, tags }
    const problem = problemOf(place, one)
    if (problem !== undefined) return Either.left(problem)
    if (cases.has(id)) {
      return Either.left(
        new DatasetError({
          reason: "duplicate",
          ...place,
          message: `${at(place, `Case ${JSON.stringify(id)}`)}: another case has this id`,
          hint: "Give each case an id of its own, or none at all: then its place is its id"
        })
      )
    }
    cases.set(id, one)
  }
  return Either.right(unsafeMake(name, Array.from(cases.values())))
}

const unsafeMake = <Input, Expected>(
  name: string,
  cases: ReadonlyArray<Case<Input, Expected>>
): Dataset<Input, Expected> => ({ name, version: CanonicalJson.hash(cases).slice(0, 16), cases })

/**
 * A dataset of values.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Dataset } from "effect-lexigram/eval"
 *
 * const sums = Dataset.make("sums", [
 *   { input: "2 + 2", expected: 4 },
 *   { id: "large", input: "10 ** 3", expected: 1000, tags: ["powers"] }
 * ])
 * ```
 */
export const make = <Input, Expected = undefined>(
  name: string,
  cases: Iterable<Given<Input, Expected>>
): Effect.Effect<Dataset<Input, Expected>, DatasetError> =>
  Effect.suspend(() =>
    collect(
      name,
      Array.from(cases, (given) => ({ given }))
    )
  )

const given = (row: Readonly<Record<string, unknown>>): Given => {
  const { expected, id, input, tags } = row
  return {
    ...(id === undefined || id === "" ? {} : { id: typeof id === "number" ? String(id) : (id as string) }),
    input,
    expected,
    ...(Array.isArray(tags)
      ? { tags: tags.map(String) }
      : typeof tags === "string" && tags !== ""
        ? { tags: tags.split("|") }
        : {})
  }
}

interface Line {
  readonly line: number
  readonly row: Readonly<Record<string, unknown>>
}

const decodeRows = <Input, Expected>(
  { expected, input, name, pick = given }: TextOptions<Input, Expected>,
  rows: ReadonlyArray<Line>
): Either.Either<Dataset<Input, Expected>, DatasetError> => {
  const decodeInput = Schema.decodeUnknownEither(input)
  const decodeExpected = Schema.decodeUnknownEither(expected)
  const decodeRow = ({ line, row }: Line): Either.Either<Placed<Input, Expected>, DatasetError> =>
    Either.gen(function* () {
      const place: Place = { dataset: name, line }
      const which = `of row ${line}`
      const picked = yield* Either.try({
        try: () => pick(row),
        catch: (cause) => caseError(place, which, `\`pick\` threw: ${String(cause)}`, "Mend `pick`, or the row")
      })
      const refused = (field: string) => (error: { readonly message: string }) =>
        caseError(
          place,
          which,
          `its ${field} is not what the schema says: ${error.message.slice(0, 2000)}`,
          "Mend the row or the schema, or name the right fields by `pick`"
        )
      return {
        line,
        given: {
          id: picked.id,
          tags: picked.tags,
          input: yield* Either.mapLeft(decodeInput(picked.input), refused("input")),
          expected: yield* Either.mapLeft(decodeExpected(picked.expected), refused("expected value"))
        }
      }
    })
  return Either.flatMap(Either.all(rows.map(decodeRow)), (placed) => collect(name, placed))
}

const syntax = (dataset: string, line: number, message: string, hint: string) =>
  new DatasetError({ reason: "syntax", dataset, line, message: `Line ${line} of ${dataset}: ${message}`, hint })

const jsonLines = (name: string, text: string): Either.Either<ReadonlyArray<Line>, DatasetError> =>
  Either.all(
    text
      .replace(/^\ufeff/, "")
      .split("\n")
      .flatMap((source, index) => (source.trim() === "" ? [] : [{ line: index + 1, source }]))
      .map(({ line, source }) =>
        Either.flatMap(
          Either.try({
            try: (): unknown => JSON.parse(source),
            catch: () => syntax(name, line, "this is not JSON", "Write each case as one JSON object in one line")
          }),
          (row): Either.Either<Line, DatasetError> =>
            Predicate.isReadonlyRecord(row)
              ? Either.right({ line, row })
              : Either.left(
                  syntax(name, line, "this is no JSON object", "Write each case as one JSON object in one line")
                )
        )
      )
  )

/**
 * Reads JSON lines: an object a line. Empty lines are passed over.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromJsonl = <Input, Expected>(
  text: string,
  options: TextOptions<Input, Expected>
): Effect.Effect<Dataset<Input, Expected>, DatasetError> =>
  Effect.suspend(() => Either.flatMap(jsonLines(options.name, text), (rows) => decodeRows(options, rows)))

/**
 * Reads CSV by RFC 4180: the first line names the fields, and every field is a text. Schemas such as
 * `Schema.NumberFromString` read other values.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromCsv = <Input, Expected>(
  text: string,
  options: CsvOptions<Input, Expected>
): Effect.Effect<Dataset<Input, Expected>, DatasetError> =>
  Effect.suspend(() =>
    CsvText.read(text, options.delimiter).pipe(
      Either.mapLeft(({ line, message }) =>
        syntax(
          options.name,
          line,
          message,
          "Quote fields that have quotes, delimiters or line breaks, and double quotes"
        )
      ),
      Either.flatMap((rows) =>
        decodeRows(
          options,
          rows.map(({ fields, line }) => ({ line, row: fields }))
        )
      )
    )
  )

const fileError = (dataset: string, message: string, hint: string) =>
  new DatasetError({ reason: "file", dataset, message, hint })

/**
 * Reads a file: `.jsonl` or `.ndjson`, `.csv`, or `.tsv`, whose delimiter is a tab.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFile = <Input, Expected>(
  path: string,
  options: FileOptions<Input, Expected>
): Effect.Effect<Dataset<Input, Expected>, DatasetError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const { maxBytes = 64 * 1024 * 1024, name } = options
    const ending = /\.(jsonl|ndjson|csv|tsv)$/i.exec(path)?.[1]?.toLowerCase()
    if (ending === undefined) {
      return yield* fileError(
        name,
        `The format of ${path} is not known`,
        "End its name in .jsonl, .ndjson, .csv or .tsv"
      )
    }
    const fs = yield* FileSystem.FileSystem
    const unread = (error: PlatformError) =>
      fileError(name, `${path} cannot be read: ${error.message}`, "Check its name and its rights")
    const { size } = yield* Effect.mapError(fs.stat(path), unread)
    if (size > maxBytes) {
      return yield* fileError(
        name,
        `${path} has ${size} bytes, at most ${maxBytes} are read`,
        "Set `maxBytes`, or split it"
      )
    }
    const text = yield* Effect.mapError(fs.readFileString(path), unread)
    if (ending === "jsonl" || ending === "ndjson") return yield* fromJsonl(text, options)
    return yield* fromCsv(text, ending === "tsv" ? { delimiter: "\t", ...options } : options)
  })

/**
 * The cases that a predicate selects. The version is that of the cases that stay.
 *
 * @since 0.1.0
 * @category combinators
 */
export const filter = <Input, Expected>(
  self: Dataset<Input, Expected>,
  predicate: (one: Case<Input, Expected>) => boolean
): Dataset<Input, Expected> => unsafeMake(self.name, self.cases.filter(predicate))

/**
 * At most `size` cases, drawn by a seed, in the order of the dataset. The same seed draws the same cases.
 *
 * @since 0.1.0
 * @category combinators
 */
export const sample = <Input, Expected>(
  self: Dataset<Input, Expected>,
  size: number,
  seed: string | number
): Effect.Effect<Dataset<Input, Expected>> =>
  Effect.map(Random.shuffle(self.cases.keys()).pipe(Effect.withRandom(Random.make(seed))), (places) => {
    const drawn = new Set(Array.from(places).slice(0, Math.max(0, Math.floor(size))))
    return unsafeMake(
      self.name,
      self.cases.filter((_, index) => drawn.has(index))
    )
  })
