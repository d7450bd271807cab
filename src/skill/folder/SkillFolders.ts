/**
 * Folders of skills: found below paths, made executable, and kept in step with a registry.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Chunk from "effect/Chunk"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Skill from "../definition/Skill.js"
import { FOLDER_CATEGORY } from "../definition/SkillDefinition.js"
import type { Issue, LoadedSkill, ReadOptions } from "../definition/SkillFile.js"
import * as SkillRegistry from "../execute/SkillRegistry.js"
import * as FolderFollower from "./FolderFollower.js"
import * as FolderScan from "./FolderScan.js"
import * as ScriptRunner from "./ScriptRunner.js"
import * as SkillArguments from "./SkillArguments.js"
import type { SkillTrustError } from "./SkillTrust.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ScanOptions {
  /**
   * Folders to look in, themselves included; of two skills of one name that of the first path holds. `~` is the home
   * folder; relative paths are resolved against the working directory. A path that is not there is no problem.
   */
  readonly paths: ReadonlyArray<string>
  /** What `~` stands for. `HOME` of the configuration unless set. */
  readonly home?: string | undefined
  /** Folders below a path. Default 5. */
  readonly maxDepth?: number | undefined
  /** Files and folders that are looked at, at most. Default 50,000. */
  readonly maxEntries?: number | undefined
  /** How much of each skill is read. */
  readonly read?: ReadOptions | undefined
  /**
   * Whether a skill that was found below a path (as `paths` has it) takes part. Asked for the first of each name that
   * is left; one that is refused hides no other. Default: all do.
   */
  readonly admit?: ((skill: LoadedSkill, path: string) => Effect.Effect<boolean, SkillTrustError>) | undefined
}

/**
 * What was left out, and why.
 *
 * - `Malformed`: a skill file that cannot be used; `issues` say why
 * - `Duplicate`: a skill of this name comes before it
 * - `Link`: a symbolic link leaves the path, or leads nowhere
 * - `Unreadable`: a path, folder or entry cannot be read
 * - `Home`: `~` stands for nothing
 * - `Limit`: there is more than is looked at
 * - `Untrusted`: `admit` refuses the skill
 * - `NotRegistered`: the registry has a skill of this name that does not come from here, or refuses this one
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly reason: "Malformed" | "Duplicate" | "Link" | "Unreadable" | "Home" | "Limit" | "Untrusted" | "NotRegistered"
  readonly path: string
  readonly message: string
  readonly skillName?: string | undefined
  readonly issues?: ReadonlyArray<Issue> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Scan {
  /** In the order of the paths, and below each in that of their own paths by code point. No two have the same name. */
  readonly skills: ReadonlyArray<LoadedSkill>
  readonly problems: ReadonlyArray<Problem>
}

/**
 * Looks for folders with a `SKILL.md` and loads them, leniently. Hidden folders and `node_modules` are passed over, as
 * are `scripts`, `references` and `assets` of a skill. Links are followed as long as they stay below the path they are
 * found under. Never fails.
 *
 * @since 0.1.0
 * @category constructors
 */
export const scan = (options: ScanOptions): Effect.Effect<Scan, never, FileSystem.FileSystem | Path.Path> =>
  Effect.map(FolderScan.scan(options), ({ problems, skills }) => ({ skills, problems }))

/**
 * @since 0.1.0
 * @category models
 */
export type ScriptType = "py" | "js" | "sh"

/**
 * How a skill of a folder is treated.
 *
 * @since 0.1.0
 * @category models
 */
export type Traits = Omit<Skill.Traits, "metadata"> & Skill.Confirmation<Readonly<Record<string, unknown>>>

/**
 * @since 0.1.0
 * @category models
 */
