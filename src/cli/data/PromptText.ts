/**
 * Prompts as YAML, and out of files.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type * as PromptLibrary from "../../prompt/PromptLibrary.js"
import * as PromptVersions from "../../prompt/PromptVersions.js"

/**
 * Overrides and instructions, as `CustomPrompts.make` takes them.
 *
 * @category schemas
 */
export const Prompts = Schema.Struct({
  overrides: PromptVersions.Version.fields.overrides,
  instructions: PromptVersions.Version.fields.instructions
}).annotations({ identifier: "effect-lexigram/cli/Prompts" })

/**
 * @category models
 */
export type Prompts = typeof Prompts.Type

/**
 * Every prompt that a library has in use, those of the code included.
 *
 * @category conversions
 */
export const fromLibrary: (library: PromptLibrary.Service) => Prompts = PromptVersions.contentOfLibrary

/** Lines that a block of YAML keeps as they are: printable, with a first line that shows how far it is indented. */
const isPlain = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  !/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\p{Surrogate}\p{Cf}]/u.test(text) &&
  /^[^\s]/.test(text) &&
  /\S$/.test(text)

const scalar = (text: string, indent: string): string => {
  if (!isPlain(text)) {
    return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]|\p{Cf}/gu, (found) =>
      Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")
    )
  }
  const lines = text.split("\n").map((line) => (line === "" ? "" : `${indent}  ${line}`))
  return `|-\n${lines.join("\n")}`
}

type Tree = string | { readonly [key: string]: Tree | undefined }

const block = (tree: { readonly [key: string]: Tree | undefined }, indent: string): string =>
  Object.entries(tree)
    .map(([key, value]) => {
      if (value === undefined) return ""
      const name = `${indent}${/^[A-Za-z]\w*$/.test(key) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(key) ? key : JSON.stringify(key)}:`
      if (typeof value === "string") return `${name} ${scalar(value, indent)}\n`
      return Object.keys(value).length === 0 ? `${name} {}\n` : `${name}\n${block(value, `${indent}  `)}`
    })
    .join("")

/**
 * The prompts as YAML, with texts in blocks.
 *
 * @category conversions
 */
export const toYaml = (prompts: Prompts): string => block(prompts, "")

const decode = Schema.decodeUnknownEither(Schema.parseJson(Prompts))

/**
 * The prompts of a text of JSON.
 *
 * @category conversions
 */
export const fromJson = (text: string): Either.Either<Prompts, void> => Either.mapLeft(decode(text), () => undefined)

const decodeVersions = Schema.decodeEither(PromptVersions.Json)

/**
 * The versions of a text of JSON.
 *
 * @category conversions
 */
export const versionsFromJson = (text: string): Either.Either<PromptVersions.PromptVersions, void> =>
  Either.mapLeft(decodeVersions(text), () => undefined)

/**
 * The version with a number or a label.
 *
 * @category accessors
 */
export const versionIn = (versions: PromptVersions.PromptVersions, which: string) =>
  PromptVersions.get(versions, /^\d{1,15}$/.test(which) ? Number(which) : which)

/**
 * What changed from some prompts to others.
 *
 * @category combinators
 */
export const diff = (before: Prompts, after: Prompts): ReadonlyArray<PromptVersions.Change> =>
  PromptVersions.diff({ ...before, number: 1, hash: "" }, { ...after, number: 2, hash: "" })
