/**
 * The lock file of skills: accepted skills with their content hashes, as canonical JSON.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { LoadedSkill } from "../definition/SkillFile.js"
import * as SkillText from "../definition/SkillText.js"
import { SkillTrustError } from "./SkillTrust.js"

const NAME = "effect-lexigram/skill/SkillLockFile"

/**
 * An accepted skill.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Pin = Schema.Struct({
  name: Schema.String,
  /** The skill's folder: relative to the lock file's folder, with `/`, if it is below that; otherwise absolute. */
  path: Schema.String,
  /** SHA-256 over all files of the folder, hexadecimal. */
  hash: Schema.String,
  /** The files at acceptance, to report changes. */
  files: Schema.Array(Schema.String),
  /** As written in the file; absent if it named none. */
  allowedTools: Schema.optional(Schema.Array(Schema.String))
}).annotations({ identifier: `${NAME}/Pin` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Pin extends Schema.Schema.Type<typeof Pin> {}

/**
 * The contents of a lock file.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Lock = Schema.Struct({ version: Schema.Literal(1), skills: Schema.Array(Pin) }).annotations({
  identifier: `${NAME}/Lock`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Lock extends Schema.Schema.Type<typeof Lock> {}

const decodeLock = Schema.decodeUnknownEither(Lock, { onExcessProperty: "error" })

/** Compares by UTF-16 unit, whatever the locale. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** JSON text contains no raw line ends, so the key is unique. */
const keyOf = ({ name, path }: { readonly name: string; readonly path: string }): string => JSON.stringify([name, path])

/**
 * Formats a lock: the same text for the same skills, whatever their order.
 *
 * @since 0.1.0
 * @category conversions
 */
export const format = (lock: Lock): string => {
  const skills = [...lock.skills]
    .sort((a, b) => compare(a.name, b.name) || compare(a.path, b.path))
    .map(({ allowedTools, files, hash, name, path }) => ({
      name,
      path,
      hash,
      files: [...files].sort(compare),
      ...(allowedTools === undefined ? {} : { allowedTools })
    }))
  return `${JSON.stringify({ version: 1, skills }, null, 2)}\n`
}

/**
 * The lock in a file, or why it is invalid.
 *
 * @example
 * ```ts
 * import * as FileSystem from "@effect/platform/FileSystem"
 * import { SkillLockFile } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Either from "effect/Either"
 *
 * const accepted = Effect.gen(function* () {
 *   const fs = yield* FileSystem.FileSystem
 *   const lock = SkillLockFile.parse(yield* fs.readFileString("skills.lock.json"))
 *   return Either.map(lock, ({ skills }) => skills.map(({ hash, name }) => `${name} ${hash.slice(0, 12)}`))
 * })
 * ```
 *
 * @since 0.1.0
 * @category conversions
 */
export const parse = (text: string): Either.Either<Lock, string> => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return Either.left("it is no JSON")
  }
  const lock = decodeLock(json)
  if (Either.isLeft(lock)) return Either.left("it has not the form of a lock file of version 1")
  const keys = new Set(lock.right.skills.map(keyOf))
  return keys.size === lock.right.skills.length ? Either.right(lock.right) : Either.left("a skill stands in it twice")
}

/** A writer that takes longer has died. */
const ABANDONED = Duration.seconds(30)

/** A larger file was not written by this module. */
const MAX_BYTES = 16_777_216

const LOOK_AGAIN = Duration.millis(20)

const reasons = {
  Corrupt: "is not as it was written",
  Unreadable: "cannot be read",
  Unwritable: "cannot be written",
  Busy: "is being written by another process"
} as const

const failure = (
  skill: LoadedSkill,
  path: string,
  reason: keyof typeof reasons,
  more?: { readonly detail?: string | undefined; readonly cause?: unknown; readonly hint?: string | undefined }
): SkillTrustError =>
  new SkillTrustError({
    skillName: SkillText.name(skill.file.name),
    reason,
    message: `The lock file of skills "${SkillText.name(path)}" ${reasons[reason]}${more?.detail === undefined ? "" : `: ${more.detail}`}`,
    ...(more?.hint === undefined ? {} : { hint: more.hint }),
    ...(more?.cause === undefined ? {} : { cause: more.cause })
  })

const isReason = (error: PlatformError, reason: "NotFound" | "AlreadyExists"): boolean =>
  error._tag === "SystemError" && error.reason === reason

/**
 * An open lock file. The skill in the arguments is named in errors.
 *
 * @since 0.1.0
 * @category models
 */