export interface SkillOptions<out E = never> {
  /** Which scripts make a skill executable. Default all. */
  readonly allowedScriptTypes?: ReadonlyArray<ScriptType> | undefined
  /** How the skills are to be treated. Their category is `SkillDefinition.FOLDER_CATEGORY` unless set. */
  readonly traits?: Traits | ((skill: LoadedSkill) => Traits) | undefined
  /** Goes around each execution: may refuse it, or add to what it gives. */
  readonly around?:
    | ((
        skill: LoadedSkill,
        execute: Effect.Effect<SkillOutput, ScriptRunner.ScriptError, ScriptRunner.ScriptRunner>
      ) => Effect.Effect<SkillOutput, ScriptRunner.ScriptError | E, ScriptRunner.ScriptRunner>)
    | undefined
}

/**
 * What the execution of a skill folder gives: what its script said, or the instructions to follow.
 *
 * @since 0.1.0
 * @category models
 */
export type SkillOutput =
  | { readonly status: "success"; readonly output: unknown; readonly skillDir: string }
  | {
      readonly status: "instruction_only"
      readonly instructions: string
      readonly skillDir: string
      readonly files: ReadonlyArray<string>
      /** Texts of files, by path, where they come along with the instructions. */
      readonly contents?: Readonly<Record<string, string>> | undefined
    }

/** The first that is there is run. */
const mains = [
  ["py", "scripts/main.py"],
  ["js", "scripts/main.js"],
  ["sh", "scripts/main.sh"]
] as const satisfies ReadonlyArray<readonly [ScriptType, string]>

const parameters = {
  type: "object",
  properties: {
    arguments: { type: "string", description: "What the skill is to be applied to, in words" }
  },
  additionalProperties: true
}

const argumentsOf = (params: Readonly<Record<string, unknown>>): SkillArguments.Arguments | undefined => {
  const keys = Object.keys(params)
  if (keys.length === 0) return undefined
  return keys.length === 1 && typeof params.arguments === "string" ? params.arguments : params
}

/**
 * A skill folder as a skill. It takes `arguments`, a text, and whatever else it is given. Where there is a
 * `scripts/main.py`, else a `scripts/main.js`, else a `scripts/main.sh` of an allowed type, executing the skill runs
 * it, with the parameters; otherwise the result are the instructions, with the arguments in the place of `$ARGUMENTS`.
 * The metadata of the file are those of the definition; `skillDir`, `license`, `compatibility`, `allowedTools`, `files`
 * and `hash` are not theirs to set.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toSkill = <E = never>(
  loaded: LoadedSkill,
  options?: SkillOptions<E> | undefined
): Skill.Skill<
  Readonly<Record<string, unknown>>,
  SkillOutput,
  ScriptRunner.ScriptError | E,
  ScriptRunner.ScriptRunner
> => {
  const { directory, file, files, hash } = loaded
  const types = options?.allowedScriptTypes ?? mains.map(([type]) => type)
  const main = mains.find(([type, script]) => types.includes(type) && files.includes(script))
  const traits = typeof options?.traits === "function" ? options.traits(loaded) : options?.traits
  return Skill.fromJsonSchema(file.name, {
    category: FOLDER_CATEGORY,
    ...traits,
    description: file.description,
    parameters,
    // What the file does not say is absent, and not what its metadata say.
    metadata: Object.fromEntries(
      Object.entries({
        ...file.metadata,
        skillDir: directory,
        license: file.license,
        compatibility: file.compatibility,
        allowedTools: file.allowedTools,
        files,
        hash
      }).filter(([, value]) => value !== undefined)
    ),
    handler: (
      params,
      { skillName }
    ): Effect.Effect<SkillOutput, ScriptRunner.ScriptError | E, ScriptRunner.ScriptRunner> => {
      const execute: Effect.Effect<SkillOutput, ScriptRunner.ScriptError, ScriptRunner.ScriptRunner> =
        main === undefined
          ? Effect.sync(() => ({
              status: "instruction_only",
              instructions: SkillArguments.render(file.body, argumentsOf(params)),
              skillDir: directory,
              files
            }))
          : Effect.map(
              Effect.flatMap(ScriptRunner.ScriptRunner, (runner) =>
                runner.run({ skillName, directory, script: main[1], params })
              ),
              ({ output }) => ({ status: "success", output, skillDir: directory })
            )
      return options?.around === undefined ? execute : options.around(loaded, execute)
    }
  })
}

/**
 * How changes are noticed: by the events of the file system, or by looking at times.
 *
 * @since 0.1.0
 * @category models
 */
