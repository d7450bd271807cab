/**
 * Trust that is kept in a lock file: which skill folders were accepted, and with what content. One that is new, or is no longer what was
 * accepted, is asked about before anything of it is used.
 *
 * The file is JSON, in one form for the same content, and can be kept under version control: paths below its folder are relative to it.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../domain/IdGenerator.js"
import { RunId } from "../domain/Ids.js"
import * as Captured from "../internal/Captured.js"
import * as Run from "../observability/Run.js"
import * as ApprovalGate from "../tool/ApprovalGate.js"
import * as AllowedTools from "./AllowedTools.js"
import type { LoadedSkill } from "./SkillFile.js"
import * as SkillText from "./SkillText.js"
import { type Service, SkillTrust, SkillTrustError } from "./SkillTrust.js"

const NAME = "effect-lexigram/skill/SkillLock"

/**
 * A skill that was accepted.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Pin = Schema.Struct({
  name: Schema.String,
  /** The skill's folder: relative to the lock file's with `/` where it lies below that, else absolute. */
  path: Schema.String,
  /** Of all files of the folder: SHA-256, hexadecimal. */
  hash: Schema.String,
  /** The files it had, to tell what changed. */
  files: Schema.Array(Schema.String),
  /** As they stood in it; absent when it named none. */
  allowedTools: Schema.optional(Schema.Array(Schema.String))
}).annotations({ identifier: `${NAME}/Pin` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Pin extends Schema.Schema.Type<typeof Pin> {}

/**
 * What stands in a lock file.
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

/** By UTF-16 unit, whatever the locale. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** No value has a line end in JSON: a key is unique. */
const keyOf = ({ name, path }: { readonly name: string; readonly path: string }): string => JSON.stringify([name, path])

/**
 * A lock as its file: one text for the same skills, whatever their order.
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
 * The lock that a file holds, or what is wrong with it.
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

/**
 * What somebody is asked about a skill.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question {
  /** The skill as it is now. */
  readonly skill: LoadedSkill
  /** How it was when it was accepted; `undefined` for a new one. */
  readonly pinned: Pin | undefined
  /** What is different, one text each: empty for a new one. The text of a file may have changed where none says so. */
  readonly changes: ReadonlyArray<string>
}

/**
 * What happens to skills that were never accepted: somebody is asked, they are accepted, or they are not. `allow` is for the first use
 * alone: one that changes later is asked about all the same. With `deny` nobody is ever asked, and one that changed is denied too.
 *
 * @since 0.1.0
 * @category models
 */
export type Policy = "ask" | "allow" | "deny"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The lock file; made with the first skill that is accepted. Its folder has to exist. */
  readonly path: string
  /** Default `ask`. */
  readonly policy?: Policy | undefined
  /** How long to wait for another process that writes the file; default 5 seconds. */
  readonly patience?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  policy: "ask",
  patience: Duration.seconds(5),
  /** A writer that takes longer has died. */
  abandoned: Duration.seconds(30)
} as const

/** A larger file was not written here. */
const MAX_BYTES = 16_777_216

const LOOK_AGAIN = Duration.millis(20)

const listed = (word: string, items: ReadonlyArray<string>): ReadonlyArray<string> =>
  items.length === 0
    ? []
    : [
        `${word}: ${items.slice(0, 20).map(SkillText.name).join(", ")}${items.length > 20 ? ` and ${items.length - 20} more` : ""}`
      ]

const toolsOf = (skill: LoadedSkill): ReadonlyArray<string> | undefined =>
  skill.file.allowedTools?.map(AllowedTools.format)

const toolsText = (tools: ReadonlyArray<string> | undefined): string =>
  tools === undefined ? "any" : tools.length === 0 ? "none" : tools.slice(0, 20).map(SkillText.name).join(", ")

const changesOf = (skill: LoadedSkill, pin: Pin): ReadonlyArray<string> => {
  const before = new Set(pin.files)
  const now = new Set(skill.files)
  const tools = toolsOf(skill)
  return [
    ...listed(
      "new files",
      skill.files.filter((file) => !before.has(file))
    ),
    ...listed(
      "files that are gone",
      pin.files.filter((file) => !now.has(file))
    ),
    ...(JSON.stringify(tools) === JSON.stringify(pin.allowedTools)
      ? []
      : [`allowed tools: ${toolsText(pin.allowedTools)} before, ${toolsText(tools)} now`])
  ]
}

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

interface Store {
  /** The lock now; empty when there is no file. */
  readonly read: (skill: LoadedSkill) => Effect.Effect<Lock, SkillTrustError>
  /** Puts a pin into the place of the one of its name and path. */
  readonly pin: (skill: LoadedSkill, pin: Pin) => Effect.Effect<void, SkillTrustError>
}

