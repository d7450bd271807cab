/**
 * Reads `SKILL.md` files and the folders that contain them.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FolderLook from "./FolderLook.js"
import * as SkillContent from "./SkillContent.js"
import {
  type Issue,
  type LoadedSkill,
  names,
  type ParseOptions,
  type Rule,
  type SkillFile,
  SkillFileError
} from "./SkillFile.js"
import { examine, MAX_SIZE, type Outcome } from "./SkillFileRules.js"

/**
 * Limits on what is read of a folder.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  /** Files and folders, at most. Default 1,000. */
  readonly maxFiles?: number | undefined
  /** Bytes of all files together. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Nesting of folders. Default 16. */
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
    hint: "Correct the named issues"
  })
}

/**
 * Reads a `SKILL.md` strictly.
 *
 * @example
 * ```ts
 * import { SkillFileReader } from "effect-lexigram/skill"
 *
 * const text = `---
 * name: commit-message
 * description: Writes commit messages. Use it when changes are to be committed.
 * allowed-tools: Bash(git:*) Read
 * ---
 * Read the staged changes, then write one line.`
 *
 * const file = SkillFileReader.parse(text)
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
 * Reads a `SKILL.md` leniently: issues are warnings as long as the file is usable. A missing name is replaced by the
 * folder's; of a duplicate key the first value is used; unreadable values and tools are left out.
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

/** What a scan already knows about a folder. */
interface Seen {
  readonly look?: FolderLook.FolderLook | undefined
  /** The real path of the folder. */
  readonly real?: string | undefined
}

const isEncoded = (bytes: Uint8Array): boolean =>
  Either.isRight(Either.try(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)))

/** The real path a link within the folder leads to. */
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
  // A character takes at most 4 bytes, so no larger file can pass.
  if (size > 4 * MAX_SIZE) return yield* unusable("size", `${name} is larger than ${4 * MAX_SIZE} bytes`)
  const bytes = yield* Effect.mapError(fs.readFile(file.path), unread)
  const text = new TextDecoder().decode(bytes)
  const outcome = examine(text, { folderName: path.basename(given) })
  // A replacement character means invalid UTF-8, unless the file contains one itself.
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
 * Reads a skill folder strictly: the file, its name against the folder's, and every entry.
 *
 * @since 0.1.0
 * @category reading
 */
export const validate = (
  directory: string,
  options?: ReadOptions | undefined
): Effect.Effect<LoadedSkill, SkillFileError, FileSystem.FileSystem | Path.Path> => read(directory, options, true)

/**
 * Reads a skill folder leniently; see `parseLenient`. Links that leave the folder, and entries that exceed a limit or
 * cannot be read, are warnings.
 *
 * @since 0.1.0
 * @category reading
 */
export const load = (
  directory: string,
  options?: ReadOptions | undefined
): Effect.Effect<LoadedSkill, SkillFileError, FileSystem.FileSystem | Path.Path> => read(directory, options, false)

/**
 * `load` for a folder that was already examined: nothing is examined again.
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
