/**
 * Skills as folders: a file `SKILL.md` with what the skill is for and its instructions, beside scripts and other files.
 *
 * Reading is strict or lenient. Strict, every rule of the published format holds and all issues are told at once; YAML
 * in flow style (`[a, b]`) is accepted. Lenient, what can be used is used and the issues are warnings: only a file
 * without front matter, without YAML that can be parsed or without a description is refused. A value with a colon and
 * without quotation marks is read as the text that it is.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as FolderLook from "./FolderLook.js"
import * as SkillContent from "./SkillContent.js"
import { examine, MAX_SIZE, type Outcome } from "./SkillFileRules.js"

/**
 * A tool that a skill may use: by name, or only with arguments that match a pattern (`Bash(git:*)`).
 *
 * @since 0.1.0
 * @category models
 */
export interface AllowedTool {
  readonly name: string
  /** What stands in the parentheses. */
  readonly pattern?: string | undefined
}

/**
 * What stands in a `SKILL.md`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillFile {
  readonly name: string
  readonly description: string
  readonly license?: string | undefined
  readonly compatibility?: string | undefined
  /** A list or a map, which only the lenient reader accepts, is its JSON. */
  readonly metadata: Readonly<Record<string, string>>
  /** `undefined` when the file says nothing about tools. */
  readonly allowedTools?: ReadonlyArray<AllowedTool> | undefined
  /** What stands under the front matter: the instructions. */
  readonly body: string
}

/**
 * A skill folder that was read.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoadedSkill {
  readonly file: SkillFile
  /** Absolute, symbolic links resolved. */
  readonly directory: string
  /** Of all the files of the folder, names and contents: SHA-256, hexadecimal. */
  readonly hash: string
  /** Files below the folder other than `SKILL.md`, relative with `/`, sorted. */
  readonly files: ReadonlyArray<string>
  /** What a strict reader would refuse, one text each. */
  readonly warnings: ReadonlyArray<string>
}

/**
 * What a file or a folder does not keep.
 *
 * - `front-matter`: there is none, or it is not closed
 * - `yaml`: it cannot be parsed, is too long or too deep, or is no map
 * - `yaml-feature`: anchors, references and tags, which the format does without
 * - `duplicate-key`, `unknown-field`, `missing`, `length`
 * - `text`: a value is no text; `map`: `metadata` is no map of texts
 * - `lower-case`, `characters`, `hyphens`, `folder-name`: of the name
 * - `allowed-tools`: parentheses that do not match, or something that is no tool
 * - `size`, `encoding`: of the file; `folder`: it, or something in it, cannot be read
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
 * One thing that is wrong. `line` counts from 1.
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
 * A skill file does not keep to the format, or a skill folder cannot be read. All issues, up to 64.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillFileError extends ErrorCode.TaggedError<SkillFileError>(
  "effect-lexigram/skill/SkillFile/SkillFileError"
)("SkillFileError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_100"),
  /** The folder, where one was read. */
  directory: Schema.optional(Schema.String),
  issues: Schema.Array(Issue)
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface ParseOptions {
  /** The name of the folder the file lies in: what the skill has to be called. Not looked at unless given. */
  readonly folderName?: string | undefined
}

/**
 * How much of a folder is read.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  /** Files and folders, at most. Default 1,000. */
  readonly maxFiles?: number | undefined
  /** Of all files together. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Folders within folders. Default 16. */
  readonly maxDepth?: number | undefined
}

const plural = (count: number, one: string): string => (count === 1 ? `1 ${one}` : `${count} ${one}s`)

const failure = (issues: ReadonlyArray<Issue>, directory?: string): SkillFileError => {
  const texts = issues
    .slice(0, 8)
    .map(({ line, message }) => (line === undefined ? message : `${message} (line ${line})`))
  const more = issues.length > texts.length ? `; and ${issues.length - texts.length} more` : ""
  return new SkillFileError({
    issues,
    ...(directory === undefined ? {} : { directory }),
    message: `The skill${directory === undefined ? "" : ` in ${directory}`} has ${plural(issues.length, "issue")}: ${texts.join("; ")}${more}`,
    hint: "Correct what the issues name"
  })
}

/**
 * Reads a `SKILL.md`, strictly.
 *
 * @example
 * ```ts
 * import { SkillFile } from "effect-lexigram/skill"
 *
 * const text = `---
 * name: commit-message
 * description: Writes commit messages. Use it when changes are to be committed.
 * allowed-tools: Bash(git:*) Read
 * ---
 * Read the staged changes, then write one line.`
 *
 * const file = SkillFile.parse(text)
 * ```
 *
 * @since 0.1.0
 * @category parsing
 */
export const parse = (text: string, options?: ParseOptions | undefined): Either.Either<SkillFile, SkillFileError> => {
  const { file, issues } = examine(text, options)
  return file === undefined || issues.length > 0 ? Either.left(failure(issues)) : Either.right(file)
}

/**
 * Reads a `SKILL.md`, leniently: the issues are warnings where the file can be used all the same. Without a name the
 * folder's holds; of a key that stands there twice the first holds; values and tools that cannot be read are left out.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parseLenient = (
  text: string,
  options?: ParseOptions | undefined
): Either.Either<{ readonly file: SkillFile; readonly warnings: ReadonlyArray<Issue> }, SkillFileError> => {
  const { file, issues } = examine(text, options)
  return file === undefined ? Either.left(failure(issues)) : Either.right({ file, warnings: issues })
}

// Every reader takes a text in double quotes for a text, and its escapes are those of JSON.
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
 * The file as text. `parse` gives the same file back, if it keeps to the format.
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
 * What the file is called, in the order in which it is looked for.
 *
 * @since 0.1.0
 * @category constants
 */