export interface WatchOptions extends ScanOptions {
  /**
   * How long it has to be quiet before the folders are looked at again; after ten times as long they are in any case.
   * Default 200 ms.
   */
  readonly debounce?: Duration.DurationInput | undefined
  /**
   * How often what cannot be watched is looked at: paths that are not there, or a file system without events. Default 5
   * s.
   */
  readonly fallback?: Duration.DurationInput | undefined
  /** Folders that are watched at most; the rest is looked at as `fallback` says. Default 1,024. */
  readonly maxWatchers?: number | undefined
  /** Looks at the folders as often as this says, and watches none. When it ends, so does the watching. */
  readonly poll?: Schedule.Schedule<unknown> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Change =
  | { readonly _tag: "Added"; readonly skill: LoadedSkill }
  | { readonly _tag: "Changed"; readonly skill: LoadedSkill; readonly previous: LoadedSkill }
  | { readonly _tag: "Removed"; readonly skill: LoadedSkill }

const changesOf = (before: ReadonlyMap<string, LoadedSkill>, skills: ReadonlyArray<LoadedSkill>): Array<Change> => {
  const changes: Array<Change> = []
  const now = new Set(skills.map(({ file }) => file.name))
  for (const [name, skill] of before) if (!now.has(name)) changes.push({ _tag: "Removed", skill })
  for (const skill of skills) {
    const previous = before.get(skill.file.name)
    if (previous === undefined) changes.push({ _tag: "Added", skill })
    else if (previous.hash !== skill.hash || previous.directory !== skill.directory)
      changes.push({ _tag: "Changed", skill, previous })
  }
  return changes
}

/**
 * What becomes of the skills: those that are there are `Added` first. Many changes at once are told in one piece. The
 * watchers are closed with the stream.
 *
 * @since 0.1.0
 * @category watching
 */
export const watch = (options: WatchOptions): Stream.Stream<Change, never, FileSystem.FileSystem | Path.Path> =>
  Stream.fromPull(
    Effect.map(FolderFollower.make(options), (next) => {
      let before: ReadonlyMap<string, LoadedSkill> = new Map()
      const pull: Effect.Effect<
        Chunk.Chunk<Change>,
        Option.Option<never>,
        FileSystem.FileSystem | Path.Path
      > = Effect.flatMap(next, ({ skills }) => {
        const changes = changesOf(before, skills)
        before = new Map(skills.map((skill) => [skill.file.name, skill]))
        return changes.length === 0 ? pull : Effect.succeed(Chunk.unsafeFromArray(changes))
      })
      return pull
    })
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface RegisterOptions extends WatchOptions, SkillOptions<unknown> {
  /** False: the folders are looked at once. Default true. */
  readonly watch?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Registered {
  /** What was found when the folders were last looked at, with what could not be registered among the problems. */
  readonly scan: Effect.Effect<Scan>
}

const tell = (log: typeof Effect.logWarning, path: string, message: string): Effect.Effect<void> =>
  Effect.annotateLogs(log(message), { module: "SkillFolders", path })

interface Held {
  readonly loaded: LoadedSkill
  readonly skill: Skill.Bound
}

/**
 * Keeps the registry in step with the folders until the scope closes: skills that are found are registered, those that
 * change are replaced, those that go are taken away. A skill that somebody else has registered, or has put in the place
 * of one of these, is left alone. The skills that are there are registered when this ends. Problems are logged as
 * warnings, once each, and what a strict reader would refuse of a skill at level debug.
 *
 * @since 0.1.0
 * @category registration
 */
export const register = Effect.fnUntraced(function* (
  options: RegisterOptions
): Effect.fn.Return<
  Registered,
  never,
  SkillRegistry.SkillRegistry | ScriptRunner.ScriptRunner | FileSystem.FileSystem | Path.Path | Scope.Scope
> {
  const registry = yield* SkillRegistry.SkillRegistry
  const held = new Map<string, Held>()
  let known: ReadonlySet<string> = new Set()
  let latest: Scan = { skills: [], problems: [] }

  const remove = (name: string, { skill }: Held): Effect.Effect<void> =>
    Effect.andThen(registry.unregister(name, skill), () => held.delete(name))

  /** The text says why not. */
  const put = (loaded: LoadedSkill): Effect.Effect<string | undefined, never, ScriptRunner.ScriptRunner> =>
    Effect.gen(function* () {
      const { name } = loaded.file
      const before = held.get(name)
      const isSame = before?.loaded.hash === loaded.hash && before.loaded.directory === loaded.directory
      if (isSame && Option.contains(yield* registry.get(name), before.skill)) return undefined
      const skill = (yield* Skill.bind(toSkill(loaded, options))) as Skill.Bound
      const added = Effect.flatMap(registry.get(name), (current) => {
        if (before === undefined || !Option.contains(current, before.skill)) {
          held.set(name, { loaded, skill })
          return registry.register(skill)
        }
        held.set(name, { loaded, skill })
        return Effect.tapError(registry.replace(skill), () => Effect.sync(() => held.set(name, before)))
      })
      // Nobody comes between the look and the step.
      const result = yield* Effect.either(Effect.withMaxOpsBeforeYield(added, Number.MAX_SAFE_INTEGER))
      if (Either.isRight(result)) {
        if (loaded.hash !== before?.loaded.hash)
          yield* Effect.forEach(loaded.warnings, (warning) => tell(Effect.logDebug, loaded.directory, warning), {
            discard: true
          })
        return undefined
      }
      if (held.get(name)?.skill === skill) held.delete(name)
      return result.left.message
    }).pipe(Effect.uninterruptible)

  const apply = (scan: Scan) =>
    Effect.gen(function* () {
      const names = new Set(scan.skills.map(({ file }) => file.name))
      for (const [name, one] of held) if (!names.has(name)) yield* remove(name, one)
      const problems = [...scan.problems]
      for (const loaded of scan.skills) {
        const message = yield* put(loaded)
        if (message !== undefined)
          problems.push({ reason: "NotRegistered", path: loaded.directory, skillName: loaded.file.name, message })
      }
      latest = { skills: scan.skills, problems }
      const told = new Set<string>()
      for (const problem of problems) {
        const key = JSON.stringify([problem.reason, problem.path, problem.message])
        told.add(key)
        if (!known.has(key)) yield* tell(Effect.logWarning, problem.path, problem.message)
      }
      known = told
    })

  yield* Effect.addFinalizer(() => Effect.forEach(held, ([name, one]) => remove(name, one), { discard: true }))
  if (options.watch === false) {
    yield* apply(yield* FolderScan.scan(options))
  } else {
    const next = yield* FolderFollower.make(options)
    yield* Effect.ignore(Effect.flatMap(next, apply))
    const follow = Effect.forever(Effect.flatMap(next, apply))
    yield* follow.pipe(
      // Nobody waits for this fiber: without a word the skills would stay as they are.
      Effect.tapDefect((cause) => Effect.logError("Skill folders are no longer followed", cause)),
      Effect.ignore,
      Effect.forkScoped
    )
  }
  return { scan: Effect.sync(() => latest) }
})

/**
 * `register` as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: RegisterOptions
): Layer.Layer<
  never,
  never,
  SkillRegistry.SkillRegistry | ScriptRunner.ScriptRunner | FileSystem.FileSystem | Path.Path
> => Layer.scopedDiscard(register(options))
