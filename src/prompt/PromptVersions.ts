/**
 * Versions of prompts as data: what is on top of the prompts of the code, with a number each, names for some of them
 * such as `production`, and what changed between two. `Json` reads and writes all of it.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import { nearest } from "../internal/text/Nearest.js"
import * as CustomPrompts from "./CustomPrompts.js"
import * as DefaultPrompts from "./defaults/DefaultPrompts.js"
import * as PromptDiff from "./PromptDiff.js"
import * as PromptLibrary from "./PromptLibrary.js"
import { PromptLibraryError, type PromptTemplateError } from "./template/PromptError.js"
import type { PromptStep } from "./template/PromptStep.js"

const NAME = "effect-lexigram/prompt/PromptVersions"

const Texts = Schema.Record({ key: Schema.String, value: Schema.String })

/**
 * A version: overrides and instructions as those of a `PromptLibrary`. `hash` says what it has, `createdAt` is in
 * milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Version = Schema.Struct({
  number: Schema.Int.pipe(Schema.positive()),
  hash: Schema.String,
  overrides: Schema.Record({
    key: Schema.String,
    value: Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ system: Schema.optional(Schema.String), user: Schema.optional(Schema.String) })
    })
  }),
  instructions: Schema.optional(Schema.Union(Schema.String, Texts)),
  note: Schema.optional(Schema.String),
  createdAt: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/Version` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Version extends Schema.Schema.Type<typeof Version> {}

/**
 * Versions in ascending order, and labels with their numbers.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PromptVersions = Schema.Struct({
  versions: Schema.Array(Version),
  labels: Schema.Record({ key: Schema.String, value: Schema.Number })
}).annotations({ identifier: `${NAME}/PromptVersions` })
/**
 * @since 0.1.0
 * @category models
 */
export interface PromptVersions extends Schema.Schema.Type<typeof PromptVersions> {}

/**
 * The versions as a text of JSON, for a file or a row.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Json: Schema.Schema<PromptVersions, string> = Schema.parseJson(PromptVersions)

/**
 * No version yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: PromptVersions = { versions: [], labels: {} }

/**
 * @since 0.1.0
 * @category models
 */
export interface AddOptions extends Omit<PromptLibrary.Options, "steps"> {
  /** Why there is this version. */
  readonly note?: string | undefined
  readonly createdAt?: number | undefined
}

const contentOf = ({ instructions, overrides = {} }: Omit<PromptLibrary.Options, "steps">) => ({
  overrides,
  ...(instructions === undefined ? {} : { instructions })
})

/**
 * Adds a version, and gives its number. One that has the same as another is that one: nothing is added.
 *
 * @since 0.1.0
 * @category combinators
 */
export const add = (
  self: PromptVersions,
  { createdAt, note, ...options }: AddOptions
): { readonly versions: PromptVersions; readonly number: number } => {
  const content = contentOf(options)
  const hash = CanonicalJson.hash(content).slice(0, 16)
  const known = self.versions.find((version) => version.hash === hash)
  if (known !== undefined) return { versions: self, number: known.number }
  const number = (self.versions.at(-1)?.number ?? 0) + 1
  const version: Version = {
    number,
    hash,
    ...content,
    ...(note === undefined ? {} : { note }),
    ...(createdAt === undefined ? {} : { createdAt })
  }
  return { versions: { ...self, versions: [...self.versions, version] }, number }
}

const unknown = (self: PromptVersions, which: string | number): PromptLibraryError => {
  const similar = typeof which === "string" ? nearest(which, Object.keys(self.labels)) : undefined
  const last = self.versions.at(-1)?.number
  return new PromptLibraryError({
    where: String(which).slice(0, 128),
    message: `There is no version ${PromptLibrary.quote(String(which))} of the prompts`,
    hint:
      similar !== undefined
        ? `Did you mean ${similar}?`
        : last === undefined
          ? "Add a version first"
          : `Versions are from ${self.versions[0]?.number} to ${last}; labels: ${Object.keys(self.labels).join(", ") || "none"}`
  })
}

/**
 * The version with a number or a label.
 *
 * @since 0.1.0
 * @category accessors
 */
export const get = (self: PromptVersions, which: string | number): Either.Either<Version, PromptLibraryError> => {
  const number = typeof which === "number" ? which : Object.hasOwn(self.labels, which) ? self.labels[which] : undefined
  const version = self.versions.find((one) => one.number === number)
  return version === undefined ? Either.left(unknown(self, which)) : Either.right(version)
}

