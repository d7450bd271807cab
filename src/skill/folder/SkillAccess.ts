/**
 * Reads files of a skill's folder, and nothing outside it.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { nearest } from "../../internal/text/Nearest.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type { LoadedSkill } from "../definition/SkillFile.js"

/**
 * A file or action of a skill is not available.
 *
 * - `Outside`: the path leaves the folder, or is not a plain path below it
 * - `NotFound`: the skill has no such file
 * - `NotFile`: it is a folder, a link, a device or the like
 * - `TooLarge`: it exceeds the size limit
 * - `NotText`: it is not UTF-8 text
 * - `NotActive`: the skill has not been activated
 * - `Changed`: the name refers to another skill now, or the folder can no longer be read
 * - `Unreadable`: reading failed
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillAccessError extends ErrorCode.TaggedError<SkillAccessError>(
  "effect-lexigram/skill/SkillAccess/SkillAccessError"
)("SkillAccessError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_115"),
  skillName: Schema.String,
  path: Schema.optional(Schema.String),
  reason: Schema.Literal("Outside", "NotFound", "NotFile", "TooLarge", "NotText", "NotActive", "Changed", "Unreadable")
}) {}

/**
 * Maximum bytes read of a file: 1 MiB.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_BYTES = 1_048_576

const MAX_PATH = 1024

const safeText = (text: string): string => VisibleText.visible(text.slice(0, 200))

const failure = (
  skill: LoadedSkill,
  path: string,
  reason: SkillAccessError["reason"],
  message: string,
  more?: { readonly hint?: string | undefined; readonly cause?: unknown }
): SkillAccessError =>
  new SkillAccessError({
    skillName: skill.file.name,
    path: safeText(path),
    reason,
    message: `"${safeText(path)}" of the skill "${safeText(skill.file.name)}" ${message}`,
    ...(more?.hint === undefined ? {} : { hint: more.hint }),
    ...(more?.cause === undefined ? {} : { cause: more.cause })
  })

/** Names and `/` on every platform: a drive, a stream (`a:b`) or a backslash is not part of a name. */
const isPlain = (path: string): boolean =>
  path.length <= MAX_PATH &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a NUL ends the path for the system
  !/[\u0000-\u001f\u007f\\:]/.test(path) &&
  path.split("/").every((name) => name !== "" && name !== "." && name !== "..")

const absent = (skill: LoadedSkill, path: string): SkillAccessError => {
  if (path === "SKILL.md" || path === "skill.md")
    return failure(skill, path, "NotFound", "is read by activating the skill", { hint: "Activate the skill" })
  const similar = nearest(path, skill.files)
  const hint =
    skill.files.length === 0
      ? "The skill has no files"
      : `${similar === undefined ? "" : `Did you mean "${safeText(similar)}"? `}It has ${skill.files
          .slice(0, 20)
          .map(safeText)
          .join(", ")}${skill.files.length > 20 ? ` and ${skill.files.length - 20} more` : ""}`
  return failure(skill, path, "NotFound", "does not exist", { hint })
}

const unreadable = (skill: LoadedSkill, path: string, error: PlatformError): SkillAccessError =>
  error._tag === "SystemError" && error.reason === "NotFound"
    ? absent(skill, path)
    : failure(skill, path, "Unreadable", "cannot be read", { cause: error })

/**
 * The absolute path of a file of the skill: listed, below the folder, reached without a link, and a regular file.
 *
 * @since 0.1.0
 * @category constructors
 */
export const locate = (
  skill: LoadedSkill,
  path: string
): Effect.Effect<string, SkillAccessError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    if (!isPlain(path)) {
      return yield* failure(skill, path, "Outside", "is no path below its folder", {
        hint: `Paths are relative to the skill's folder, with "/" and without ".."`
      })
    }
    if (!skill.files.includes(path)) return yield* absent(skill, path)
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const file = paths.join(skill.directory, ...path.split("/"))
    const real = yield* Effect.mapError(fs.realPath(file), (error) => unreadable(skill, path, error))
    if (real !== file) return yield* failure(skill, path, "NotFile", "is reached over a link")
    const { type } = yield* Effect.mapError(fs.stat(file), (error) => unreadable(skill, path, error))
    // Opening a special file can block forever.
    if (type !== "File") return yield* failure(skill, path, "NotFile", "is no file")
    return file
  })

const sameFile = (a: FileSystem.File.Info, b: FileSystem.File.Info): boolean =>
  a.dev === b.dev && Option.getOrUndefined(a.ino) === Option.getOrUndefined(b.ino)

const contentOf = (file: FileSystem.File, maxBytes: number): Effect.Effect<Uint8Array | undefined, PlatformError> =>
  Effect.gen(function* () {
    const pieces: Array<Uint8Array> = []
    let length = 0
    // Reads one byte more than allowed, to notice a file that grows.
    while (length <= maxBytes) {
      const piece = yield* file.readAlloc(Math.min(65_536, maxBytes + 1 - length))
      if (Option.isNone(piece)) return Buffer.concat(pieces)
      pieces.push(piece.value)
      length += piece.value.length
    }
    return undefined
  })

/**
 * The text of a file of the skill. The opened file is checked to be the one at the path, so that a file moved into its
 * place meanwhile is not read instead.
 *
 * @example
 * ```ts
 * import { SkillAccess, SkillFileReader } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * // Requires FileSystem and Path.
 * const guide = Effect.flatMap(SkillFileReader.load("./skills/refunds"), (skill) =>
 *   SkillAccess.readText(skill, "references/guide.md", { maxBytes: 64 * 1024 })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const readText = (
  skill: LoadedSkill,
  path: string,
  options?: { readonly maxBytes?: number | undefined }
): Effect.Effect<string, SkillAccessError, FileSystem.FileSystem | Path.Path> => {
  const maxBytes = options?.maxBytes ?? MAX_BYTES
  const tooLarge = () =>
    failure(skill, path, "TooLarge", `is larger than ${maxBytes} bytes`, {
      hint: "Continue without it, or run a script"
    })
  return Effect.gen(function* () {
    const located = yield* locate(skill, path)
    const fs = yield* FileSystem.FileSystem
    const bytes = yield* Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(located, { flag: "r" })
        const opened = yield* file.stat
        yield* locate(skill, path)
        if (opened.type !== "File" || !sameFile(opened, yield* fs.stat(located))) {
          return yield* failure(skill, path, "NotFile", "was put in the place of another while it was opened")
        }
        return Number(opened.size) > maxBytes ? undefined : yield* contentOf(file, maxBytes)
      })
    ).pipe(Effect.mapError((error) => (error._tag === "SkillAccessError" ? error : unreadable(skill, path, error))))
    if (bytes === undefined) return yield* tooLarge()
    const text = decoded(bytes)
    if (text === undefined || text.includes("\u0000")) {
      return yield* failure(skill, path, "NotText", `is no text (${bytes.length} bytes)`, {
        hint: "Only text can be read; a script of the skill may be able to process it"
      })
    }
    return text
  })
}

const decoded = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