export const names = ["SKILL.md", "skill.md"] as const

/** What a scan knows of a folder before it is read. */
interface Seen {
  readonly look?: FolderLook.FolderLook | undefined
  /** The real path of the folder. */
  readonly real?: string | undefined
}

const isEncoded = (bytes: Uint8Array): boolean =>
  Either.isRight(Either.try(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)))

/** Where a link within the folder leads: a real path. */
const linked = (look: FolderLook.FolderLook, path: Path.Path, root: string, target: string) =>
  look.kind(root, path.dirname(target), path.basename(target))

interface Reading {
  readonly outcome: Outcome
  readonly directory: string
  readonly content: SkillContent.Content
}

const readFolder = Effect.fnUntraced(function* (
  directory: string,
  options: (ReadOptions & Seen) | undefined
): Effect.fn.Return<Reading, SkillFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const given = path.resolve(directory)
  const unusable = (rule: Rule, message: string) => failure([{ rule, message }], given)

  const root =
    options?.real ?? (yield* Effect.mapError(fs.realPath(given), () => unusable("folder", "There is no such folder")))
  const look = options?.look ?? (yield* FolderLook.make(fs, path, root))
  const listed = yield* Effect.mapError(look.list(root), () => unusable("folder", "The folder cannot be read"))
  const name = names.find((candidate) => listed.includes(candidate))
  if (name === undefined) return yield* unusable("folder", "The folder has no SKILL.md")
  const unread = () => unusable("folder", `${name} cannot be read`)
  const kind = yield* Effect.mapError(look.kind(root, root, name), unread)
  if (kind._tag === "Outside")
    return yield* unusable("link", `${name} is a link that leaves the folder or leads nowhere`)
  const file = kind._tag === "Link" ? yield* Effect.mapError(linked(look, path, root, kind.target), unread) : kind
  if (file._tag !== "File") return yield* unusable("folder", `${name} is no file`)
  const size = yield* Effect.mapError(look.size(file.path), unread)
  // A character takes 4 bytes at most, so nothing larger can pass.
  if (size > 4 * MAX_SIZE) return yield* unusable("size", `${name} is larger than ${4 * MAX_SIZE} bytes`)
  const bytes = yield* Effect.mapError(fs.readFile(file.path), unread)
  const text = new TextDecoder().decode(bytes)
  const outcome = examine(text, { folderName: path.basename(given) })
  // Only what is no UTF-8, or says so itself, has a replacement character.
  const isUtf8 = !text.includes("\ufffd") || isEncoded(bytes)
  const content = yield* SkillContent.read(
    fs,
    path,
    root,
    {
      maxFiles: options?.maxFiles ?? 1000,
      maxBytes: options?.maxBytes ?? 32 * 1024 * 1024,
      maxDepth: options?.maxDepth ?? 16
    },
    { look, known: new Map([[file.path, bytes]]) }
  )
  const encoding: ReadonlyArray<Issue> = isUtf8 ? [] : [{ rule: "encoding", message: `${name} is not UTF-8` }]
  return {
    outcome: { ...outcome, issues: [...outcome.issues, ...encoding, ...content.problems] },
    directory: root,
    content: { ...content, files: content.files.filter((file) => file !== name) }
  }
})

const read = (
  directory: string,
  options: (ReadOptions & Seen) | undefined,
  isStrict: boolean
): Effect.Effect<LoadedSkill, SkillFileError, FileSystem.FileSystem | Path.Path> =>
  Effect.flatMap(readFolder(directory, options), ({ content, directory, outcome: { file, issues } }) =>
    file === undefined || (isStrict && issues.length > 0)
      ? Effect.fail(failure(issues, directory))
      : Effect.succeed({
          file,
          directory,
          hash: content.hash,
          files: content.files,
          warnings: issues.map(({ message }) => message)
        })
  )

/**
 * Reads a skill folder, strictly: the file, its name against the folder's, and everything that lies there.
 *
 * @since 0.1.0
 * @category reading
 */
export const validate = (
  directory: string,
  options?: ReadOptions | undefined
): Effect.Effect<LoadedSkill, SkillFileError, FileSystem.FileSystem | Path.Path> => read(directory, options, true)

/**
 * Reads a skill folder, leniently: see `parseLenient`. Links that leave the folder, and what is too much or cannot be
 * read, are warnings.
 *
 * @since 0.1.0
 * @category reading
 */
export const load = (
  directory: string,
  options?: ReadOptions | undefined
): Effect.Effect<LoadedSkill, SkillFileError, FileSystem.FileSystem | Path.Path> => read(directory, options, false)

/**
 * `load` for a folder that was looked at: nothing of it is looked at again.
 *
 * @internal
 * @since 0.1.0
 * @category reading
 */
export const loadSeen = (
  directory: string,
  options: ReadOptions | undefined,
  seen: Required<Seen>
): Effect.Effect<LoadedSkill, SkillFileError, FileSystem.FileSystem | Path.Path> =>
  read(directory, { ...options, ...seen }, false)
