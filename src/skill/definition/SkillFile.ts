/**
 * The contents of a `SKILL.md`: what the skill is for and its instructions, in a folder with scripts and other files.
 *
 * `SkillFileReader` reads strictly or leniently. Strict: every rule of the published format must hold, and all issues
 * are reported at once; YAML in flow style (`[a, b]`) is accepted. Lenient: usable parts are used and issues are
 * warnings; only a file without front matter, parsable YAML or a description is refused. An unquoted value that
 * contains a colon is read as plain text.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * A tool that a skill may use: by name, or only with arguments that match a pattern (`Bash(git:*)`).
 *
 * @since 0.1.0
 * @category models
 */
export interface AllowedTool {
  readonly name: string
  /** The text in the parentheses. */
  readonly pattern?: string | undefined
}

/**
 * The contents of a `SKILL.md`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillFile {
  readonly name: string
  readonly description: string
  readonly license?: string | undefined
  readonly compatibility?: string | undefined
  /** A list or map, which only the lenient reader accepts, is given as JSON. */
  readonly metadata: Readonly<Record<string, string>>
  /** `undefined` if the file does not mention tools. */
  readonly allowedTools?: ReadonlyArray<AllowedTool> | undefined
  /** The text below the front matter: the instructions. */
  readonly body: string
}

/**
 * A skill folder that has been read.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoadedSkill {
  readonly file: SkillFile
  /** Absolute, with symbolic links resolved. */
  readonly directory: string
  /** SHA-256 over names and contents of all files in the folder, hexadecimal. */
  readonly hash: string
  /** Files in the folder except `SKILL.md`, relative with `/`, sorted. */
  readonly files: ReadonlyArray<string>
  /** What a strict reader would refuse, one text each. */
  readonly warnings: ReadonlyArray<string>
}

/**
 * The rule that a file or folder violates.
 *
 * - `front-matter`: missing, or not closed
 * - `yaml`: cannot be parsed, is too long or too deep, or is not a map
 * - `yaml-feature`: anchors, references and tags, which the format excludes
 * - `duplicate-key`, `unknown-field`, `missing`, `length`
 * - `text`: a value is not text; `map`: `metadata` is not a map of texts
 * - `lower-case`, `characters`, `hyphens`, `folder-name`: of the name
 * - `allowed-tools`: unbalanced parentheses, or an entry that is not a tool
 * - `size`, `encoding`: of the file; `folder`: it, or an entry in it, cannot be read
 * - `link`: a symbolic link leaves the folder; `limit`: the folder holds too much
 *
 * @since 0.1.0
 * @category schemas
 */
export const Rule = Schema.Literal(
  "front-matter",
  "yaml",
  "yaml-feature",
  "duplicate-key",
  "unknown-field",
  "missing",
  "length",
  "text",
  "map",
  "lower-case",
  "characters",
  "hyphens",
  "folder-name",
  "allowed-tools",
  "size",
  "encoding",
  "folder",
  "link",
  "limit"
)

/**
 * @since 0.1.0
 * @category models
 */
export type Rule = typeof Rule.Type

/**
 * One violation. `line` counts from 1.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Issue = Schema.Struct({
  rule: Rule,
  field: Schema.optional(Schema.String),
  message: Schema.String,
  line: Schema.optional(Schema.Int)
}).annotations({ identifier: "effect-lexigram/skill/SkillFile/Issue" })

/**
 * @since 0.1.0
 * @category models
 */
export interface Issue extends Schema.Schema.Type<typeof Issue> {}

/**
 * A skill file violates the format, or a skill folder cannot be read. Lists all issues, up to 64.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillFileError extends ErrorCode.TaggedError<SkillFileError>(
  "effect-lexigram/skill/SkillFile/SkillFileError"
)("SkillFileError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_100"),
  /** The folder, if one was read. */
  directory: Schema.optional(Schema.String),
  issues: Schema.Array(Issue)
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface ParseOptions {
  /** Name of the folder that contains the file, which the skill must have. Not checked unless given. */
  readonly folderName?: string | undefined
}

// Every reader takes text in double quotes as text, and its escapes are those of JSON.
const scalar = (text: string): string =>
  /^[\p{L}][\p{L}\p{N} ,.()*/_-]*$/u.test(text) &&
  !text.endsWith(" ") &&
  !/^(y|yes|no?|on|off|true|false|null)$/i.test(text)
    ? text
    : JSON.stringify(text).replace(
        /[\x7f-\x9f\u2028\u2029\ufeff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`
      )

/**
 * The file as text. `SkillFileReader.parse` returns the same file, if it follows the format.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (file: SkillFile): string => {
  const line = (key: string, value: string | undefined): ReadonlyArray<string> =>
    value === undefined ? [] : [`${key}: ${scalar(value)}`]
  const tools = file.allowedTools?.map(({ name, pattern }) => (pattern === undefined ? name : `${name}(${pattern})`))
  const metadata = Object.entries(file.metadata)
  return [
    "---",
    ...line("name", file.name),
    ...line("description", file.description),
    ...line("license", file.license),
    ...line("compatibility", file.compatibility),
    ...line("allowed-tools", tools?.join(" ")),
    ...(metadata.length === 0
      ? []
      : ["metadata:", ...metadata.map(([key, value]) => `  ${scalar(key)}: ${scalar(value)}`)]),
    "---",
    "",
    file.body,
    ""
  ].join("\n")
}

/**
 * File names, in search order.
 *
 * @since 0.1.0
 * @category constants
 */
export const names = ["SKILL.md", "skill.md"] as const