/**
 * Gives a version a label, such as `production`, or moves it there.
 *
 * @since 0.1.0
 * @category combinators
 */
export const label = (
  self: PromptVersions,
  name: string,
  number: number
): Either.Either<PromptVersions, PromptLibraryError> =>
  Either.map(get(self, number), () => ({
    ...self,
    labels: Object.fromEntries([...Object.entries(self.labels).filter(([known]) => known !== name), [name, number]])
  }))

/**
 * The prompts of a version, on top of the default ones and of the steps of own patterns.
 *
 * @since 0.1.0
 * @category conversions
 */
export const library = (
  self: PromptVersions,
  which: string | number,
  steps: ReadonlyArray<PromptStep> = []
): Either.Either<PromptLibrary.Service, PromptTemplateError | PromptLibraryError> =>
  Either.flatMap(get(self, which), (version) => CustomPrompts.make({ ...contentOf(version), steps }))

/**
 * Every prompt that a library has in use, those of the code included.
 *
 * @since 0.1.0
 * @category conversions
 */
export const contentOfLibrary = (library: PromptLibrary.Service): Pick<Version, "overrides" | "instructions"> => {
  const overrides = new Map<string, Map<string, PromptLibrary.Rendered>>()
  const instructions = new Map<string, string>()
  for (const step of [...DefaultPrompts.steps, ...library.steps]) {
    const steps = overrides.get(step.pattern) ?? new Map<string, PromptLibrary.Rendered>()
    overrides.set(step.pattern, steps.set(step.name, library.sources(step)))
    const text = library.instructions(step.pattern).slice(PromptLibrary.INSTRUCTIONS_HEADING.length).trimStart()
    if (text !== "") instructions.set(step.pattern, text)
  }
  return {
    overrides: Object.fromEntries(Array.from(overrides, ([pattern, steps]) => [pattern, Object.fromEntries(steps)])),
    ...(instructions.size === 0 ? {} : { instructions: Object.fromEntries(instructions) })
  }
}

/**
 * What changed in a place: the half of a step (`ReActAgent/Step/system`), or the instructions of a pattern. A text that
 * one of the two versions does not have is empty there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly where: string
  readonly lines: ReadonlyArray<{ readonly kind: "same" | "removed" | "added"; readonly text: string }>
}

/** The texts of a version by their places. */
const textsOf = ({ instructions, overrides }: Version): ReadonlyMap<string, string> =>
  new Map([
    ...Object.entries(overrides).flatMap(([pattern, steps]) =>
      Object.entries(steps).flatMap(([step, halves]) =>
        Object.entries(halves).flatMap(
          ([half, text]): ReadonlyArray<readonly [string, string]> =>
            text === undefined ? [] : [[`${PromptLibrary.keyOf(pattern, step)}/${half}`, text]]
        )
      )
    ),
    ...(typeof instructions === "string"
      ? [["instructions", instructions] as const]
      : Object.entries(instructions ?? {}).map(([pattern, text]) => [`${pattern} instructions`, text] as const))
  ])

/**
 * What changed from one version to another, place by place, each with all of its lines.
 *
 * @since 0.1.0
 * @category combinators
 */
export const diff = (before: Version, after: Version): ReadonlyArray<Change> => {
  const [old, next] = [textsOf(before), textsOf(after)]
  return Array.from(new Set([...old.keys(), ...next.keys()]))
    .sort()
    .filter((where) => old.get(where) !== next.get(where))
    .map((where) => {
      const [text, other] = [old.get(where), next.get(where)]
      const all = (kind: "added" | "removed", whole: string) => whole.split("\n").map((line) => ({ kind, text: line }))
      return {
        where,
        lines:
          text === undefined
            ? all("added", other ?? "")
            : other === undefined
              ? all("removed", text)
              : PromptDiff.lines(text, other)
      }
    })
}

const marks = { same: " ", removed: "-", added: "+" }

/**
 * Changes as a text: each place with its lines, marked by `+`, `-` or a space.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = (changes: ReadonlyArray<Change>): string =>
  changes
    .map(({ lines, where }) => `${where}\n${lines.map(({ kind, text }) => `${marks[kind]}${text}`).join("\n")}\n`)
    .join("\n")
