/**
 * Finds skill folders, makes them executable, and keeps a registry in step with them.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as BoundSkill from "../definition/BoundSkill.js"
import * as Skill from "../definition/Skill.js"
import type * as SkillDefinition from "../definition/SkillDefinition.js"
import { FOLDER_CATEGORY } from "../definition/SkillDefinition.js"
import type { LoadedSkill } from "../definition/SkillFile.js"
import * as SkillRegistry from "../execute/SkillRegistry.js"
import type { WatchOptions } from "./FolderFollower.js"
import * as FolderFollower from "./FolderFollower.js"
import type { Scan, ScanOptions } from "./FolderScan.js"
import * as FolderScan from "./FolderScan.js"
import * as ScriptRunner from "./ScriptRunner.js"
import * as SkillArguments from "./SkillArguments.js"

/**
 * Finds and loads folders with a `SKILL.md`, leniently. Skips hidden folders and `node_modules`, and `scripts`,
 * `references` and `assets` of a skill. Follows links that stay below the path they were found under. Never fails.
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
 * How the skill of a folder is executed.
 *
 * @since 0.1.0
 * @category models
 */
export type Traits = Omit<SkillDefinition.Traits, "metadata"> &
  SkillDefinition.Confirmation<Readonly<Record<string, unknown>>>

/**
 * @since 0.1.0
 * @category models
 */
export interface SkillOptions<out E = never> {
  /** Script types that make a skill executable. Default: all. */
  readonly allowedScriptTypes?: ReadonlyArray<ScriptType> | undefined
  /** Traits of the skills. Their category defaults to `SkillDefinition.FOLDER_CATEGORY`. */
  readonly traits?: Traits | ((skill: LoadedSkill) => Traits) | undefined
  /** Wraps each execution: may refuse it or extend its result. */
  readonly around?:
    | ((
        skill: LoadedSkill,
        execute: Effect.Effect<SkillOutput, ScriptRunner.ScriptError, ScriptRunner.ScriptRunner>
      ) => Effect.Effect<SkillOutput, ScriptRunner.ScriptError | E, ScriptRunner.ScriptRunner>)
    | undefined
}

/**
 * The result of executing a skill folder: output of its script, or instructions to follow.
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
      /** Text of files by path, if returned with the instructions. */
      readonly contents?: Readonly<Record<string, string>> | undefined
    }

/** The first existing one is run. */
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
 * A skill folder as a skill. It accepts `arguments`, a text, and any other parameter. If there is a `scripts/main.py`,
 * else `scripts/main.js`, else `scripts/main.sh` of an allowed type, executing the skill runs it with the parameters;
 * otherwise the result is the instructions with the arguments in place of `$ARGUMENTS`. The file's metadata becomes
 * that of the definition, except `skillDir`, `license`, `compatibility`, `allowedTools`, `files` and `hash`.
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
    // Fields absent from the file stay absent, whatever its metadata says.
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
 * Changes of the skills; existing ones are `Added` first. Simultaneous changes come in one chunk. The watchers are
 * closed with the stream.
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
  /** False: the folders are scanned once. Default true. */
  readonly watch?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Registered {
  /** The last scan, with skills that could not be registered among its problems. */
  readonly scan: Effect.Effect<Scan>
}

const tell = (log: typeof Effect.logWarning, path: string, message: string): Effect.Effect<void> =>
  Effect.annotateLogs(log(message), { module: "SkillFolders", path })

interface Held {
  readonly loaded: LoadedSkill
  readonly skill: Skill.Bound
}

/**
 * Keeps the registry in step with the folders until the scope closes: new skills are registered, changed ones replaced,
 * removed ones unregistered. Skills registered or replaced by others are left alone. Existing skills are registered
 * when this effect ends. Problems are logged once each as warnings, and what a strict reader would refuse at level
 * debug.
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

  /** Returns why the skill could not be registered. */
  const put = (loaded: LoadedSkill): Effect.Effect<string | undefined, never, ScriptRunner.ScriptRunner> =>
    Effect.gen(function* () {
      const { name } = loaded.file
      const before = held.get(name)
      const isSame = before?.loaded.hash === loaded.hash && before.loaded.directory === loaded.directory
      if (isSame && Option.contains(yield* registry.get(name), before.skill)) return undefined
      const skill = (yield* BoundSkill.make(toSkill(loaded, options))) as Skill.Bound
      const added = Effect.flatMap(registry.get(name), (current) => {
        if (before === undefined || !Option.contains(current, before.skill)) {
          held.set(name, { loaded, skill })
          return registry.register(skill)
        }
        held.set(name, { loaded, skill })
        return Effect.tapError(registry.replace(skill), () => Effect.sync(() => held.set(name, before)))
      })
      // No other fiber runs between the check and the change.
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
      // Nothing awaits this fiber: an unlogged defect would leave the skills stale in silence.
      Effect.tapDefect((cause) => Effect.logError("Skill folders are no longer watched", cause)),
      Effect.ignore,
      Effect.forkScoped
    )
  }
  return { scan: Effect.sync(() => latest) }
})

/**
 * `register` as a layer.
 *
 * @example
 * ```ts
 * import * as NodeContext from "@effect/platform-node/NodeContext"
 * import { DefaultSkillRegistry, ScriptRunner, SkillFolders } from "effect-lexigram/skill"
 * import * as Layer from "effect/Layer"
 *
 * const skills = SkillFolders.layer({ paths: ["./skills"], debounce: "1 second" }).pipe(
 *   Layer.provideMerge(DefaultSkillRegistry.layerEmpty),
 *   Layer.provide([ScriptRunner.layerNoop, NodeContext.layer])
 * )
 * ```
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