const storeOf = (fs: FileSystem.FileSystem, options: Options): Store => {
  const { path } = options
  const guard = `${path}.lock`
  const patience = Duration.toMillis(options.patience ?? defaults.patience)
  const abandoned = Duration.toMillis(defaults.abandoned)

  const read: Store["read"] = (skill) =>
    Effect.gen(function* () {
      const info = yield* fs.stat(path)
      if (info.type !== "File" || Number(info.size) > MAX_BYTES) {
        return yield* failure(skill, path, "Corrupt", { detail: "it is no file of a lock file's size" })
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

  /** A guard file that stands for longer than any writer needs was left behind. */
  const isAbandoned: Effect.Effect<boolean> = Effect.match(Effect.zip(fs.stat(guard), Clock.currentTimeMillis), {
    onFailure: () => false,
    onSuccess: ([info, now]) => Option.exists(info.mtime, (mtime) => now - mtime.getTime() > abandoned)
  })

  const busy = (skill: LoadedSkill): SkillTrustError =>
    failure(skill, path, "Busy", { hint: `If no process is, remove "${SkillText.name(guard)}"` })

  /** The guard names who writes: one that was taken for abandoned is another's now. */
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

  /** Whole or not at all: a new file takes the place of the old one. */
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

/**
 * Trust of a lock file, for which `ask` decides. One question is asked at a time; what is answered is written before the skill is used, and
 * a skill that was not accepted is asked about again when it is wanted again.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeWith = <R = never>(
  options: Options & { readonly ask: (question: Question) => Effect.Effect<boolean, never, R> }
): Effect.Effect<Service, never, FileSystem.FileSystem | Path.Path | R> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const captured = yield* Captured.context<R>()
    const policy = options.policy ?? defaults.policy
    const store = storeOf(fs, options)
    const folder = paths.resolve(paths.dirname(options.path))
    const one = yield* Effect.makeSemaphore(1)

    /** The lock file may lie behind a link: what is relative is told by real paths. */
    const placeOf = (skill: LoadedSkill): Effect.Effect<string> =>
      Effect.map(
        Effect.orElseSucceed(fs.realPath(folder), () => folder),
        (real) => {
          const relative = paths.relative(real, skill.directory)
          const isBelow = relative !== ".." && !relative.startsWith(`..${paths.sep}`) && !paths.isAbsolute(relative)
          return isBelow ? relative.split(paths.sep).join("/") : skill.directory
        }
      )

    const pinned = (skill: LoadedSkill, path: string): Effect.Effect<Pin | undefined, SkillTrustError> =>
      Effect.map(store.read(skill), ({ skills }) =>
        skills.find((pin) => pin.name === skill.file.name && pin.path === path)
      )

    const accept = (skill: LoadedSkill, path: string): Effect.Effect<boolean, SkillTrustError> => {
      const allowedTools = toolsOf(skill)
      return Effect.as(
        store.pin(skill, {
          name: skill.file.name,
          path,
          hash: skill.hash,
          files: skill.files,
          ...(allowedTools === undefined ? {} : { allowedTools })
        }),
        true
      )
    }

    const decide = (skill: LoadedSkill, path: string): Effect.Effect<boolean, SkillTrustError> =>
      // Read again: it may have been accepted while another question was open.
      Effect.flatMap(pinned(skill, path), (pin) => {
        if (pin?.hash === skill.hash) return Effect.succeed(true)
        if (policy === "deny") return Effect.succeed(false)
        if (policy === "allow" && pin === undefined) return accept(skill, path)
        const question = { skill, pinned: pin, changes: pin === undefined ? [] : changesOf(skill, pin) }
        return Effect.flatMap(Captured.provide(options.ask(question), captured), (accepted) =>
          accepted ? accept(skill, path) : Effect.succeed(false)
        )
      })

    return {
      isTrusted: (skill) =>
        Effect.flatMap(placeOf(skill), (path) =>
          Effect.flatMap(pinned(skill, path), (pin) =>
            pin?.hash === skill.hash ? Effect.succeed(true) : one.withPermits(1)(decide(skill, path))
          )
        )
    }
  })

/** What somebody is shown: names and places, nothing of the skill's instructions. */
const requestOf = (question: Question, id: string, run: Run.Service): ApprovalGate.ApprovalRequest => {
  const { changes, pinned, skill } = question
  return {
    id,
    runId: run.runId === "" ? RunId.make(id) : run.runId,
    ...(run.rootRunId === "" ? {} : { rootRunId: run.rootRunId }),
    agent: run.agent === "" ? "skills" : run.agent,
    toolCallId: id,
    // With the content in it: who allows a tool for good allows this content alone.
    tool: `use_skill:${skill.file.name}@${skill.hash.slice(0, 12)}`,
    params: {
      name: skill.file.name,
      description: skill.file.description,
      directory: skill.directory,
      hash: skill.hash,
      files: skill.files,
      allowedTools: toolsOf(skill) ?? "any",
      ...(skill.warnings.length === 0 ? {} : { warnings: skill.warnings }),
      ...(pinned === undefined ? {} : { acceptedHash: pinned.hash, changes })
    },
    reason: pinned === undefined ? "The skill is new" : "The skill has changed since it was accepted"
  }
}

/**
 * Asks through a gate: the request is for a tool `use_skill:<name>@<first 12 digits of the hash>`, and its parameters say which skill, where it
 * lies and what changed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const askGate =
  (gate: ApprovalGate.Service) =>
  (question: Question): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const id = yield* IdGenerator.generate
      const { sessionId, userId } = yield* ApprovalGate.Requester
      const decision = yield* gate.request({
        ...requestOf(question, id, yield* Run.Run),
        ...(userId === undefined ? {} : { userId }),
        ...(sessionId === undefined ? {} : { sessionId })
      })
      return decision._tag === "Approved"
    })

/**
 * As `makeWith`, asking through `ApprovalGate`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<Service, never, FileSystem.FileSystem | Path.Path | ApprovalGate.ApprovalGate> =>
  Effect.flatMap(ApprovalGate.ApprovalGate, (gate) => makeWith({ ...options, ask: askGate(gate) }))

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<SkillTrust, never, FileSystem.FileSystem | Path.Path | ApprovalGate.ApprovalGate> =>
  Layer.effect(SkillTrust, make(options))

/**
 * @since 0.1.0
 * @category layers
 */
export const layerWith = <R = never>(
  options: Options & { readonly ask: (question: Question) => Effect.Effect<boolean, never, R> }
): Layer.Layer<SkillTrust, never, FileSystem.FileSystem | Path.Path | R> => Layer.effect(SkillTrust, makeWith(options))
