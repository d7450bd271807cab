/**
 * The skills `file_read` and `file_write`: files below one directory.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Skill from "../../skill/definition/Skill.js"
import * as ConfinedFiles from "./ConfinedFiles.js"

/**
 * A file was not read or written. `path` is the requested one.
 *
 * - `Configuration`: the base directory does not exist
 * - `InvalidPath`, `InvalidContent`: an impossible file name, or content that does not match its encoding
 * - `Outside`: the path leaves the base directory, by its text or by a link
 * - `NotFound`: the file, or the directory to write it to, does not exist
 * - `NotAFile`: a directory, a device, a pipe or a socket
 * - `NotText`: the file is not UTF-8
 * - `TooLarge`: the file, or the content to write, exceeds the limit
 * - `Exists`: the file exists and must not be replaced
 * - `PermissionDenied`, `System`: the system refused
 *
 * @since 0.1.0
 * @category errors
 */
export class FileAccessError extends ErrorCode.TaggedError<FileAccessError>(
  "effect-lexigram/builtin/FileSkills/FileAccessError"
)("FileAccessError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_109"),
  reason: Schema.Literal(
    "Configuration",
    "InvalidPath",
    "InvalidContent",
    "Outside",
    "NotFound",
    "NotAFile",
    "NotText",
    "TooLarge",
    "Exists",
    "PermissionDenied",
    "System"
  ),
  path: Schema.String
}) {}

/**
 * How bytes are represented as text.
 *
 * @since 0.1.0
 * @category models
 */
export type TextEncoding = "utf-8" | "base64"

const encoding = Schema.optional(
  Schema.Literal("utf-8", "base64").annotations({ description: "How the content is given: utf-8 unless set" })
)

const path = Schema.String.annotations({ description: "Relative to the base directory" })

const hints: Partial<Record<FileAccessError["reason"], string>> = {
  Configuration: "Give the skill a base directory that exists",
  InvalidContent: "Give the content as valid Base64",
  Outside: "Give a path below the base directory, relative to it",
  NotAFile: "Give the path of a regular file",
  NotText: 'Ask for it with the encoding "base64"',
  TooLarge: "The option maxBytes of the skill is the limit",
  Exists: "Write to another path"
}

const errorOf = (
  path: string,
  { message, reason }: { readonly reason: FileAccessError["reason"]; readonly message: string },
  hint: string | undefined = hints[reason]
): FileAccessError =>
  new FileAccessError({ reason, message, path: path.slice(0, 256), ...(hint === undefined ? {} : { hint }) })

const mebibyte = 1024 * 1024

/**
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  /** Nothing outside it is read, whatever links say. */
  readonly baseDirectory: string
  /** Larger files are refused. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReadParams {
  readonly path: string
  readonly encoding?: TextEncoding | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const ReadResult = Schema.Struct({
  content: Schema.String,
  path: Schema.String,
  size_bytes: Schema.NonNegativeInt
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ReadResult extends Schema.Schema.Type<typeof ReadResult> {}

const ReadFields: Schema.Schema<ReadParams, any> = Schema.Struct({ path, encoding })

const contentOf = (bytes: Uint8Array, encoding: TextEncoding): string | undefined => {
  if (encoding === "base64") return Encoding.encodeBase64(bytes)
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * The skill `file_read`: a regular file below the base directory. Links are followed as long as they stay inside.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { FileSkills } from "effect-lexigram/builtin"
 *
 * const readNotes = FileSkills.read({ baseDirectory: "./notes" })
 * const writeNotes = FileSkills.write({ baseDirectory: "./notes", makeDirectories: true })
 * ```
 */
export const read = (
  options: ReadOptions
): Skill.Skill<ReadParams, ReadResult, FileAccessError, FileSystem.FileSystem | Path.Path> => {
  const { baseDirectory, maxBytes = mebibyte } = options
  return Skill.make("file_read", {
    description: "Reads a file and gives its content and its size.",
    category: "filesystem",
    permissions: ["files.read"],
    idempotent: true,
    parameters: ReadFields,
    returns: ReadResult,
    retryable: () => false,
    handler: ({ encoding = "utf-8", path }) =>
      ConfinedFiles.read(baseDirectory, path, maxBytes).pipe(
        Effect.mapError((failure) => errorOf(path, failure)),
        Effect.flatMap((bytes): Either.Either<ReadResult, FileAccessError> => {
          const content = contentOf(bytes, encoding)
          return content === undefined
            ? Either.left(errorOf(path, { reason: "NotText", message: "The file is not UTF-8 text" }))
            : Either.right({ content, path, size_bytes: bytes.length })
        })
      )
  })
}

/**
 * @since 0.1.0
 * @category models
 */
export interface WriteOptions {
  /** Nothing outside it is written, whatever links say. */
  readonly baseDirectory: string
  /** Larger contents are refused. Default 1 MiB. */
  readonly maxBytes?: number | undefined
  /** False: existing files are never replaced. */
  readonly overwrite?: boolean | undefined
  /** Creates missing directories. Default: they must exist. */
  readonly makeDirectories?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface WriteParams {
  readonly path: string
  readonly content: string
  readonly encoding?: TextEncoding | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const WriteResult = Schema.Struct({ bytes_written: Schema.NonNegativeInt })
/**
 * @since 0.1.0
 * @category models
 */
export interface WriteResult extends Schema.Schema.Type<typeof WriteResult> {}

const WriteFields: Schema.Schema<WriteParams, any> = Schema.Struct({ path, content: Schema.String, encoding })

/** Lone surrogates have no UTF-8 form and would be read back changed. */
const bytesOf = ({ content, encoding, path }: WriteParams): Either.Either<Uint8Array, FileAccessError> =>
  encoding === "base64"
    ? Either.mapLeft(Encoding.decodeBase64(content), () =>
        errorOf(path, { reason: "InvalidContent", message: "The content is not valid Base64" })
      )
    : isWellFormed(content)
      ? Either.right(Buffer.from(content, "utf8"))
      : Either.left(
          errorOf(
            path,
            {
              reason: "InvalidContent",
              message: "The content has an unpaired surrogate: it cannot be written as UTF-8"
            },
            "Leave out what is no whole character"
          )
        )

const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

/**
 * The skill `file_write`: writes a file below the base directory atomically. If writing fails, is interrupted or
 * crashes, the previous content stays.
 *
 * @since 0.1.0
 * @category constructors
 */
export const write = (
  options: WriteOptions
): Skill.Skill<WriteParams, WriteResult, FileAccessError, FileSystem.FileSystem | Path.Path> => {
  const { baseDirectory, makeDirectories = false, maxBytes = mebibyte, overwrite = true } = options
  return Skill.make("file_write", {
    description: "Writes a text, or bytes given as Base64, to a file.",
    category: "filesystem",
    permissions: ["files.write"],
    idempotent: overwrite,
    parameters: WriteFields,
    returns: WriteResult,
    retryable: () => false,
    handler: (params) =>
      Effect.gen(function* () {
        const { path } = params
        const tooLarge = errorOf(path, { reason: "TooLarge", message: `The content is larger than ${maxBytes} bytes` })
        // Checked before decoding: neither encoding needs twice as many characters as bytes.
        if (params.content.length > 2 * maxBytes + 4) return yield* tooLarge
        const bytes = yield* bytesOf(params)
        if (bytes.length > maxBytes) return yield* tooLarge
        yield* Effect.mapError(
          ConfinedFiles.write(baseDirectory, path, bytes, { makeDirectories, overwrite }),
          (failure) => errorOf(path, failure)
        )
        return { bytes_written: bytes.length }
      })
  })
}