export interface LockFile {
  /** The current lock; empty if there is no file. */
  readonly read: (skill: LoadedSkill) => Effect.Effect<Lock, SkillTrustError>
  /** Adds a pin, or replaces the one with its name and path. */
  readonly pin: (skill: LoadedSkill, pin: Pin) => Effect.Effect<void, SkillTrustError>
}

/**
 * Opens the lock file at a path. `patience`: how long to wait while another process writes it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  fs: FileSystem.FileSystem,
  options: { readonly path: string; readonly patience: Duration.DurationInput }
): LockFile => {
  const { path } = options
  const guard = `${path}.lock`
  const patience = Duration.toMillis(options.patience)
  const abandoned = Duration.toMillis(ABANDONED)

  const read: LockFile["read"] = (skill) =>
    Effect.gen(function* () {
      const info = yield* fs.stat(path)
      if (info.type !== "File" || Number(info.size) > MAX_BYTES) {
        return yield* failure(skill, path, "Corrupt", { detail: "its size is not that of a lock file" })
      }
      const lock = parse(yield* fs.readFileString(path))
      if (Either.isRight(lock)) return lock.right
      return yield* failure(skill, path, "Corrupt", {
        detail: lock.left,
        hint: "Restore it, or remove it to be asked about all skills again"
      })
    }).pipe(
      Effect.catchAll((error) =>
        error._tag === "SkillTrustError"
          ? Effect.fail(error)
          : isReason(error, "NotFound")
            ? Effect.succeed<Lock>({ version: 1, skills: [] })
            : Effect.fail(failure(skill, path, "Unreadable", { cause: error }))
      )
    )

  /** A guard file older than any writer needs was left by a dead process. */
  const isAbandoned: Effect.Effect<boolean> = Effect.match(Effect.zip(fs.stat(guard), Clock.currentTimeMillis), {
    onFailure: () => false,
    onSuccess: ([info, now]) => Option.exists(info.mtime, (mtime) => now - mtime.getTime() > abandoned)
  })

  const busy = (skill: LoadedSkill): SkillTrustError =>
    failure(skill, path, "Busy", { hint: `If no process holds it, remove "${SkillText.name(guard)}"` })

  /** The guard names its writer: an abandoned one may have been taken over by another. */
  const isOurs = (id: string): Effect.Effect<boolean> =>
    Effect.match(fs.readFileString(guard), { onFailure: () => false, onSuccess: (holder) => holder === id })

  const acquire = (skill: LoadedSkill, id: string, waited: number): Effect.Effect<void, SkillTrustError> =>
    Effect.catchAll(fs.writeFileString(guard, id, { flag: "wx" }), (error) => {
      if (!isReason(error, "AlreadyExists")) return Effect.fail(failure(skill, path, "Unwritable", { cause: error }))
      if (waited >= patience) {
        return Effect.fail(busy(skill))
      }
      return Effect.flatMap(isAbandoned, (left) =>
        Effect.zipRight(
          left ? Effect.ignore(fs.remove(guard)) : Effect.interruptible(Effect.sleep(LOOK_AGAIN)),
          Effect.suspend(() => acquire(skill, id, waited + Duration.toMillis(LOOK_AGAIN)))
        )
      )
    })

  /** Atomic: a new file replaces the old one. */
  const write = (skill: LoadedSkill, id: string, lock: Lock): Effect.Effect<void, SkillTrustError> => {
    const temporary = `${path}.${id}.tmp`
    const bytes = new TextEncoder().encode(format(lock))
    return Effect.scoped(
      Effect.flatMap(fs.open(temporary, { flag: "wx" }), (file) => Effect.zipRight(file.writeAll(bytes), file.sync))
    ).pipe(
      Effect.zipRight(
        Effect.filterOrFail(
          isOurs(id),
          (ours) => ours,
          () => busy(skill)
        )
      ),
      Effect.zipRight(fs.rename(temporary, path)),
      Effect.mapError((error) =>
        error._tag === "SkillTrustError" ? error : failure(skill, path, "Unwritable", { cause: error })
      ),
      Effect.onError(() => Effect.ignore(fs.remove(temporary)))
    )
  }

  return {
    read,
    pin: (skill, pin) =>
      Effect.flatMap(IdGenerator.generate, (id) =>
        Effect.acquireUseRelease(
          acquire(skill, id, 0),
          () =>
            Effect.flatMap(read(skill), (lock) => {
              const key = keyOf(pin)
              return write(skill, id, {
                version: 1,
                skills: [...lock.skills.filter((one) => keyOf(one) !== key), pin]
              })
            }),
          () => Effect.flatMap(isOurs(id), (ours) => (ours ? Effect.ignore(fs.remove(guard)) : Effect.void))
        )
      )
  }
}
